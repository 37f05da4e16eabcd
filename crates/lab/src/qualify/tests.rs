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
    let run = qualify(&order, vec!["test".into()], &Stop::new().unwrap(), |line| told.push(line.to_owned()));
    assert_eq!(run.reasons, Vec::<String>::new());
    let ids: Vec<_> = run.tests.iter().map(|test| test.id.as_str()).collect();
    assert!(ids.contains(&"ports-tx-64-1p") && ids.contains(&"ports-rx-1518-1p"), "{ids:?}");
    for test in &run.tests {
        assert_eq!(test.skipped, None, "{}", test.id);
        if let Some(ledger) = &test.ledger {
            assert_eq!(ledger.settle().frames(), Some(0), "{}: {ledger:?}", test.id);
            // Echoes are other frames than those sent.
            assert!(ledger.received.unwrap_or(0) > 0 || test.workload == "latency", "{}: nothing arrived", test.id);
        }
    }
    assert!(run.tests.iter().any(|t| t.workload == "latency" && t.latency.is_some()));
    assert!(told.len() >= 4);
}

#[test]
fn what_cannot_be_opened_is_skipped_with_the_reason_and_the_run_is_partial() {
    let order = Order { ports: Some(["cable:nobody".into(), "cable:nobody".into()]), ..Order::default() };
    let run = qualify(&order, Vec::new(), &Stop::new().unwrap(), |_| ());
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
    let tests = storage(&order, &stop, &mut |line| {
        assert!(line.starts_with("fcoe: ") && line.ends_with(" of 512 bytes, unlimited wire"), "{line}");
        told += 1;
        if told == 3 {
            stop.ask(2);
        }
    });
    let ids: Vec<_> = tests.iter().map(|test| test.id.as_str()).collect();
    assert_eq!(ids, ["fcoe-unlimited-read-512", "fcoe-unlimited-write-512"], "the third was interrupted");
    assert!(tests.iter().all(|test| test.counters["errors"] == 0 && test.value.is_some()), "{tests:?}");
    assert_eq!(published::fcoe::compare(&tests).unwrap().len(), 4);
}
