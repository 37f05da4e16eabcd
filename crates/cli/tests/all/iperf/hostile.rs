//! Tests of peers that lie, stall or vanish: each costs its own session only, and is named in one line.

use super::{End, client, ended, moved, port, server};
use crate::ends::accepted;
use crate::process::{LIMIT, Process, until};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

/// Words of a header.
fn header(flags: u32, port: u32, block: u32, amount: u32, upper: u32) -> Vec<u8> {
    let words = [flags, 1, port, block, 0, amount, 0, 0, upper << 16, 0x0002_0001, 0x0008_0003, 0, 0, 0, 0];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Flags of a header of 60 bytes, of one that asks the server to send, and of one that awaits a connection.
const PLAIN: u32 = 0x4001_0078;
const VERSION2: u32 = 0x4401_0078;
const DUAL: u32 = 0xc001_0079;
const REVERSE: u32 = 0x0400;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// True once the server has closed its end.
fn closes(mut stream: &TcpStream) -> bool {
    let mut bytes = [0; 65_536];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) => return e.kind() == ErrorKind::ConnectionReset,
        }
    }
}

/// Memory that a process has, KiB.
fn memory(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn headers_that_lie_are_refused_in_a_line() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    for (bytes, why) in [
        (header(0x5001_0078, 0, 0, 1000, 0), "it has a key"),
        (vec![0, 0x80, 0, 0], "--bounceback"),
        (header(0x4001_0008, 0, 0, 1000, 0), "shorter than its flags say"),
        (header(PLAIN, 0, 0, 1000, 0x0010), "shorter than its flags say"),
        (header(VERSION2, 0, 0, 1000, REVERSE | 1), "--isochronous"),
        (header(DUAL, 0, 0, 1000, 0), "says no port"),
        (header(DUAL, 1, 0, 1000, 0), "connection back to port 1 failed"),
    ] {
        let mut stream = connect(port);
        stream.write_all(&bytes).unwrap();
        let line = server.line_with(why);
        assert!(line.starts_with("iperf: 127.0.0.1:"), "{line}");
        assert!(closes(&stream), "{why}");
    }
    let run = client(End::Ours, port, &["-n", "100K"]);
    assert_eq!(run.code, Some(0), "{}", run.said());
    let said = ended(End::Ours, server);
    assert_eq!(said.log.lines().count(), 7, "{}", said.log);
}

#[test]
fn those_who_stall_or_vanish_cost_their_own_session() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    // Says nothing; says a part of its header; wants data and reads none; goes within its data; asks for huge blocks.
    let silent = connect(port);
    let mut half = connect(port);
    half.write_all(&header(PLAIN, 0, 0, 1000, 0)[..30]).unwrap();
    let mut deaf = connect(port);
    deaf.write_all(&header(VERSION2, 0, 0, (-100i32).cast_unsigned(), REVERSE)).unwrap();
    let mut gone = connect(port);
    gone.write_all(&header(PLAIN, 0, 0, 1000, 0)).unwrap();
    gone.write_all(&[0; 5000]).unwrap();
    drop(gone);
    drop(connect(port));
    // On a busy machine it may take several clients until one of them is faster than the limit of who says nothing.
    until("nobody waits for those who stall", || {
        let stalls = connect(port);
        let run = client(End::Ours, port, &["-n", "10M", "-P", "8"]);
        assert_eq!((run.code, moved(&run.out)), (Some(0), 8), "{}", run.said());
        stalls.set_nonblocking(true).unwrap();
        stalls.peek(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
    });
    let mut huge = connect(port);
    huge.write_all(&header(VERSION2, 0, u32::MAX, 5_000_000, REVERSE)).unwrap();
    let mut got = 0;
    let mut bytes = vec![0; 1 << 20];
    while let Ok(n) = huge.read(&mut bytes)
        && n > 0
    {
        got += n;
    }
    assert_eq!(got, 5_000_000);
    assert!(memory(&server) < 100_000, "{} KiB", memory(&server));
    server.line_with("it closed its connection before it said anything");
    server.line_with("it said nothing of its test within 4 s");
    server.line_with("did not take all");
    assert!(closes(&silent) && closes(&half));
    let said = ended(End::Ours, server);
    assert!(said.out.contains("4.94 KBytes"), "what came of the one that went is told: {}", said.out);
}

/// Of more connections than one address may have, those that have been silent for longest go; who has something to send is served.
#[test]
fn there_are_no_more_sessions_than_there_is_room_for() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    let crowd: Vec<TcpStream> = (0..300).map(|_| connect(port)).collect();
    server.line_with("it moves no data, and another client needs its place");
    let run = client(End::Ours, port, &["-n", "100K"]);
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(memory(&server) < 200_000);
    drop(crowd);
    ended(End::Ours, server);
}

/// Sessions are fewer where there are few descriptors, and have all that they need: an honest client is not sent away for want of them.
#[test]
fn there_are_no_more_sessions_than_there_are_descriptors_for() {
    let port = port();
    let mut command = Command::new("prlimit");
    command.args(["--nofile=128:256", crate::process::BINARY, "iperf", "-s", "-p", &port.to_string()]);
    let mut server = Process::ready(command, "Server listening");
    let crowd: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut silent = connect(port);
            // No header: its data begin at once. It may have been told to go already.
            let _ = silent.write_all(&[0; 4]);
            silent
        })
        .collect();
    server.line_with("it moves no data, and another client needs its place");
    let run = client(End::Ours, port, &["-n", "100K"]);
    assert_eq!(run.code, Some(0), "{}", run.said());
    drop(crowd);
    ended(End::Ours, server);
}

#[test]
fn datagrams_of_any_bytes_begin_nothing() {
    let port = port();
    let server = server(End::Ours, port, &["-u"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    let mut negative = vec![0xff; 64];
    negative[0] = 0x80;
    for bytes in [&[][..], &[1], &[0; 11], &[0; 200], &negative, &[0xff; 1470]] {
        socket.send(bytes).unwrap();
    }
    // A flow that is asked for with a header that lies; one that wants datagrams which are none.
    let mut lie = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    lie.extend(&header(PLAIN, 0, 0, 1000, 0)[..40]);
    socket.send(&lie).unwrap();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    other.connect(("127.0.0.1", port)).unwrap();
    let mut small = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    small.extend(header(VERSION2, 0, 3, 1000, REVERSE));
    other.send(&small).unwrap();
    let run = client(End::Ours, port, &["-u", "-n", "100k", "-b", "10m", "-P", "2"]);
    assert_eq!(run.code, Some(0), "{}", run.said());
    let said = ended(End::Ours, server);
    assert!(
        said.log.contains("shorter than its flags say") && said.log.contains("it wants datagrams of 3 bytes"),
        "{}",
        said.log
    );
    assert_eq!(said.log.lines().count(), 2, "{}", said.log);
    assert_eq!(moved(&said.out), 2, "{}", said.out);
}

/// A datagram in the client's name, with a number that the test cannot have reached, is counted apart: neither as data nor as
/// the loss of all before it. Nor does such an end end the test.
#[test]
fn a_datagram_outside_the_sequence_is_no_loss() {
    let port = port();
    let mut server = server(End::Ours, port, &["-u", "-y", "C"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let says = |number: i32| {
        let mut datagram = [0; 1000];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        socket.send(&datagram).unwrap();
    };
    (1..=10).for_each(says);
    says(i32::MAX - 7);
    says(i32::MIN + 7);
    (11..=20).for_each(says);
    says(-21);
    // The report.
    let mut report = [0; 2000];
    socket.recv(&mut report).unwrap();
    let word = |at: usize| u32::from_be_bytes(*report[at..].first_chunk().unwrap());
    // Behind the datagram's own beginning: lost, out of order, datagrams.
    assert_eq!([word(36), word(40), word(44)], [0, 0, 20]);
    server.line_with("2 datagrams outside the sequence are not counted");
    let said = ended(End::Ours, server);
    let row = said.out.lines().next().unwrap();
    assert_eq!([7, 10, 11].map(|at| super::field(row, at)), [20_000, 0, 20], "{row}");
}

/// A server, or a path, that is slow has the time that it needs for what the client has written.
/// Regression: a copy stood for a datagram that was lost, and the loss was not seen.
#[test]
fn a_datagram_that_comes_twice_is_in_no_other_ones_place() {
    let port = port();
    let _server = server(End::Ours, port, &["-u"]);
    let between = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (near, out) = (between.local_addr().unwrap().port(), UdpSocket::bind("127.0.0.1:0").unwrap());
    out.connect(("127.0.0.1", port)).unwrap();
    for socket in [&between, &out] {
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    }
    let words = ["-c", "127.0.0.1", "-p", &near.to_string(), "-u", "-n", "20000", "-l", "1000", "-b", "1m"];
    let mut client = Process::start(End::Ours.command("iperf", "iperf", &words));
    let (mut bytes, mut from, mut number) = ([0; 2000], None, 0);
    until("the client ends", || {
        while let Ok((n, peer)) = between.recv_from(&mut bytes) {
            (from, number) = (Some(peer), number + 1);
            let copies = match number {
                3 => 0,
                5 => 2,
                _ => 1,
            };
            (0..copies).for_each(|_| drop(out.send(&bytes[..n])));
        }
        if let (Ok(n), Some(peer)) = (out.recv(&mut bytes), from) {
            let _ = between.send_to(&bytes[..n], peer);
        }
        client.ends_within(Duration::ZERO)
    });
    let ended = client.end();
    assert!(ended.code == Some(0) && ended.out.contains(" 1/20 "), "{}", ended.said());
}

/// Regression: the end of what a server sends was said once; who missed it waited for two minutes.
#[test]
fn a_client_that_missed_the_end_of_what_the_server_sends_hears_of_it() {
    let port = port();
    let _server = server(End::Ours, port, &["-u"]);
    let words = ["-c", "127.0.0.1", "-p", &port.to_string(), "-u", "-R", "-n", "40M", "-b", "200m", "-i", "0.5"];
    let mut client = Process::start(End::Ours.command("iperf", "iperf", &words));
    client.until("0.0000-0.5");
    client.signal("STOP");
    // What is sent meanwhile, and with it the end, has no room in its socket.
    std::thread::sleep(Duration::from_secs(4));
    client.signal("CONT");
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

#[test]
fn a_server_that_goes_on_taking_what_was_sent_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let mut stream = accepted(&listener);
        // Longer than the client waits for one that takes nothing, however much the two sockets hold.
        let begin = Instant::now();
        let mut bytes = [0; 16 << 10];
        while let Ok(n) = stream.read(&mut bytes)
            && n > 0
        {
            if begin.elapsed() < Duration::from_secs(6) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
    let run = client(End::Ours, port, &["-n", "8M", "-w", "4M"]);
    assert_eq!((run.code, &*run.log), (Some(0), ""), "{}", run.said());
    server.join().unwrap();
}

/// Servers that lie, stall or vanish end a client with a line.
#[test]
fn a_client_ends_whatever_its_server_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = |answer: Box<dyn FnOnce(TcpStream) + Send>| {
        let listener = listener.try_clone().unwrap();
        std::thread::spawn(move || answer(accepted(&listener)))
    };
    // It closes at once; it reads nothing; it sends what was not asked for.
    let server = serve(Box::new(drop));
    let run = client(End::Ours, port, &["-t", "1"]);
    assert_eq!((run.code, run.log.lines().count()), (Some(1), 1), "{}", run.said());
    server.join().unwrap();
    let (tells, told) = std::sync::mpsc::channel::<()>();
    let server = serve(Box::new(move |stream| {
        // Until the client has ended.
        let _ = told.recv();
        drop(stream);
    }));
    let run = client(End::Ours, port, &["-t", "1"]);
    assert_eq!(run.code, Some(1), "{}", run.said());
    assert!(run.log.contains("the server did not take all within 2 s"), "{}", run.log);
    drop(tells);
    server.join().unwrap();
    let server = serve(Box::new(|mut stream| while stream.write_all(&[0xa5; 10_000]).is_ok() {}));
    let run = client(End::Ours, port, &["-t", "1", "-R", "--trip-times"]);
    assert_eq!((run.code, run.log.lines().count()), (Some(1), 1), "{}", run.said());
    server.join().unwrap();
    // Nobody connects back.
    let server = serve(Box::new(|mut stream| while matches!(stream.read(&mut [0; 65_536]), Ok(n) if n > 0) {}));
    let back = super::port().to_string();
    let run = client(End::Ours, port, &["-n", "10k", "-r", "-L", &back]);
    assert_eq!(run.code, Some(1), "{}", run.said());
    assert!(run.log.contains("expected reverse connect did not occur"), "{}", run.log);
    server.join().unwrap();
    // A report that is none.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let server = std::thread::spawn(move || {
        let mut bytes = [0; 2000];
        while let Ok((_, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&[0x55; 60], from);
        }
    });
    let run = client(End::Ours, port, &["-u", "-n", "10k", "-b", "10m"]);
    assert_eq!((run.code, run.log.lines().count()), (Some(1), 1), "{}", run.said());
    server.join().unwrap();
}

/// A test of datagrams from the port of one whose server still waits for its report to arrive, or of one that was ended in the
/// middle, is one of its own.
#[test]
fn another_test_of_the_same_port_is_not_the_one_before() {
    let port = port();
    let server = server(End::Ours, port, &["-u", "-y", "C"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let says = |seconds: u32, number: i32| {
        let mut datagram = [0; 1000];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        datagram[4..8].copy_from_slice(&seconds.to_be_bytes());
        socket.send(&datagram).unwrap();
    };
    // Lost, out of order, datagrams.
    let reported = || {
        let mut report = [0; 2000];
        socket.recv(&mut report).unwrap();
        [36, 40, 44].map(|at| u32::from_be_bytes(*report[at..].first_chunk().unwrap()))
    };
    (1..=10).for_each(|number| says(100, number));
    says(100, -11);
    assert_eq!(reported(), [0, 0, 10]);
    // A late one of the first, and another test at once.
    says(99, 9);
    (1..=4).for_each(|number| says(101, number));
    says(101, -5);
    assert_eq!(reported(), [0, 0, 4]);
    // One that is ended in the middle, a single datagram in its name, and the next.
    (1..=7).for_each(|number| says(102, number));
    says(103, 1);
    says(102, 8);
    (1..=3).for_each(|number| says(104, number));
    says(104, -4);
    assert_eq!(reported(), [0, 0, 3]);
    let said = ended(End::Ours, server);
    let rows: Vec<u64> = said.out.lines().map(|row| super::field(row, 11)).collect();
    assert_eq!(rows, [10, 4, 8, 3], "{}", said.said());
}
