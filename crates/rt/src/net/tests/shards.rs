//! A host on several queues, and senders that do not wait for the thread that receives.

use super::{LIMIT, at, cidrs};
use crate::net::{Net, Node, Options, UdpSocket};
use linerate_port::open_all;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const QUEUES: usize = 4;

fn nets(name: &str, queues: usize) -> [Net; 2] {
    let ports = ["{1", "}1"].map(|end| format!("cable:{name}{end},queues={queues}"));
    Net::open_pair([&ports[0], &ports[1]], cidrs(), &Options::default()).unwrap()
}

fn socket(net: &Net, local: &str) -> UdpSocket {
    let socket = net.udp_bind(at(local)).unwrap();
    socket.set_read_timeout(Some(LIMIT));
    socket
}

/// A socket that has sent to this address, and got an answer: its headers are prepared.
fn connected(client: &UdpSocket, server: &UdpSocket, to: &str) {
    client.connect(at(to)).unwrap();
    let mut buffer = [0; 16];
    // The first waits for the neighbour, the second prepares.
    for _ in 0..2 {
        client.send(b"hello").unwrap();
        let (n, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(&buffer[..n], from).unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap(), 5);
    }
}

#[test]
fn a_host_on_four_queues_is_one_host() {
    let began = Instant::now();
    let [left, right] = nets("fourqueues", QUEUES);
    let mut buffer = [0; 16];
    // Each socket sends by another queue, and its answers come by the queue of the server's socket.
    let server = socket(&right, "10.0.0.2:7000");
    let clients: Vec<_> = (0..2 * QUEUES).map(|_| socket(&left, "0.0.0.0:0")).collect();
    for client in &clients {
        client.send_to(b"hello", at("10.0.0.2:7000")).unwrap();
        let (n, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!((n, from.port()), (5, client.local_addr().unwrap().port()));
        server.send_to(&buffer[..n], from).unwrap();
        assert_eq!(client.recv_from(&mut buffer).unwrap(), (5, at("10.0.0.2:7000")));
    }
    // One question for the neighbour, whichever queue the answer came by.
    let counters = right.counters();
    assert_eq!((counters.udp_received, counters.udp_sent), (2 * QUEUES as u64, 2 * QUEUES as u64));
    assert_eq!(counters.unexplained() + left.counters().unexplained(), 0);
    // Whoever waits for an answer asks again after a second, by the first queue.
    let asked = left.with(|host| host.neighbours().counters().requests);
    assert!(asked <= 2 + began.elapsed().as_secs(), "{asked}");
    let again = asked.saturating_sub(1);
    let (first, all) = (right.with(|host| host.counters().frames) - again, counters.frames - again);
    assert!(0 < first && first < all / 2, "{first} of {all} frames by the first queue");
}

#[test]
fn sockets_are_opened_and_closed_in_all_shards() {
    let [left, right] = nets("fourclosed", QUEUES);
    let clients: Vec<_> = (0..QUEUES).map(|_| socket(&left, "0.0.0.0:0")).collect();
    clients.iter().for_each(|client| client.connect(at("10.0.0.2:7000")).unwrap());
    // One in the first shard alone: the others have none at its place.
    let alone = right.with(|host| host.udp_bind(at("10.0.0.2:9999"))).unwrap();
    let server = socket(&right, "10.0.0.2:7000");
    assert_eq!(right.udp_bind(at("10.0.0.2:7000")).err().unwrap().kind(), ErrorKind::AddrInUse);
    for (i, client) in clients.iter().enumerate() {
        client.send(&[u8::try_from(i).unwrap()]).unwrap();
        let mut buffer = [0; 16];
        assert_eq!(server.recv(&mut buffer).unwrap(), 1);
        assert_eq!(usize::from(buffer[0]), i);
    }
    drop(server);
    for client in &clients {
        client.send(b"anybody?").unwrap();
        assert_eq!(client.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
    assert_eq!(right.udp_bind(at("10.0.0.2:9999")).err().unwrap().kind(), ErrorKind::AddrInUse);
    right.with(|host| host.udp_close(alone));
    drop(socket(&right, "10.0.0.2:9999"));
    drop(socket(&right, "10.0.0.2:7000"));
}

#[test]
fn a_sender_does_not_wait_for_who_looks_at_its_host() {
    let [left, right] = nets("nowait", 1);
    let (server, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    connected(&client, &server, "10.0.0.2:7000");
    let (done, sent) = mpsc::channel();
    thread::scope(|scope| {
        let look = |_: &mut linerate_stack::Host| {
            // Within the second for which headers are kept; whoever has been slow has to look once more.
            let client = &client;
            scope.spawn(move || done.send(client.send(b"past it").unwrap()).unwrap());
            sent.recv_timeout(LIMIT)
        };
        assert_eq!(left.with(look), Ok(7));
    });
    assert_eq!(server.recv(&mut [0; 16]).unwrap(), 7);
    assert_eq!(left.counters().udp_fast, 1, "what is sent so is counted");
}

#[test]
fn who_sends_with_kept_headers_is_told_that_nobody_listens_any_more() {
    let [left, right] = nets("gone", 1);
    let (server, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    connected(&client, &server, "10.0.0.2:7000");
    drop(server);
    let began = Instant::now();
    let error = loop {
        if let Err(error) = client.send(b"anybody?") {
            break error;
        }
        assert!(began.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_socket_keeps_headers_for_each_of_its_destinations() {
    const TO: u16 = 20;
    let [left, right] = nets("manyto", 1);
    let client = socket(&left, "0.0.0.0:0");
    let servers: Vec<_> = (0..TO).map(|i| socket(&right, &format!("10.0.0.2:{}", 7000 + i))).collect();
    for turn in 0..50u8 {
        for (server, port) in servers.iter().zip(7000..) {
            let mut buffer = [0; 16];
            client.send_to(&[turn], at(&format!("10.0.0.2:{port}"))).unwrap();
            assert_eq!((server.recv(&mut buffer).unwrap(), buffer[0]), (1, turn));
        }
    }
    let counters = left.counters();
    // Twenty in 64 places: a few may share one, and take turns.
    assert!(counters.udp_sent == 1000 && counters.udp_fast > 750, "{counters:?}");
}

#[test]
fn settings_end_kept_headers_of_running_sockets() {
    let [left, right] = nets("settings", 2);
    let (server, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    connected(&client, &server, "10.0.0.2:7000");
    // The host's thread sleeps, and nothing wakes it.
    left.control().change(0, |vi| vi.up = false).unwrap();
    assert_eq!(client.send(b"down").unwrap_err().kind(), ErrorKind::NetworkDown);
    left.control().change(0, |vi| vi.up = true).unwrap();
    assert_eq!(client.send(b"up").unwrap(), 2);
    assert_eq!(server.recv(&mut [0; 16]).unwrap(), 2);
    let mac = [2, 0, 0, 0, 0, 99];
    left.control().change(0, |vi| vi.mac = mac).unwrap();
    client.send(b"as another").unwrap();
    assert_eq!(left.with(|host| host.mac().0), mac);
}

#[test]
fn an_address_that_is_added_is_every_shards_own() {
    let [left, right] = nets("added", QUEUES);
    right.with(|host| host.add_address("10.0.0.22/24".parse().unwrap())).unwrap();
    let server = socket(&right, "10.0.0.22:7000");
    for _ in 0..QUEUES {
        let client = socket(&left, "0.0.0.0:0");
        client.send_to(b"hello", at("10.0.0.22:7000")).unwrap();
        assert_eq!(server.recv(&mut [0; 16]).unwrap(), 5);
    }
}

#[test]
fn the_error_of_a_peer_before_is_not_the_next_ones() {
    let [left, right] = nets("nextpeer", 1);
    let (server, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    client.connect(at("10.0.0.2:99")).unwrap();
    client.send(b"nobody is there").unwrap();
    let began = Instant::now();
    while left.counters().errors_received == 0 {
        assert!(began.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(1));
    }
    client.connect(at("10.0.0.2:7000")).unwrap();
    assert_eq!(client.send(b"hello").unwrap(), 5);
    assert_eq!(server.recv(&mut [0; 16]).unwrap(), 5);
}

/// Queue by which a frame comes, whichever it was sent by: that of its connection, another one each way, as adapters choose
/// by their hashes.
fn queue_of(frame: &[u8], back: bool) -> Option<usize> {
    let tcp = frame[12..14] == [8, 0] && frame[23] == 6;
    tcp.then(|| usize::from((frame[if back { 37 } else { 35 }] % 2) ^ u8::from(back)))
}

/// Two hosts of two queues each, and a way between them which chooses queues by connections.
fn hashed(name: &str, stop: &Arc<AtomicBool>) -> ([Net; 2], thread::JoinHandle<()>) {
    let names = ["a{1", "a}1", "b{1", "b}1"].map(|end| format!("cable:{name}{end},queues=2"));
    let mut ports = open_all(&names).unwrap().into_iter();
    let mut port = || ports.next().unwrap();
    let (left, mut near, mut far, right) = (port(), port(), port(), port());
    let stop = stop.clone();
    let middle = thread::spawn(move || {
        let rx = |port: &mut linerate_port::Port| [0, 1].map(|queue| port.take_rx(queue).unwrap());
        let tx = |port: &mut linerate_port::Port| [0, 1].map(|queue| port.take_tx(queue).unwrap());
        let mut ways = [(rx(&mut near), tx(&mut far), false), (rx(&mut far), tx(&mut near), true)];
        while !stop.load(Relaxed) {
            for (from, to, back) in &mut ways {
                for (queue, rx) in from.iter_mut().enumerate() {
                    rx.sync();
                    let mut frames = rx.ring.batch(64);
                    let mut passed = 0;
                    for i in 0..frames.len() {
                        let (frame, _) = frames.frame(i).unwrap();
                        let bytes = frame.bytes().unwrap();
                        let mut room = to[queue_of(bytes, *back).unwrap_or(queue)].ring.reserve(1);
                        // Whose thread cannot run has its queue full: the rest waits.
                        if room.is_empty() {
                            break;
                        }
                        assert!(room.put(0, bytes));
                        room.commit(1);
                        passed += 1;
                    }
                    frames.release(passed);
                    rx.sync();
                }
                to.iter_mut().for_each(|tx| tx.sync());
            }
            thread::sleep(Duration::from_micros(100));
        }
    });
    let options = Options::default();
    let mut nets = [left, right].into_iter().zip(cidrs()).map(|(port, address)| {
        let nic = Node::adapter(port, &options).unwrap();
        Net::run(Node::shards(nic, &[address], &options).unwrap()).unwrap()
    });
    let pair = [nets.next().unwrap(), nets.next().unwrap()];
    (pair, middle)
}

/// A connection goes to the shard whose queue its peer's segments come by, and stays there.
#[test]
fn a_host_on_several_queues_connects() {
    let stop = Arc::new(AtomicBool::new(false));
    let ([left, right], middle) = hashed("hashed", &stop);
    let listener = right.tcp_listen(at("10.0.0.2:7000")).unwrap();
    let mut pairs = Vec::new();
    listener.set_nonblocking(true);
    for _ in 0..16 {
        let client = left.tcp_connect_timeout(at("10.0.0.2:7000"), LIMIT).unwrap();
        let (end, mut server) = (Instant::now() + LIMIT, None);
        while server.is_none() {
            assert!(Instant::now() < end);
            server = listener.accept().ok();
        }
        pairs.push((client, server.unwrap().0));
    }
    for (i, (client, server)) in pairs.iter().enumerate() {
        let text = format!("the {i}th of several").repeat(1000);
        let (mut there, mut back) = (vec![0; text.len()], vec![0; text.len()]);
        [client, server].iter().for_each(|stream| stream.set_read_timeout(Some(LIMIT)));
        (&mut &*client).write_all(text.as_bytes()).unwrap();
        (&mut &*server).read_exact(&mut there).unwrap();
        (&mut &*server).write_all(&there).unwrap();
        (&mut &*client).read_exact(&mut back).unwrap();
        assert!(back == text.as_bytes(), "connection {i}");
    }
    // Each is where its segments come, whichever shard has made it.
    let of = |net: &Net, queue: usize| net.queue(queue).shard().ip.host.tcp_connections();
    let odd = pairs.iter().filter(|(client, _)| client.local_addr().port() % 2 == 1).count();
    assert_eq!([of(&left, 0), of(&left, 1)], [odd, 16 - odd]);
    assert_eq!([of(&right, 0), of(&right, 1)], [16 - odd, odd]);
    // Data go with SYN, and their answer comes to whichever queue it is.
    listener.set_fast_open(16);
    listener.set_nonblocking(false);
    for turn in 0..8 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut server, _) = listener.accept().unwrap();
                server.set_read_timeout(Some(LIMIT));
                let mut asked = [0; 5];
                server.read_exact(&mut asked).unwrap();
                server.write_all(&asked.repeat(1000)).unwrap();
                assert_eq!(server.is_fast_open(), turn > 0, "turn {turn}");
            });
            let mut client = left.tcp_connect_with(at("10.0.0.2:7000"), b"hello").unwrap();
            client.set_read_timeout(Some(LIMIT));
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert!(answer == "hello".repeat(1000), "turn {turn}");
            assert_eq!(client.is_fast_open(), turn > 0, "turn {turn}");
        });
    }
    // Who refuses is heard, too, by whichever queue it is.
    for _ in 0..2 {
        let refused = left.tcp_connect_timeout(at("10.0.0.2:7001"), LIMIT).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    assert_eq!(left.counters().unexplained() + right.counters().unexplained(), 0);
    drop((pairs, listener, left, right));
    stop.store(true, Relaxed);
    middle.join().unwrap();
}

/// Regression: connections that two queues made at the same moment could get the same port.
#[test]
fn connections_of_several_queues_at_the_same_moment_have_ports_of_their_own() {
    let stop = Arc::new(AtomicBool::new(false));
    let ([left, right], middle) = hashed("moment", &stop);
    let listener = right.tcp_listen(at("10.0.0.2:7000")).unwrap();
    listener.set_nonblocking(true);
    let connect = || -> Vec<_> {
        (0..50).map(|_| left.tcp_connect_timeout(at("10.0.0.2:7000"), LIMIT).expect("it stands")).collect()
    };
    for _ in 0..20 {
        let mut ports = std::thread::scope(|scope| {
            let callers = [0; 8].map(|_| scope.spawn(connect));
            let mut servers = Vec::new();
            while callers.iter().any(|caller| !caller.is_finished()) {
                servers.extend(listener.accept().ok());
                std::thread::yield_now();
            }
            let clients: Vec<_> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
            clients.iter().map(|client| client.local_addr().port()).collect::<Vec<_>>()
        });
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 400);
    }
    drop((listener, left, right));
    stop.store(true, Relaxed);
    middle.join().unwrap();
}
