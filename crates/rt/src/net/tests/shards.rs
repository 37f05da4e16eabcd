//! A host on several queues, and senders that do not wait for the thread that receives.

use super::{LIMIT, at, cidrs};
use crate::net::{Net, Options, UdpSocket};
use std::io::ErrorKind;
use std::sync::mpsc;
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
    let first = right.with(|host| host.counters().frames);
    assert!(0 < first && first < counters.frames / 2, "{first} of {} frames by the first queue", counters.frames);
    let asked = left.with(|host| host.neighbours().counters().requests);
    assert!(asked <= 2, "{asked}");
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
