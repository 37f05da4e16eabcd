//! A run of proofs (`doctor --prove`) at a glance.

use crate::quantity::ratio;
use linerate_result::{RunResult, Test};

/// Workload of its tests, which is in no table: a load, with and without a change.
pub(crate) const WORKLOAD: &str = "prove";
/// Parameter with the judgement.
pub(crate) const VERDICT: &str = "verdict";
/// Judgement about a change that is to be kept.
pub(crate) const HELPS: &str = "it helps";

/// Proofs of a run at a glance.
pub(crate) struct ProofSummary {
    /// Number of changes that help, in words.
    pub(crate) headline: String,
    /// That number, and that of changes that were tried.
    pub(crate) helps: usize,
    pub(crate) tried: usize,
    /// A line for each change.
    pub(crate) lines: Vec<String>,
}

/// Summary of a run's proofs; none if the run has none.
pub(crate) fn summary(run: &RunResult) -> Option<ProofSummary> {
    let of_proofs = || run.tests.iter().filter(|test| test.workload == WORKLOAD);
    let verdict = |test: &Test| test.parameters.get(VERDICT).map(ToString::to_string);
    let helps = of_proofs().filter(|test| verdict(test).as_deref() == Some(HELPS)).count();
    let tried = of_proofs().filter(|test| test.skipped.is_none()).count();
    let headline = match (helps, tried) {
        (_, 0) => "No change was tried".to_owned(),
        (1, 1) => "The change helps".to_owned(),
        (0, 1) => "The change does not help".to_owned(),
        (1, tried) => format!("1 of {tried} changes helps"),
        (helps, tried) => format!("{helps} of {tried} changes help"),
    };
    let line = |test: &Test| match (&test.skipped, verdict(test)) {
        (Some(why), _) => format!("{}: not measured: {why}", test.title),
        (None, verdict) => {
            let beside = run.comparisons.iter().find(|comparison| comparison.test == test.id);
            let times = beside.map_or_else(String::new, |beside| format!(", {}", ratio(beside.ratio)));
            format!("{}: {}{times}", test.title, verdict.unwrap_or_default())
        }
    };
    of_proofs().next().map(|_| ProofSummary { headline, helps, tried, lines: of_proofs().map(line).collect() })
}
