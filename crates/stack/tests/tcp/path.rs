//! A path that takes less than it did.

use linerate_stack::tcp::{Config, Connection, Segment, Seq};
use linerate_wire::{TcpFlags, TcpOptions};

const SECOND: u64 = 1_000_000_000;

/// RFC 1191, section 6.5: what is under way goes out again, cut to what the path takes.
#[test]
fn what_is_under_way_is_cut_to_what_the_path_takes() {
    let config = Config { timestamps: false, burst: 1, ..Config::default() };
    let mut connection = Connection::connect(SECOND, &config, 1460, Seq(1000), 7);
    connection.poll(SECOND, &mut |_| true);
    connection.arrive(
        SECOND,
        &Segment {
            seq: Seq(5000),
            ack: Seq(1001),
            flags: TcpFlags::SYN.union(TcpFlags::ACK),
            window: 60_000,
            options: TcpOptions { mss: Some(1460), ..TcpOptions::default() },
            payload: &[],
        },
    );
    connection.write(&[1; 7300]);
    let sent = |connection: &mut Connection| {
        let mut all = Vec::new();
        connection.poll(SECOND, &mut |out| {
            all.push((out.seq.0, out.bytes()));
            true
        });
        all.retain(|(_, bytes)| *bytes > 0);
        all
    };
    let first = sent(&mut connection);
    assert_eq!(first, (0..5).map(|n| (1001 + 1460 * n, 1460)).collect::<Vec<_>>());
    assert!(connection.is_under_way(Seq(1001)) && connection.is_under_way(Seq(8300)));
    assert!(!connection.is_under_way(Seq(1000)) && !connection.is_under_way(Seq(8301)));
    connection.set_path_mss(1000);
    connection.set_path_mss(1460);
    let again = sent(&mut connection);
    assert_eq!(connection.mss(), 1000, "it does not grow by itself");
    assert!(again.iter().all(|(_, bytes)| *bytes <= 1000), "{again:?}");
    let whole = again.iter().fold(1001, |next, (seq, bytes)| {
        assert_eq!(*seq, next, "{again:?}");
        next + u32::try_from(*bytes).unwrap()
    });
    assert_eq!(whole, 8301, "{again:?}");
}
