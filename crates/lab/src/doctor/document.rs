//! Proofs as a run: each is a test, with its rounds, beside what was before.

use super::prove::{Measured, Proven, Rounds, SURE};
use crate::environment;
use crate::proofs::{VERDICT, WORKLOAD};
use linerate_result::{Comparison, Kind, Number, Outcome, Parameter, Repeat, RunResult, Summary, Test, parameters};
use linerate_rt::Stop;

/// Fills a run that was begun before the first round, with proofs that took so many seconds.
#[must_use]
pub fn proofs(mut run: RunResult, all: &[Proven], rounds: &Rounds, seconds: f64, stop: &Stop) -> RunResult {
    for proven in all {
        let id = format!("{}-{}", proven.rule, proven.subject);
        let mut test = Test {
            title: format!("{}: {}", proven.subject, proven.what),
            workload: WORKLOAD.to_owned(),
            parameters: parameters([
                ("rule", proven.rule.into()),
                ("peer", rounds.server.streams.ip().to_string().as_str().into()),
            ]),
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
    let Measured { workload, unit, rounds: series, change, spread, verdict } = measured;
    let said: [(&str, Parameter); 2] = [("load", (*workload).into()), (VERDICT, verdict.word().into())];
    test.parameters.extend(parameters(said));
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
        "{workload} to {} in rounds that took turns; {} ({:.0} %, Welch's test)",
        rounds.server.streams.ip(),
        difference(*change, *spread),
        100.0 * SURE
    );
    let before = (of(&series[0]), of(&series[1]));
    Comparison::new(Kind::Before, &test.id, "without the change", &said, unit.clone(), before.0, before.1)
        .with_rounds(&pairs, pairs.len())
}

fn difference(change: f64, spread: f64) -> String {
    format!("the means differ by {:+.1} % ± {:.1}", 100.0 * change, 100.0 * spread)
}

#[cfg(test)]
mod tests {
    use super::super::prove::{ProofServer, Verdict};
    use super::*;
    use crate::proofs::summary;
    use linerate_result::{Timestamp, Unit};

    fn run(measured: Vec<Result<Measured, String>>) -> RunResult {
        let rounds = Rounds { server: ProofServer::usual([10, 0, 0, 2].into()), pairs: 2, seconds: 1 };
        let proven = |measured| Proven { rule: "tso", subject: "eth0".into(), what: "tso is off".into(), measured };
        let all: Vec<Proven> = measured.into_iter().map(proven).collect();
        let run = RunResult::new("r".to_owned(), Vec::new(), Timestamp::default());
        proofs(run, &all, &rounds, 4.0, &Stop::new().unwrap())
    }

    fn measured(verdict: Verdict) -> Result<Measured, String> {
        let (unit, rounds) = (Unit::BitsPerSecond, [vec![1e9, 1e9], vec![3e9, 3e9]]);
        Ok(Measured { workload: "TCP_STREAM", unit, rounds, change: 2.0, spread: 0.1, verdict })
    }

    #[test]
    fn a_run_of_proofs_says_at_a_glance_what_helps() {
        let said = |all| summary(&run(all)).map(|summary| (summary.headline, summary.lines));
        let helps = said(vec![measured(Verdict::Helps)]);
        assert_eq!(helps, Some(("The change helps".into(), vec!["eth0: tso is off: it helps, ×3.00".into()])));
        let two = said(vec![measured(Verdict::Harms), Err("refused".to_owned()), measured(Verdict::Helps)]).unwrap();
        assert_eq!(two.0, "1 of 2 changes helps");
        assert_eq!(two.1[1], "eth0: tso is off: not measured: refused");
        assert_eq!(said(vec![measured(Verdict::Unclear)]).unwrap().0, "The change does not help");
        assert_eq!(said(vec![Err("refused".to_owned())]).unwrap().0, "No change was tried");
        assert_eq!(said(Vec::new()), None);
        let page = crate::report::render(&run(vec![measured(Verdict::Helps)]));
        assert!(!page.contains("Published for") && !page.contains("peers' figures"), "{page}");
        assert!(
            page.contains("<h1>The change helps</h1>") && page.contains("With each change, and without it"),
            "{page}"
        );
    }
}
