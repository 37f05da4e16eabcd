//! Verdict on a run: failures, parts left out, and remarks.

use super::modes::Role;
use super::name;
use super::report::{Progressed, float};
use super::settle::Facts;
use super::team::Worked;
use crate::check::Received;
use crate::validity::allowed;
use linerate_port::DropReason;
use linerate_result::{Ledger, Outcome};
use std::time::Duration;

/// Bytes around each frame on a wire: FCS, preamble, start delimiter, inter-frame gap.
const FRAMING: u64 = 24;

/// Verdict on a run, in lines.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) failed: Vec<String>,
    /// Parts that did not take place; the rest is good.
    pub(super) partial: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Reason why nothing was measured, if no frame was sent or none arrived; it is among the failures.
    pub(super) idle: Option<String>,
    /// Reason why the rate cannot be true.
    pub(super) impossible: Option<String>,
}

impl Verdict {
    pub(super) fn outcome(&self) -> Outcome {
        match (self.failed.is_empty(), self.partial.is_empty()) {
            (false, _) => Outcome::Failed,
            (true, false) => Outcome::Partial,
            (true, true) => Outcome::Pass,
        }
    }
}

/// Judges a run by its ledger, by its checks and by the state of its ports.
pub(super) fn judge(facts: &Facts<'_>, x: &Progressed, ledger: &Ledger, received: Option<&Received>) -> Verdict {
    let mut verdict = Verdict::default();
    for done in facts.main.iter().map(|worked| &worked.done) {
        verdict.failed.extend(done.failures.iter().cloned());
        verdict.partial.extend(done.left_out.iter().cloned());
        verdict.notes.extend(done.notes.iter().cloned());
    }
    let threads = facts.main.iter().chain(facts.far.iter().flatten());
    verdict.notes.extend(threads.filter_map(|worked| waited(worked, Duration::from_nanos(facts.elapsed))));
    if let Some(why) = still(facts, x, ledger) {
        let alone = facts.ports.iter().find_map(name::alone).map_or_else(String::new, |line| format!(": {line}"));
        verdict.idle = Some(why + &alone);
        verdict.failed.extend(verdict.idle.clone());
    }
    let left = ledger.settle();
    if let Some(n) = left.frames().filter(|n| *n > 0) {
        let [sending, receiving] = [left.sending, left.receiving].map(|n| n.unwrap_or(0));
        let surplus = if left.surplus > 0 { format!(", {} that nobody sent", left.surplus) } else { String::new() };
        verdict.failed.push(format!(
            "{n} frames are unexplained ({sending} of those offered, {receiving} of those sent{surplus})"
        ));
    }
    if let Some(r) = received {
        arrived(facts, x, r, &mut verdict);
    }
    let damaged: u64 = ledger.dropped.get(DropReason::BadRecord.name()).copied().unwrap_or(0);
    if damaged > 0 {
        verdict.partial.push(format!(
            "{damaged} records of the capture are damaged, cut off or no Ethernet frames, and were left out"
        ));
    }
    for port in facts.ports {
        verdict.failed.extend(name::gone(port).filter(|line| !verdict.failed.iter().any(|said| said.ends_with(line))));
        // Such as a full disk or a damaged file, which the link's state alone does not tell.
        verdict.failed.extend(port.trouble().map(|trouble| format!("{}: {trouble}", port.info().name)));
        if let Some(rate) = port.info().rate
            && let Some(excess) = beyond(rate, x)
        {
            let name = &port.info().name;
            let why = format!("{name}: {excess:.0} bit/s on a link of {rate}: the figure cannot be true");
            verdict.impossible = Some(why.clone());
            verdict.failed.push(why);
        }
    }
    verdict
}

/// Reason why nothing was measured, if no frame moved.
fn still(facts: &Facts<'_>, x: &Progressed, ledger: &Ledger) -> Option<String> {
    let list = |terms: &std::collections::BTreeMap<String, u64>| {
        let parts: Vec<_> = terms.iter().filter(|(_, n)| **n > 0).map(|(reason, n)| format!("{reason} {n}")).collect();
        parts.join(", ")
    };
    let mode = facts.common.config.mode;
    if mode.role == Role::Receiver {
        return (x.frames == 0).then(|| "nothing was received".to_owned());
    }
    let sent = ledger.sent.unwrap_or(0);
    if sent == 0 {
        return Some(match (mode.sends(), list(&ledger.refused)) {
            (false, _) => "nothing came that could be sent back".to_owned(),
            (true, reasons) if reasons.is_empty() => "nothing was sent: there was no frame to send".to_owned(),
            (true, reasons) => format!("nothing was sent: all frames were refused ({reasons})"),
        });
    }
    if ledger.dropped.values().sum::<u64>() >= sent + ledger.doubled {
        return Some(format!("nothing arrived: all frames were dropped ({})", list(&ledger.dropped)));
    }
    let echoes = facts.main.iter().flat_map(|worked| &worked.done.counters).find(|(name, _)| *name == "ping.echoes");
    echoes.filter(|(_, n)| *n == 0).map(|_| format!("none of {sent} pings was answered"))
}

/// Adds the findings of the checks.
fn arrived(facts: &Facts<'_>, x: &Progressed, r: &Received, verdict: &mut Verdict) {
    let alone = facts.far.is_none() && facts.common.config.mode.role == Role::Receiver;
    if r.spoiled() > 0 {
        verdict.failed.push(format!("{} frames arrived with other bytes than they were sent with", r.spoiled()));
    }
    if r.mended > 0 {
        verdict.failed.push(format!("{} frames that were damaged on purpose arrived whole", r.mended));
    }
    if alone && r.duplicates > 0 {
        verdict.failed.push(format!("{} frames arrived again that had arrived before", r.duplicates));
    }
    if alone && x.frames > 0 && r.ours == 0 {
        verdict.partial.push(format!(
            "nothing could be checked: none of {} frames received is linerate's and of this run, or is long enough for a mark (60 bytes, IPv6 80)",
            x.frames
        ));
    }
    if alone && r.lost > 0 {
        verdict.notes.push(format!("{} frames of the sender's count did not arrive", r.lost));
    }
}

/// Rate on the wire if it is more than the link can carry, with framing, and short frames padded. The first and the
/// last frame may lie outside the time measured, so a millisecond is added.
fn beyond(rate: u64, x: &Progressed) -> Option<f64> {
    let bits = 8.0 * float(x.bytes.max(60 * x.frames) + FRAMING * x.frames);
    let seconds = float(x.usec) / 1e6;
    (bits > float(rate) * (seconds * 1.0005 + 0.001)).then(|| bits / seconds.max(1e-6))
}

/// Remark on a thread that other threads kept from running. It has no figure, so that repeats say it once.
pub(super) fn waited(worked: &Worked, elapsed: Duration) -> Option<String> {
    let words = "waited for a processor for more than a tenth of the time: other threads had it";
    worked.delayed.filter(|delayed| *delayed > allowed(elapsed)).map(|_| format!("{} {words}", worked.name))
}
