//! Wake-ups: sockets of one host in many threads.

use super::{LIMIT, at, cidrs};
use crate::net::{Net, Options, UdpSocket};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn nets(name: &str) -> [Net; 2] {
    let ports = ["{1", "}1"].map(|end| format!("cable:{name}{end}"));
    Net::open_pair([&ports[0], &ports[1]], cidrs(), &Options::default()).unwrap()
}

fn socket(net: &Net, local: &str) -> UdpSocket {
    let socket = net.udp_bind(at(local)).unwrap();
    socket.set_read_timeout(Some(LIMIT));
    socket
}

/// Asks and waits for the answer, so many times.
fn ask(client: &UdpSocket, to: &str, times: usize) {
    let mut buffer = [0; 16];
    for _ in 0..times {
        client.send_to(b"?", at(to)).unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap(), 1);
    }
}

/// Says the end when it goes, also when something before has failed: whoever answers is waited for.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Answers until the end is said.
fn answer(server: &UdpSocket, end: &AtomicBool) {
    server.set_read_timeout(Some(Duration::from_millis(20)));
    let mut buffer = [0; 16];
    while !end.load(Relaxed) {
        if let Ok((n, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..n], from).unwrap();
        }
    }
}

/// One host asks the other one something, and so they are neighbours: what is sent before may be too much to be kept.
fn meet(left: &Net, right: &Net) {
    let (server, client, end) = (socket(right, "10.0.0.2:8000"), socket(left, "0.0.0.0:0"), AtomicBool::new(false));
    thread::scope(|scope| {
        let _ends = Ends(&end);
        scope.spawn(|| answer(&server, &end));
        ask(&client, "10.0.0.2:8000", 1);
    });
}

/// How often the calling thread went to sleep, as the kernel counts it.
pub(super) fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_datagram_wakes_the_socket_that_it_is_for_and_nobody_else() {
    const READERS: u16 = 16;
    let [left, right] = nets("wakes");
    let end = AtomicBool::new(false);
    let (busy, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    let ready = Barrier::new(usize::from(READERS) + 1);
    thread::scope(|scope| {
        let _ends = Ends(&end);
        scope.spawn(|| answer(&busy, &end));
        let readers: Vec<_> = (1..=READERS)
            .map(|i| {
                let (ready, mine) = (&ready, socket(&right, &format!("10.0.0.2:{}", 7000 + i)));
                scope.spawn(move || {
                    ready.wait();
                    let before = sleeps();
                    mine.recv(&mut [0; 16]).unwrap();
                    sleeps() - before
                })
            })
            .collect();
        ready.wait();
        ask(&client, "10.0.0.2:7000", 500);
        for i in 1..=READERS {
            client.send_to(b"!", SocketAddr::new([10, 0, 0, 2].into(), 7000 + i)).unwrap();
        }
        let slept: Vec<u64> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        // One sleep each, and now and then one for a lock that somebody else has.
        assert!(slept.iter().all(|n| *n <= 10), "{slept:?}");
    });
}

#[test]
fn a_time_out_ends_whatever_comes_for_others() {
    let [left, right] = nets("timeout");
    let end = AtomicBool::new(false);
    let (busy, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    let (idle, began) = (socket(&right, "10.0.0.2:7001"), Instant::now());
    idle.set_read_timeout(Some(Duration::from_millis(300)));
    thread::scope(|scope| {
        let _ends = Ends(&end);
        scope.spawn(|| answer(&busy, &end));
        let waits = scope.spawn(|| {
            let error = idle.recv(&mut [0; 16]).unwrap_err();
            (error.kind(), began.elapsed())
        });
        while !waits.is_finished() && began.elapsed() < LIMIT {
            ask(&client, "10.0.0.2:7000", 10);
        }
        let (kind, waited) = waits.join().unwrap();
        assert_eq!(kind, ErrorKind::WouldBlock);
        assert!(waited >= Duration::from_millis(300) && waited < LIMIT / 2, "{waited:?}");
    });
}

#[test]
fn each_of_several_readers_of_one_socket_gets_a_datagram() {
    const READERS: u8 = 8;
    let [left, right] = nets("readers");
    let (server, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    meet(&left, &right);
    for _ in 0..50 {
        let began = Instant::now();
        let got = thread::scope(|scope| {
            let read = || {
                let mut buffer = [0; 16];
                server.recv(&mut buffer).map(|_| buffer[0])
            };
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
            let datagrams: Vec<_> = (0..READERS).map(|i| [i]).collect();
            let all: Vec<&[u8]> = datagrams.iter().map(<[u8; 1]>::as_slice).collect();
            assert_eq!(client.send_batch(&all, Some(at("10.0.0.2:7000"))).unwrap(), all.len());
            let mut got: Vec<u8> = readers.into_iter().map(|reader| reader.join().unwrap().unwrap()).collect();
            got.sort_unstable();
            got
        });
        assert_eq!(got, (0..READERS).collect::<Vec<_>>());
        assert!(began.elapsed() < LIMIT, "all are woken for that");
    }
}

#[test]
fn who_waits_is_not_left_by_handles_and_sockets_that_go() {
    let [left, right] = nets("drops");
    let (other, client) = (socket(&right, "10.0.0.2:7001"), socket(&left, "0.0.0.0:0"));
    let waiting = Arc::new(socket(&right, "10.0.0.2:7000"));
    let (theirs, (done, result)) = (waiting.clone(), mpsc::channel());
    let reader = thread::spawn(move || {
        let got = theirs.recv(&mut [0; 16]).map_err(|error| error.kind());
        // It is the last user of the host, whose thread ends with it.
        drop(theirs);
        done.send(got).unwrap();
    });
    thread::sleep(Duration::from_millis(20));
    client.send_to(b"for nobody", at("10.0.0.2:7001")).unwrap();
    drop(other);
    let newcomer = socket(&right, "10.0.0.2:7002");
    newcomer.set_read_timeout(Some(Duration::from_millis(20)));
    assert_eq!(newcomer.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::WouldBlock, "not what was its place's");
    drop((newcomer, waiting, right));
    assert!(result.recv_timeout(Duration::from_millis(20)).is_err(), "it waits");
    client.send_to(b"hello", at("10.0.0.2:7000")).unwrap();
    assert_eq!(result.recv_timeout(LIMIT), Ok(Ok(5)));
    reader.join().unwrap();
}

#[test]
fn what_a_full_socket_drops_is_counted_and_the_rest_is_whole() {
    let [left, right] = nets("full");
    let (server, client) = (socket(&right, "10.0.0.2:7000"), socket(&left, "0.0.0.0:0"));
    meet(&left, &right);
    for i in 0..1000u32 {
        let mut datagram = [0; 1000];
        datagram[..4].copy_from_slice(&i.to_be_bytes());
        client.send_to(&datagram, at("10.0.0.2:7000")).unwrap();
    }
    // An answer says that all that was sent before has arrived.
    meet(&left, &right);
    // 256 KiB hold 262 of these.
    let mut next = 0u32;
    let took = server.recv_batch(|datagram, from| {
        assert_eq!((datagram.len(), from), (1000, SocketAddr::new([10, 0, 0, 1].into(), from.port())));
        assert_eq!(datagram[..4], next.to_be_bytes());
        next += 1;
    });
    assert_eq!((took, server.recv_batch(|_, _| ())), (262, 0));
    let counters = right.counters();
    assert_eq!(counters.discarded(linerate_stack::Discard::QueueFull), 1000 - 262);
    assert_eq!(counters.unexplained(), 0);
}

#[test]
fn eight_threads_echo_on_sockets_of_their_own() {
    const TIMES: u32 = 10_000;
    /// Datagrams under way at a time.
    const WINDOW: u32 = 16;
    let [left, right] = nets("echo");
    meet(&left, &right);
    thread::scope(|scope| {
        for i in 0..8u16 {
            let (server, client) = (socket(&right, &format!("10.0.0.2:{}", 7000 + i)), socket(&left, "0.0.0.0:0"));
            let there = server.local_addr().unwrap();
            scope.spawn(move || {
                let mut buffer = [0; 100];
                for _ in 0..TIMES {
                    let (n, from) = server.recv_from(&mut buffer).unwrap();
                    server.send_to(&buffer[..n], from).unwrap();
                }
            });
            scope.spawn(move || {
                let mut buffer = [0; 100];
                let datagram = |n: u32| [u32::from(i).to_be_bytes(), n.to_be_bytes()].concat();
                for n in 0..TIMES + WINDOW {
                    if n < TIMES {
                        client.send_to(&datagram(n), there).unwrap();
                    }
                    if let Some(n) = n.checked_sub(WINDOW) {
                        let (len, from) = client.recv_from(&mut buffer).unwrap();
                        assert_eq!((&buffer[..len], from), (&datagram(n)[..], there));
                    }
                }
            });
        }
    });
}

/// Regression: a host whose link was up when it was opened reported no groups.
#[test]
fn a_running_host_reports_the_groups_of_its_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name).display().to_string());
    let mut ports = linerate_port::open_all(&[&format!("unix:{a}:{b}"), &format!("unix:{b}:{a}")]).unwrap();
    let mut far = ports[1].take_rx(0).unwrap();
    let nic = linerate_nic::Nic::new(ports.remove(0), &linerate_nic::NicConfig::default()).unwrap();
    let net = Net::run(vec![crate::net::Node::single(nic, &cidrs()[..1], &Options::default()).unwrap()]).unwrap();
    // Reports of multicast groups, with a record for each.
    let mut reports = |least: usize| {
        let deadline = Instant::now() + LIMIT;
        let mut seen = 0;
        while seen < least {
            assert!(Instant::now() < deadline, "{seen} of {least} reports");
            std::thread::sleep(Duration::from_millis(5));
            far.sync();
            let mut batch = far.ring.batch(u32::MAX);
            let n = batch.len();
            seen += (0..n)
                .filter(|i| batch.frame(*i).is_some_and(|(frame, _)| frame.to_vec().get(62) == Some(&143)))
                .count();
            batch.release(n);
        }
    };
    for address in ["fd00::1/64", "fd00::2/64"] {
        net.with(|host| host.add_address(address.parse().unwrap())).unwrap();
        reports(2);
    }
}
