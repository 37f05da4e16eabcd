use super::*;

#[test]
fn ids_are_unique_and_every_stage_says_what_it_is() {
    let mut keys: Vec<_> = STAGES.iter().map(|row| row.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), STAGES.len());
    assert!(STAGES.iter().all(|row| !row.about.is_empty()));
}

#[test]
fn a_cable_goes_through_the_whole_battery_and_nothing_is_unexplained() {
    let order = Order {
        ports: Some(["cable:lab-test{1".into(), "cable:lab-test}1".into()]),
        time: Duration::from_millis(40),
        repeats: 1,
    };
    let mut told = Vec::new();
    let run = qualify(&order, begin(vec!["test".into()]), &Stop::new().unwrap(), |step| told.push(step.clone()));
    found_nothing(&run);
    let ids: Vec<_> = run.tests.iter().map(|test| test.id.as_str()).collect();
    assert!(ids.contains(&"ports-tx-64-1p") && ids.contains(&"ports-rx-1518-1p"), "{ids:?}");
    for test in &run.tests {
        assert_eq!(test.skipped, None, "{}", test.id);
        if let Some(ledger) = &test.ledger {
            assert_eq!(ledger.settle().frames(), Some(0), "{}: {ledger:?}", test.id);
            // Echoes are other frames than those that were sent.
            assert!(ledger.received.unwrap_or(0) > 0 || test.workload == "latency", "{}: nothing arrived", test.id);
        }
    }
    assert!(run.tests.iter().any(|t| t.workload == "latency" && t.latency.is_some()));
    // Each step has its number and the total, and after the first the last figure and the estimated remaining time.
    assert!(told.len() >= 4 && told.iter().zip(1..).all(|(step, n)| (step.n, step.of) == (n, told.len())), "{told:?}");
    assert!(told[1..].iter().all(|step| step.last.is_some() && step.left.is_some()), "{told:?}");
}

/// Checks that no test failed, and that every test without a value is named, whatever load the machine had.
fn found_nothing(run: &RunResult) {
    assert_ne!(run.outcome, Outcome::Failed, "{:?}", run.reasons);
    let without: Vec<_> = run.tests.iter().filter(|test| test.value.is_none()).map(|test| &test.id).collect();
    assert_eq!(run.reasons.len(), without.len(), "{:?} {without:?}", run.reasons);
    for (reason, id) in run.reasons.iter().zip(without) {
        assert!(reason.starts_with(&format!("{id}: no value, ")), "{reason}");
    }
    assert_eq!(run.outcome == Outcome::Pass, run.reasons.is_empty());
}

/// Runs the battery over a relay that no counter sees; the relay steals the first frame with the number `steals`.
#[cfg(target_os = "linux")]
fn over_a_relay(steals: Option<u64>) -> RunResult {
    use linerate_load::frame::{Layout, Mark};
    use std::os::unix::net::UnixDatagram;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let [near, far] = ["near", "far"].map(|name| Arc::new(UnixDatagram::bind(at(name)).unwrap()));
    let over = Arc::new(AtomicBool::new(false));
    let carry = |from: &Arc<UnixDatagram>, by: &Arc<UnixDatagram>, to: std::path::PathBuf, steals: Option<u64>| {
        from.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let (from, by, over, mut steals) = (from.clone(), by.clone(), over.clone(), steals);
        std::thread::spawn(move || {
            let mut frame = [0; 4096];
            while !over.load(Relaxed) {
                let Ok(n) = from.recv(&mut frame) else { continue };
                let mark = Mark::of(&frame[..n], Layout { vnet: 0, v6: false });
                if steals.is_some() && mark.map(|mark| mark.sequence) == steals {
                    steals = None;
                } else {
                    // Between two tests nobody receives.
                    let _ = by.send_to(&frame[..n], &to);
                }
            }
        })
    };
    let there = carry(&near, &far, at("rx"), steals);
    let back = carry(&far, &near, at("tx"), None);
    let name = |own: &str, peer: &str| format!("unix:{}:{}", at(own).display(), at(peer).display());
    let order =
        Order { ports: Some([name("tx", "near"), name("rx", "far")]), time: Duration::from_millis(20), repeats: 1 };
    let run = qualify(&order, begin(vec!["test".into()]), &Stop::new().unwrap(), |_| ());
    over.store(true, Relaxed);
    there.join().unwrap();
    back.join().unwrap();
    run
}

#[cfg(target_os = "linux")]
#[test]
fn a_frame_taken_away_behind_the_counters_fails_the_run() {
    found_nothing(&over_a_relay(None));
    // The frame with this number: the tests for faults always send more frames than that.
    let run = over_a_relay(Some(40_000));
    assert_eq!((run.outcome, run.exit_code()), (Outcome::Failed, 1), "{:?}", run.reasons);
    assert!(
        run.reasons[0].contains("1 frames are unexplained (0 of those offered, 1 of those sent)"),
        "{:?}",
        run.reasons
    );
}

/// A rate that does not settle is null and named, and the run does not pass.
#[test]
fn a_value_that_did_not_settle_is_none_and_is_named() {
    use linerate_result::Repeat;
    let repeat = |valid| Repeat {
        value: 5.0.into(),
        valid,
        why_invalid: (!valid).then(|| "the cores changed state".to_owned()),
        ..Repeat::default()
    };
    let test = |valid: &[bool]| {
        let mut test =
            Test { id: "tx".into(), repeats: valid.iter().map(|valid| repeat(*valid)).collect(), ..Test::default() };
        measure::summarize(&mut test, 3, linerate_result::Unit::Pps);
        test
    };
    assert!(test(&[true, false, true]).value.is_some());
    assert!(test(&[true, false, false]).value.is_none(), "one of three is too few");
    let mut run = RunResult::new("x".into(), Vec::new(), Timestamp::now());
    run.tests = vec![test(&[true; 3]), test(&[false, false, true, false])];
    conclude(&mut run);
    assert_eq!((run.outcome, run.exit_code()), (Outcome::Partial, 4));
    assert_eq!(run.reasons, ["tx: no value, 1 of 4 repeats count: the cores changed state"]);
    run.tests.truncate(1);
    conclude(&mut run);
    assert_eq!(run.outcome, Outcome::Pass);
}

#[test]
fn what_does_not_count_is_measured_again_but_not_for_ever() {
    let stop = Stop::new().unwrap();
    for (good, made, counted) in [(0, 7, 0), (1, 3, 3), (3, 7, 2)] {
        let mut n = 0;
        let test = measure::repeated(3, measure::Probe::No, &stop, || {
            n += 1;
            let valid = good > 0 && n % good == 0;
            let repeat = linerate_result::Repeat { valid, ..Default::default() };
            Ok(Test { repeats: vec![repeat], ..Test::default() })
        });
        let test = test.unwrap();
        assert_eq!(test.repeats.len(), made);
        assert_eq!(test.repeats.iter().filter(|repeat| repeat.valid).count(), counted);
    }
}

#[test]
fn what_cannot_be_opened_is_skipped_with_the_reason_and_the_run_is_partial() {
    let order = Order { ports: Some(["cable:nobody".into(), "cable:nobody".into()]), ..Order::default() };
    let run = qualify(&order, begin(Vec::new()), &Stop::new().unwrap(), |_| ());
    assert!(run.tests.iter().all(|t| t.skipped.as_deref().is_some_and(|why| why.contains("names no end"))));
    assert_eq!(run.outcome, Outcome::Partial);
}

#[test]
fn storage_is_measured_beside_the_published_table() {
    if cpus().len() < 2 {
        linerate_skip::skip!("one processor only");
        return;
    }
    let (stop, mut told) = (Stop::new().unwrap(), 0);
    let order = Order { time: Duration::from_millis(20), ..Order::default() };
    let mut tell = |step: &Step| {
        let what = &step.what;
        assert!(what.starts_with("fcoe: ") && what.ends_with(" of 512 bytes, unlimited wire"), "{what}");
        told += 1;
        if told == 3 {
            stop.ask(2);
        }
    };
    let tests = storage(&sweep_plan(&order), &stop, &mut Steps::new(vec![1.0; 9], &mut tell));
    let ids: Vec<_> = tests.iter().map(|test| test.id.as_str()).collect();
    assert_eq!(ids, ["fcoe-unlimited-read-512", "fcoe-unlimited-write-512"], "the third was interrupted");
    assert!(tests.iter().all(|test| test.counters.total("errors") == Some(0) && test.value.is_some()), "{tests:?}");
    assert_eq!(published::fcoe::compare(&tests).unwrap().len(), 6);
}
