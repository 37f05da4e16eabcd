//! A peer that sends whatever it likes: nothing panics, nothing goes on for ever, and no memory grows beyond its limit.

use crate::network::Chance;
use linerate_stack::tcp::{Config, Connection, Ecn, Segment, Seq, State};
use linerate_wire::{FastOpenCookie, SackBlocks, TcpFlags, TcpOptions};

const SECOND: u64 = 1_000_000_000;

/// A number near one of those that matter, or any.
fn near(chance: &mut Chance, of: &[u32]) -> Seq {
    let any = u32::try_from(chance.below(1 << 32)).unwrap();
    if chance.often(50) {
        return Seq(any);
    }
    let off = u32::try_from(chance.of(&[0, 0, 0, 1, 2, 1000, 1460, 65_535, 1 << 20])).unwrap();
    let base = chance.of(of);
    Seq(if chance.often(500) { base.wrapping_add(off) } else { base.wrapping_sub(off) })
}

/// Numbers that the connection under attack has told of itself: its own, and those that it expects.
struct Seen {
    ours: Vec<u32>,
    theirs: Vec<u32>,
    stamp: u32,
    segments: usize,
}

fn poll(connection: &mut Connection, now: u64, seen: &mut Seen) {
    let mut count = 0;
    connection.poll(now, &mut |out| {
        count += 1;
        assert!(count < 10_000, "there is no end");
        assert!(out.options.len() <= 40 && out.bytes() <= 65_535, "{out:?}");
        seen.ours.push(out.seq.plus(u32::try_from(out.bytes()).unwrap()).0);
        seen.ours.push(out.seq.0);
        seen.theirs.push(out.ack.0);
        seen.stamp = out.options.timestamps.map_or(seen.stamp, |(value, _)| value);
        true
    });
    seen.segments += count;
    for all in [&mut seen.ours, &mut seen.theirs] {
        let more = all.len().saturating_sub(8);
        all.drain(..more);
    }
}

fn attack(seed: u64) -> usize {
    let mut chance = Chance::new(seed);
    let config = Config { send: 100_000, receive: 50_000, ecn: Ecn::Ask, ..Config::default() };
    let payload = vec![0x55; 3000];
    let mut now = SECOND;
    let mut seen = Seen { ours: vec![1000], theirs: vec![5000], stamp: 0, segments: 0 };
    let mut connection = Connection::connect(now, &config, 1460, Seq(1000), 7);
    let cookie = FastOpenCookie::new(b"a cookie").unwrap();
    match seed % 4 {
        0 => {
            connection.ask_fast_open(cookie, chance.of(&[0, 40, 1460, 65_535]));
            connection.write(&payload);
        }
        // A server that has taken data with SYN.
        1 => {
            let options = TcpOptions { mss: Some(1460), sack_permitted: true, ..TcpOptions::default() };
            let syn = Segment {
                seq: Seq(4999),
                ack: Seq(0),
                flags: chance.of(&[TcpFlags::SYN, TcpFlags::SYN.union(TcpFlags::FIN)]),
                window: chance.of(&[0, 1, 60_000]),
                options,
                payload: &payload[..chance.of(&[0, 1, 1460])],
                is_marked: false,
            };
            connection = Connection::accept(now, &config, 1460, Seq(1000), 7, &syn);
            connection.open_at_once(now, &syn);
            assert!(connection.is_open_early() && connection.readable() == syn.payload.len());
        }
        _ => {}
    }
    poll(&mut connection, now, &mut seen);
    // Mostly the handshake succeeds, so that there is something to attack.
    if connection.state() == State::SynSent && chance.often(800) {
        let syn = Segment {
            seq: Seq(5000),
            ack: Seq(1001),
            flags: TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags(chance.of(&[0, 0x40]))),
            window: 60_000,
            options: TcpOptions {
                mss: Some(chance.of(&[1460, 0, 1, 88, 65_535])),
                window_scale: Some(chance.of(&[0, 7, 14])),
                sack_permitted: chance.often(800),
                timestamps: chance.often(800).then_some((1, seen.stamp)),
                fast_open: chance.of(&[None, Some(cookie), Some(FastOpenCookie::REQUEST)]),
                ..TcpOptions::default()
            },
            payload: &[],
            is_marked: false,
        };
        connection.arrive(now, &syn);
        assert_eq!(connection.state(), State::Established);
    }
    for _ in 0..400 {
        match chance.below(12) {
            0 => {
                connection.write(&payload[..usize::try_from(chance.below(3000)).unwrap()]);
            }
            1 => {
                connection.read(&mut [0; 5000]);
            }
            2 if chance.often(50) => connection.close(),
            2 if chance.often(10) => connection.abort(),
            3 => now = connection.poll_timeout().map_or(now, |at| at.max(now)).min(now + 100 * SECOND),
            4 => now += chance.below(SECOND / 10),
            _ => {
                let mut sack = SackBlocks::default();
                for _ in 0..chance.of(&[0, 0, 1, 3, 4]) {
                    sack.push((near(&mut chance, &seen.ours).0, near(&mut chance, &seen.ours).0));
                }
                let plain =
                    chance.of(&[TcpFlags::ACK.0, TcpFlags::ACK.0, 0x18, 0x11, 0x02, 0x12, 0x04, 0x14, 0x29, 0xff, 0]);
                let stamp = chance.of(&[0, 1, 2, 1000, u32::MAX]);
                let segment = Segment {
                    seq: near(&mut chance, &seen.theirs),
                    ack: near(&mut chance, &seen.ours),
                    // Resets would end most attacks at once.
                    flags: TcpFlags(if chance.often(900) { plain & !0x04 } else { plain }),
                    window: chance.of(&[0, 1, 100, 1460, 65_535]),
                    options: TcpOptions {
                        timestamps: chance.often(800).then_some((stamp, chance.of(&[seen.stamp, 0, 5]))),
                        sack,
                        ..TcpOptions::default()
                    },
                    payload: &payload[..usize::try_from(chance.of(&[0, 0, 1, 100, 1460, 3000])).unwrap()],
                    is_marked: chance.often(100),
                };
                connection.arrive(now, &segment);
            }
        }
        poll(&mut connection, now, &mut seen);
        assert!(connection.readable() <= 50_000 && connection.unacknowledged() <= 100_000, "{connection:?}");
        assert!(connection.poll_timeout() != Some(0), "something is due that was just done: {connection:?}");
    }
    // Left alone, it comes to an end, or waits for nothing.
    connection.abort();
    for _ in 0..10 {
        poll(&mut connection, now, &mut seen);
    }
    assert_eq!((connection.state(), connection.poll_timeout()), (State::Closed, None), "seed {seed}: {connection:?}");
    seen.segments
}

#[test]
fn a_peer_may_send_what_it_likes() {
    let mut segments = 0;
    for seed in 0..crate::number("LINERATE_SCHEDULES").unwrap_or(3000) {
        segments += std::panic::catch_unwind(|| attack(seed)).unwrap_or_else(|why| {
            eprintln!("seed {seed} fails");
            std::panic::resume_unwind(why)
        });
    }
    assert!(segments > 100_000, "{segments}");
}
