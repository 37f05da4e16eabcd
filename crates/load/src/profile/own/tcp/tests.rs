//! Tests of both paths by what they take and give, and of the sums with a path whose times are known.

use super::super::tcp_in::In;
use super::super::tcp_out::Out;
use super::*;
use crate::profile::{Direction, Protocol};
use linerate_stack::{ARRIVAL, Probe, SEGMENT};
use std::time::Duration;

fn order(size: u32) -> Order {
    let (protocol, way) = (Protocol::Tcp, Direction::Tx);
    Order { protocol, way, size, time: Duration::from_millis(1), rounds: 2, core: 0 }
}

/// Every place at which a batch can be looked at.
fn looks<B: Bed>() -> Vec<Look> {
    let stamps = B::STAGES[..B::STAMPED].iter().map(|(stage, _)| Look::Stamp(*stage));
    [Look::Nowhere].into_iter().chain(stamps).chain((0..B::STAGES.len()).map(B::end)).collect()
}

/// A probe that notes what is passed, and turns back at one stage.
#[derive(Default)]
struct Noted {
    passed: Vec<Stage>,
    back: Option<Stage>,
    done: usize,
}

impl Probe for Noted {
    fn passed<M: ?Sized>(&mut self, stage: Stage, _: &M) -> bool {
        self.passed.push(stage);
        self.back != Some(stage)
    }

    fn done(&mut self) {
        self.done += 1;
    }
}

#[test]
fn the_stages_are_passed_in_their_order_and_none_after_a_turn_back() {
    for (at, stage) in SEGMENT.iter().enumerate() {
        let mut noted = Noted { back: Some(*stage), ..Noted::default() };
        Out::new(&order(1514), false).unwrap().write(&mut noted);
        assert_eq!(noted.passed, SEGMENT[..=at], "{stage:?}");
    }
    assert_eq!(SEGMENT.to_vec(), Out::STAGES.iter().map(|(stage, _)| *stage).collect::<Vec<_>>());
    for (at, stage) in ARRIVAL[..=5].iter().enumerate() {
        let mut noted = Noted { back: Some(*stage), ..Noted::default() };
        In::new(&order(1514)).unwrap().one_comes(&mut noted);
        assert_eq!((noted.passed, noted.done), (ARRIVAL[..=at].to_vec(), 1), "{stage:?}");
    }
    assert_eq!(ARRIVAL.to_vec(), In::STAGES.iter().map(|(stage, _)| *stage).collect::<Vec<_>>());
}

/// Bytes in are bytes out, whatever the point: what is turned back is not on the port, and the batch after it is whole.
#[test]
fn what_is_written_is_on_the_port_unless_it_was_turned_back() {
    for (size, super_frames) in [(1514, false), (1514, true), (600, true), (67, false)] {
        let mut out = Out::new(&order(size), super_frames).unwrap();
        let frames = u64::from(out.packets());
        for look in looks::<Out>() {
            let before = out.node().line().tx.port_counters();
            let took = out.batch::<Looker>(look).unwrap();
            let after = out.node().line().tx.port_counters();
            let sent = if matches!(look, Look::Back(_) | Look::Settled(_)) { 0 } else { frames };
            let (got, bytes) = (after.frames - before.frames, after.bytes - before.bytes);
            assert_eq!((got, bytes), (sent, sent * u64::from(size)), "{size} {look:?}");
            assert_eq!(took.reached > 0, matches!(look, Look::Stamp(_) | Look::Settled(_)), "{look:?}");
            assert!(took.reached <= took.calls && took.calls <= took.whole, "{look:?} {took:?}");
        }
    }
}

#[test]
fn what_comes_is_read_once_unless_it_was_turned_back() {
    for size in [1514, 67] {
        let mut bed = In::new(&order(size)).unwrap();
        for look in looks::<In>() {
            let before = bed.talk().peer.seq;
            let took = bed.batch::<Looker>(look).unwrap();
            let taken = !matches!(look, Look::Back(stage) if stage < Stage::Input);
            let bytes = if taken { BATCH * (size - 66) } else { 0 };
            assert_eq!(bed.talk().peer.seq.wrapping_sub(before), bytes, "{size} {look:?}");
            assert_eq!(took.reached > 0, matches!(look, Look::Stamp(_)), "{look:?}");
            assert!(took.reached <= took.whole, "{look:?} {took:?}");
        }
    }
}

/// A path of two stages that takes known times by a clock of its own.
struct Known;

impl Bed for Known {
    type Bare = ();

    const STAGES: &'static [(Stage, &'static str)] = &[(Stage::Buffer, ""), (Stage::Ring, "")];
    const STAMPED: usize = 1;

    fn packets(&self) -> u32 {
        1
    }

    fn ends(&self) -> u32 {
        1
    }

    fn batch<W: Watch>(&mut self, look: Look) -> Result<Ticks, String> {
        Ok(match look {
            Look::Back(Stage::Buffer) => Ticks { reached: 0, calls: 1_000_000, whole: 1_000_000 },
            Look::Stamp(_) => Ticks { reached: 1_000_000, calls: 3_000_000, whole: 4_000_000 },
            _ => Ticks { reached: 0, calls: 3_000_000, whole: 4_000_000 },
        })
    }

    fn stages(times: &Times, nothing: f64) -> Vec<f64> {
        differences(nothing, &[times.reached[0], times.whole])
    }
}

#[test]
fn the_stages_of_a_known_path_are_its_times_and_sum_up() {
    let stop = Stop::new().unwrap();
    let Measured { stages, wholes, bare } = column(&mut Known, &order(1514), &stop).unwrap();
    assert_eq!((stages.len(), wholes.len(), bare.len()), (4, 2, 2));
    let sum: f64 = stages[..2].iter().map(|stage| stage.median().unwrap()).sum();
    // The length of a tick is measured, and a little different each time.
    assert!((sum / wholes[0].ns - 1.0).abs() < 0.05, "{sum} {wholes:?}");
    for pair in stages.chunks(2) {
        let [first, second] = [0, 1].map(|at| pair[at].median().unwrap());
        assert!((second / first - 3.0).abs() < 0.15, "{first} {second}");
    }
}

/// With times that are given, the stages are exact, and their sum is the whole without the readings.
#[test]
fn what_the_connection_notes_at_the_end_is_of_its_output() {
    let reached = [12.0, 20.0, 25.0, 60.0, 65.0, 68.0, 80.0, 180.0, 300.0].to_vec();
    let times = Times { reached, calls: 340.0, whole: 350.0 };
    let stages = Out::stages(&times, 10.0);
    assert_eq!(stages, [2.0, 8.0, 5.0, 35.0 + 40.0, 5.0, 3.0, 12.0, 100.0, 120.0 + 10.0]);
    assert_eq!(stages.iter().sum::<f64>(), 350.0 - 10.0);
    // The same by early return: notes of 40, and a reading of 10 more, are in all from TCP's output on.
    let cuts = [12.0, 20.0, 25.0, 110.0, 115.0, 118.0, 130.0, 230.0, 360.0];
    assert_eq!(Out::cuts(&cuts, 10.0), [2.0, 8.0, 5.0, 35.0 + 40.0, 5.0, 3.0, 12.0, 100.0, 130.0]);
    let reached = [12.0, 13.0, 17.0, 60.0, 62.0, 120.0, 125.0].to_vec();
    let stages = In::stages(&Times { reached, calls: 160.0, whole: 160.0 }, 10.0);
    assert_eq!(stages, [2.0, 1.0, 4.0, 43.0, 2.0, 58.0, 5.0, 35.0]);
    assert_eq!(stages.iter().sum::<f64>(), 160.0 - 10.0);
}
