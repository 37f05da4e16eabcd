//! RFC 2544's tests of a device between two ports: throughput with the latency at it, frame loss, back-to-back frames.
//!
//! Each trial is a [pkt-gen](crate::pktgen) that sends at one port and checks at the other. Where a link blocks its sender
//! instead of losing frames, a trial whose last frame is late fails.

mod search;
mod trial;

use crate::parameters::count;
use crate::pktgen;
use crate::workload::{Job, ParameterRow, Workload, nothing_needed};
use linerate_result::{Parameter, Parameters, Repeat, Summary, Test, Unit};
use linerate_rt::Stop;
use search::{Rules, beyond, greatest};
use trial::{Tester, Trial};

/// Section 26.1, and 26.2 at the rate found.
pub const THROUGHPUT: Workload = Workload::new(
    ("rfc2544-throughput", "RFC 2544: the greatest rate without loss, and the latency at it"),
    parameters,
    nothing_needed,
    &[("throughput", Unit::Pps), ("share", Unit::Ratio), ("latency", Unit::Ns), ("p99", Unit::Ns)],
    |all| prepare(all, THROUGHPUT.name, throughput),
);

/// Section 26.3, one point of the curve.
pub const LOSS: Workload = Workload::new(
    ("rfc2544-loss", "RFC 2544: frames lost at a load, of the greatest rate that there is"),
    loss_parameters,
    nothing_needed,
    &[("loss", Unit::PerCent), ("offered", Unit::Pps), ("forwarded", Unit::Pps), ("greatest", Unit::Pps)],
    |all| {
        let load = count(all, LOAD, 1..=100, 100)?;
        prepare(all, LOSS.name, move |tester, _, stop| loss(tester, load, stop))
    },
);

/// Section 26.4, of one burst; RFC 9004 asks for the mean of 50.
pub const BACK_TO_BACK: Workload = Workload::new(
    ("rfc2544-back-to-back", "RFC 2544, RFC 9004: the longest burst at the greatest rate without loss"),
    parameters,
    nothing_needed,
    &[("burst", Unit::Frames), ("time", Unit::Ns)],
    |all| prepare(all, BACK_TO_BACK.name, back_to_back),
);

const FRAME: &str = "frame_bytes";
const LOAD: &str = "load";
/// Seconds of a trial, and between two, that the RFC asks for (sections 24 and 23); of a burst (26.4).
const TRIAL: u64 = 60;
const SETTLE: u64 = 5;
const BURST: u64 = 2;
/// Frames per second beyond which no port is tried that has no rate of its own.
const FASTEST: u64 = 1_000_000_000;
/// Flags of pkt-gen that a trial sets itself, or that have no meaning in it.
const OURS: [&str; 12] =
    ["-f", "-l", "-n", "-R", "-h", "--seconds", "--latency", "--imix", "--json", "--ndjson", "--keep", "--pcap"];

fn parameters() -> Vec<ParameterRow> {
    let own = [
        (FRAME, "N", "bytes of a frame with its FCS, 64 or more (64)"),
        ("trial_seconds", "N", "how long a trial sends (60, as the RFC asks)"),
        ("settle", "N", "seconds between two trials (5, as the RFC asks)"),
        ("loss_ppm", "N", "frames of a million that a load may lose and pass (0)"),
        ("resolution_ppm", "N", "how near the load is found, millionths of the greatest (500)"),
        ("again", "N", "how often a load that lost few is offered again (2)"),
    ];
    let own =
        own.map(|(name, value, about)| ParameterRow { name: name.into(), value: value.into(), about: about.into() });
    let flags = pktgen::parameters().into_iter().filter(|row| !OURS.contains(&row.name.as_str()));
    own.into_iter().chain(flags).collect()
}

fn loss_parameters() -> Vec<ParameterRow> {
    let load =
        ParameterRow { name: LOAD.into(), value: "N".into(), about: "per cent of the greatest rate (100)".into() };
    std::iter::once(load).chain(parameters()).collect()
}

struct Measured {
    value: f64,
    unit: Unit,
    further: Vec<(&'static str, f64, Unit)>,
    /// The trial whose figures these are.
    trial: Trial,
    /// Number of trials.
    trials: u64,
    remarks: Vec<String>,
}

fn prepare(
    all: &Parameters,
    name: &'static str,
    measure: impl Fn(&Tester, Rules, &Stop) -> Result<Measured, String> + 'static,
) -> Result<Job, String> {
    let number = |name: &str, range, unsaid| count(all, name, range, unsaid);
    let own = [FRAME, LOAD, "trial_seconds", "settle", "loss_ppm", "resolution_ppm", "again"];
    let frame_bytes = number(FRAME, 64..=65_535, 64)?;
    let seconds = number("trial_seconds", 1..=3600, TRIAL)?;
    let settle = number("settle", 0..=60, SETTLE)?;
    let resolution_ppm = number("resolution_ppm", 1..=100_000, 500)?;
    let rules = Rules { resolution_ppm, again: number("again", 0..=100, 2)? };
    let mut flags: Parameters = all.clone().into_iter().filter(|(name, _)| !own.contains(&name.as_str())).collect();
    if !flags.contains_key("--to") {
        return Err("--to: give the port at which the frames arrive".to_owned());
    }
    flags.insert("-f".to_owned(), "tx".into());
    // Without FCS.
    flags.insert("-l".to_owned(), Parameter::Count(frame_bytes - 4));
    let pkt_gen = pktgen::ready(&flags)?;
    let [marked, stamped] = pkt_gen.room().map(|bytes| bytes as u64 + 4);
    if frame_bytes < marked {
        return Err(format!(
            "{FRAME}: {frame_bytes} bytes have no room for the mark that a frame is known by; give {marked} or more"
        ));
    }
    let does = format!("{name} by trials of {seconds} s, {settle} s between them: {}", pkt_gen.does());
    let loss_ppm = number("loss_ppm", 0..=1_000_000, 0)?;
    let tester = Tester { pkt_gen, frame_bytes, stamped, seconds, settle, loss_ppm };
    Ok(Job::new(does, move |stop: &Stop| Ok(test(name, &tester, measure(&tester, rules, stop)?))))
}

fn test(name: &str, tester: &Tester, measured: Measured) -> Test {
    let Measured { value, unit, further, trial, trials, mut remarks } = measured;
    let mut test = trial.test;
    let failure = (trial.received == 0).then(|| "no frame arrived".to_owned());
    let (seconds, settle) = (tester.seconds, tester.settle);
    if seconds < TRIAL || settle < SETTLE {
        remarks.push(format!(
            "trials of {seconds} s, {settle} s between them, do not conform to RFC 2544, which asks for {TRIAL} and {SETTLE}"
        ));
    }
    test.workload = name.to_owned();
    test.title = name.to_owned();
    test.parameters = Parameters::from([("trials".to_owned(), trials.into())]);
    test.samples.clear();
    test.repeats = vec![Repeat {
        value: value.into(),
        seconds: test.repeats.first().map(|repeat| repeat.seconds).unwrap_or_default(),
        valid: failure.is_none(),
        why_invalid: failure.clone(),
        ..Repeat::default()
    }];
    test.further =
        further.into_iter().map(|(name, value, unit)| (name.to_owned(), Summary::once(value, unit))).collect();
    test.failures = failure.into_iter().collect();
    test.warnings = remarks;
    test.summarize(unit);
    test
}

#[expect(clippy::cast_precision_loss, reason = "rates and counts of frames")]
fn float(n: u64) -> f64 {
    n as f64
}

fn throughput(tester: &Tester, rules: Rules, stop: &Stop) -> Result<Measured, String> {
    let (most, link) = tester.greatest(stop)?;
    let mut trials = 0;
    let offer = |rate: u64| {
        trials += 1;
        Ok(tester.judge(&tester.offer(tester.frames(rate), rate, false, stop)?))
    };
    let found = beyond(most, if link { most } else { FASTEST }, rules, offer)?;
    let rate = found.ok_or_else(|| format!("no rate up to {most} pps passes without loss"))?;
    let tagged = tester.frame_bytes >= tester.stamped;
    let trial = tester.offer(tester.frames(rate), rate, tagged, stop)?;
    let mut further: Vec<_> = link.then(|| ("share", float(rate) / float(most), Unit::Ratio)).into_iter().collect();
    let mut remarks = Vec::new();
    if !tagged {
        remarks.push(format!("no latency: frames of fewer than {} bytes have no room for a tag", tester.stamped));
    }
    if let Some(latency) = &trial.test.latency {
        let known = [("latency", latency.mean), ("p99", latency.p99)];
        further.extend(known.iter().filter_map(|(name, ns)| Some((*name, ns.known()?, Unit::Ns))));
    }
    Ok(Measured { value: float(rate), unit: Unit::Pps, further, trial, trials, remarks })
}

fn loss(tester: &Tester, load: u64, stop: &Stop) -> Result<Measured, String> {
    let (most, _) = tester.greatest(stop)?;
    let rate = (most / 100 * load + most % 100 * load / 100).max(1);
    let trial = tester.offer(tester.frames(rate), rate, false, stop)?;
    let lost = trial.sent.saturating_sub(trial.received);
    let forwarded = trial.arrived.unwrap_or(0.0);
    // All that was sent has arrived or was lost by the time of the last arrival.
    let share = float(trial.received) / float(trial.sent.max(1));
    let offered = if trial.in_time { float(rate) } else { forwarded / share.max(f64::MIN_POSITIVE) };
    let held = (!trial.in_time).then(|| format!("the sender was held up: {rate} pps were to be offered"));
    Ok(Measured {
        value: 100.0 * float(lost) / float(trial.sent.max(1)),
        unit: Unit::PerCent,
        further: vec![
            ("offered", offered, Unit::Pps),
            ("forwarded", forwarded, Unit::Pps),
            ("greatest", float(most), Unit::Pps),
        ],
        trial,
        trials: 1,
        remarks: held.into_iter().collect(),
    })
}

fn back_to_back(tester: &Tester, rules: Rules, stop: &Stop) -> Result<Measured, String> {
    let (rate, _) = tester.greatest(stop)?;
    let (longest, mut trials, mut last) = (rate.saturating_mul(BURST), 0, None);
    let found = greatest(longest, rules, |frames| {
        trials += 1;
        let trial = tester.offer(frames, rate, false, stop)?;
        let verdict = tester.judge(&trial);
        if verdict == search::Verdict::Passes {
            last = Some(trial);
        }
        Ok(verdict)
    })?;
    let (frames, trial) = found.zip(last).ok_or_else(|| format!("no burst at {rate} pps passes without loss"))?;
    let whole = (frames == longest).then(|| format!("no frame was lost in {BURST} s, the longest burst that is tried"));
    Ok(Measured {
        value: float(frames),
        unit: Unit::Frames,
        further: vec![("time", 1e9 * float(frames) / float(rate), Unit::Ns)],
        trial,
        trials,
        remarks: whole.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests;
