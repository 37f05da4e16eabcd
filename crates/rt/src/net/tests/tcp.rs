//! TCP sockets at the two ends of a cable.

use super::wake::sleeps;
use super::*;
use crate::sys::poll::PollSet;
use linerate_port::{Interest, Sleep};
use linerate_stack::tcp::Connection;
use std::io::{IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::BorrowedFd;

fn pair(name: &str) -> [Net; 2] {
    let ports = ["{1", "}1"].map(|end| format!("cable:tcp-{name}{end}"));
    Net::open_pair([&ports[0], &ports[1]], cidrs(), &Options::default()).unwrap()
}

/// A connection over a cable, each end with its host.
fn connected(name: &str) -> ([Net; 2], TcpStream, TcpStream) {
    let [left, right] = pair(name);
    let listener = right.tcp_listen(at("10.0.0.2:7000")).unwrap();
    let client = left.tcp_connect_timeout(at("10.0.0.2:7000"), LIMIT).unwrap();
    let (server, from) = listener.accept().unwrap();
    assert_eq!((from, server.peer_addr(), client.peer_addr()), (client.local_addr(), from, at("10.0.0.2:7000")));
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(LIMIT));
        stream.set_write_timeout(Some(LIMIT));
    }
    ([left, right], client, server)
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64).map(|i| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

#[test]
fn what_is_written_is_read() {
    let (_nets, client, server) = connected("copy");
    let data = pattern(20_000_000, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (&client).write_all(&data).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        });
        scope.spawn(|| {
            let mut got = Vec::new();
            (&server).read_to_end(&mut got).unwrap();
            assert!(got == data, "{} bytes", got.len());
            (&server).write_all(&got[..1_000_000]).unwrap();
            server.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        (&client).read_to_end(&mut back).unwrap();
        assert!(back == data[..1_000_000], "{} bytes", back.len());
    });
    let why = (&client).write(b"late").unwrap_err();
    assert_eq!(why.kind(), ErrorKind::BrokenPipe);
}

/// Regression: a connection stood still when the interface's rate did not allow a segment: nobody looked again when it did.
#[test]
fn a_capped_interface_sends_at_its_rate() {
    let ([left, right], mut client, mut server) = connected("capped");
    left.control().change(0, |vi| vi.rate = Some(100_000_000)).unwrap();
    let data = pattern(2_000_000, 3);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            client.write_all(&data).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        server.read_to_end(&mut got).unwrap();
        assert!(got == data, "{} bytes", got.len());
    });
    // 16 Mbit but for the burst of a cap, on the wire.
    assert!(began.elapsed() > Duration::from_millis(130), "{:?}", began.elapsed());
    // Three of four times it is the rate that is waited for: the processors have nothing to do meanwhile.
    let spent = left.spent();
    assert!(spent.user + spent.system < began.elapsed() / 2, "{spent:?} of {:?}", began.elapsed());
    drop((client, server, left, right));
}

/// The host ends only when what was written has arrived.
#[test]
fn what_was_written_before_all_is_dropped_arrives() {
    let ([left, right], mut client, mut server) = connected("drop");
    let data = pattern(3_000_000, 2);
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        server.read_to_end(&mut got).unwrap();
        (got, server)
    });
    client.write_all(&data).unwrap();
    drop((client, left));
    let (got, server) = reader.join().unwrap();
    assert!(got == data, "{} bytes", got.len());
    let before = sleeps();
    drop((server, right));
    // Whoever lingers looks each millisecond.
    assert!(sleeps() - before < 300, "nobody is waited for who is gone");
}

#[test]
fn pieces_are_written_in_their_order() {
    let (_nets, mut client, mut server) = connected("pieces");
    client.set_nodelay(true);
    let pieces = [&b"one "[..], b"", b"two ", b"three"].map(IoSlice::new);
    assert_eq!(client.write_vectored(&pieces).unwrap(), 13);
    let mut got = [0; 13];
    server.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"one two three");
    assert_eq!((client.write_vectored(&[]).unwrap(), client.read(&mut []).unwrap()), (0, 0));
}

/// Buffers and files go without a copy, and are read without one.
#[test]
fn buffers_and_files_are_sent_as_they_are() {
    let (_nets, mut ours, theirs) = connected("chunks");
    let data = pattern(3_000_000, 7);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&data).unwrap();
    let wanted = [&b"head"[..], &data[5..2_900_005], &data, &data[2_999_000..], b"tail"].concat();
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        loop {
            let n = theirs.read_with(|pieces| {
                let most = pieces[0].len().min(50_000);
                got.extend_from_slice(&pieces[0][..most]);
                most
            });
            if n.unwrap() == 0 {
                return got;
            }
        }
    });
    ours.write_all(b"head").unwrap();
    assert_eq!(ours.send_file(&file, 5, 2_900_000).unwrap(), 2_900_000);
    let whole = bytes::Bytes::from(data.clone());
    let mut chunk = whole.clone();
    while !chunk.is_empty() {
        ours.write_chunk(&mut chunk).unwrap();
    }
    assert_eq!(ours.write_chunk(&mut chunk).unwrap(), 0);
    assert_eq!(ours.send_file(&file, 2_999_000, u64::MAX).unwrap(), 1000, "the file ends");
    assert_eq!(ours.send_file(&file, u64::MAX - 5, 100).unwrap_or(0), 0);
    assert_eq!(ours.send_file(&file, 0, 0).unwrap(), 0);
    ours.write_all(b"tail").unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    assert!(reader.join().unwrap() == wanted);
    // The last acknowledgement comes after the last octet is read.
    let end = Instant::now() + LIMIT;
    while !whole.is_unique() {
        assert!(Instant::now() < end, "all of it is acknowledged");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ours.send_file(&file, 0, 10).unwrap_err().kind(), ErrorKind::BrokenPipe);
    let folder = std::fs::File::open("/").unwrap();
    assert!(ours.send_file(&folder, 0, 10).is_err());
}

/// A writer that does not wait is told how much of a file has gone.
#[test]
fn a_file_goes_as_far_as_there_is_room() {
    let (_nets, ours, mut theirs) = connected("file-part");
    let file = tempfile::tempfile().unwrap();
    file.set_len(100 << 20).unwrap();
    ours.set_nonblocking(true);
    let mut sent = 0;
    // Nobody reads: windows and queues are filled some time.
    loop {
        match ours.send_file(&file, sent, 100 << 20) {
            Ok(n) => sent += n,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                std::thread::sleep(Duration::from_millis(100));
                let more = ours.send_file(&file, sent, 100 << 20);
                sent += more.as_ref().copied().unwrap_or(0);
                if more.is_err() {
                    break;
                }
            }
        }
    }
    assert!((64 << 10..50 << 20).contains(&sent), "{sent}");
    drop(ours);
    let mut got = vec![];
    theirs.read_to_end(&mut got).unwrap();
    assert_eq!(got.len() as u64, sent);
}

#[test]
fn time_outs_end_a_wait() {
    let (_nets, mut client, _server) = connected("times");
    client.set_read_timeout(Some(Duration::from_millis(30)));
    let began = Instant::now();
    assert_eq!(client.read(&mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(began.elapsed() >= Duration::from_millis(30));
    // Nobody reads: there is room for so much, and no more; at either end the room has not grown much.
    client.set_write_timeout(Some(Duration::from_millis(300)));
    let mut written = 0;
    let why = loop {
        match client.write(&[0; 65536]) {
            Ok(n) => written += n,
            Err(why) => break why,
        }
    };
    assert_eq!(why.kind(), ErrorKind::WouldBlock);
    assert!((256 << 10..=9 << 20).contains(&written), "{written}");
}

/// Neither a listener nor who connects waits longer than its user wants, who is asked meanwhile.
#[test]
fn nobody_comes_and_nobody_answers_for_longer_than_is_waited() {
    let ports = ["{1", "}1"].map(|end| format!("cable:tcp-nobody{end}"));
    let [ours, theirs] = cidrs();
    let nodes = Node::open_all(&[&ports[0], &ports[1]], &[&[ours], &[theirs]], &Options::default()).unwrap();
    // The other one is never called: its link is up, and it answers nothing.
    let [near, _far] = <[Node; 2]>::try_from(nodes).ok().unwrap();
    let net = Net::run(vec![near]).unwrap();
    let listener = net.tcp_listen(at("10.0.0.1:7000")).unwrap();
    listener.set_timeout(Some(Duration::from_millis(30)));
    let began = Instant::now();
    assert_eq!(listener.accept().err().unwrap().kind(), ErrorKind::WouldBlock);
    assert!(began.elapsed() >= Duration::from_millis(30));
    let mut asked = 0;
    let made = net.tcp_connect_while(at("10.0.0.2:7000"), Duration::from_millis(10), || {
        asked += 1;
        asked < 3
    });
    assert!(made.unwrap().is_none() && asked == 3);
    // Whoever listens is reached at once.
    listener.set_timeout(Some(LIMIT));
    let made = net.tcp_connect_while(at("10.0.0.1:7000"), LIMIT, || panic!("it stands")).unwrap();
    assert_eq!(
        (made.unwrap().peer_addr(), listener.accept().unwrap().0.local_addr()),
        (at("10.0.0.1:7000"), at("10.0.0.1:7000"))
    );
}

fn is_readable(fd: BorrowedFd<'_>, within: Duration) -> bool {
    let mut set = PollSet::new();
    set.begin();
    set.add(&Sleep::on(fd, Interest::Readable));
    assert!(set.watch());
    let began = Instant::now();
    set.sleep(Some(within));
    began.elapsed() < within
}

#[test]
fn sockets_can_be_polled() {
    let [left, right] = pair("poll");
    let listener = right.tcp_listen(at("0.0.0.0:0")).unwrap();
    listener.set_nonblocking(true);
    let soon = Duration::from_millis(50);
    // Readable at first: somebody may have come before.
    assert!(is_readable(listener.readiness().unwrap(), LIMIT));
    assert_eq!(listener.accept().err().unwrap().kind(), ErrorKind::WouldBlock);
    assert!(!is_readable(listener.readiness().unwrap(), soon));
    let to = SocketAddr::new([10, 0, 0, 2].into(), listener.local_addr().port());
    let client = left.tcp_connect_timeout(to, LIMIT).unwrap();
    assert!(is_readable(listener.readiness().unwrap(), LIMIT));
    let (server, _) = listener.accept().unwrap();
    server.set_nonblocking(true);
    let mut buffer = [0; 100];
    let _ = is_readable(server.readiness().unwrap(), soon);
    assert_eq!((&server).read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(!is_readable(server.readiness().unwrap(), soon));
    (&client).write_all(b"hello").unwrap();
    assert!(is_readable(server.readiness().unwrap(), LIMIT));
    assert_eq!((&server).read(&mut buffer).unwrap(), 5);
    assert_eq!((&server).read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(client);
    assert!(is_readable(server.readiness().unwrap(), LIMIT));
    assert_eq!((&server).read(&mut buffer).unwrap(), 0);
}

#[test]
fn errors_are_the_standard_library_s() {
    let [left, right] = pair("errors");
    let kind = |error: std::io::Error| error.kind();
    assert_eq!(left.tcp_connect_timeout(at("10.0.0.2:9"), LIMIT).err().map(kind), Some(ErrorKind::ConnectionRefused));
    let silent = left.tcp_connect_timeout(at("10.0.0.77:9"), Duration::from_millis(50)).err();
    assert_eq!(silent.map(kind), Some(ErrorKind::TimedOut));
    assert_eq!(left.tcp_connect(at("192.168.3.4:9")).err().map(kind), Some(ErrorKind::NetworkUnreachable));
    let listener = right.tcp_listen(at("10.0.0.2:80")).unwrap();
    assert_eq!(right.tcp_listen(at("0.0.0.0:80")).err().map(kind), Some(ErrorKind::AddrInUse));
    assert_eq!(right.tcp_listen(at("10.0.0.9:80")).err().map(kind), Some(ErrorKind::AddrNotAvailable));
    let client = left.tcp_connect_timeout(at("10.0.0.2:80"), LIMIT).unwrap();
    let (server, _) = listener.accept().unwrap();
    // What nobody has read is lost, and its writer is told.
    (&client).write_all(b"unread").unwrap();
    let end = Instant::now() + LIMIT;
    while server.look(Connection::readable) != Some(6) {
        assert!(Instant::now() < end, "it has arrived");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(server);
    client.set_read_timeout(Some(LIMIT));
    assert_eq!((&client).read(&mut [0; 10]).err().map(kind), Some(ErrorKind::ConnectionReset));
    drop(listener);
    assert_eq!(left.tcp_connect_timeout(at("10.0.0.2:80"), LIMIT).err().map(kind), Some(ErrorKind::ConnectionRefused));
}

/// Neither a peer that takes nothing of what was written, nor one that is asked and says nothing, is waited for longer than its
/// user wants.
#[test]
fn a_peer_that_is_gone_is_noticed() {
    for (name, asks) in [("gone", false), ("asked", true)] {
        let ports = ["{1", "}1"].map(|end| format!("cable:tcp-{name}{end}"));
        let [ours, theirs] = cidrs();
        let nodes = Node::open_all(&[&ports[0], &ports[1]], &[&[ours], &[theirs]], &Options::default()).unwrap();
        let [near, mut far] = <[Node; 2]>::try_from(nodes).ok().unwrap();
        let listener = far.ip.host.tcp_listen(at("10.0.0.2:7000"), 4).unwrap();
        let net = Net::run(vec![near]).unwrap();
        let until = Instant::now() + LIMIT;
        let far = std::thread::spawn(move || {
            while far.ip.host.tcp_accept(listener).is_none() && Instant::now() < until {
                far.handle(crate::monotonic_ns());
            }
            far
        });
        let client = net.tcp_connect_timeout(at("10.0.0.2:7000"), LIMIT).unwrap();
        // From here on nobody calls it any more; its link stays up.
        let _silent = far.join().unwrap();
        client.set_read_timeout(Some(LIMIT));
        if asks {
            client.set_keep_alive(Some(Duration::from_millis(30)));
        } else {
            client.set_user_timeout(Duration::from_millis(300));
            (&client).write_all(b"hello").unwrap();
        }
        // The read ends otherwise after half a minute, and the connection after a quarter of an hour.
        let why = (&client).read(&mut [0; 10]).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::TimedOut, "{name}: {why}");
    }
}

/// Data go with SYN, once there is a cookie (RFC 7413): by the second connection they are there before the handshake is over.
/// Those that do not fit follow.
#[test]
fn data_go_with_syn() {
    let [left, right] = pair("fast");
    let to = at("10.0.0.2:7000");
    let listener = right.tcp_listen(to).unwrap();
    let data = pattern(500_000, 3);
    for (turn, (on, fast)) in [(true, false), (true, true), (true, true), (false, false)].into_iter().enumerate() {
        listener.set_fast_open(if on { 16 } else { 0 });
        let sent = &data[..if turn == 1 { data.len() } else { 100 }];
        std::thread::scope(|scope| {
            let served = scope.spawn(|| {
                let (mut server, _) = listener.accept().unwrap();
                server.set_read_timeout(Some(LIMIT));
                let mut got = vec![0; sent.len()];
                server.read_exact(&mut got).unwrap();
                server.write_all(b"done").unwrap();
                assert_eq!(server.is_fast_open(), fast, "turn {turn}");
                got
            });
            let mut client = left.tcp_connect_with(to, sent).unwrap();
            client.set_read_timeout(Some(LIMIT));
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert_eq!((answer.as_str(), client.is_fast_open()), ("done", fast), "turn {turn}");
            assert!(served.join().unwrap() == sent, "turn {turn}");
        });
    }
    // Nothing to be sent is no error, and nobody there is one.
    assert!(left.tcp_connect_with(to, b"").is_ok());
    let refused = left.tcp_connect_with(at("10.0.0.2:7001"), b"hello").err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// Whoever sleeps in a read or a write learns that another thread has shut the connection down.
#[test]
fn shutting_down_wakes_who_waits() {
    let (_nets, client, server) = connected("woken");
    for how in [Shutdown::Read, Shutdown::Both] {
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| (&client).read(&mut [0; 10]));
            // Most likely it sleeps by then; if it does not, it finds the end at once.
            std::thread::sleep(Duration::from_millis(50));
            client.shutdown(how).unwrap();
            assert_eq!(reader.join().unwrap().unwrap(), 0, "{how:?}");
        });
    }
    // Nobody reads what the other end writes.
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (&server).write_all(&vec![7; 64 << 20]));
        std::thread::sleep(Duration::from_millis(50));
        server.shutdown(Shutdown::Both).unwrap();
        assert_eq!(writer.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

/// Small messages in quick succession to one who polls, and reads one byte each time.
#[test]
fn who_polls_misses_nothing_that_comes_while_it_looks() {
    let (_nets, client, server) = connected("polled");
    const MESSAGES: usize = 20_000;
    server.set_nonblocking(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            client.set_nodelay(true);
            for _ in 0..MESSAGES {
                (&client).write_all(b"ab").unwrap();
            }
        });
        let mut got = 0;
        while got < 2 * MESSAGES {
            assert!(is_readable(server.readiness().unwrap(), LIMIT), "{got} bytes have come, and no more");
            match (&server).read(&mut [0; 1]) {
                Ok(n) => got += n,
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        }
    });
}

#[test]
fn buffers_and_congestion_control_can_be_set() {
    let (_nets, client, server) = connected("options");
    assert_eq!(client.set_buffers(100_000, 1 << 30), (100_000, 0xffff << 7), "no more than windows can tell");
    assert_eq!(server.set_buffers(1 << 20, 50_000), (1 << 20, 50_000));
    client.set_congestion(linerate_stack::tcp::Algorithm::NewReno);
    assert_eq!(client.look(Connection::algorithm), Some(linerate_stack::tcp::Algorithm::NewReno));
    client.set_nonblocking(true);
    let mut written = 0;
    // Nobody reads: what the writer holds and the reader takes is bounded by both.
    while let Ok(n) = (&client).write(&[5; 10_000]) {
        written += n;
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!((100_000..500_000).contains(&written), "{written}");
}
