//! Tests of every chart on an empty result, on few points, and on extreme values.

use linerate_result::{
    Comparison, How, Kind, Latency, Number, Parameter, PortUsed, Repeat, Role, RunResult, Sample, Stage, Test,
    Timestamp, Unit, parameters,
};

use super::CHARTS;
use crate::view::View;

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
        test.summarize(Unit::Pps);
        run.comparisons.push(Comparison::new(Kind::Peer, &test.id, "n", "s", Unit::Pps, 1.0.into(), number));
        run.tests.push(test);
        for wire in ["unlimited", "40G", "10G"] {
            let bytes: [Parameter; 5] = ["512".into(), 4096_u32.into(), u32::MAX.into(), 0_u32.into(), 512_u32.into()];
            let words = [("io_bytes", bytes[index % 5].clone()), ("op", "read".into()), ("wire", wire.into())];
            let mut point = Test {
                id: format!("f{index}-{wire}"),
                workload: "fcoe".to_owned(),
                parameters: parameters(words),
                repeats: vec![Repeat { value: number, valid: true, ..Repeat::default() }],
                ..Test::default()
            };
            point.summarize(Unit::BytesPerSecond);
            run.tests.push(point);
        }
    }
    run
}

/// Checks that there are two drawings, each with a title and a description, and that no coordinate is NaN or infinite.
fn check(run: &RunResult) {
    for chart in CHARTS {
        let Some(html) = chart.body(&View::of(run)).map(maud::Markup::into_string) else { continue };
        assert_eq!(html.matches("<svg class=\"chart").count(), 2, "{}", chart.id);
        assert_eq!((html.matches("<desc").count(), html.matches("<title id=").count()), (2, 2), "{}", chart.id);
        for wrong in ["NaN", "\"inf", "inf,", "-inf", ",inf"] {
            assert!(!html.contains(wrong), "{} has {wrong}: {html}", chart.id);
        }
    }
}

#[test]
fn of_nothing_there_is_no_drawing() {
    assert!(CHARTS.iter().all(|chart| chart.body(&View::of(&run(&[]))).is_none()));
}

#[test]
fn fewer_than_four_points_are_no_chart() {
    let sizes = |count: usize| {
        let mut run = run(&vec![14_880_952.0; count]);
        for (test, bytes) in run.tests.iter_mut().filter(|test| test.wire_bytes.is_some()).zip([64, 128, 256, 512]) {
            test.wire_bytes = Some(bytes);
        }
        for wire in ["unlimited", "40G", "10G"] {
            let points = run.tests.iter_mut().filter(|test| test.parameters.get("wire") == Some(&wire.into()));
            for (point, bytes) in points.zip([512_u32, 1024, 2048, 4096]) {
                point.parameters.insert("io_bytes".to_owned(), bytes.into());
            }
        }
        run
    };
    check(&sizes(1));
    let chart = CHARTS.iter().find(|chart| chart.id == "rate-by-size").unwrap();
    assert!(chart.body(&View::of(&sizes(3))).is_none() && chart.body(&View::of(&sizes(4))).is_some());
    check(&sizes(4));
    // Three samples are no curve.
    let over_time = CHARTS.iter().find(|chart| chart.id == "over-time").unwrap();
    let mut run = run(&[1e6]);
    run.tests[0].samples = vec![Sample { t_s: 1.0.into(), value: 1e6.into() }; 3];
    assert!(over_time.body(&View::of(&run)).is_none());
    run.tests[0].samples = vec![Sample { t_s: 1.0.into(), value: 1e6.into() }; 8];
    assert!(over_time.body(&View::of(&run)).is_some());
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

/// Three paths, each sent and received, and a rate of two ports: seven lines, each named and marked.
#[test]
fn what_was_received_is_drawn_beside_what_was_sent() {
    let mut run = run(&[]);
    for (path, sending) in [("cable", 1), ("cable", 2), ("packet", 1), ("xdp", 1)] {
        for workload in if sending == 1 { &["tx", "rx"][..] } else { &["tx"] } {
            let port = |role| PortUsed { path: path.to_owned(), role, ..PortUsed::default() };
            for wire_bytes in [64, 128, 256, 1518] {
                let mut test =
                    Test { workload: (*workload).to_owned(), wire_bytes: Some(wire_bytes), ..Test::default() };
                test.ports = vec![port(Role::Tx); sending];
                test.repeats = vec![Repeat { value: 1e6.into(), valid: true, ..Repeat::default() }];
                test.summarize(Unit::Pps);
                run.tests.push(test);
            }
        }
    }
    let chart = CHARTS.iter().find(|chart| chart.id == "rate-by-size").unwrap();
    let html = chart.body(&View::of(&run)).unwrap().into_string();
    let names = ["tx, cable", "tx, cable, 2 ports", "tx, packet", "tx, xdp", "rx, cable", "rx, packet", "rx, xdp"];
    for (name, look) in names.into_iter().zip(["s0", "s1", "s2", "s3", "hollow s0", "hollow s2", "hollow s3"]) {
        let (before, _) = html.split_once(&format!("<span>{name}</span>")).unwrap_or_else(|| panic!("{name}: {html}"));
        let (_, entry) = before.rsplit_once("<li>").unwrap();
        assert!(entry.contains(&format!("class=\"mark {look}\"")), "{name}: {entry}");
    }
    assert!(!html.contains("more in the table"), "{html}");
    // In the legend, and in the wide and the narrow drawing.
    assert_eq!(html.matches("class=\"series dotted s3\"").count(), 3);
}

/// A second axis makes a second line; what cannot be told apart by its axes is told apart by its id.
#[test]
fn points_that_differ_in_a_second_axis_are_lines_of_their_own() {
    use linerate_load::stream::TCP_STREAM;
    let point = |bytes: u32, parallel: u32| {
        let mut test = Test {
            id: format!("p-{bytes}-{parallel}"),
            workload: TCP_STREAM.name.to_owned(),
            parameters: parameters([("io_bytes", bytes.into()), ("parallel", parallel.into())]),
            repeats: vec![Repeat { value: (1e6 * f64::from(bytes)).into(), valid: true, ..Repeat::default() }],
            ..Test::default()
        };
        test.summarize(Unit::BitsPerSecond);
        test
    };
    let lines = |tests: Vec<Test>| {
        let mut run = RunResult::new("r".to_owned(), Vec::new(), Timestamp::default());
        run.tests = tests;
        let page = crate::report::render(&run);
        let legend =
            page.split("class=\"legend\"").nth(1).map_or("", |rest| rest.split("</ul>").next().unwrap()).to_owned();
        legend.split("<span>").skip(1).map(|rest| rest.split("</span>").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sizes = [512, 1024, 2048];
    let of = |parallel| sizes.map(|bytes| point(bytes, parallel));
    assert_eq!(lines(of(1).into()), [""; 0], "a single line needs no name");
    assert_eq!(lines([of(1), of(8)].concat()), ["parallel 1", "parallel 8"]);
    let mut twice = [of(1), of(1)].concat();
    twice.iter_mut().enumerate().for_each(|(n, test)| test.id = format!("p-{n}"));
    assert_eq!(lines(twice), ["test p-0", "test p-1", "test p-2", "test p-3", "test p-4", "test p-5"]);
}
