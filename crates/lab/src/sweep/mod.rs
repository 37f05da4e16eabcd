//! `linerate sweep PLAN`: a plan of points, each measured as often as the plan says and stored at once, so that a sweep that
//! was stopped can be resumed. A plan is a preset, or a file.
//!
//! This module knows the points of the plan and their results; a [workload](linerate_load::WORKLOADS) measures.

mod order;
mod plan;
mod presets;
mod repeats;
mod store;
mod together;
mod written;

pub use order::Order;
pub use plan::{Beside, Form, Other, Part, Plan, Point, Via};
pub(crate) use presets::fcoe;
pub use presets::{PRESETS, Preset};
pub use repeats::{Confidence, Repeats};
pub use store::{Head, POINTS, Store, SweepError};

use crate::progress::{Step, Steps};
use crate::run::{run_id, seconds};
use crate::{environment, published, quantity};
use linerate_load::validity::watched;
use linerate_result::{Number, Outcome, RunResult, Summary, Test, Timestamp};
use linerate_rt::{Stop, monotonic_ns, random};
use linerate_text::saturating_ns;
use std::path::Path;

/// Parameter of each test that holds the number of points in the plan.
pub(crate) const PLANNED: &str = "points";

/// Measures a point: its test, and those of what was measured at the same time, with their ids and titles. The error is the
/// reason why that is impossible.
pub type Measure<'a> = dyn FnMut(&Point, &Stop) -> Result<Vec<Test>, String> + 'a;

/// Measures a point by its workload, and by those beside it.
pub fn measure(point: &Point, stop: &Stop) -> Result<Vec<Test>, String> {
    if point.is_together() {
        return together::measure(point, stop);
    }
    point.workload.measure(&point.parameters, stop).map(|test| vec![test])
}

/// Makes the remaining measurements of a plan, and a result of all points, measured now or before. `tell` is given each
/// measurement at its beginning. One that cannot be stored ends the sweep, as failed, with all that was measured so far.
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
    let (mut failed, mut unwritten): (Vec<Test>, _) = (Vec::new(), None);
    let turns = plan.order.turns(plan.points.len(), plan.repeats.attempts(), below);
    let made = |store: &Store, (point, round): (usize, u32)| store.tests(&plan.points[point].id).len() > round as usize;
    let left: Vec<(usize, u32)> = turns.into_iter().filter(|turn| !made(&store, *turn)).collect();
    // Those beyond are in place of measurements that did not count.
    let needed = left.iter().filter(|(_, round)| *round < plan.repeats.most).count();
    let mut steps = Steps::new(vec![1.0; needed], &mut tell);
    for (place, round) in left {
        if stop.asked() || unwritten.is_some() {
            break;
        }
        let point = &plan.points[place];
        let of_point = store.tests(&point.id);
        // A point that cannot be measured is not tried again in this run.
        if plan.repeats.suffice(&of_point) || failed.iter().any(|test| test.id == point.id) {
            if round < plan.repeats.most {
                steps.without();
            }
            continue;
        }
        if plan.limit.is_some_and(|limit| monotonic_ns() - began >= saturating_ns(limit)) {
            if of_point.is_empty() {
                let why = "the time of the plan was over; go on with --resume".to_owned();
                failed.extend(named(plan, point, skipped(point, why)));
            }
            continue;
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
                failed.extend(named(plan, point, skipped(point, why)));
            }
        }
    }
    // In the order of the plan, whenever they were measured.
    for point in &plan.points {
        let whole = repeats::all(&store.tests(&point.id));
        let none = whole.is_empty();
        run.tests.extend(whole);
        run.tests.extend(failed.iter().find(|test| none && test.id == point.id).cloned());
    }
    let doubts: Vec<Option<String>> = run.tests.iter().map(|test| repeats::doubt(&plan.repeats, test)).collect();
    for (test, doubt) in run.tests.iter_mut().zip(&doubts) {
        // Of what others were always in the way of, the doubt says so.
        let idle = if doubt.is_some() && test.value.is_none() { None } else { test.idle() };
        test.failures.extend(idle);
        test.warnings.extend(doubt.iter().filter(|_| plan.shared).cloned());
    }
    run.comparisons = published::beside(&run.tests);
    run.elapsed_s = Number::new(seconds(monotonic_ns() - began));
    run.signal = stop.signal();
    run.reasons = run.failures().collect();
    run.reasons.extend(unwritten.map(|why| why.to_string()));
    let failed = !run.reasons.is_empty();
    if !plan.shared && !stop.asked() {
        run.reasons.extend(doubts.into_iter().flatten());
    }
    let complete = plan.points.iter().all(|point| plan.repeats.suffice(&store.tests(&point.id)));
    run.outcome = match (failed, complete && run.reasons.is_empty()) {
        (true, _) => Outcome::Failed,
        (false, true) => Outcome::Pass,
        (false, false) => Outcome::Partial,
    };
    Ok(run)
}

/// Adds what a sweep has measured to the document of its beginning, or of an earlier part of it, which is all that there is of one
/// that was killed: each point, in the order in which they were measured first.
pub(crate) fn with_what_is_measured(mut run: RunResult, directory: &Path) -> RunResult {
    if run.outcome != Outcome::Partial {
        return run;
    }
    let made = Store::so_far(directory, &run).unwrap_or_default();
    for whole in repeats::all(&[&made]) {
        match run.tests.iter_mut().find(|test| test.id == whole.id) {
            // What the document says of a point it says of as many repeats.
            Some(known) if known.repeats.len() < whole.repeats.len() => *known = whole,
            Some(_) => {}
            None => run.tests.push(whole),
        }
    }
    run.comparisons = published::beside(&run.tests);
    run
}

/// A number of chance below another one.
fn below(most: usize) -> usize {
    // It is far below 2^64: each number is as likely as the others.
    usize::try_from(random() % most.max(1) as u64).unwrap_or(0)
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
        match watched(true, || measure(point, stop)) {
            Ok(measured) => {
                steps.figure(figures(point, &measured));
                tests.extend(named(plan, point, measured));
            }
            Err(_) if stop.asked() => {}
            Err(why) => tests.extend(named(plan, point, skipped(point, why))),
        }
    }
    tests
}

/// Figures of a point in a few words: those of its own test in the order in which the workload reports them, and the values of the
/// others.
fn figures(point: &Point, tests: &[Test]) -> String {
    let shown = |summary: &Summary| quantity::value(summary.median, &summary.unit);
    let Some((own, others)) = tests.split_first() else { return String::new() };
    let further = point.workload.reports.iter().filter_map(|(name, _)| Some((name, own.further.get(*name)?)));
    let further = further.map(|(name, summary)| format!("{name} {}", shown(summary)));
    let others = others.iter().filter_map(|test| Some(format!("{} {}", test.id, shown(test.value.as_ref()?))));
    own.value.as_ref().map(shown).into_iter().chain(further).chain(others).collect::<Vec<_>>().join(", ")
}

fn skipped(point: &Point, why: String) -> Vec<Test> {
    vec![Test { workload: point.workload.name.to_owned(), skipped: Some(why), ..Test::default() }]
}

/// A point's test under the point's name, with the point's parameters; those of others at the same time under names of theirs.
fn named(plan: &Plan, point: &Point, mut tests: Vec<Test>) -> Vec<Test> {
    for (place, test) in tests.iter_mut().enumerate() {
        if place == 0 {
            test.id.clone_from(&point.id);
            test.title.clone_from(&point.title);
            test.parameters.extend(point.parameters.clone());
            test.parameters.insert(PLANNED.to_owned(), plan.points.len().into());
        } else {
            test.id = format!("{}-{}", point.id, test.id);
        }
        if let Some(form) = plan.form {
            test.parameters.insert("form".to_owned(), form.word().into());
        }
    }
    tests
}

#[cfg(test)]
mod tests;
