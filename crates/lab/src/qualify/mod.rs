//! `linerate qualify`: a battery of tests on one or more stages (pairs of ports that reach each other), then, on ports
//! that this program makes, the time of each stage of a datagram's path and the quick form of the FCoE sweep; all
//! beside published figures.
//!
//! A stage is made by one function and one row of [`STAGES`], a test by one function and one row of [`BATTERY`].

mod battery;
mod measure;
mod stage;

pub use battery::BATTERY;
pub use stage::STAGES;

use crate::progress::{Step, Steps};
use crate::run::{run_id, seconds};
use crate::sweep::{self, Form};
use crate::{environment, published, quantity};
use linerate_load::fcoe::{self, Wire};
use linerate_load::profile::{self, Direction, Protocol};
use linerate_result::{Number, Outcome, RunResult, Test, Timestamp};
use linerate_rt::{Stop, cpus, monotonic_ns};
use stage::Stage;
use std::time::Duration;

/// Ports to qualify, and thoroughness.
#[derive(Clone, Debug)]
pub struct Order {
    /// Two ports that reach each other; `None` for the stages that this program makes itself.
    pub ports: Option<[String; 2]>,
    /// Duration of one repeat.
    pub time: Duration,
    /// Number of repeats of each test.
    pub repeats: usize,
}

impl Default for Order {
    fn default() -> Self {
        Self { ports: None, time: Duration::from_millis(400), repeats: 3 }
    }
}

/// Makes a result that holds nothing but its start time.
#[must_use]
pub fn begin(command: Vec<String>) -> RunResult {
    RunResult::new(run_id(), command, Timestamp::now())
}

/// Runs the battery for a result that was [begun](begin). `tell` is given each step at its beginning.
#[must_use]
pub fn qualify(order: &Order, mut run: RunResult, stop: &Stop, mut tell: impl FnMut(&Step)) -> RunResult {
    let began = monotonic_ns();
    run.environment = environment::read(&interfaces(order));
    let stages = stage::of(order);
    let plan = sweep_plan(order);
    let mut shares: Vec<f64> =
        stages.iter().flatten().flat_map(|stage| rows(stage).map(|row| share(stage, row, order))).collect();
    if order.ports.is_none() {
        shares.extend(sources().map(|_| SOURCE_SHARE * order.time.as_secs_f64()));
        shares.extend(plan.points.iter().map(|_| POINT_SHARE * order.time.as_secs_f64()));
    }
    let mut steps = Steps::new(shares, &mut tell);
    for stage in stages {
        match stage {
            Ok(stage) => run.tests.extend(on_stage(&stage, order, stop, &mut steps)),
            Err(skipped) => run.tests.push(*skipped),
        }
    }
    if order.ports.is_none() {
        run.tests.extend(profiled(order, stop, &mut steps));
        run.tests.extend(storage(&plan, stop, &mut steps));
    }
    run.elapsed_s = Number::new(seconds(monotonic_ns() - began));
    run.comparisons = published::beside(&run.tests);
    run.signal = stop.signal();
    conclude(&mut run);
    run
}

/// Sets the outcome of the run, and as reasons its failures and the tests without a value.
fn conclude(run: &mut RunResult) {
    // A test without a value is unsettled, which is less than failed.
    let still = run.tests.iter().filter(|test| test.value.is_some());
    let still = still.filter_map(|test| Some(format!("{}: {}", test.id, test.idle()?)));
    let failed: Vec<String> = run.failures().chain(still).collect();
    let unsettled: Vec<String> = run.tests.iter().filter_map(measure::unsettled).collect();
    run.outcome = match (run.signal, failed.is_empty(), unsettled.is_empty() && measured(&run.tests)) {
        (Some(_), ..) | (None, true, false) => Outcome::Partial,
        (None, true, true) => Outcome::Pass,
        (None, false, _) => Outcome::Failed,
    };
    run.reasons = [failed, unsettled].concat();
}

/// Estimated durations of a source of stages and of a point of the sweep, in multiples of a repeat.
const SOURCE_SHARE: f64 = 6.0;
const POINT_SHARE: f64 = 2.0;

/// Estimated overhead of a run, seconds: opening, waiting for the last frames, probing the cores.
const AROUND: f64 = 0.2;

/// Estimated duration of a row, seconds.
fn share(stage: &Stage, row: &battery::Row, order: &Order) -> f64 {
    let (time, repeats) = (order.time.as_secs_f64() + AROUND, order.repeats as f64);
    match (row.workload, row.second_pair) {
        ("tx", false) => 6.0 * repeats * time,
        ("tx", true) => repeats * time,
        ("faults", _) if stage.kernel => 3.0 * (1.0 + AROUND),
        ("faults", _) => 3.0 * AROUND,
        _ => 2.0 * time,
    }
}

/// The tests that are run on a stage.
fn rows(stage: &Stage) -> impl Iterator<Item = &'static battery::Row> + use<> {
    let second = stage.second.is_some();
    BATTERY.iter().filter(move |row| !row.second_pair || second)
}

fn on_stage(stage: &Stage, order: &Order, stop: &Stop, steps: &mut Steps<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    for row in rows(stage) {
        if stop.asked() {
            break;
        }
        steps.next(&format!("{}: {}", stage.key, row.title));
        tests.extend((row.run)(stage, row, order, stop));
        tests.last().into_iter().for_each(|test| steps.figure(figure(test)));
    }
    tests
}

fn figure(test: &Test) -> String {
    let value = test.value.as_ref().map(|value| quantity::value(value.median, &value.unit));
    format!("{}: {}", test.title, value.as_deref().unwrap_or(quantity::UNKNOWN))
}

fn sources() -> impl Iterator<Item = &'static profile::Source> {
    profile::SOURCES.iter().filter(|source| source.measures(Protocol::Udp, Direction::Tx))
}

/// Measures the time of each stage of a datagram's path, in linerate's stack and, where permitted, in the kernel's.
fn profiled(order: &Order, stop: &Stop, steps: &mut Steps<'_>) -> Vec<Test> {
    let rounds = 2 * order.repeats + 1;
    let core = cpus().first().copied().unwrap_or(0);
    let (protocol, way) = (Protocol::Udp, Direction::Tx);
    let order = profile::Order { protocol, way, size: 64, time: order.time / 80, rounds, core };
    let mut tests = Vec::new();
    for source in sources() {
        if stop.asked() {
            break;
        }
        steps.next(&format!("stages: {}", source.name));
        tests.extend((source.measure)(&order, stop, &mut |line| steps.within(&format!("stages: {line}"))));
        tests.last().into_iter().for_each(|test| steps.figure(figure(test)));
    }
    tests
}

/// Plan of the quick form of the FCoE sweep, over an unlimited wire, where the programs are the limit. Each point is
/// measured once.
fn sweep_plan(order: &Order) -> sweep::Plan {
    let form = Form::Quick;
    sweep::Plan::of_preset("t5-fcoe", None, form, sweep::fcoe(form, Wire::Unlimited, order.time))
}

fn storage(plan: &sweep::Plan, stop: &Stop, steps: &mut Steps<'_>) -> Vec<Test> {
    match plan.needs() {
        Ok(()) => sweep::briefly(plan, &mut sweep::measure, stop, steps),
        Err(why) => vec![Test {
            id: fcoe::WORKLOAD.name.into(),
            title: "FCoE: a target, a switch and four initiators".into(),
            workload: fcoe::WORKLOAD.name.into(),
            skipped: Some(why),
            ..Test::default()
        }],
    }
}

fn measured(tests: &[Test]) -> bool {
    tests.iter().any(|test| test.skipped.is_none() && test.value.is_some())
}

fn interfaces(order: &Order) -> Vec<&str> {
    let ports = order.ports.iter().flatten();
    ports
        .filter_map(|port| port.split_once(':'))
        .map(|(_, name)| name.split([',', '@']).next().unwrap_or(name))
        .collect()
}

#[cfg(test)]
mod tests;
