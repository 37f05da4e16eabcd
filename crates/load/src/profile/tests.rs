//! Tests of the kernel's columns on this host: each cut is verified, or reported as missing.

use super::*;
use linerate_result::{How, Outcome, RunResult, Timestamp};
use linerate_rt::cpus;

fn order(way: Direction) -> Order {
    Order { protocol: Protocol::Udp, way, size: 64, time: Duration::from_millis(1), rounds: 2, core: cpus()[0] }
}

fn measured(way: Direction, size: u32) -> Vec<Test> {
    measured_of(Protocol::Udp, way, size)
}

fn measured_of(protocol: Protocol, way: Direction, size: u32) -> Vec<Test> {
    let order = Order { protocol, size, ..order(way) };
    let stop = Stop::new().unwrap();
    SOURCES.iter().filter(|s| s.kernel).flat_map(|s| (s.measure)(&order, &stop, &mut |_| ())).collect()
}

/// Checks that each cut of a measured column counted exactly the packets sent.
fn check(tests: &[Test]) {
    for test in tests {
        if let Some(why) = &test.skipped {
            linerate_skip::skip!("{}: {why}", test.title);
            assert!(!why.is_empty() && test.stages.is_empty() && test.value.is_none());
            continue;
        }
        let of = |what: &str| -> Vec<(&str, u64)> {
            let all = test.counters.iter();
            all.filter_map(|(_, name, n)| Some((name.strip_suffix(what)?, n))).collect()
        };
        assert!(!of(": calls").is_empty() && of(": calls").iter().all(|(_, n)| *n > 0));
        assert_eq!(of(": calls"), of(": counted there"), "{}", test.id);
        assert!(of(": seen behind").iter().all(|(_, n)| *n == 0), "{}", test.id);
        for stage in &test.stages {
            match &stage.skipped {
                Some(why) => linerate_skip::skip!("{}, {}: {why}", test.title, stage.name),
                None => assert_eq!(stage.rounds.len(), test.repeats.len(), "{} {}", test.id, stage.name),
            }
        }
        assert!(test.value.as_ref().unwrap().median.known().unwrap() != 0.0);
    }
}

#[test]
fn every_cut_on_the_way_out_is_verified() {
    let tests = measured(Direction::Tx, 64);
    assert_eq!(tests.len(), 3);
    check(&tests);
    let mut run = RunResult::new("x".to_owned(), Vec::new(), Timestamp::default());
    run.outcome = Outcome::Pass;
    run.tests = tests;
    assert_eq!(RunResult::from_json(&run.to_json()).unwrap(), run);
}

#[test]
fn every_cut_on_the_way_in_is_verified() {
    let tests = measured(Direction::Rx, 64);
    assert_eq!(tests.len(), 2);
    check(&tests);
}

#[test]
fn every_cut_of_tcp_is_verified() {
    for way in [Direction::Tx, Direction::Rx] {
        for size in [67, 1514] {
            let tests = measured_of(Protocol::Tcp, way, size);
            assert_eq!(tests.len(), 1);
            check(&tests);
        }
    }
}

#[test]
fn every_stage_of_our_own_is_measured_in_two_ways() {
    let stop = Stop::new().unwrap();
    let tests = (own::SOURCE.measure)(&order(Direction::Tx), &stop, &mut |_| ());
    let stages = tests.iter().map(|test| (test.id.as_str(), test.stages.len())).collect::<Vec<_>>();
    assert_eq!(stages, [("tx-long", 16), ("tx-flow", 16), ("tx-fast", 4)]);
    for test in &tests {
        measured_in_two_ways(test);
    }
}

/// Checks that each stage of a column was measured by both methods, and gives the number of stages.
fn measured_in_two_ways(test: &Test) -> usize {
    assert_eq!(test.ways(), [How::TimeStamps, How::EarlyReturn], "{}: {:?}", test.id, test.skipped);
    assert!(test.stages.iter().all(|stage| stage.rounds.len() == 2 && stage.median().is_some()), "{}", test.id);
    assert!(test.further["without probes"].median.known().unwrap() > 0.0);
    assert!(test.value.as_ref().unwrap().median.known().unwrap() > 0.0);
    test.stages.len()
}

#[test]
fn every_stage_of_our_own_tcp_is_measured_in_two_ways() {
    let stop = Stop::new().unwrap();
    for (way, size, stages) in [
        (Direction::Tx, 1514, &[("tx-tcp-segment", 18), ("tx-tcp-super", 18)][..]),
        (Direction::Tx, 142, &[("tx-tcp-segment", 18), ("tx-tcp-super", 18)]),
        (Direction::Rx, 1514, &[("rx-tcp", 16)]),
        (Direction::Rx, 67, &[("rx-tcp", 16)]),
    ] {
        let order = Order { protocol: Protocol::Tcp, size, ..order(way) };
        let tests = (own::SOURCE.measure)(&order, &stop, &mut |_| ());
        let measured: Vec<_> = tests.iter().map(|test| (test.id.as_str(), measured_in_two_ways(test))).collect();
        assert_eq!(measured, stages);
    }
}

#[test]
fn a_super_frame_of_segments_that_no_peer_asks_for_is_skipped() {
    let stop = Stop::new().unwrap();
    let order = Order { protocol: Protocol::Tcp, size: 141, ..order(Direction::Tx) };
    let tests = (own::SOURCE.measure)(&order, &stop, &mut |_| ());
    assert!(tests[0].skipped.is_none() && tests[1].skipped.as_ref().unwrap().contains("--size 142"));
}

#[test]
fn the_least_and_the_largest_frame_go_too() {
    let sizes = Protocol::Udp.sizes();
    for size in [*sizes.start(), *sizes.end()] {
        check(&measured(Direction::Tx, size));
    }
}

#[test]
fn a_stop_leaves_columns_out() {
    let stop = Stop::new().unwrap();
    stop.ask(2);
    assert!(
        SOURCES.iter().filter(|s| s.kernel).all(|s| (s.measure)(&order(Direction::Tx), &stop, &mut |_| ()).is_empty())
    );
}
