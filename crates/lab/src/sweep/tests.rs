//! Tests of sweeps with made-up figures.

use super::*;
use crate::view::View;

use crate::report;
use linerate_load::fcoe::Wire;
use linerate_result::{PortUsed, Repeat, Role, Unit};
use std::time::Duration;

/// Makes up figures by rule, and records the points that it was asked for.
#[derive(Default)]
struct Made {
    asked: Vec<String>,
    /// Number of points after which a stop is requested.
    until: Option<usize>,
    /// Point that cannot be measured; the next field is a point that moves wrong data.
    fails: Option<String>,
    wrong: Option<String>,
    /// Values of a point's repeats in place of its own, and whether they count.
    values: Option<(String, Vec<(Number, bool)>)>,
}

impl Made {
    fn measure(&mut self, point: &Point, stop: &Stop) -> Result<Vec<Test>, String> {
        let id = point.id.clone();
        self.asked.push(id.clone());
        if self.until == Some(self.asked.len()) {
            stop.ask(2);
            return Err("stopped".into());
        }
        if self.fails.as_ref() == Some(&id) {
            return Err("no such port; give another".into());
        }
        let iops = 1_000_000.0;
        let value = (iops * f64::from(io_bytes(point))).into();
        let wrong = self.wrong.as_ref() == Some(&id);
        let further = [("iops", iops, Unit::Iops), ("cpu", 50.0, Unit::PerCent)];
        let mut test = Test {
            workload: linerate_load::fcoe::WORKLOAD.name.to_owned(),
            repeats: vec![Repeat { value, seconds: 1.0.into(), valid: true, ..Repeat::default() }],
            failures: wrong.then(|| "1 requests failed".to_owned()).into_iter().collect(),
            further: further.map(|(name, value, unit)| (name.to_owned(), Summary::once(value, unit))).into(),
            ..Test::default()
        };
        if let Some((_, values)) = self.values.as_ref().filter(|(of, _)| *of == id) {
            let repeat = |&(value, valid): &_| Repeat { value, valid, ..Repeat::default() };
            test.repeats = values.iter().map(repeat).collect();
        }
        test.summarize(Unit::BytesPerSecond);
        Ok(vec![test])
    }
}

fn io_bytes(point: &Point) -> u32 {
    point.parameters["io_bytes"].count().unwrap().try_into().unwrap()
}

fn word<'a>(point: &'a Point, name: &str) -> &'a str {
    point.parameters[name].text().unwrap()
}

/// The preset, each point measured once.
fn t5_fcoe(form: Form) -> Plan {
    let mut plan = PRESETS.iter().find(|preset| preset.name == "t5-fcoe").unwrap().plan(form, Via::Kernel, None);
    plan.repeats = Repeats::new(1, 1, None).unwrap();
    plan
}

fn go(made: &mut Made, directory: &Path, resume: bool) -> Result<RunResult, SweepError> {
    go_over(&t5_fcoe(Form::Quick), made, directory, resume)
}

fn go_over(plan: &Plan, made: &mut Made, directory: &Path, resume: bool) -> Result<RunResult, SweepError> {
    let stop = Stop::new().unwrap();
    let mut measure = |point: &Point, stop: &Stop| made.measure(point, stop);
    sweep(plan, &mut measure, directory, resume, vec!["sweep".into()], &stop, |_| {})
}

#[test]
fn each_preset_asks_what_its_workloads_have_under_names_of_its_own() {
    for preset in PRESETS {
        let [quick, full] = [Form::Quick, Form::Full].map(|form| preset.plan(form, Via::Stack, None).points);
        assert!(!quick.is_empty() && quick.len() <= full.len(), "{}", preset.name);
        for points in [&quick, &full] {
            let ids: std::collections::BTreeSet<_> = points.iter().map(|point| &point.id).collect();
            assert_eq!(ids.len(), points.len(), "{}", preset.name);
            for point in points {
                let rows = (point.workload.parameters)();
                let unknown = point.parameters.keys().find(|name| rows.iter().all(|row| row.name != **name));
                assert_eq!(unknown, None, "{}: {}", preset.name, point.id);
            }
        }
        let of = |points: &[Point], id: &str| points.iter().any(|point| point.id == id);
        assert!(quick.iter().all(|point| of(&full, &point.id)), "{}: quick points are some of all", preset.name);
    }
}

#[test]
fn the_full_plan_has_every_published_row_at_each_wire() {
    let plan = t5_fcoe(Form::Full);
    assert_eq!(plan.points.len(), 63);
    let rows = crate::published::fcoe::t5_fcoe().unwrap();
    for (wire, of) in Wire::ALL.iter().zip(plan.points.chunks(21)) {
        for (point, row) in of.iter().zip(&rows) {
            let asked = (word(point, "wire"), io_bytes(point), word(point, "op"));
            assert_eq!(asked, (wire.word(), row.io_bytes, row.mix.word()));
            let counts = ["queue_depth", "initiators", "luns", "mtu", "time_ms"];
            let counts = counts.map(|name| point.parameters[name].count().unwrap());
            assert_eq!(counts, [16, 4, 48, 2180, 3000]);
        }
    }
    let quick = t5_fcoe(Form::Quick);
    let ids: std::collections::BTreeSet<_> = quick.points.iter().map(|point| point.id.clone()).collect();
    assert_eq!((quick.points.len(), ids.len()), (27, 27));
}

#[test]
fn a_point_in_which_nothing_moved_or_that_was_not_measured_fails() {
    let id = t5_fcoe(Form::Quick).points[3].id.clone();
    let known = |value: f64| Number::new(value);
    for (values, why) in [
        (vec![(known(0.0), true)], "nothing moved in 1 of 1 repeats"),
        (vec![(known(5.0), true), (known(0.0), true), (known(5.0), true)], "nothing moved in 1 of 3 repeats"),
        (vec![(known(5.0), true), (Number::UNKNOWN, true)], "1 of 2 repeats were not measured"),
        (vec![(Number::UNKNOWN, true)], "not measured: 0 of 1 repeats count"),
        (vec![(known(5.0), false), (known(6.0), false)], "not measured: 0 of 6 repeats count"),
        (vec![], "not measured: 0 of 0 repeats count"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut made = Made { values: Some((id.clone(), values)), ..Made::default() };
        let run = go(&mut made, dir.path(), false).unwrap();
        assert_eq!((run.outcome, run.exit_code()), (Outcome::Failed, 1), "{why}");
        assert_eq!(run.reasons, [format!("{id}: {why}")]);
        let page = report::render(&run);
        assert!(page.contains("verdict failed") && page.contains("A test failed."), "no green page");
        for view in [crate::text::render(&run, false, usize::MAX), page] {
            assert!(view.contains(why) && !view.contains("gate held"), "{view}");
        }
    }
}

#[test]
fn some_points_of_a_plan_are_measured_and_their_sweep_is_another() {
    let mut plan = t5_fcoe(Form::Quick);
    let ids = [2, 0].map(|at| plan.points[at].id.clone());
    let wrong = plan.clone().keep_only(&["fcoe-unlimited-read-51".to_owned()]).unwrap_err();
    assert_eq!(wrong, "fcoe-unlimited-read-51: no point of t5-fcoe; did you mean fcoe-unlimited-read-512?");
    assert!(plan.clone().keep_only(&["x".to_owned()]).unwrap_err().ends_with("--dry-run lists them"));
    plan.keep_only(&ids).unwrap();
    let (dir, mut made) = (tempfile::tempdir().unwrap(), Made::default());
    let run = go_over(&plan, &mut made, dir.path(), false).unwrap();
    assert_eq!((made.asked, run.outcome), (vec![ids[1].clone(), ids[0].clone()], Outcome::Pass));
    assert!(matches!(go(&mut Made::default(), dir.path(), true), Err(SweepError::Other { .. })));
}

/// A measurement that others were in the way of is made again, as often as the plan has repeats, and once more.
#[test]
fn what_does_not_count_is_made_again() {
    let mut plan = t5_fcoe(Form::Quick);
    plan.points.truncate(2);
    plan.repeats = Repeats::default();
    let busy = |valid: &dyn Fn(usize) -> bool, value: &dyn Fn(usize) -> f64| {
        let (dir, stop) = (tempfile::tempdir().unwrap(), Stop::new().unwrap());
        let (mut made, mut told) = (Made::default(), Vec::new());
        let mut measure = |point: &Point, stop: &Stop| {
            let mut test = made.measure(point, stop)?.remove(0);
            let at = made.asked.iter().filter(|id| **id == point.id).count() - 1;
            test.repeats[0].value = value(at).into();
            if !valid(at) && point.id == plan.points[1].id {
                (test.repeats[0].valid, test.repeats[0].why_invalid) = (false, Some("other programs".to_owned()));
            }
            test.summarize(Unit::BytesPerSecond);
            Ok(vec![test])
        };
        let run = sweep(&plan, &mut measure, dir.path(), false, Vec::new(), &stop, |step| told.push((step.n, step.of)));
        let run = run.unwrap();
        let counted = run.tests[1].value.as_ref().and_then(|value| value.counted);
        assert_eq!(run.tests[0].repeats.len(), 3);
        (counted, run.tests[1].repeats.len(), run.outcome, run.reasons, told.last().copied().unwrap())
    };
    let same: &dyn Fn(usize) -> f64 = &|_| 5.0;
    assert_eq!(busy(&|_| true, same), (Some(3), 3, Outcome::Pass, vec![], (6, 6)));
    assert_eq!(busy(&|at| at > 1, same), (Some(3), 5, Outcome::Pass, vec![], (8, 8)));
    let id = plan.points[1].id.clone();
    let why = format!("{id}: 2 of 7 repeats count: other programs");
    assert_eq!(busy(&|at| at > 4, same), (Some(2), 7, Outcome::Partial, vec![why], (10, 10)));
    let (counted, made, outcome, reasons, _) = busy(&|_| false, same);
    assert_eq!((counted, made, outcome), (None, 7, Outcome::Partial));
    assert_eq!(reasons, [format!("{id}: 0 of 7 repeats count: other programs")]);
    // A median of figures that have little in common is no pass.
    let (_, _, outcome, reasons, _) = busy(&|_| true, &|at| [1e6, 2e6, 3e6][at]);
    let apart = "its 3 of 3 repeats lie between 1.000 MB/s and 3.000 MB/s";
    assert_eq!((outcome, reasons.len()), (Outcome::Partial, 2), "{reasons:?}");
    assert!(reasons.iter().all(|reason| reason.ends_with(apart)), "{reasons:?}");
}

#[test]
fn a_sweep_that_was_stopped_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Made { until: Some(6), ..Made::default() };
    let run = go(&mut first, dir.path(), false).unwrap();
    assert_eq!((run.tests.len(), run.exit_code()), (5, 130));
    assert!(matches!(go(&mut Made::default(), dir.path(), false), Err(SweepError::Exists(_))));
    // The end of the program cut a line short.
    let path = dir.path().join(POINTS);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"id\": \"fcoe-")).unwrap();
    let mut second = Made::default();
    let whole = go(&mut second, dir.path(), true).unwrap();
    assert_eq!((second.asked.len(), whole.tests.len(), whole.outcome), (22, 27, Outcome::Pass));
    assert_eq!((whole.run_id.clone(), whole.start), (run.run_id, run.start), "it is the same sweep");
    let ids: Vec<_> = whole.tests.iter().map(|test| test.id.clone()).collect();
    assert_eq!(ids, t5_fcoe(Form::Quick).points.iter().map(|point| point.id.clone()).collect::<Vec<_>>());
    let mut third = Made::default();
    assert_eq!(go(&mut third, dir.path(), true).unwrap().tests, whole.tests);
    assert!(third.asked.is_empty());
}

#[test]
fn there_is_nothing_to_resume_in_a_folder_that_is_not_there_or_has_no_sweep() {
    let dir = tempfile::tempdir().unwrap();
    for folder in [dir.path().join("missing"), dir.path().to_owned()] {
        let mut made = Made::default();
        let error = go(&mut made, &folder, true).unwrap_err();
        assert!(matches!(error, SweepError::Nothing(_)) && !error.to_string().contains('\n'), "{error}");
        assert!(made.asked.is_empty());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn another_sweeps_file_is_left_alone() {
    for text in ["{}\n", "nonsense\n", "{\"schema\":\"linerate.sweep\",\"version\":2}\n"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(POINTS), text).unwrap();
        let error = go(&mut Made::default(), dir.path(), true).unwrap_err();
        assert!(matches!(error, SweepError::Other { .. }) && !error.to_string().contains('\n'), "{error}");
        assert_eq!(std::fs::read_to_string(dir.path().join(POINTS)).unwrap(), text);
    }
    let dir = tempfile::tempdir().unwrap();
    go(&mut Made::default(), dir.path(), false).unwrap();
    let error = go_over(&t5_fcoe(Form::Full), &mut Made::default(), dir.path(), true).unwrap_err();
    assert!(error.to_string().contains("t5-fcoe quick"), "{error}");
}

#[test]
fn what_could_not_be_measured_is_partial_and_what_went_wrong_failed() {
    let dir = tempfile::tempdir().unwrap();
    let point = "fcoe-40G-write-4096".to_owned();
    let run = go(&mut Made { fails: Some(point.clone()), ..Made::default() }, dir.path(), false).unwrap();
    assert_eq!((run.outcome, run.tests.len()), (Outcome::Partial, 27));
    assert!(run.tests.iter().any(|t| t.id == point && t.skipped.as_deref() == Some("no such port; give another")));
    let mut again = Made::default();
    assert_eq!(go(&mut again, dir.path(), true).unwrap().outcome, Outcome::Pass);
    assert_eq!(again.asked.join(" "), point);
    let dir = tempfile::tempdir().unwrap();
    let run = go(&mut Made { wrong: Some(point.clone()), ..Made::default() }, dir.path(), false).unwrap();
    assert_eq!((run.outcome, run.reasons), (Outcome::Failed, vec![format!("{point}: 1 requests failed")]));
}

#[test]
fn the_table_and_the_charts_have_ours_beside_theirs() {
    let dir = tempfile::tempdir().unwrap();
    let run = go(&mut Made::default(), dir.path(), false).unwrap();
    let view = View::of(&run);
    let table = view.table(&view.groups[0]);
    assert_eq!((view.groups.len(), table.rows.len()), (1, 27));
    let row: Vec<_> = table
        .columns
        .iter()
        .zip(&table.rows[0])
        .map(|(column, cell)| format!("{}: {}", column.title, cell.text))
        .collect();
    assert_eq!(
        row,
        [
            "I/O: 512 B",
            "Op: read",
            "Wire: unlimited",
            "Throughput: 0.512 GB/s",
            "Published, Throughput: 1.049 GB/s",
            "Ratio, Throughput: ×0.488",
            "IOPS: 1.000 MIOPS",
            "Published, IOPS: 2.051 MIOPS",
            "Ratio, IOPS: ×0.488",
            "CPU, less is better: 50.0 %",
            "Published, CPU: 91.0 %",
            "Ratio, CPU: ×0.549",
            "Repeats: 1 of 1",
        ]
    );
    let comparison = &run.comparisons[0];
    assert_eq!((comparison.test.as_str(), comparison.value), ("fcoe-unlimited-read-512", Number::new(1.049e9)));
    assert_eq!(run.comparisons.len(), 3 * 27);
    // More lines than colours are charts of their own: one for each operation and metric.
    let html = report::render(&run);
    for part in
        ["<h3>fcoe, Throughput, op read</h3>", "<h3>fcoe, CPU, op readwrite</h3>", "<span>wire 10G, published</span>"]
    {
        assert!(html.contains(part), "{part}");
    }
}

/// One direction of a link of 40 Gb/s carries 5 GB/s; the mix is of both directions.
#[test]
fn the_published_32_kib_figures_stand_beside_ours() {
    let dir = tempfile::tempdir().unwrap();
    let run = go(&mut Made::default(), dir.path(), false).unwrap();
    let (text, html) = (crate::text::render(&run, false, usize::MAX), report::render(&run));
    for (op, figure) in [("read", "4.713 GB/s"), ("write", "4.755 GB/s"), ("readwrite", "9.423 GB/s")] {
        let is =
            |line: &&str| line.contains("unlimited") && line.contains("32768 B") && line.contains(&format!("  {op}  "));
        let row = text.lines().find(is).unwrap_or_else(|| panic!("{op}: {text}"));
        assert!(row.contains(figure), "{row}");
        let cell = format!(
            "<td role=\"cell\" data-label=\"Published, Throughput\" class=\"number quiet\"><span class=\"cell\">{figure}<"
        );
        assert!(html.contains(&cell), "{op}");
    }
    assert!(html.contains("Published: ") && html.contains("T580-CR"), "no source");
}

#[test]
fn the_first_words_are_how_far_it_is_and_how_much_of_it_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let run = go(&mut Made { until: Some(13), ..Made::default() }, dir.path(), false).unwrap();
    let (text, html) = (crate::text::render(&run, false, usize::MAX), report::render(&run));
    let about = "throughput of fcoe; 12 of 27 points, each measured once; ×0.488 to ×6.95 of what was published";
    assert!(text.lines().next().unwrap().ends_with(&format!("  0.512 to 32.768 GB/s {about}")), "{text}");
    assert!(html.contains("<h1>0.512 to 32.768 GB/s</h1>") && html.contains(&format!("<p class=\"lead\">{about}</p>")));
    let least = "fcoe: 0.512 GB/s (I/O 512 B, op read, wire unlimited) to 32.768 GB/s (I/O 32768 B, op ";
    assert!(html.contains(least) && html.contains("; ×0.488 to ×6.95 of what was published<br>"), "{html}");
    let dir = tempfile::tempdir().unwrap();
    let none = go(&mut Made { until: Some(1), ..Made::default() }, dir.path(), false).unwrap();
    assert!(report::render(&none).contains("<h1>Nothing was measured</h1>"));
}

#[test]
fn briefly_it_goes_over_some_points_and_keeps_no_file() {
    let (stop, time) = (Stop::new().unwrap(), Duration::from_millis(7));
    let plan = Plan { points: fcoe(Form::Quick, Wire::Unlimited, time), ..t5_fcoe(Form::Quick) };
    let brief = |p: &Point| p.parameters["time_ms"].count() == Some(7) && word(p, "wire") == "unlimited";
    assert!(plan.points.len() == 9 && plan.points.iter().all(brief));
    let [fails, wrong] = ["fcoe-unlimited-read-512", "fcoe-unlimited-write-4096"].map(str::to_owned);
    let mut made = Made { fails: Some(fails), wrong: Some(wrong.clone()), until: Some(9), ..Made::default() };
    let mut told = Vec::new();
    let mut tell = |step: &Step| told.push(step.clone());
    let mut measure = |point: &Point, stop: &Stop| made.measure(point, stop);
    let tests = briefly(&plan, &mut measure, &stop, &mut Steps::new(vec![1.0; 9], &mut tell));
    assert_eq!((tests.len(), told.len()), (8, 9), "the ninth was interrupted");
    assert_eq!(tests[0].skipped.as_deref(), Some("no such port; give another"));
    let failed: Vec<_> =
        tests.iter().filter(|test| !test.failures.is_empty()).map(|test| (&test.id, &test.failures[..])).collect();
    assert_eq!(failed, [(&wrong, &["1 requests failed".to_owned()][..])]);
    assert_eq!((told[1].n, told[1].what.as_str()), (2, "fcoe: WRITE of 512 bytes, unlimited wire"));
}

fn streams(name: &str, form: Form, via: Via) -> Plan {
    PRESETS.iter().find(|preset| preset.name == name).unwrap().plan(form, via, None)
}

#[test]
fn the_plans_of_streams_are_those_that_were_published() {
    let plan = streams("emulex-netperf", Form::Full, Via::Kernel);
    assert_eq!(plan.points.len(), 111);
    let count = |point: &Point, name: &str| point.parameters.get(name).and_then(linerate_result::Parameter::count);
    for (mtu, points) in [576, 1500, 9000].into_iter().zip(plan.points.chunks(37)) {
        assert!(points.iter().all(|point| count(point, "mtu") == Some(mtu) && count(point, "seconds") == Some(60)));
        let of = |name: &str| points.iter().filter(|point| point.workload.name == name).collect::<Vec<_>>();
        assert_eq!(["TCP_STREAM", "TCP_SENDFILE", "UDP_STREAM"].map(|name| of(name).len()), [13, 13, 11]);
        assert!(of("UDP_STREAM").iter().all(|point| count(point, "window") == Some(131_072)));
    }
    let plan = streams("t5-nic", Form::Full, Via::Kernel);
    let asked: Vec<_> =
        plan.points.iter().map(|point| (point.workload.name, count(point, "io_bytes").unwrap())).collect();
    assert_eq!((asked.len(), asked[0], asked[26]), (27, ("TCP_STREAM", 1024), ("TCP_BIDIR", 262_144)));
    let common = ["parallel", "window", "mtu", "seconds"];
    let is_right = |point: &Point| common.map(|name| count(point, name)) == [8, 512_000, 1500, 30].map(Some);
    assert!(plan.points.iter().all(is_right));
    // Quick ones are as many, a second each, and our stack has queues of one size.
    let quick = streams("emulex-netperf", Form::Quick, Via::Stack);
    assert!(quick.points.iter().all(|point| count(point, "seconds") == Some(1) && word(point, "via") == "stack"));
    assert_eq!(quick.points.iter().filter(|point| point.parameters.contains_key("window")).count(), 0);
}

/// 64-byte frames are compared by the number of ports that sent.
#[test]
fn the_published_pkt_gen_figures_are_beside_one_port_and_two() {
    let (dir, stop) = (tempfile::tempdir().unwrap(), Stop::new().unwrap());
    let plan = streams("t5-netmap", Form::Full, Via::Kernel);
    let asked: Vec<String> =
        plan.points.iter().map(|point| point.workload.describe(&point.parameters).unwrap()).collect();
    let one = "pkt-gen --seconds 10 --to cable:t5a}1,queues=4 -f tx -i cable:t5a{1,queues=4 -l 60 -p 1 -w 2";
    assert_eq!(asked, [one.to_owned(), format!("{one} and {}", one.replace("t5a", "t5b"))]);
    let mut sent = |point: &Point, _: &Stop| {
        let ports = if point.parameters.contains_key("second") { 2 } else { 1 };
        let port = |role| PortUsed { role, ..PortUsed::default() };
        let mut test = Test {
            workload: point.workload.name.to_owned(),
            wire_bytes: Some(64),
            ports: (0..ports).flat_map(|_| [port(Role::Tx), port(Role::Rx)]).collect(),
            repeats: vec![Repeat { value: 60e6.into(), valid: true, ..Repeat::default() }],
            ..Test::default()
        };
        test.summarize(Unit::Pps);
        Ok(vec![test])
    };
    let run = sweep(&plan, &mut sent, dir.path(), false, vec!["sweep".into()], &stop, |_| {}).unwrap();
    let figures: Vec<_> = run.comparisons.iter().map(|c| (c.test.as_str(), c.value.known().unwrap())).collect();
    assert_eq!(figures, [("netmap-tx-64-1p", 44_566_673.0), ("netmap-tx-64-2p", 53_596_764.0)]);
    assert!(report::render(&run).contains("T5 netmap, dual port"));
}

/// Makes up streams: goodput grows with I/O and MTU.
fn made_up(point: &Point, _: &Stop) -> Result<Vec<Test>, String> {
    let count = |name: &str| f64::from(u32::try_from(point.parameters[name].count().unwrap()).unwrap());
    let bits = (1e9 + 1e5 * count("io_bytes")) * count("mtu").sqrt() / 10.0;
    let mut test = Test {
        workload: point.workload.name.to_owned(),
        repeats: vec![Repeat { value: bits.into(), seconds: 1.0.into(), valid: true, ..Repeat::default() }],
        ..Test::default()
    };
    for (name, unit) in point.workload.reports.iter().skip(1) {
        test.further
            .insert((*name).to_owned(), Summary::once(if *unit == Unit::PerCent { 50.0 } else { bits }, unit.clone()));
    }
    test.summarize(Unit::BitsPerSecond);
    Ok(vec![test])
}

#[test]
fn a_sweep_of_streams_has_its_page() {
    let (dir, stop) = (tempfile::tempdir().unwrap(), Stop::new().unwrap());
    let plan = streams("emulex-netperf", Form::Quick, Via::Kernel);
    let run = sweep(&plan, &mut made_up, dir.path(), false, vec!["sweep".into()], &stop, |_| {}).unwrap();
    assert_eq!((run.outcome, run.comparisons.len()), (Outcome::Pass, 0));
    let page = report::render(&run);
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    for (text, times) in [
        ("<h3>TCP_STREAM, Throughput</h3>", 1),
        ("<h3>TCP_SENDFILE, CPU</h3>", 1),
        ("<h3>UDP_STREAM, Lost</h3>", 1),
        ("<h3>TCP_MAERTS", 0),
    ] {
        assert_eq!(page.matches(text).count(), times, "{text}");
    }
    // Both charts of each test have the sizes below them, on wide pages and on narrow ones.
    for (size, pages) in [("64", 2), ("128", 1), ("4K", 2), ("256K", 2)] {
        let labels = page.matches(&format!(">{size}</text>")).count();
        assert!(labels >= 2 * 2 * pages, "{size}: {labels}");
    }
    // A row of the table for each point, and none of them once more in the table of results.
    assert!(!page.contains("id=\"results\""));
    let text = crate::text::render(&run, false, usize::MAX);
    assert_eq!(text.lines().filter(|line| line.trim_end().ends_with("  3 of 3")).count(), 111, "{text}");
    // Another kind of sockets is another sweep.
    let other = streams("emulex-netperf", Form::Quick, Via::Stack);
    let error = sweep(&other, &mut made_up, dir.path(), true, vec![], &stop, |_| {}).unwrap_err().to_string();
    assert!(error.contains("emulex-netperf quick --via kernel"), "{error}");
}

#[test]
fn the_published_iperf_figure_is_beside_what_it_was_measured_for() {
    let (dir, stop) = (tempfile::tempdir().unwrap(), Stop::new().unwrap());
    let plan = streams("t5-nic", Form::Quick, Via::Stack);
    let run = sweep(&plan, &mut made_up, dir.path(), false, vec!["sweep".into()], &stop, |_| {}).unwrap();
    // One direction, from 2K on: 8 sizes, two directions.
    assert_eq!(run.comparisons.len(), 16);
    let headline = crate::facts::headline(&View::of(&run)).line;
    let told = [" Gb/s throughput of TCP_STREAM; 27 of 27 points", " of what was published"];
    assert!(told.iter().all(|told| headline.contains(told)), "{headline}");
    let page = report::render(&run);
    assert!(page.contains("<span>published</span>") && page.contains("37.000 Gb/s"), "no published figure");
}
