//! A switch's counters as a table.

use linerate_load::switch::SwitchJob;
use linerate_port::switch::{Ledger, PortReport, Switch};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Instant;

/// Counters of the ports at the last view, and its time.
#[derive(Default)]
pub(super) struct Before {
    at: Option<Instant>,
    counts: HashMap<String, [u64; 2]>,
}

/// Ledger summed over all ports.
pub(super) fn ledger(switch: &Switch) -> Ledger {
    Ledger::of(&switch.ports())
}

fn reasons<'a>(drops: impl Iterator<Item = (&'a str, u64)>) -> String {
    let list: Vec<String> = drops.map(|(reason, n)| format!("{reason} {n}")).collect();
    if list.is_empty() { "-".into() } else { list.join(", ") }
}

/// One line per port; with `before`, rates since the last view instead of sums.
pub(super) fn table(switch: &Switch, before: Option<&mut Before>) -> String {
    let ports = switch.ports();
    let wide = ports.iter().map(|port| port.name.len()).max().unwrap_or(0).max(4);
    let unit = if before.is_some() { "pps" } else { "frames" };
    let mut text = format!("{:wide$}  {:>14} {:>14}  not carried", "port", format!("in {unit}"), format!("out {unit}"));
    let now = Instant::now();
    let mut empty = Before::default();
    let live = before.is_some();
    let before = before.unwrap_or(&mut empty);
    let seconds = before.at.map_or(1.0, |at| now.saturating_duration_since(at).as_secs_f64().max(0.001));
    for port in ports.iter().filter(|port| !(live && port.gone)) {
        let counts = [port.count.received, port.count.sent];
        let last = before.counts.insert(port.name.clone(), counts).filter(|_| live).unwrap_or([0; 2]);
        let shown = [0, 1].map(|i| {
            let n = counts[i].saturating_sub(last[i]);
            if live { rate(n, seconds) } else { n.to_string() }
        });
        let name = if port.gone { format!("{} (gone)", port.name) } else { port.name.clone() };
        // A write to a string cannot fail.
        let _ = write!(text, "\n{name:wide$}  {:>14} {:>14}  {}", shown[0], shown[1], not_carried(port));
    }
    before.at = Some(now);
    text
}

fn rate(n: u64, seconds: f64) -> String {
    format!("{:.0}", n as f64 / seconds)
}

fn not_carried(port: &PortReport) -> String {
    let (refused, mut dropped) = (port.count.refused, port.count.dropped);
    dropped += port.fate.lost;
    let finished = port.count.finished;
    let finished = if finished == Default::default() {
        String::new()
    } else {
        format!("; finished: {}", reasons(finished.iter()))
    };
    let blocked = port.blocked.as_ref().map(|other| format!("; blocked: joined to {other}")).unwrap_or_default();
    format!("in: {}; out: {}{finished}{blocked}", reasons(refused.iter()), reasons(dropped.iter()))
}

/// Ledger of all frames and address table, in a few lines.
pub(super) fn ledger_line(ledger: &Ledger, job: &SwitchJob) -> String {
    let (table, listener) = (job.switch.table(), job.listener.counters());
    format!(
        "Ledger: in {} refused {} ({}); copies {} + own {} = out {} + dropped {} ({}) + in queues {}; of those out, lost with their receiver {}; \
         unexplained {}.\nAddresses: {} known of {} at most, {} learned, {} moved, {} held, {} evicted, {} not learned. \
         Ports: {} admitted, {} refused, {} disconnected for protocol violations.",
        ledger.received,
        ledger.refused.total(),
        reasons(ledger.refused.iter()),
        ledger.copies,
        ledger.own,
        ledger.sent,
        ledger.dropped.total(),
        reasons(ledger.dropped.iter()),
        ledger.waiting,
        ledger.lost,
        ledger.unexplained,
        table.known,
        table.size,
        table.learned,
        table.moved,
        job.switch.ports().iter().map(|port| port.count.held).sum::<u64>(),
        table.evicted,
        table.refused,
        listener.admitted,
        listener.refused,
        listener.violations,
    )
}

#[cfg(test)]
mod tests {
    /// Regression: the frames between two lines were cut to 2^32 - 1.
    #[test]
    fn a_rate_has_no_limit() {
        assert_eq!(super::rate(10_000_000_000, 2.0), "5000000000");
    }
}
