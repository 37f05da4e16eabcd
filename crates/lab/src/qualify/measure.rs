//! One measurement: pkt-gen from one port to the other without output, with the state of the cores before and after.

use super::stage::Stage;
use linerate_load::bench::probe::{round_trip, same_state};
use linerate_load::pktgen::{Config, Finished, MODES, Mode, Output, Sizes};
use linerate_load::validity::Validity;
use linerate_result::{Number, Repeat, Test, Unit};
use linerate_rt::{Stop, WaitMode, cpus};
use std::sync::Arc;

/// Mode of pkt-gen by its name.
pub(super) fn mode(name: &str) -> &'static Mode {
    MODES.iter().find(|mode| mode.name == name).unwrap_or(&MODES[0])
}

/// Configuration of pkt-gen from one port to another; `wire` is the frame length with FCS.
pub(super) fn config(stage: &Stage, pair: &[String; 2], wire: u32) -> Config {
    let mut config = Config::new(&pair[0]);
    config.to = Some(pair[1].clone());
    config.mode = mode("tx");
    config.sizes = Sizes::Fixed(wire as usize - 4);
    config.wait = if stage.kernel { WaitMode::Adaptive } else { WaitMode::Busy };
    config.affinity = cpus().first().copied();
    config
}

/// Runs pkt-gen once in the stage's network namespace and returns its one test.
pub(super) fn once(stage: &Stage, config: Config, stop: &Stop) -> Result<Test, String> {
    stage.run_in(|| {
        let output = Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, stop);
        let finished = linerate_load::pktgen::run(config, Vec::new(), stop, &Arc::new(output));
        let Finished { mut result, idle, .. } = finished.map_err(|e| e.to_string())?;
        let mut test = result.tests.pop().ok_or("nothing was measured")?;
        // On an overloaded machine no frame may move: such a repeat is not a failure, but does not count.
        for repeat in test.repeats.iter_mut().filter(|_| idle.is_some()) {
            (repeat.valid, repeat.why_invalid) = (false, idle.clone());
        }
        let found = result.reasons.iter().filter(|reason| idle.as_ref() != Some(*reason));
        test.failures = found.cloned().collect();
        Ok(test)
    })?
}

/// Selects whether a change of the cores' state invalidates a repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    Yes,
    No,
}

/// Sets the value of a test of `wanted` repeats; no value if fewer than half of them count.
pub(super) fn summarize(test: &mut Test, wanted: usize, unit: Unit) {
    test.summarize(unit);
    if 2 * test.repeats.iter().filter(|repeat| repeat.valid).count() < wanted {
        test.value = None;
    }
}

/// Reason why a test that ran has no value.
pub(super) fn unsettled(test: &Test) -> Option<String> {
    if test.skipped.is_some() || test.value.is_some() {
        return None;
    }
    let valid = test.repeats.iter().filter(|repeat| repeat.valid).count();
    let why =
        test.repeats.iter().rev().find_map(|repeat| repeat.why_invalid.as_deref()).unwrap_or("no figure came of it");
    Some(format!("{}: no value, {valid} of {} repeats count: {why}", test.id, test.repeats.len()))
}

/// Repeats a measurement and makes one test of it; with a probe, a repeat during which the cores changed state does not
/// count. A repeat that does not count is made again, up to a limit of runs.
pub(super) fn repeated(
    repeats: usize,
    probing: Probe,
    stop: &Stop,
    mut measure: impl FnMut() -> Result<Test, String>,
) -> Result<Test, String> {
    let pair: Option<[usize; 2]> = cpus().first_chunk().copied();
    let probe = || pair.filter(|_| probing == Probe::Yes).and_then(round_trip);
    let (validity, mut whole): (_, Option<Test>) = (Validity::begin(), None);
    let mut before = probe();
    let mut counted = 0;
    for _ in 0..2 * repeats + 1 {
        if stop.asked() || counted >= repeats {
            break;
        }
        let mut test = measure()?;
        let after = probe();
        for repeat in &mut test.repeats {
            note_state(repeat, before, after);
        }
        before = after;
        counted += usize::from(test.repeats.iter().all(|repeat| repeat.valid));
        match &mut whole {
            None => whole = Some(test),
            Some(whole) => whole.append(test),
        }
    }
    let mut whole = whole.ok_or("stopped before it was measured")?;
    whole.warnings.extend(validity.end().lines());
    Ok(whole)
}

fn note_state(repeat: &mut Repeat, before: Option<f64>, after: Option<f64>) {
    repeat.rtt_ns_before = before.map_or(Number::UNKNOWN, Number::new);
    repeat.rtt_ns_after = after.map_or(Number::UNKNOWN, Number::new);
    if let (Some(before), Some(after)) = (before, after)
        && !same_state(&[before, after])
    {
        repeat.valid = false;
        repeat.why_invalid = Some(format!("the cores changed state: round trip {before:.0} ns, then {after:.0} ns"));
    }
}
