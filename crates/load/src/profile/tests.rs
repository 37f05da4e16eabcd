//! Tests of the kernel's columns on this host: each cut is verified, or reported as missing.

use super::*;
use linerate_result::{How, Outcome, RunResult, Timestamp};
use linerate_rt::cpus;

fn order(way: Direction) -> Order {
    Order { way, size: 64, time: Duration::from_millis(1), rounds: 2, core: cpus()[0] }
}

fn measured(way: Direction, size: u32) -> Vec<Test> {
    let order = Order { size, ..order(way) };
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
fn every_stage_of_our_own_is_measured_in_two_ways() {
    let stop = Stop::new().unwrap();
    let tests = (own::SOURCE.measure)(&order(Direction::Tx), &stop, &mut |_| ());
    let stages = tests.iter().map(|test| (test.id.as_str(), test.stages.len())).collect::<Vec<_>>();
    assert_eq!(stages, [("tx-long", 16), ("tx-flow", 16), ("tx-fast", 4)]);
    for test in &tests {
        assert_eq!(test.ways(), [How::TimeStamps, How::EarlyReturn]);
        assert!(test.stages.iter().all(|stage| stage.rounds.len() == 2 && stage.median().is_some()), "{}", test.id);
        assert!(test.further["without probes"].median.known().unwrap() > 0.0);
        assert!(test.value.as_ref().unwrap().median.known().unwrap() > 0.0);
    }
}

#[test]
fn the_least_and_the_largest_frame_go_too() {
    for size in [*SIZES.start(), *SIZES.end()] {
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
