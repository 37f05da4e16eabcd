//! Outcome of a run of benches.

use linerate_result::{Outcome, RunResult};

/// Sets the outcome of a run of benches, and as reasons the failures, else the figures worse than their target, else
/// the benches that could not be measured.
pub fn conclude(run: &mut RunResult) {
    let idle = run
        .tests
        .iter()
        .filter(|_| run.signal.is_none())
        .filter_map(|test| Some(format!("{}: {}", test.id, test.idle()?)));
    let failed: Vec<String> = run.failures().chain(idle).collect();
    let mut worse: Vec<String> = run.tests.iter().filter(|test| !test.holds()).map(|test| test.id.clone()).collect();
    worse.extend(run.comparisons.iter().filter(|all| !all.holds()).map(|all| format!("{}: {}", all.test, all.name)));
    let worse: Vec<String> = worse.into_iter().map(|what| format!("{what}: not as wanted")).collect();
    let skipped = run.tests.iter().filter_map(|test| Some((&test.id, test.skipped.as_ref()?)));
    let skipped: Vec<String> = skipped.map(|(id, why)| format!("{id}: {why}")).collect();
    run.outcome = match (run.signal, failed.is_empty(), worse.is_empty(), skipped.is_empty()) {
        (_, false, ..) => Outcome::Failed,
        (Some(_), ..) | (None, true, true, false) => Outcome::Partial,
        (None, true, false, _) => Outcome::Gate,
        (None, true, true, true) => Outcome::Pass,
    };
    run.reasons = [failed, worse, skipped].concat();
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::{Comparison, Kind, Summary, Test, Timestamp, Unit};

    #[test]
    fn what_failed_comes_before_what_is_worse_than_wanted() {
        let good = Test { id: "good".into(), value: Some(Summary::once(5.0, Unit::Pps)), ..Test::default() };
        let slow = Test { id: "slow".into(), wanted: 6.0.into(), ..good.clone() };
        let skipped = Test { id: "skipped".into(), skipped: Some("no veth".into()), ..Test::default() };
        let failed = Test { id: "failed".into(), failures: vec!["it broke".into()], ..good.clone() };
        let passed = Comparison::new(Kind::Roof, "good", "roof", "", Unit::Pps, 1.0.into(), 5.0.into());
        for (tests, comparisons, signal, outcome, reason) in [
            (vec![good.clone()], vec![], None, Outcome::Pass, ""),
            (vec![good.clone(), slow.clone()], vec![], None, Outcome::Gate, "slow: not as wanted"),
            (
                vec![Test { value: None, ..good.clone() }],
                vec![],
                None,
                Outcome::Failed,
                "good: not measured: 0 of 0 repeats count",
            ),
            (vec![good.clone()], vec![passed], None, Outcome::Gate, "good: roof: not as wanted"),
            (vec![good.clone(), skipped.clone()], vec![], None, Outcome::Partial, "skipped: no veth"),
            (vec![slow.clone(), skipped], vec![], None, Outcome::Gate, "slow: not as wanted"),
            (vec![slow.clone(), failed], vec![], None, Outcome::Failed, "failed: it broke"),
            (vec![good], vec![], Some(2), Outcome::Partial, ""),
        ] {
            let mut run = RunResult::new("r".into(), Vec::new(), Timestamp::default());
            (run.tests, run.comparisons, run.signal) = (tests, comparisons, signal);
            conclude(&mut run);
            assert_eq!((run.outcome, run.reasons.first().map_or("", String::as_str)), (outcome, reason));
        }
    }
}
