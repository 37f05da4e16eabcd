//! `linerate sweep PRESET`: a plan of points, measured one after the other, each stored at once, so that a sweep that
//! was stopped can be resumed.
//!
//! This module knows the points of the plan and their results; a [workload](linerate_load::WORKLOADS) measures.

mod plan;
mod store;

pub(crate) use plan::fcoe;
pub use plan::{Form, PRESETS, Plan, Point, Preset, Via};
pub use store::{Head, POINTS, Store, SweepError};

use crate::progress::{Step, Steps};
use crate::run::{run_id, seconds};
use crate::{environment, published, quantity};
use linerate_result::{Number, Outcome, RunResult, Summary, Test, Timestamp};
use linerate_rt::{Stop, monotonic_ns};
use std::path::Path;

/// Parameter of each test that holds the number of points in the plan.
pub(crate) const PLANNED: &str = "points";

/// Measures a point; the error is the reason why that is impossible.
pub type Measure<'a> = dyn FnMut(&Point, &Stop) -> Result<Test, String> + 'a;

/// Measures a point by its workload.
///
/// # Errors
/// See [`linerate_load::Workload::measure`].
pub fn measure(point: &Point, stop: &Stop) -> Result<Test, String> {
    point.workload.measure(&point.parameters, stop)
}

/// Measures the remaining points of a plan, and makes a result of all points, measured now or before. `tell` is given
/// each point at its beginning. A point that cannot be stored ends the sweep, as failed, with all points measured so
/// far.
///
/// # Errors
/// [`SweepError`]: the directory has another sweep, or cannot be read or written; nothing was measured.
pub fn sweep(
    plan: &Plan,
    measure: &mut Measure<'_>,
    directory: &Path,
    resume: bool,
    command: Vec<String>,
    stop: &Stop,
    mut tell: impl FnMut(&Step),
) -> Result<RunResult, SweepError> {
    let began = monotonic_ns();
    let head = Head::new(plan, run_id(), Timestamp::now());
    let mut store = Store::open(directory, &head, resume)?;
    let mut run = RunResult::new(store.head().run_id.clone(), command, store.head().start);
    run.environment = environment::read(&[]);
    let (mut failed, mut unwritten) = (Vec::new(), None);
    let left: Vec<&Point> = plan.points.iter().filter(|point| store.test(&point.id).is_none()).collect();
    let mut steps = Steps::new(vec![1.0; left.len()], &mut tell);
    for point in left {
        if stop.asked() || unwritten.is_some() {
            break;
        }
        steps.next(&point.title);
        match measure(point, stop) {
            Ok(measured) => {
                steps.figure(figures(point, &measured));
                unwritten = store.add(named(plan, point, measured)).err();
            }
            Err(_) if stop.asked() => {}
            Err(why) => {
                steps.figure(why.clone());
                failed.push(named(plan, point, skipped(point, why)));
            }
        }
    }
    // In the order of the plan, whenever they were measured.
    for point in &plan.points {
        let test = store.test(&point.id).or_else(|| failed.iter().find(|test| test.id == point.id));
        run.tests.extend(test.cloned());
    }
    run.comparisons = published::beside(&run.tests);
    run.elapsed_s = Number::new(seconds(monotonic_ns() - began));
    run.signal = stop.signal();
    run.reasons = run.failures().collect();
    run.reasons.extend(unwritten.map(|why| why.to_string()));
    let complete = run.tests.len() == plan.points.len() && run.tests.iter().all(|test| test.skipped.is_none());
    run.outcome = match (run.reasons.is_empty(), complete) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Pass,
        (true, false) => Outcome::Partial,
    };
    Ok(run)
}

/// Measures the points of a plan without a file, one step per point; a point that cannot be measured is skipped with
/// the reason.
pub(crate) fn briefly(plan: &Plan, measure: &mut Measure<'_>, stop: &Stop, steps: &mut Steps<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    for point in &plan.points {
        if stop.asked() {
            break;
        }
        steps.next(&format!("{}: {}", point.workload.name, point.title));
        match measure(point, stop) {
            Ok(measured) => {
                steps.figure(figures(point, &measured));
                tests.push(named(plan, point, measured));
            }
            Err(_) if stop.asked() => {}
            Err(why) => tests.push(named(plan, point, skipped(point, why))),
        }
    }
    tests
}

/// Figures of a test in a few words, in the order in which the workload reports them.
fn figures(point: &Point, test: &Test) -> String {
    let shown = |summary: &Summary| quantity::value(summary.median, &summary.unit);
    let further = point.workload.reports.iter().filter_map(|(name, _)| Some((name, test.further.get(*name)?)));
    let further = further.map(|(name, summary)| format!("{name} {}", shown(summary)));
    test.value.as_ref().map(shown).into_iter().chain(further).collect::<Vec<_>>().join(", ")
}

fn skipped(point: &Point, why: String) -> Test {
    Test { workload: point.workload.name.to_owned(), skipped: Some(why), ..Test::default() }
}

/// A point's test under the point's name, with the point's parameters.
fn named(plan: &Plan, point: &Point, mut test: Test) -> Test {
    test.id.clone_from(&point.id);
    test.title.clone_from(&point.title);
    test.parameters.extend(point.parameters.clone());
    test.parameters.insert("form".to_owned(), plan.form.word().into());
    test.parameters.insert(PLANNED.to_owned(), plan.points.len().into());
    test
}

#[cfg(test)]
mod tests;
