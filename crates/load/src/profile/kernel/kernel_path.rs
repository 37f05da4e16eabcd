//! A path with its cut points, measured in rounds.

use crate::profile::{Order, Span, Whole, column};
use linerate_result::{Counters, How, Stage, Summary, Test, Unit};
use linerate_rt::{Stop, monotonic_ns};
use std::collections::BTreeMap;

/// A point on a path, or the whole path.
pub(super) struct Point {
    /// Name of the stage that ends here; for a program or the base, name of its figure.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Packets end here; `less` names the program whose own cost is subtracted.
    Cut {
        less: Option<&'static str>,
    },
    /// Like a cut, but the path before it does not belong to this column.
    Base {
        less: Option<&'static str>,
    },
    Whole,
    /// The whole path, with a program that lets everything pass.
    Program,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Nanoseconds per packet.
    pub(super) ns: f64,
    /// Number of calls that ended as expected for this point.
    pub(super) calls: u64,
    /// Number of packets that ended there, counted where they ended.
    pub(super) counted: u64,
    /// Number of packets seen beyond the point.
    pub(super) behind: u64,
}

/// A path. Its points are in the order of the path, the whole last of the cuts.
pub(super) trait KernelPath {
    fn points(&self) -> Vec<Point>;
    /// Sends for that time with the cut at that point; the error is one line.
    fn measure(&mut self, point: &str, time: Span<'_>) -> Result<Measured, String>;
}

/// Name of the second measurement of the whole.
const AGAIN: &str = "again";

/// Measures all points in rounds and makes a column of them.
pub(super) fn measure_all(
    id: &str,
    title: &str,
    path: &mut dyn KernelPath,
    order: &Order,
    stop: &Stop,
) -> Result<Test, String> {
    let points = path.points();
    let whole = points.iter().find(|point| point.kind == Kind::Whole).map_or("", |point| point.name);
    let mut rounds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut counters = Counters::default();
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    // The whole is measured twice per round, half a round apart: as the end of the last stage, and as the value that
    // the sum must reach.
    let mut plan: Vec<(&str, &str)> = points.iter().map(|point| (point.name, point.name)).collect();
    plan.insert(plan.len() / 2, (AGAIN, whole));
    for round in 0..order.rounds {
        // Each round starts at another point, so that no point always follows the same one.
        plan.rotate_left(round % 3);
        for (name, point) in &plan {
            if stop.asked() {
                break;
            }
            if wrong.contains_key(point) {
                continue;
            }
            let measured = path.measure(point, Span { time: order.time, stop }).and_then(verified);
            // A measurement cut short by a stop is discarded.
            if stop.asked() {
                break;
            }
            match measured {
                Ok(measured) => {
                    rounds.entry(name).or_default().push(measured.ns);
                    counters.add(None, format!("{name}: calls"), measured.calls);
                    counters.add(None, format!("{name}: counted there"), measured.counted);
                    counters.add(None, format!("{name}: seen behind"), measured.behind);
                }
                Err(why) => {
                    wrong.insert(point, why);
                }
            }
        }
    }
    if let Some(why) = wrong.get(whole) {
        return Err(format!("{whole}: {why}"));
    }
    // A round that was broken off counts for no point.
    let full = points.iter().filter(|point| !wrong.contains_key(point.name)).map(|point| point.name).chain([AGAIN]);
    let full = full.map(|name| rounds.get(name).map_or(0, Vec::len)).min().unwrap_or(0);
    rounds.values_mut().for_each(|all| all.truncate(full));
    if full == 0 {
        return Err("no round was finished".to_owned());
    }
    let mut test = settle(id, title, &points, &rounds, &wrong, whole, order);
    test.counters = counters;
    test.warnings.extend(wrong.iter().map(|(name, why)| format!("{name}: {why}")));
    Ok(test)
}

/// Checks that as many packets ended there as were sent, and none went beyond.
fn verified(measured: Measured) -> Result<Measured, String> {
    let Measured { calls, counted, behind, .. } = measured;
    if calls == 0 || counted != calls || behind != 0 {
        return Err(format!("not verified: {calls} packets sent, {counted} counted there, {behind} behind"));
    }
    Ok(measured)
}

/// Computes the stages between the points from the points' figures, round by round.
fn settle(
    id: &str,
    title: &str,
    points: &[Point],
    rounds: &BTreeMap<&str, Vec<f64>>,
    wrong: &BTreeMap<&str, String>,
    whole: &str,
    order: &Order,
) -> Test {
    let of = |name: &str| rounds.get(name).map(Vec::as_slice).unwrap_or_default();
    let less = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    // Cost of a program; nothing is subtracted if it is not known, and the warning tells so.
    let cost = |name: Option<&str>| name.map(|name| less(of(name), of(whole))).filter(|cost| !cost.is_empty());
    let mut further = BTreeMap::new();
    let mut tell = |name: String, mut values: Vec<f64>| {
        further.extend(Summary::of_values(&mut values, Unit::Ns).map(|summary| (name, summary)));
    };
    let mut stages = Vec::new();
    let mut before = vec![0.0; of(whole).len()];
    let mut base = before.clone();
    for point in points {
        let program = match point.kind {
            Kind::Cut { less } | Kind::Base { less } => less,
            Kind::Whole => None,
            Kind::Program => {
                tell(format!("{} program", point.name), less(of(point.name), of(whole)));
                continue;
            }
        };
        if let Some(why) = wrong.get(point.name) {
            stages.push(Stage::missing(point.name, How::CutPoint, point.about, why));
            continue;
        }
        let here = of(point.name).to_vec();
        let here = cost(program).map_or(here.clone(), |cost| less(&here, &cost));
        if matches!(point.kind, Kind::Base { .. }) {
            tell(point.name.to_owned(), here.clone());
            base.clone_from(&here);
        } else {
            stages.push(Stage::new(point.name, How::CutPoint, point.about, &less(&here, &before)));
        }
        before = here;
    }
    let seconds = order.time.as_secs_f64();
    let wholes: Vec<Whole> = less(of(AGAIN), &base).into_iter().map(|ns| Whole { ns, seconds }).collect();
    let mut test = column(id, title, order, stages, &wholes);
    test.further = further;
    test
}

/// Calls between two clock readings.
const CALLS: u32 = 64;
/// Calls to warm the path up before the clock starts.
const WARM: u32 = 256;

/// Calls repeatedly for that time; returns ns per call and the number of calls, those to warm up included. Ends early
/// with the error of a call.
///
/// The figure is the median of all stretches of 64 calls, so a stretch during which the thread lost the processor does
/// not count.
pub(super) fn time_calls(time: Span<'_>, mut call: impl FnMut() -> Result<(), String>) -> Result<(f64, u64), String> {
    for _ in 0..WARM {
        call()?;
    }
    let mut stretches: Vec<f64> = Vec::with_capacity(1 << 16);
    let start = monotonic_ns();
    let (mut last, until) = (start, time.until(start));
    while time.goes_on(until, last) {
        for _ in 0..CALLS {
            call()?;
        }
        let now = monotonic_ns();
        #[expect(clippy::cast_precision_loss, reason = "some microseconds")]
        stretches.push((now - last) as f64 / f64::from(CALLS));
        last = now;
    }
    let calls = stretches.len() as u64 * u64::from(CALLS) + u64::from(WARM);
    let median = Summary::of_values(&mut stretches, Unit::Ns).and_then(|summary| summary.median.known());
    median.map(|ns| (ns, calls)).ok_or_else(|| "no time to measure".to_owned())
}

/// Repeats a stretch of calls for that time. It prepares itself, makes its calls, and returns their time in nanoseconds per
/// call, and their number, those that were not timed included. Returns the median of the stretches, and the number of calls.
/// Ends early with the error of a stretch.
pub(super) fn time_stretches(
    time: Span<'_>,
    mut stretch: impl FnMut() -> Result<(f64, u64), String>,
) -> Result<(f64, u64), String> {
    // The first warms the path up.
    let (_, mut calls) = stretch()?;
    let mut stretches: Vec<f64> = Vec::with_capacity(1 << 12);
    let until = time.until(monotonic_ns());
    while time.goes_on(until, monotonic_ns()) {
        let (ns, more) = stretch()?;
        stretches.push(ns);
        calls += more;
    }
    let median = Summary::of_values(&mut stretches, Unit::Ns).and_then(|summary| summary.median.known());
    median.map(|ns| (ns, calls)).ok_or_else(|| "no time to measure".to_owned())
}

/// Makes so many calls; returns nanoseconds per call.
#[inline]
pub(super) fn time_of(calls: u32, mut call: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    let start = monotonic_ns();
    for _ in 0..calls {
        call()?;
    }
    #[expect(clippy::cast_precision_loss, reason = "some microseconds")]
    Ok((monotonic_ns() - start) as f64 / f64::from(calls))
}

#[cfg(test)]
mod tests;
