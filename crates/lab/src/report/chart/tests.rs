//! Every chart on nothing, on one point, and on extremes.

use linerate_load::result::{
    Comparison, How, Kind, Latency, Number, Repeat, RunResult, Sample, Stage, Test, Timestamp, unit,
};

use super::CHARTS;

fn run(values: &[f64]) -> RunResult {
    let mut run = RunResult::new("chart".to_owned(), Vec::new(), Timestamp::default());
    for (index, &value) in values.iter().enumerate() {
        let number = Number::new(value);
        let mut test = Test {
            id: format!("t{index}"),
            workload: "tx".to_owned(),
            wire_bytes: Some([64, 1518, u32::MAX, 0, 1][index % 5]),
            repeats: vec![Repeat { value: number, valid: true, ..Repeat::default() }],
            stages: vec![
                Stage::new("s", How::CutPoint, "", &[value]),
                Stage::missing("t", How::EarlyReturn, "", "why"),
            ],
            latency: Some(Latency { count: 1, min: number, p50: number, max: number, ..Latency::default() }),
            samples: vec![Sample { t_s: number, value: number }],
            ..Test::default()
        };
        test.summarize(unit::PPS);
        run.comparisons.push(Comparison::new(Kind::Peer, &test.id, "n", "s", unit::PPS, 1.0.into(), number));
        run.tests.push(test);
    }
    run
}

/// Two drawings, each with a title and a description, and no coordinate that is not a number.
fn check(run: &RunResult) {
    for chart in CHARTS {
        let html = chart.figure(run).into_string();
        assert_eq!(html.matches("<svg class=\"chart").count(), 2, "{}", chart.id);
        assert_eq!(html.matches("<desc").count(), 2, "{}", chart.id);
        assert!(html.contains("<title id="), "{}", chart.id);
        for wrong in ["NaN", "\"inf", "inf,", "-inf", ",inf"] {
            assert!(!html.contains(wrong), "{} has {wrong}: {html}", chart.id);
        }
    }
}

#[test]
fn nothing_measured_is_said_in_the_drawing() {
    check(&run(&[]));
    for chart in CHARTS {
        assert!(chart.figure(&run(&[])).into_string().contains("class=\"nothing\""), "{}", chart.id);
    }
}

#[test]
fn one_point_is_a_drawing() {
    check(&run(&[14_880_952.0]));
    for chart in CHARTS {
        let html = chart.figure(&run(&[14_880_952.0])).into_string();
        assert!(!html.contains("class=\"nothing\""), "{}", chart.id);
    }
}

#[test]
fn extremes_stay_on_the_page() {
    check(&run(&[0.0]));
    check(&run(&[f64::NAN, f64::INFINITY]));
    check(&run(&[f64::MAX, f64::MIN_POSITIVE, -1.0, 0.0, 1e-300, 5.0]));
    check(&run(&[1e7; 60]));
}

#[test]
fn charts_have_names_of_their_own() {
    for (index, chart) in CHARTS.iter().enumerate() {
        assert!(CHARTS[..index].iter().all(|other| other.id != chart.id));
        assert!(!chart.title.is_empty() && !chart.reading.is_empty());
    }
}
