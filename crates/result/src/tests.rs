//! The document as a whole: round trips through JSON, and the documents that are refused.

use std::collections::BTreeMap;

use super::*;

fn counters() -> Counters {
    let mut all = Counters::from_iter([("check.lost", u64::MAX)]);
    all.add(Some("cable:a{1"), "tx0.batches", 7);
    all
}

/// A document with every field set. All figures are made up.
fn full() -> RunResult {
    let mut run = RunResult::new(
        "00c0ffee".to_owned(),
        vec!["linerate".to_owned(), "qualify".to_owned()],
        "2001-02-03T04:05:06.789Z".parse().unwrap(),
    );
    run.elapsed_s = 12.25.into();
    run.outcome = Outcome::Gate;
    run.reasons = vec!["a gate".to_owned()];
    run.environment = Environment {
        linerate: Some("0.0.0".to_owned()),
        build: Some("dist".to_owned()),
        host: Some("testhost".to_owned()),
        kernel: Some("Linux 1.2.3".to_owned()),
        os: Some("An OS".to_owned()),
        cpu: Some("A CPU".to_owned()),
        cores: Some(2),
        memory_bytes: Some(u64::MAX),
        hypervisor: Some("none".to_owned()),
        huge_pages_2m: Some(HugePages { total: 8, free: 7 }),
        interfaces: BTreeMap::from([(
            "eth0".to_owned(),
            Interface {
                driver: Some("d".to_owned()),
                firmware: Some("f".to_owned()),
                mtu: Some(1500),
                speed_mbps: Some(10_000),
                state: Some("up".to_owned()),
                numa_node: Some(0),
                offloads: Some(BTreeMap::from([("tx-checksumming".to_owned(), true)])),
                queues: Some(Queues { tx: 4, rx: 2 }),
            },
        )]),
    };
    let repeat = |value: f64, valid: bool| Repeat {
        value: value.into(),
        seconds: 1.0.into(),
        rtt_ns_before: 80.5.into(),
        rtt_ns_after: Number::UNKNOWN,
        valid,
        why_invalid: (!valid).then(|| "moved".to_owned()),
    };
    let mut test = Test {
        id: "tx-64-1p".to_owned(),
        title: "a title".to_owned(),
        workload: "tx".to_owned(),
        ports: vec![PortUsed {
            name: "cable:a{1".to_owned(),
            role: Role::Tx,
            path: "shared memory".to_owned(),
            mtu: Some(1500),
            queues: Some(Queues { tx: 1, rx: 1 }),
        }],
        frame_bytes: Some(60),
        wire_bytes: Some(64),
        parameters: [("burst", 512_u32.into()), ("sizes", "64".into())]
            .map(|(k, v): (&str, Parameter)| (k.to_owned(), v))
            .into(),
        repeats: vec![repeat(1.0 / 3.0, true), repeat(1e7 / 7.0, true), repeat(f64::NAN, false)],
        stages: vec![
            Stage::new("udp", How::TimeStamps, "headers", &[1.0 / 3.0, -2.5, f64::NAN]),
            Stage::new("udp", How::EarlyReturn, "headers", &[0.5]),
            Stage::missing("route", How::CutPoint, "look-up", "no such hook"),
        ],
        further: BTreeMap::from([("program".to_owned(), Summary::once(1.0, Unit::Ns))]),
        latency: Some(Latency { count: 3, min: 1.0.into(), max: 2.0.into(), ..Latency::default() }),
        ledger: Some(Ledger { offered: Some(u64::MAX), sent: Some(u64::MAX), ..Ledger::default() }),
        counters: counters(),
        cpu: vec![Cpu { thread: "tx".to_owned(), core: Some(1), user_s: 0.5.into(), ..Cpu::default() }],
        samples: vec![Sample { t_s: 0.1.into(), value: 0.3.into() }],
        failures: vec!["f".to_owned()],
        warnings: vec!["w".to_owned()],
        ..Test::default()
    };
    test.summarize(Unit::Pps);
    run.comparisons = vec![
        Comparison::new(Kind::Peer, "tx-64-1p", "n", "s", Unit::Pps, 2.0.into(), 3.0.into())
            .with_rounds(&[(3.0.into(), 2.0.into()), (1.0.into(), 0.0.into()), (3.0.into(), 1.0.into())], 4),
    ];
    run.tests = vec![test, Test { id: "rx".to_owned(), skipped: Some("no port".to_owned()), ..Test::default() }];
    run
}

#[test]
fn a_full_document_comes_back_as_it_was() {
    let run = full();
    let json = run.to_json();
    assert_eq!(RunResult::from_json(&json).unwrap(), run);
    assert!(json.contains("18446744073709551615"), "counters keep all 64 bits");
    assert!(json.starts_with("{\n  \"schema\": \"linerate.result\",\n  \"version\": 2,\n"));
    assert!(!json.contains("NaN") && !json.contains("inf"));
}

/// The same document as version 1 wrote it.
fn version_1(run: &RunResult) -> serde_json::Value {
    let mut old: serde_json::Value = serde_json::from_str(&run.to_json()).unwrap();
    old["version"] = 1.into();
    old["tests"][0]["parameters"] = serde_json::json!({"burst": "512", "sizes": "64-1500"});
    old["tests"][0]["counters"] = serde_json::json!({
        "check.lost": 1, "tx0.batches": 2, "cable:a{1.fault_dropped": 3, "far.rx0.batches": 4, "txn": 5,
    });
    old["tests"][1]["counters"] = serde_json::json!({});
    old
}

#[test]
fn a_document_of_version_1_is_read() {
    let mut run = full();
    run.tests[0].ports.push(PortUsed { name: "cable:a}1".to_owned(), ..PortUsed::default() });
    let read = RunResult::from_json(&version_1(&run).to_string()).unwrap();
    let parameters = &read.tests[0].parameters;
    assert_eq!((parameters["burst"].count(), parameters["sizes"].text()), (Some(512), Some("64-1500")));
    let list: Vec<_> = read.tests[0].counters.iter().collect();
    assert_eq!(
        list,
        [
            (None, "check.lost", 1),
            (None, "txn", 5),
            (Some("cable:a{1"), "fault_dropped", 3),
            (Some("cable:a{1"), "tx0.batches", 2),
            (Some("cable:a}1"), "rx0.batches", 4),
        ]
    );
    // All other fields are unchanged.
    run.tests[0].parameters.clone_from(parameters);
    run.tests[0].counters.clone_from(&read.tests[0].counters);
    run.tests[1].counters = Counters::default();
    assert_eq!(read, run);
    // Written out again, it is a document of the present version.
    assert_eq!(RunResult::from_json(&read.to_json()).unwrap(), read);
}

#[test]
fn failures_stood_among_the_warnings_of_older_documents() {
    let mut old = version_1(&full());
    let test = old["tests"][0].as_object_mut().unwrap();
    test.remove("failures");
    test.insert("warnings".to_owned(), serde_json::json!(["w", "failed: f"]));
    let read = RunResult::from_json(&old.to_string()).unwrap();
    assert_eq!(
        (&read.tests[0].failures[..], &read.tests[0].warnings[..]),
        (&["f".to_owned()][..], &["w".to_owned()][..])
    );
    // Points of a sweep only counted their failures.
    let point = Test::all_from_json(r#"{"id": "p", "counters": {"errors": 2}}"#).unwrap().remove(0);
    assert_eq!((&point.failures[..], point.counters.total("errors")), (&["2 requests failed".to_owned()][..], Some(2)));
    assert_eq!(Test::all_from_json(r#"{"id": "p", "counters": {"errors": 0}}"#).unwrap()[0].failures, [""; 0]);
    // A document of the present version is not converted again.
    let now = Test { warnings: vec!["failed: to warn".to_owned()], ..Test::default() };
    assert_eq!(Test::all_from_json(&serde_json::to_string(&now).unwrap()).unwrap(), std::slice::from_ref(&now));
    let two = [now.clone(), Test { id: "q".to_owned(), ..now }];
    assert_eq!(Test::all_from_json(&serde_json::to_string(&two).unwrap()).unwrap(), two, "of one time");
}

#[test]
fn whatever_stands_in_an_older_document_is_no_panic() {
    for odd in ["null", "1", "[1]", "{}", "[[]]", r#"{"errors": "x"}"#, r#"{"errors": 2}"#] {
        for field in ["ports", "counters", "parameters", "warnings", "failures"] {
            let text = format!(r#"{{"counters": {{}}, "{field}": {odd}}}"#);
            let _ = Test::all_from_json(&text);
            let _ = RunResult::from_json(&format!(
                r#"{{"schema": "linerate.result", "version": 1, "tests": [{text}, {odd}]}}"#
            ));
        }
    }
}

#[test]
fn an_empty_document_comes_back_as_it_was() {
    let run = RunResult::new(String::new(), Vec::new(), Timestamp::default());
    assert_eq!(RunResult::from_json(&run.to_json()).unwrap(), run);
}

#[test]
fn every_finite_number_comes_back_to_the_bit() {
    let mut run = full();
    for bits in (0..=u64::MAX).step_by(0x0003_1415_9265_3589) {
        run.elapsed_s = f64::from_bits(bits).into();
        let value = serde_json::to_string(&run.elapsed_s).unwrap();
        assert_eq!(serde_json::from_str::<Number>(&value).unwrap(), run.elapsed_s, "{value}");
    }
}

#[test]
fn ratios_and_their_spread_are_computed() {
    let comparison = full().comparisons.remove(0);
    assert_eq!(comparison.ratio, Number::new(2.25));
    assert_eq!(comparison.ratio_least, Number::new(1.5));
    assert_eq!(comparison.ratio_greatest, Number::new(3.0));
}

#[test]
fn exit_codes_follow_the_outcome_and_the_signal() {
    let mut run = full();
    for (outcome, code) in [(Outcome::Pass, 0), (Outcome::Failed, 1), (Outcome::Gate, 3), (Outcome::Partial, 4)] {
        run.outcome = outcome;
        assert_eq!(run.exit_code(), code);
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.word());
    }
    run.signal = Some(2);
    assert_eq!(run.exit_code(), 130);
}

#[test]
fn another_version_or_schema_is_refused_in_one_line_that_names_both() {
    let json = full().to_json();
    let newer = json.replacen("\"version\": 2", "\"version\": 3", 1);
    let error = RunResult::from_json(&newer).unwrap_err().to_string();
    assert!(
        error.contains("linerate.result version 3") && error.contains("linerate.result versions 1 to 2"),
        "{error}"
    );
    for schema in ["\"other\"", "\"a\\nb\"", "[1]", "null"] {
        let other = json.replacen("\"linerate.result\"", schema, 1);
        let error = RunResult::from_json(&other).unwrap_err();
        assert!(matches!(error, LoadError::Schema { .. }), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn serde_alone_refuses_another_version_too() {
    let newer = full().to_json().replacen("\"version\": 2", "\"version\": 3", 1);
    assert!(serde_json::from_str::<RunResult>(&newer).is_err());
}

#[test]
fn damaged_documents_are_refused() {
    let json = full().to_json();
    for cut in (0..json.trim_end().len()).step_by(97) {
        assert!(RunResult::from_json(&json[..cut]).is_err());
    }
    assert!(RunResult::from_json(&json.replace("\"unit\": \"ns\"", "\"unit\": \"ms\"")).is_err());
    assert!(
        RunResult::from_json(&json.replacen("\"pass\"", "\"splendid\"", 1).replacen("\"gate\"", "\"splendid\"", 1))
            .is_err()
    );
    assert!(RunResult::from_json(&json.replacen("2001-02-03T", "2001-02-30T", 1)).is_err());
}

#[test]
fn documents_from_before_there_were_stages_are_read() {
    let mut run = full();
    let mut document: serde_json::Value = serde_json::from_str(&run.to_json()).unwrap();
    for test in document["tests"].as_array_mut().unwrap() {
        let test = test.as_object_mut().unwrap();
        assert!(test.remove("stages").is_some() && test.remove("further").is_some());
    }
    run.tests.iter_mut().for_each(|test| (test.stages, test.further) = Default::default());
    assert_eq!(RunResult::from_json(&document.to_string()).unwrap(), run);
}

#[test]
fn fields_of_a_later_writer_are_passed_over() {
    let json = full().to_json().replacen("\"run_id\"", "\"from_the_future\": {\"a\": [1]},\n  \"run_id\"", 1);
    assert_eq!(RunResult::from_json(&json).unwrap(), full());
}

fn measured(rate: f64, role: Role) -> Test {
    let mut test = Test {
        ports: vec![PortUsed { role, ..PortUsed::default() }],
        repeats: vec![Repeat { value: rate.into(), valid: true, ..Repeat::default() }],
        samples: vec![Sample { t_s: 1.0.into(), value: rate.into() }, Sample { t_s: 2.0.into(), value: rate.into() }],
        ledger: Some(Ledger { sent: Some(10), received: Some(9), ..Ledger::default() }),
        cpu: vec![Cpu { thread: "tx".to_owned(), ..Cpu::default() }],
        warnings: vec!["noisy".to_owned()],
        ..Test::default()
    };
    test.counters.add(None, "frames", 10);
    test
}

/// What was measured afterwards lies behind, what was measured beside it adds up.
#[test]
fn measurements_are_joined_in_time_and_side_by_side() {
    let (mut later, mut both) = (measured(3.0, Role::Tx), measured(3.0, Role::Tx));
    later.append(measured(5.0, Role::Tx));
    both.beside(measured(5.0, Role::Tx));
    let values = |test: &Test| test.repeats.iter().map(|repeat| repeat.value).collect::<Vec<_>>();
    assert_eq!((values(&later), values(&both)), (vec![3.0.into(), 5.0.into()], vec![8.0.into()]));
    let samples = |test: &Test| {
        test.samples.iter().map(|at| (at.t_s.known().unwrap(), at.value.known().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(samples(&later), [(1.0, 3.0), (2.0, 3.0), (3.0, 5.0), (4.0, 5.0)]);
    assert_eq!(samples(&both), [(1.0, 8.0), (2.0, 8.0)]);
    assert_eq!((later.senders(), both.senders()), (1, 2));
    for test in [&later, &both] {
        let ledger = test.ledger.as_ref().unwrap();
        assert_eq!((ledger.sent, ledger.received, test.cpu.len()), (Some(20), Some(18), 2));
        assert_eq!((test.counters.get(None, "frames"), test.warnings.len()), (Some(20), 1));
    }
    let mut unsure = measured(3.0, Role::Tx);
    let mut other = measured(5.0, Role::Rx);
    (other.repeats[0].valid, other.repeats[0].value) = (false, Number::UNKNOWN);
    unsure.beside(other);
    assert!(!unsure.repeats[0].valid && unsure.repeats[0].value == Number::UNKNOWN && unsure.senders() == 1);
}
