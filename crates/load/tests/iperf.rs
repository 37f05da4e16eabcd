//! Tests of iperf 2's tests without a word: figures of a client, and a server that a thread runs.

use linerate_load::iperf::protocol::Ask;
use linerate_load::iperf::{Asked, Limit, Measured, Place, Rate, Server, Serving, Settings, Transport, measure};
use linerate_rt::Stop;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server that runs until it is dropped.
struct Running {
    port: u16,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Running {
    fn new(serving: &Serving) -> Self {
        let server = Server::listen(&Place::at_port(0), serving).unwrap();
        let (port, stop) = (server.port(), Stop::new().unwrap());
        let told = stop.clone();
        Self { port, stop, thread: Some(std::thread::spawn(move || server.serve(&told))) }
    }

    fn measure(&self, settings: Settings, listen_port: u16) -> Result<Measured, String> {
        let asked = Asked { host: "127.0.0.1".to_owned(), own_port: 0, listen_port, settings };
        measure(&Place::at_port(self.port), &asked, &Stop::new().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.ask(0);
        assert_eq!(self.thread.take().unwrap().join().unwrap(), Ok(()));
    }
}

/// A port that was free a moment ago.
fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn byte_streams_are_measured_in_all_ways() {
    let server = Running::new(&Serving::default());
    let bytes = 20_000_000;
    for (way, streams, sent, received) in [
        (Ask::Forward, 1, bytes, 0),
        (Ask::Forward, 4, 4 * bytes, 0),
        (Ask::Reverse, 2, 0, 2 * bytes),
        (Ask::FullDuplex, 1, bytes, bytes),
        (Ask::Dual, 2, 2 * bytes, 2 * bytes),
        (Ask::TradeOff, 1, bytes, bytes),
    ] {
        let settings = Settings { way, streams, limit: Limit::Bytes(bytes), ..Settings::default() };
        let all = server.measure(settings, free()).unwrap();
        // A server's header of times is no data; the client's own header is a part of what it sends.
        assert_eq!((all.sent, all.received), (sent, received), "{way:?} {streams}");
        assert_eq!(all.retransmits.is_some(), sent > 0, "{way:?}");
        let busy = |cpu: linerate_rt::ThreadTime| !(cpu.user + cpu.system).is_zero();
        assert_eq!((busy(all.send_cpu), busy(all.receive_cpu)), (sent > 0, received > 0), "{way:?}");
        assert!(all.seconds > 0.0 && all.seconds < 30.0, "{way:?}: {}", all.seconds);
    }
}

#[test]
fn datagrams_are_measured_in_both_ways() {
    let server = Running::new(&Serving { transport: Transport::Udp, ..Serving::default() });
    let settings = Settings {
        transport: Transport::Udp,
        block: 1000,
        block_given: true,
        rate: Rate::Bits(8_000_000),
        limit: Limit::Bytes(500_000),
        ..Settings::default()
    };
    let all = server.measure(settings.clone(), 0).unwrap();
    assert_eq!((all.sent, all.reports.len()), (500_000, 1));
    // An end that is lost is said again, up to ten times, with a number of its own: it is one more that is lost.
    let report = &all.reports[0];
    assert!((500..510).contains(&report.datagrams), "{report:?}");
    assert_eq!(report.bytes + 1000 * report.lost, 1000 * report.datagrams);
    let all = server.measure(Settings { way: Ask::Reverse, ..settings }, 0).unwrap();
    assert!((500..510).contains(&all.datagrams), "{}", all.datagrams);
    assert_eq!(all.received + 1000 * all.lost, 1000 * all.datagrams);
}

#[test]
fn a_time_is_kept_and_a_rate_too() {
    let server = Running::new(&Serving::default());
    let settings = Settings {
        limit: Limit::Time(Duration::from_millis(500)),
        rate: Rate::Bits(8_000_000),
        block: 1000,
        ..Settings::default()
    };
    // A client that was held up at the end says little of them.
    let mut tests = (0..30).map(|_| server.measure(settings.clone(), 0).unwrap());
    let all = tests.find(|all| all.seconds < 0.6).expect("each is held up");
    assert!(all.seconds >= 0.5, "{}", all.seconds);
    assert!(all.sent >= 100_000 && all.sent as f64 <= 1e6 * all.seconds + 20_000.0, "{}", all.sent);
}

/// A client that goes silent within its test costs its session only, and not for ever.
#[test]
fn a_session_ends_when_nothing_comes_any_more() {
    let server = Running::new(&Serving { idle: Duration::from_millis(300), ..Serving::default() });
    let begin = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.write_all(b"0123456789").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(std::io::Read::read(&mut stream, &mut [0; 10]).unwrap(), 0, "it is closed");
    assert!(begin.elapsed() >= Duration::from_millis(250));
    // A stop ends a session that goes on.
    let other = Running::new(&Serving::default());
    let mut stream = TcpStream::connect(("127.0.0.1", other.port)).unwrap();
    stream.write_all(b"0123456789").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let begin = Instant::now();
    drop(other);
    // Nothing would come for two minutes.
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_fails_is_said() {
    let port = free();
    let asked = Asked { host: "127.0.0.1".to_owned(), own_port: 0, listen_port: 0, settings: Settings::default() };
    let why = measure(&Place::at_port(port), &asked, &Stop::new().unwrap()).unwrap_err();
    assert!(why.starts_with("tcp connect failed: "), "{why}");
    for (settings, why) in [
        (Settings { block: 0, ..Settings::default() }, "blocks of 0 bytes"),
        (Settings { streams: 0, ..Settings::default() }, "in 0 streams"),
        (Settings { way: Ask::Reverse, limit: Limit::None, ..Settings::default() }, "no end"),
        (Settings { way: Ask::Dual, limit: Limit::Bytes(1 << 31), ..Settings::default() }, "2147483648 bytes"),
        (Settings { times: true, block: 91, ..Settings::default() }, "a time takes room"),
    ] {
        let asked = Asked { settings, ..asked.clone() };
        let said = measure(&Place::at_port(port), &asked, &Stop::new().unwrap()).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place { bind: Some("127.0.0.1".to_owned()), ..Place::at_port(taken.local_addr().unwrap().port()) };
    assert!(Server::listen(&place, &Serving::default()).err().unwrap().starts_with("listener bind failed: "));
}
