//! Proofs as a run: each is a test, with its rounds, beside what was before.

use super::prove::{Measured, Proven, Rounds};
use crate::environment;
use linerate_result::{Comparison, Kind, Number, Outcome, Repeat, RunResult, Summary, Test, parameters};
use linerate_rt::Stop;

/// Workload of these tests, which is in no table: a load, with and without a change.
const WORKLOAD: &str = "prove";

/// Fills a run that was begun before the first round, with proofs that took so many seconds.
#[must_use]
pub fn proofs(mut run: RunResult, all: &[Proven], rounds: &Rounds, seconds: f64, stop: &Stop) -> RunResult {
    for proven in all {
        let id = format!("{}-{}", proven.rule, proven.subject);
        let mut test = Test {
            title: format!("{}: {}", proven.subject, proven.what),
            workload: WORKLOAD.to_owned(),
            parameters: parameters([("rule", proven.rule.into()), ("peer", rounds.peer.to_string().as_str().into())]),
            id,
            ..Test::default()
        };
        match &proven.measured {
            Err(why) => test.skipped = Some(why.clone()),
            Ok(measured) => run.comparisons.push(beside(&mut test, measured, rounds)),
        }
        run.tests.push(test);
    }
    run.environment = environment::read(&[]);
    run.elapsed_s = seconds.into();
    run.signal = stop.signal();
    run.outcome = if run.signal.is_some() { Outcome::Partial } else { Outcome::Pass };
    run
}

/// Gives a test its rounds with the change; returns the comparison with those without it.
fn beside(test: &mut Test, measured: &Measured, rounds: &Rounds) -> Comparison {
    let Measured { workload, unit, rounds: series, change, spread, .. } = measured;
    test.parameters.insert("load".to_owned(), (*workload).into());
    let repeat = |value: &f64| Repeat {
        value: (*value).into(),
        seconds: f64::from(rounds.seconds).into(),
        valid: true,
        ..Repeat::default()
    };
    test.repeats = series[1].iter().map(repeat).collect();
    test.summarize(unit.clone());
    let of =
        |values: &[f64]| Summary::of_values(&mut values.to_vec(), unit.clone()).map_or(Number::UNKNOWN, |of| of.median);
    let pairs: Vec<(Number, Number)> =
        series[1].iter().zip(&series[0]).map(|(after, before)| ((*after).into(), (*before).into())).collect();
    let said = format!(
        "{workload} to {} in rounds that took turns; the means differ by {:+.1} % ± {:.1} (95 %, Welch's test)",
        rounds.peer,
        100.0 * change,
        100.0 * spread
    );
    let before = (of(&series[0]), of(&series[1]));
    Comparison::new(Kind::Peer, &test.id, "without the change", &said, unit.clone(), before.0, before.1)
        .with_rounds(&pairs, pairs.len())
}
