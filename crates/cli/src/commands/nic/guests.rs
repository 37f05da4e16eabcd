//! Counters of an adapter's virtual interfaces as a table and as a document.

use linerate_nic::{Control, GuestLedger, GuestPolicy, Guests, InterfaceReport, RxLedger, UplinkReport};
use linerate_port::switch::ListenerCounters;
use linerate_text::colons;
use serde_json::{Map, Value, json};
use std::fmt::Write;

fn reasons<'a>(drops: impl Iterator<Item = (&'a str, u64)>) -> String {
    let list: Vec<String> = drops.map(|(reason, n)| format!("{reason} {n}")).collect();
    if list.is_empty() { "-".into() } else { list.join(", ") }
}

/// Frames not carried at an interface: by the adapter's programs, and by its queues.
fn drops(report: &InterfaceReport) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let of_nic = report.nic.iter().filter(|(name, n)| name.contains(".drop.") && *n > 0);
    let lost = Some(("rx.lost", report.fate.lost)).filter(|(_, n)| *n > 0);
    report.count.drops().chain(of_nic).chain(lost)
}

/// One line per interface.
pub(super) fn table(reports: &[InterfaceReport]) -> String {
    let mut text = format!("{:10}  {:>14} {:>14}  not carried", "interface", "out frames", "in frames");
    for report in reports {
        let name = format!("vi{}{}", report.interface, if report.exists { "" } else { " (gone)" });
        let (out, into) = (report.count.sent, report.count.put);
        // A write to a string cannot fail.
        let _ = write!(text, "\n{name:10}  {out:>14} {into:>14}  {}", reasons(drops(report)));
    }
    text
}

/// Ledger of all frames, in a few lines.
pub(super) fn ledger_line(ledger: &GuestLedger, uplink: &UplinkReport, listener: ListenerCounters) -> String {
    format!(
        "Ledger: out {} = refused {} + to the port {} + stayed inside {}; from the port {} (for nobody {}), \
         copies inside {}; in {} dropped {}, of those in, lost with their program {}; unexplained {}.\n\
         Port: out {} dropped {} ({}); not delivered: {}. Programs: {} admitted, {} refused, {} disconnected for protocol violations.",
        ledger.sent,
        ledger.refused,
        ledger.to_port,
        ledger.stayed,
        ledger.received,
        ledger.nobody,
        ledger.copies,
        ledger.put,
        ledger.dropped,
        ledger.lost,
        ledger.unexplained,
        uplink.sent.frames,
        uplink.sent.dropped.total(),
        reasons(uplink.sent.dropped.iter()),
        reasons(uplink.missed.iter()),
        listener.admitted,
        listener.refused,
        listener.violations,
    )
}

fn map<'a>(rows: impl Iterator<Item = (&'a str, u64)>) -> Value {
    rows.map(|(name, n)| (name.to_owned(), Value::from(n))).collect::<Map<_, _>>().into()
}

/// An interface's settings and counters.
pub(super) fn row(control: &Control, policy: &GuestPolicy, report: &InterfaceReport) -> Value {
    let (vi, count) = (report.interface, &report.count);
    let Ok(settings) = control.settings(vi) else { return Value::Null };
    let parameters = control.parameters(vi).unwrap_or_default();
    let parameters = parameters.into_iter().map(|(row, actual)| (row.name.to_owned(), Value::from(actual)));
    json!({
        "interface": vi, "exists": report.exists, "up": settings.up, "present": report.present,
        "mac": colons(&settings.mac), "vlan": policy.vlans.to_string(), "spoofchk": policy.spoof_check,
        "options": settings.flags.enabled().to_string(), "mtu": settings.mtu,
        "queues": settings.rss.as_ref().map_or(1, |rss| rss.queues()),
        "cap": settings.rate, "share": settings.weight,
        "parameters": parameters.collect::<Map<_, _>>(),
        "out": count.sent, "out_bytes": count.sent_bytes, "to_port": count.to_port, "stayed": count.stayed,
        "copies": count.copies, "from_port": count.from_port, "from_inside": count.from_inside,
        "in": count.put, "in_bytes": count.put_bytes, "in_ring": report.fate.in_ring,
        "not_carried": map(drops(report)),
        "counters": map(report.nic.iter().filter(|(_, n)| *n > 0)),
    })
}

/// One line per interface: settings and counters.
pub(super) fn list(control: &Control, rows: &[(&InterfaceReport, &GuestPolicy)]) -> String {
    let mut text = format!(
        "{:6} {:17}  {:12} {:>6} {:>6} {:>8} {:>6} {:>12} {:>12}  flags; not carried\n",
        "vi", "mac", "vlan", "mtu", "queues", "cap", "share", "out frames", "in frames"
    );
    for (report, policy) in rows {
        let Ok(settings) = control.settings(report.interface) else { continue };
        let state = match (report.exists, settings.up, report.present) {
            (false, ..) => "gone ",
            (_, false, _) => "down ",
            (.., true) => "",
            _ => "no program ",
        };
        // A write to a string cannot fail.
        let _ = writeln!(
            text,
            "{:6} {}  {:12} {:>6} {:>6} {:>8} {:>6} {:>12} {:>12}  {state}{}; {}",
            format!("vi{}", report.interface),
            colons(&settings.mac),
            policy.vlans.to_string(),
            settings.mtu,
            settings.rss.as_ref().map_or(1, |rss| rss.queues()),
            settings.rate.map_or_else(|| "-".into(), rate),
            settings.weight,
            report.count.sent,
            report.count.put,
            settings.flags.enabled(),
            reasons(drops(report)),
        );
    }
    text
}

/// A rate with the largest unit in which it is whole.
fn rate(bits: u64) -> String {
    let unit =
        [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "K")].into_iter().find(|(unit, _)| bits.is_multiple_of(*unit));
    unit.map_or_else(|| bits.to_string(), |(unit, letter)| format!("{}{letter}", bits / unit))
}

/// All counters.
pub(super) fn document(
    port: &str,
    guests: &Guests,
    reports: &[InterfaceReport],
    uplink: &UplinkReport,
    listener: ListenerCounters,
) -> Value {
    let ledger = GuestLedger::of(reports, uplink);
    let RxLedger { frames, copies, no_interface, too_short, spoiled, filtered, .. } = uplink.given_out;
    let RxLedger { cnm, cnm_damaged, cnm_no_flow, .. } = uplink.given_out;
    let rows = reports.iter().map(|report| row(guests.control(), &guests.policy(report.interface), report));
    json!({
        "schema": "linerate.nic", "version": 1, "port": port,
        "interfaces": rows.collect::<Vec<_>>(),
        "uplink": {
            "out": uplink.sent.frames, "out_bytes": uplink.sent.bytes, "dropped": map(uplink.sent.dropped.iter()),
            "in_ring": uplink.in_ring, "in": frames, "copies": copies, "no_interface": no_interface,
            "too_short": too_short, "spoiled": spoiled, "filtered": filtered, "missed": map(uplink.missed.iter()),
            "cnm": cnm, "cnm_damaged": cnm_damaged, "cnm_no_flow": cnm_no_flow,
        },
        "ledger": {
            "out": ledger.sent, "refused": ledger.refused, "to_port": ledger.to_port, "stayed": ledger.stayed,
            "copies": ledger.copies, "from_port": ledger.received, "nobody": ledger.nobody, "in": ledger.put,
            "dropped": ledger.dropped, "lost": ledger.lost, "unexplained": ledger.unexplained,
        },
        "door": {"admitted": listener.admitted, "refused": listener.refused, "violations": listener.violations},
    })
}
