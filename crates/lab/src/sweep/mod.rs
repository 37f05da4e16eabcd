//! `linerate sweep PRESET`: a plan of points, measured one after the other, written down one by one, so that a sweep that
//! was stopped goes on where it was.
//!
//! This module knows what is to be measured and what became of it; a [`Runner`] measures.

mod fcoe;
mod glance;
mod plan;
mod store;
mod table;

pub(crate) use fcoe::runner as fcoe_runner;
pub(crate) use glance::glance;
pub use plan::{Form, Mix, Plan, Point, Wire, t5_fcoe};
pub use store::{Head, POINTS, Store, SweepError};
pub(crate) use table::{beside, points};

use crate::progress::{Step, Steps};
use crate::qualify::{run_id, seconds};
use crate::{environment, quantity};
use linerate_result::{
    Latency, Number, Outcome, PortUsed, Repeat, RunResult, Summary, Test, Timestamp, Unit, parameters,
};
use linerate_rt::{Stop, monotonic_ns};
use std::path::Path;

/// A plan by its name, and what measures its points.
pub struct Preset {
    /// What is typed.
    pub name: &'static str,
    /// What is measured.
    pub plan: fn(Form) -> Plan,
    /// Makes what measures. The error says what is wrong and what to do.
    pub runner: fn() -> Result<Box<dyn Runner>, String>,
}

/// All presets: one row each.
pub const PRESETS: &[Preset] = &[Preset { name: "t5-fcoe", plan: t5_fcoe, runner: fcoe::runner }];

/// The workload of a sweep's tests in the result document.
pub const WORKLOAD: &str = "fcoe";
/// The parameter of each of them that says how many points the plan has.
const PLANNED: &str = "points";

/// What a point came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Octets read and written a second, all initiators together.
    pub bytes_per_s: f64,
    /// Requests a second, all initiators together.
    pub iops: f64,
    /// Processor time of the target, per cent of all cores that it has; not known where it is not alone on them.
    pub cpu_percent: Option<f64>,
    /// Over how long.
    pub seconds: f64,
    /// Of all requests.
    pub latency: Option<Latency>,
    /// Requests that failed or moved wrong data: any fails the sweep.
    pub errors: u64,
    /// The ports that the point used.
    pub ports: Vec<PortUsed>,
    /// Things to know before trusting the figures.
    pub warnings: Vec<String>,
}

/// A point measured, or why it could not be.
pub type PointResult = Result<Measured, String>;

/// What measures points.
pub trait Runner {
    /// Measures a point. A `stop` that is asked for ends it early, with an error.
    fn run(&mut self, point: &Point, stop: &Stop) -> PointResult;
}

/// Does what is left of a plan, and makes a result of all points, measured now or before. `tell` is given each point at its
/// beginning. A point that cannot be written down ends the sweep, as failed, with all that was measured.
///
/// # Errors
/// [`SweepError`]: what is in the directory is another sweep's, or cannot be read or written; nothing was measured.
pub fn sweep(
    plan: &Plan,
    runner: &mut dyn Runner,
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
    let left: Vec<&Point> = plan.points.iter().filter(|point| store.test(&point.id()).is_none()).collect();
    let mut steps = Steps::new(vec![1.0; left.len()], &mut tell);
    for point in left {
        if stop.asked() || unwritten.is_some() {
            break;
        }
        steps.next(&point.title());
        match runner.run(point, stop) {
            Ok(measured) => {
                steps.figure(figures(&measured));
                unwritten = store.add(test(plan, point, &measured)).err();
            }
            Err(_) if stop.asked() => {}
            Err(why) => {
                steps.figure(why.clone());
                failed.push(skipped(plan, point, why));
            }
        }
    }
    // In the plan's order, whenever they were measured.
    for point in &plan.points {
        let id = point.id();
        run.tests.extend(store.test(&id).or_else(|| failed.iter().find(|test| test.id == id)).cloned());
    }
    run.comparisons = crate::published::fcoe::compare(&run.tests).unwrap_or_default();
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

/// The points of a plan without a file, a step each: what cannot be measured is skipped with the reason.
pub(crate) fn briefly(plan: &Plan, runner: &mut dyn Runner, stop: &Stop, steps: &mut Steps<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    for point in &plan.points {
        if stop.asked() {
            break;
        }
        steps.next(&format!("fcoe: {}", point.title()));
        match runner.run(point, stop) {
            Ok(measured) => {
                steps.figure(figures(&measured));
                tests.push(test(plan, point, &measured));
            }
            Err(_) if stop.asked() => {}
            Err(why) => tests.push(skipped(plan, point, why)),
        }
    }
    tests
}

fn figures(measured: &Measured) -> String {
    let cpu = measured.cpu_percent.map(|cpu| format!(", {cpu:.0} % CPU")).unwrap_or_default();
    let rate = quantity::value(measured.bytes_per_s.into(), &Unit::BytesPerSecond);
    format!("{rate}, {}{cpu}", quantity::value(measured.iops.into(), &Unit::Iops))
}

fn test(plan: &Plan, point: &Point, measured: &Measured) -> Test {
    let mut test = Test {
        repeats: vec![Repeat {
            value: measured.bytes_per_s.into(),
            seconds: measured.seconds.into(),
            valid: measured.errors == 0,
            why_invalid: (measured.errors > 0).then(|| format!("{} requests failed", measured.errors)),
            ..Repeat::default()
        }],
        latency: measured.latency.clone(),
        ports: measured.ports.clone(),
        failures: (measured.errors > 0).then(|| format!("{} requests failed", measured.errors)).into_iter().collect(),
        warnings: measured.warnings.clone(),
        ..named(plan, point)
    };
    test.summarize(Unit::BytesPerSecond);
    test.counters.add(None, "errors", measured.errors);
    test.further.insert("iops".to_owned(), Summary::once(measured.iops, Unit::Iops));
    let cpu = measured.cpu_percent.map(|cpu| Summary::once(cpu, Unit::PerCent));
    test.further.extend(cpu.map(|summary| ("cpu".to_owned(), summary)));
    test
}

fn skipped(plan: &Plan, point: &Point, why: String) -> Test {
    Test { skipped: Some(why), ..named(plan, point) }
}

fn named(plan: &Plan, point: &Point) -> Test {
    let asked = [
        ("io_bytes", point.io_bytes.into()),
        ("op", point.mix.word().into()),
        ("wire", point.wire.word().into()),
        ("queue_depth", point.queue_depth.into()),
        ("initiators", point.initiators.into()),
        ("luns", (point.initiators * point.luns).into()),
        ("mtu", point.mtu.into()),
        ("form", plan.form.word().into()),
        (PLANNED, plan.points.len().into()),
    ];
    Test {
        id: point.id(),
        title: point.title(),
        workload: WORKLOAD.into(),
        parameters: parameters(asked),
        ..Test::default()
    }
}

#[cfg(test)]
mod tests;
