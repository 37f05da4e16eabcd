//! Tests with a path whose figures are known.

use super::*;
use std::time::Duration;

/// Cost of each point, and its error.
struct Known(Vec<(Point, f64, Result<u64, &'static str>)>);

/// Number of packets that a measurement sends.
const SENT: u64 = 1000;

impl KernelPath for Known {
    fn points(&self) -> Vec<Point> {
        self.0.iter().map(|(p, ..)| Point { name: p.name, about: p.about, kind: p.kind }).collect()
    }

    fn measure(&mut self, point: &str, _: Span<'_>) -> Result<Measured, String> {
        let (_, ns, counted) = self.0.iter().find(|(p, ..)| p.name == point).unwrap();
        let counted = counted.map_err(str::to_owned)?;
        Ok(Measured { ns: *ns, calls: SENT, counted: counted.min(SENT), behind: counted.saturating_sub(SENT) })
    }
}

fn point(name: &'static str, kind: Kind, ns: f64) -> (Point, f64, Result<u64, &'static str>) {
    (Point { name, about: "", kind }, ns, Ok(SENT))
}

fn path() -> Known {
    Known(vec![
        point("call", Kind::Cut { less: None }, 100.0),
        point("udp", Kind::Cut { less: Some("program") }, 350.0),
        point("tc", Kind::Cut { less: Some("program") }, 330.0),
        point("driver", Kind::Whole, 500.0),
        point("program", Kind::Program, 520.0),
    ])
}

fn order() -> Order {
    let protocol = crate::profile::Protocol::Udp;
    Order { protocol, way: crate::profile::Direction::Tx, size: 64, time: Duration::from_millis(1), rounds: 4, core: 0 }
}

fn went(mut path: Known) -> Result<Test, String> {
    measure_all("id", "title", &mut path, &order(), &Stop::new().unwrap())
}

fn stages(test: &Test) -> Vec<(&str, Option<f64>)> {
    test.stages.iter().map(|stage| (stage.name.as_str(), stage.median())).collect()
}

#[test]
fn stages_are_differences_less_what_the_programs_cost() {
    let test = went(path()).unwrap();
    assert_eq!(
        stages(&test),
        [("call", Some(100.0)), ("udp", Some(230.0)), ("tc", Some(-20.0)), ("driver", Some(190.0))],
        "a negative one is shown"
    );
    assert_eq!(test.further["program program"].median.known(), Some(20.0));
    assert_eq!(test.value.as_ref().unwrap().median.known(), Some(500.0));
    assert_eq!((test.stages[1].rounds.len(), test.repeats.len()), (4, 4), "raw rounds are kept");
    assert!(test.warnings.is_empty() && test.agreements().iter().all(|one| one.holds));
    assert_eq!(test.counters.total("udp: counted there").unwrap(), 4 * SENT);
}

#[test]
fn what_is_before_the_base_is_not_in_the_sum() {
    let mut path = path();
    path.0[0].0.kind = Kind::Base { less: None };
    let test = went(path).unwrap();
    assert_eq!(stages(&test), [("udp", Some(230.0)), ("tc", Some(-20.0)), ("driver", Some(190.0))]);
    assert_eq!(test.value.as_ref().unwrap().median.known(), Some(400.0));
    assert_eq!(test.further["call"].median.known(), Some(100.0));
}

#[test]
fn a_cut_where_packets_are_missing_or_come_through_does_not_count() {
    for (counted, words) in [
        (Ok(SENT - 1), "1000 packets sent, 999 counted there, 0 behind"),
        (Ok(SENT + 1), "1000 packets sent, 1000 counted there, 1 behind"),
        (Err("no such hook"), "no such hook"),
    ] {
        let mut path = path();
        path.0[1].2 = counted;
        let test = went(path).unwrap();
        assert_eq!(stages(&test), [("call", Some(100.0)), ("udp", None), ("tc", Some(210.0)), ("driver", Some(190.0))]);
        assert!(test.stages[1].skipped.as_ref().unwrap().contains(words), "{:?}", test.stages[1]);
        assert!(test.warnings.iter().any(|warning| warning.contains(words)));
    }
}

#[test]
fn without_the_whole_there_is_no_column() {
    let mut path = path();
    path.0[3].2 = Ok(0);
    assert!(went(path).unwrap_err().contains("not verified"));
}

#[test]
fn a_stop_before_the_first_round_is_over_leaves_nothing() {
    let stop = Stop::new().unwrap();
    stop.ask(2);
    assert!(measure_all("id", "title", &mut path(), &order(), &stop).unwrap_err().contains("no round"));
}

#[test]
fn calls_are_counted_and_the_first_that_is_wrong_ends_it() {
    let (stop, mut made) = (Stop::new().unwrap(), 0u64);
    let (ns, calls) = time_calls(Span { time: Duration::from_millis(1), stop: &stop }, || {
        made += 1;
        Ok(())
    })
    .unwrap();
    assert!(ns >= 0.0 && calls == made);
    let mut left = 300;
    let wrong = time_calls(Span { time: Duration::from_secs(600), stop: &stop }, || {
        left -= 1;
        if left > 0 { Ok(()) } else { Err("enough".to_owned()) }
    });
    assert_eq!(wrong.unwrap_err(), "enough");
    // The same for a stop, which may come at any time.
    let (_, calls) = time_calls(Span { time: Duration::from_secs(600), stop: &stop }, || {
        stop.ask(15);
        Ok(())
    })
    .unwrap_or_default();
    assert!(calls < 10_000, "{calls}");
}
