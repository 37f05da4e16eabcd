//! `linerate qualify`: a battery of tests on one or more stages (a pair of ports that reach each other), then, on ports of
//! this program's own, the stages of a datagram and the quick form of the FCoE sweep; all beside published figures.
//!
//! A stage is made by one function and one row of [`STAGES`], a test by one function and one row of [`BATTERY`].

mod battery;
mod measure;
mod stage;

pub use battery::BATTERY;
pub use stage::STAGES;

use crate::sweep::{self, Form, Wire, t5_fcoe};
use crate::{environment, published};
use linerate_load::profile::{self, Way};
use linerate_load::result::{Number, Outcome, RunResult, Test, Timestamp};
use linerate_rt::{Stop, cpus, monotonic_ns};
use stage::Stage;
use std::time::Duration;

/// What to qualify, and how thoroughly.
#[derive(Clone, Debug)]
pub struct Order {
    /// Two ports that reach each other; none: the stages that this program makes itself.
    pub ports: Option<[String; 2]>,
    /// How long one repeat measures.
    pub time: Duration,
    /// Repeats of each test.
    pub repeats: usize,
}

impl Default for Order {
    fn default() -> Self {
        Self { ports: None, time: Duration::from_millis(400), repeats: 3 }
    }
}

/// Runs the battery. `tell` gets one line at the start of each test.
#[must_use]
pub fn qualify(order: &Order, command: Vec<String>, stop: &Stop, mut tell: impl FnMut(&str)) -> RunResult {
    let began = monotonic_ns();
    let mut run = RunResult::new(run_id(), command, Timestamp::now());
    run.environment = environment::read(&interfaces(order));
    for stage in stage::of(order) {
        match stage {
            Ok(stage) => run.tests.extend(on_stage(&stage, order, stop, &mut tell)),
            Err(skipped) => run.tests.push(*skipped),
        }
    }
    if order.ports.is_none() {
        run.tests.extend(stages(order, stop, &mut tell));
        run.tests.extend(storage(order, stop, &mut tell));
    }
    run.elapsed_s = Number::new(seconds(monotonic_ns() - began));
    run.comparisons = published::compare(&run.tests).unwrap_or_default();
    run.comparisons.extend(published::compare_stages(&run.tests).unwrap_or_default());
    run.comparisons.extend(published::fcoe::compare(&run.tests).unwrap_or_default());
    run.signal = stop.signal();
    conclude(&mut run);
    run
}

/// Says how the run ended: what failed it, else which tests have no value.
fn conclude(run: &mut RunResult) {
    let failed: Vec<String> = run.tests.iter().flat_map(faults_of).chain(sweep::faults(&run.tests)).collect();
    let unsettled: Vec<String> = run.tests.iter().filter_map(measure::unsettled).collect();
    run.outcome = match (run.signal, failed.is_empty(), unsettled.is_empty() && measured(&run.tests)) {
        (Some(_), ..) | (None, true, false) => Outcome::Partial,
        (None, true, true) => Outcome::Pass,
        (None, false, _) => Outcome::Failed,
    };
    run.reasons = [failed, unsettled].concat();
}

fn on_stage(stage: &Stage, order: &Order, stop: &Stop, tell: &mut impl FnMut(&str)) -> Vec<Test> {
    let mut tests = Vec::new();
    for row in BATTERY.iter().filter(|row| !row.second_pair || stage.second.is_some()) {
        if stop.asked() {
            break;
        }
        tell(&format!("{}: {}", stage.key, row.title));
        tests.extend((row.run)(stage, row, order, stop));
    }
    tests
}

/// Where each nanosecond of a datagram goes, in linerate's stack and, where that may be looked at, in the kernel's.
fn stages(order: &Order, stop: &Stop, tell: &mut impl FnMut(&str)) -> Vec<Test> {
    let rounds = u32::try_from(2 * order.repeats + 1).unwrap_or(u32::MAX);
    let core = cpus().first().copied().unwrap_or(0);
    let order = profile::Order { way: Way::Tx, size: 64, time: order.time / 80, rounds, core };
    let mut tests = Vec::new();
    for source in profile::SOURCES.iter().filter(|source| source.ways.contains(&Way::Tx)) {
        if stop.asked() {
            break;
        }
        tests.extend((source.measure)(&order, stop, &mut |line| tell(&format!("stages: {line}"))));
    }
    tests
}

/// The quick form of the FCoE sweep, over an unlimited wire: there the programs are the limit. Each point is measured once.
fn storage(order: &Order, stop: &Stop, tell: &mut impl FnMut(&str)) -> Vec<Test> {
    let plan = t5_fcoe(Form::Quick).over(Wire::Unlimited, order.time);
    match sweep::fcoe_runner() {
        Ok(mut runner) => sweep::briefly(&plan, &mut *runner, stop, &mut |line| tell(&format!("fcoe: {line}"))),
        Err(why) => vec![Test {
            id: sweep::WORKLOAD.into(),
            title: "FCoE: a target, a switch and four initiators".into(),
            workload: sweep::WORKLOAD.into(),
            skipped: Some(why),
            ..Test::default()
        }],
    }
}

/// Whether anything was measured at all.
fn measured(tests: &[Test]) -> bool {
    tests.iter().any(|test| test.skipped.is_none() && test.value.is_some())
}

/// Why a test fails the run.
fn faults_of(test: &Test) -> Vec<String> {
    test.warnings.iter().filter_map(|w| w.strip_prefix(measure::FAULT)).map(|w| format!("{}: {w}", test.id)).collect()
}

fn interfaces(order: &Order) -> Vec<&str> {
    let ports = order.ports.iter().flatten();
    ports
        .filter_map(|port| port.split_once(':'))
        .map(|(_, name)| name.split([',', '@']).next().unwrap_or(name))
        .collect()
}

pub(crate) fn run_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's hasher is seeded at random.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{:08x}", random & 0xffff_ffff)
}

pub(crate) fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}

#[cfg(test)]
mod tests;
