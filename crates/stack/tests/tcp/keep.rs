//! A peer that is silent, and one that is gone.

use linerate_stack::tcp::{Config, Connection, End, KeepAlive, Segment, Seq, State};
use linerate_wire::{TcpFlags, TcpOptions};

const SECOND: u64 = 1_000_000_000;

fn from_peer(flags: TcpFlags, seq: u32, ack: u32) -> Segment<'static> {
    let options = TcpOptions { mss: flags.contains(TcpFlags::SYN).then_some(1460), ..TcpOptions::default() };
    Segment { seq: Seq(seq), ack: Seq(ack), flags, window: 60_000, options, payload: &[] }
}

/// A connection that is established at 1 s, and knows the peer's number 5001.
fn established(keep_alive: Option<KeepAlive>) -> Connection {
    let config = Config { timestamps: false, keep_alive, patience: 20 * SECOND, ..Config::default() };
    let mut connection = Connection::connect(SECOND, &config, 1460, Seq(1000), 7);
    connection.poll(SECOND, &mut |_| true);
    connection.arrive(SECOND, &from_peer(TcpFlags::SYN.union(TcpFlags::ACK), 5000, 1001));
    connection.poll(SECOND, &mut |_| true);
    connection
}

/// Segments that it sends until a time, when nothing comes: times in seconds, numbers, flags.
fn sends(connection: &mut Connection, until: u64) -> Vec<(u64, u32, TcpFlags)> {
    let mut all = Vec::new();
    while let Some(at) = connection.poll_timeout().filter(|at| *at <= until) {
        connection.poll(at, &mut |out| {
            all.push((at / SECOND, out.seq.0, out.flags));
            true
        });
    }
    all
}

/// RFC 9293, section 3.8.4: it is off at first (MUST-25), and asks with a number that was acknowledged, without data (MAY-6).
#[test]
fn a_silent_peer_is_asked() {
    assert_eq!(sends(&mut established(None), 100_000 * SECOND), []);
    let how = KeepAlive { idle: 60 * SECOND, interval: 10 * SECOND, probes: 3 };
    let mut connection = established(Some(how));
    assert_eq!(sends(&mut connection, 75 * SECOND), [(61, 1000, TcpFlags::ACK), (71, 1000, TcpFlags::ACK)]);
    // It answers: nothing is asked for another minute.
    connection.arrive(75 * SECOND, &from_peer(TcpFlags::ACK, 5001, 1001));
    assert_eq!(sends(&mut connection, 134 * SECOND), []);
    // It does not: one more question, two, three, and the connection is given up (MUST-26: one without an answer is no proof).
    let rst = TcpFlags::RST.union(TcpFlags::ACK);
    let asked: Vec<_> = [135, 145, 155].map(|at| (at, 1000, TcpFlags::ACK)).into();
    let sent = sends(&mut connection, 1000 * SECOND);
    assert_eq!(sent, [asked, vec![(165, 1001, rst)]].concat());
    assert_eq!((connection.state(), connection.end()), (State::Closed, Some(End::TimedOut)));
    assert_eq!(connection.poll_timeout(), None);
}

/// The default is two hours (MUST-27).
#[test]
fn it_can_be_switched_on_and_off() {
    let mut connection = established(None);
    connection.set_keep_alive(10 * SECOND, Some(KeepAlive::default()));
    assert_eq!(sends(&mut connection, 7300 * SECOND), [(7210, 1000, TcpFlags::ACK), (7285, 1000, TcpFlags::ACK)]);
    connection.set_keep_alive(7300 * SECOND, None);
    assert_eq!(sends(&mut connection, 100_000 * SECOND), []);
}

/// Data under way ask by themselves, and have a time limit of their own (RFC 9293, section 3.8.3).
#[test]
fn what_is_under_way_asks_by_itself() {
    let how = KeepAlive { idle: 2 * SECOND, interval: SECOND, probes: 3 };
    let mut connection = established(Some(how));
    connection.set_user_timeout(40 * SECOND);
    connection.write(&[7; 100]);
    let sent = sends(&mut connection, 1000 * SECOND);
    assert!(sent.iter().all(|(_, seq, _)| *seq != 1000), "no question: {sent:?}");
    let (at, _, flags) = sent[sent.len() - 1];
    assert!(flags.contains(TcpFlags::RST) && (41..=80).contains(&at), "{sent:?}");
    assert_eq!(connection.end(), Some(End::TimedOut));
}
