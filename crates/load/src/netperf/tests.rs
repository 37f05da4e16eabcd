//! Tests of both ends in one process: a server in a thread, and tests that print nothing.

use super::*;
use crate::netperf::protocol::omni::{Half, Request, Response, Results, direction, flag, kind};
use crate::netperf::protocol::{Code, Message};
use crate::socket::sys;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server in a thread, which ends with the test.
struct Served {
    address: SocketAddr,
    stop: Stop,
    log: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn new() -> Self {
        let place = Place { port: 0, bind: Some("127.0.0.1".into()), device: None, family: Some(Family::V4) };
        let (server, stop) = (Server::listen(&place, None).unwrap(), Stop::new().unwrap());
        let (address, stopped, log) = (server.address().unwrap(), stop.clone(), Arc::new(Mutex::new(Vec::new())));
        let to = log.clone();
        let thread = std::thread::spawn(move || {
            server.run(&stopped, move |line| to.lock().unwrap().push(line.to_owned())).unwrap();
        });
        Self { address, stop, log, thread: Some(thread) }
    }

    fn settings(&self, test: &str) -> Settings {
        let mut settings = Settings::new(Test::by_name(test).unwrap(), "127.0.0.1");
        settings.place.port = self.address.port();
        settings
    }

    fn control(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.ask(0);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn answer(control: &mut TcpStream, message: &Message) -> Message {
    control.write_all(message.bytes()).unwrap();
    let mut bytes = [0; Message::LEN];
    control.read_exact(&mut bytes).unwrap();
    Message::received(bytes)
}

/// A request for a stream of bytes to the server.
fn request() -> Request {
    Request { length: 1, ..Request::stream() }
}

#[test]
fn every_test_moves_what_it_says() {
    let served = Served::new();
    for test in TESTS {
        let mut settings = served.settings(test.name);
        let transactions = test.is_transactions();
        settings.length = Length::Count(if transactions { 200 } else { 10_000_001 });
        (settings.request, settings.response) = (100, 2000);
        (settings.local.cpu, settings.remote.cpu, settings.latency) = (true, true, true);
        if !transactions {
            (settings.local.send_size, settings.remote.send_size) = (Some(9000), Some(9000));
        }
        let outcome = measure(&settings, &Stop::new().unwrap()).unwrap();
        let (run, name) = (&outcome.last, test.name);
        let (local, remote) = (&run.local, &run.remote);
        if transactions {
            assert_eq!((run.transactions, local.sent, local.received), (200, 20_000, 400_000), "{name}");
            assert_eq!((remote.received, remote.sent), (20_000, 400_000), "{name}");
            assert!(outcome.means.result > 0.0 && run.transactions_per_second() > 0.0, "{name}");
        } else if test.transport == Transport::Udp {
            assert!(local.sent >= 10_000_001 && local.sent == local.sends * 9000, "{name}: {local:?}");
            assert!(remote.received <= local.sent && remote.received == remote.receives * 9000, "{name}: {remote:?}");
        } else {
            let (from, to) = if test.sends { (local, remote) } else { (remote, local) };
            assert_eq!((from.sent, to.received), (10_000_001, 10_000_001), "{name}");
            assert_eq!(from.sends, 1112, "{name}");
        }
        let count = run.times.as_ref().unwrap().len();
        let calls = if transactions { 200 } else { local.sends.max(local.receives) };
        assert_eq!(count, calls, "{name}");
        assert!(run.seconds > 0.0 && run.seconds < 60.0 && outcome.runs == 1 && outcome.confident, "{name}");
        let cpus = [local.cpu.unwrap(), remote.cpu.unwrap()];
        assert!(cpus.iter().all(|cpu| cpu.count > 0 && (0.0..=100.0).contains(&cpu.all)), "{name}: {cpus:?}");
    }
    assert!(served.log.lock().unwrap().is_empty(), "{:?}", served.log);
}

#[test]
fn a_test_takes_its_time_and_is_repeated_until_its_mean_is_known() {
    let served = Served::new();
    let mut settings = served.settings("TCP_STREAM");
    settings.length = Length::Time(1);
    settings.repeats = Repeats { least: 2, most: 2, level: 95, width: 1e-9, result_only: true };
    let outcome = measure(&settings, &Stop::new().unwrap()).unwrap();
    assert_eq!((outcome.runs, outcome.confident), (2, false));
    assert!((0.9..20.0).contains(&outcome.means.seconds) && outcome.widths.result > 0.0, "{outcome:?}");
    assert_eq!(outcome.last.local.sent, outcome.last.remote.received);
}

#[test]
fn a_stop_ends_a_test_with_what_was_measured() {
    let served = Served::new();
    for test in ["TCP_STREAM", "TCP_MAERTS", "UDP_STREAM", "TCP_RR", "UDP_RR", "TCP_CRR"] {
        let mut settings = served.settings(test);
        // A server that sends ends by the clock.
        settings.length = Length::Time(if test == "TCP_MAERTS" { 2 } else { 0 });
        if test == "TCP_CRR" {
            // Its server hears nothing of the end but that the client is gone.
            settings.length = Length::Time(1);
        }
        let stopped_after = |ms| {
            let stop = Stop::new().unwrap();
            let asks = stop.clone();
            let asker = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(ms));
                asks.ask(2);
            });
            let measured = measure(&settings, &stop);
            asker.join().unwrap();
            match measured {
                // On a busy machine nothing may move within a short time.
                Err(Fault::Stopped | Fault::Nothing) => None,
                measured => Some(measured.unwrap()),
            }
        };
        let outcome = [300, 3000, 30_000].into_iter().find_map(stopped_after).expect("nothing is moved");
        // By the clock it would be never, or after seconds.
        assert!(outcome.last.seconds < 60.0 && outcome.means.result > 0.0, "{test}: {outcome:?}");
    }
}

#[test]
fn the_server_answers_what_it_is_asked_and_refuses_what_it_has_not() {
    let served = Served::new();
    let mut control = served.control();
    assert_eq!(answer(&mut control, &Message::new(Code::DEBUG_ON, -1)).code(), Code::DEBUG_OK);
    assert_eq!(answer(&mut control, &Message::new(Code::SYSINFO, -1)), Message::system());
    assert_eq!(answer(&mut control, &Message::new(Code::CPU_CALIBRATE, -1)).code(), Code::CPU_CALIBRATE);
    assert_eq!(answer(&mut control, &Message::new(Code(13), -1)).second(), 998);
    for (what, request, errno) in [
        ("a file", Request { fill: "/etc/passwd".into(), ..request() }, libc::EOPNOTSUPP),
        ("fast open", Request { flags: flag::FAST_OPEN, ..request() }, libc::EOPNOTSUPP),
        ("no direction", Request { direction: 0, ..request() }, libc::EOPNOTSUPP),
        ("SCTP", Request { protocol: 132, ..request() }, libc::EOPNOTSUPP),
        ("responses without requests", Request { direction: 6, ..request() }, libc::EINVAL),
        ("a processor", Request { cpu: Some(4000), ..request() }, libc::EINVAL),
        ("an address", Request { server: Some([192, 0, 2, 1].into()), ..request() }, libc::EADDRNOTAVAIL),
        ("a name", Request { congestion: "nonesuch".into(), ..request() }, libc::ENOENT),
        ("a size", Request { receive: Half { block: Some(1 << 30), ..request().receive }, ..request() }, libc::EINVAL),
        ("an alignment", Request { receive: Half { align: 3, ..request().receive }, ..request() }, libc::EINVAL),
        ("an offset", Request { send: Half { offset: u32::MAX, ..request().send }, ..request() }, libc::EINVAL),
    ] {
        let mut control = served.control();
        let said = answer(&mut control, &request.message());
        assert_eq!((said.code(), said.second()), (Code::OMNI_RESPONSE, errno), "{what}");
        assert_eq!(control.read(&mut [0]).unwrap(), 0, "{what}: the session is over");
    }
    // A width beyond all memory is cut.
    let wide = Request { receive: Half { width: u32::MAX, block: Some(1), ..request().receive }, ..request() };
    assert_eq!(answer(&mut served.control(), &wide.message()).second(), 0);
}

#[test]
fn a_server_has_a_limit_of_memory_and_gives_it_back() {
    let served = Served::new();
    let greedy = Request { receive: Half { width: 2, block: Some(16 << 20), ..request().receive }, ..request() };
    // All at once: sessions of which nothing more is heard end after a while, which on a busy machine is not long.
    let mut held: Vec<_> = (0..40).map(|_| served.control()).collect();
    held.iter_mut().for_each(|control| control.write_all(greedy.message().bytes()).unwrap());
    let mut said = Vec::new();
    for control in &mut held {
        let mut bytes = [0; Message::LEN];
        control.read_exact(&mut bytes).unwrap();
        said.push(Message::received(bytes).second());
    }
    assert!(said.contains(&0) && said.contains(&libc::ENOMEM), "{said:?}");
    assert!(said.iter().all(|one| [0, libc::ENOMEM].contains(one)), "{said:?}");
    drop(held);
    let begin = Instant::now();
    while answer(&mut served.control(), &greedy.message()).second() != 0 {
        assert!(begin.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_ends_with_its_sessions_when_it_is_told_to() {
    let served = Served::new();
    let mut silent = served.control();
    let mut asked = served.control();
    assert_eq!(answer(&mut asked, &Request { length: 0, ..request() }.message()).second(), 0);
    drop(served);
    for control in [&mut silent, &mut asked] {
        assert!(matches!(control.read(&mut [0]), Ok(0) | Err(_)));
    }
}

/// Requests and responses of a byte, for so many seconds.
fn transactions(length: i32) -> Request {
    let byte = |half: Half| Half { transaction: Some(1), ..half };
    let asks = request();
    let (send, receive) = (byte(asks.send), byte(asks.receive));
    Request { direction: direction::SEND | direction::RECEIVE, length, send, receive, ..asks }
}

/// Whoever else finds the data port, before the client does, or amid its test, gets nothing and takes nothing.
#[test]
fn data_of_other_addresses_than_the_clients_are_nobodys() {
    let served = Served::new();
    let mut control = served.control();
    let ready = Response::read(&answer(&mut control, &transactions(20).message())).unwrap();
    let at = SocketAddr::new(served.address.ip(), ready.data_port);
    let other = sys::socket(at, libc::SOCK_STREAM).unwrap();
    sys::bind(other.as_fd(), "127.0.0.2:0".parse().unwrap()).unwrap();
    sys::connect(other.as_fd(), at, None).unwrap();
    let mut other = TcpStream::from(other);
    let _ = other.write_all(&[1]);
    other.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // It is closed, with its byte unread.
    let read = other.read(&mut [0]);
    assert!(matches!(&read, Ok(0)) || read.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    let mut client = TcpStream::connect(at).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    client.write_all(&[1]).unwrap();
    client.read_exact(&mut [0]).unwrap();

    for sends in [true, false] {
        let asks = if sends { transactions(20) } else { Request { length: 20, ..request() } };
        let asks = Request { socket_type: kind::DATAGRAM, protocol: kind::UDP, ..asks };
        let mut control = served.control();
        let ready = Response::read(&answer(&mut control, &asks.message())).unwrap();
        let at = SocketAddr::new(served.address.ip(), ready.data_port);
        let [other, client] = ["127.0.0.2:0", "127.0.0.1:0"].map(|own| UdpSocket::bind(own).unwrap());
        other.send_to(&[1], at).unwrap();
        other.send_to(&[], at).unwrap();
        client.send_to(&[2], at).unwrap();
        if sends {
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            assert_eq!(client.recv_from(&mut [0; 2]).unwrap(), (1, at));
        }
        client.send_to(&[], at).unwrap();
        let mut bytes = [0; Message::LEN];
        control.read_exact(&mut bytes).unwrap();
        let results = Results::read(&Message::received(bytes)).unwrap();
        assert_eq!((results.received, results.receives), (1, 1));
    }
}

/// A server that takes a connection and closes it, as one does that serves somebody else's; `tells` says whether it has results.
fn deaf(tells: bool) -> (Settings, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let data = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = Settings::new(Test::by_name("TCP_RR").unwrap(), "127.0.0.1");
    settings.place.port = listener.local_addr().unwrap().port();
    let data_port = data.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        let mut bytes = [0; Message::LEN];
        control.read_exact(&mut bytes).unwrap();
        control.write_all(Response { data_port, ..Response::default() }.message().bytes()).unwrap();
        // As if it had had its last request.
        let (mut data, _) = data.accept().unwrap();
        data.read_exact(&mut [0]).unwrap();
        drop(data);
        if tells {
            control.write_all(Results::default().message().bytes()).unwrap();
        }
        // Until the client is gone.
        let _ = control.read(&mut bytes);
    });
    (settings, server)
}

#[test]
fn a_test_in_which_nothing_moved_is_no_result() {
    let (mut settings, server) = deaf(true);
    settings.length = Length::Time(1);
    let said = measure(&settings, &Stop::new().unwrap()).unwrap_err().to_string();
    assert!(said.contains("nothing was moved"), "{said}");
    server.join().unwrap();
}

#[test]
fn a_client_that_is_told_to_end_waits_no_longer_for_a_server_that_says_nothing() {
    let (mut settings, server) = deaf(false);
    settings.length = Length::Time(0);
    let stop = Stop::new().unwrap();
    let (asks, begin) = (stop.clone(), Instant::now());
    let asker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        asks.ask(15);
    });
    assert!(measure(&settings, &stop).is_err());
    // It was eight seconds.
    assert!(begin.elapsed() < Duration::from_secs(7), "{:?}", begin.elapsed());
    asker.join().unwrap();
    server.join().unwrap();
}
