//! A switch's counters as a table and as a document.

use linerate_load::switch::SwitchJob;
use linerate_port::switch::{Ledger, PortReport, Switch};
use linerate_wire::MacAddr;
use serde_json::{Value, json};
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
    dropped.merge(&port.fate.lost);
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
    let (table, door) = (job.switch.table(), job.door.counters());
    format!(
        "Ledger: in {} refused {} ({}); copies {} + own {} = out {} + dropped {} ({}); of those out, lost with their receiver {}; \
         unexplained {}.\nAddresses: {} known, {} learned, {} moved, {} held, {} evicted, {} not learned. \
         Ports: {} admitted, {} refused, {} disconnected for protocol violations.",
        ledger.received,
        ledger.refused.total(),
        reasons(ledger.refused.iter()),
        ledger.copies,
        ledger.own,
        ledger.sent,
        ledger.dropped.total(),
        reasons(ledger.dropped.iter()),
        ledger.lost,
        ledger.unexplained,
        table.known,
        table.learned,
        table.moved,
        job.switch.ports().iter().map(|port| port.count.held).sum::<u64>(),
        table.evicted,
        table.refused,
        door.admitted,
        door.refused,
        door.violations,
    )
}

fn map<'a>(drops: impl Iterator<Item = (&'a str, u64)>) -> Value {
    drops.map(|(reason, n)| (reason.to_owned(), Value::from(n))).collect::<serde_json::Map<_, _>>().into()
}

/// Addresses, groups, routers, queriers and blocked ports, as rows in order.
fn known(switch: &Switch) -> [(&'static str, Value); 5] {
    let mut addresses: Vec<_> = switch.addresses().collect();
    addresses.sort_by_key(|row| (row.vlan, row.mac.0));
    let mut groups: Vec<_> = switch.groups().collect();
    groups.sort_by_key(|row| (row.vlan, row.group));
    let mut queriers: Vec<_> = switch.queriers().collect();
    queriers.sort_by_key(|row| (row.vlan, row.address));
    let of = |ports: &[(&str, u64)]| -> Vec<Value> {
        ports.iter().map(|(port, left)| json!({"port": port, "left_s": left})).collect()
    };
    let mac = |mac: MacAddr| mac.to_string();
    let addresses =
        addresses.iter().map(|row| json!({"mac": mac(row.mac), "vlan": row.vlan, "port": row.port, "age_s": row.age}));
    let groups = groups.iter().map(|row| json!({"group": row.group, "vlan": row.vlan, "ports": of(&row.ports)}));
    let queriers = queriers.iter().map(|row| json!({"address": row.address, "vlan": row.vlan, "port": row.port}));
    let routers = switch.routers().map(|row| json!({"port": row.port, "ip": if row.v6 { 6 } else { 4 }}));
    let blocked = switch.blocked().map(|row| json!({"port": row.port, "joined_to": row.joined_to}));
    [
        ("addresses", addresses.collect()),
        ("groups", groups.collect()),
        ("queriers", queriers.collect()),
        ("routers", routers.collect()),
        ("blocked", blocked.collect()),
    ]
}

/// All counters, and what the switch knows.
pub(super) fn document(name: &str, job: &SwitchJob) -> Value {
    let ports = job.switch.ports();
    let (ledger, table, door) = (Ledger::of(&ports), job.switch.table(), job.door.counters());
    let port = |port: &PortReport| {
        let count = &port.count;
        let priority = |count: &linerate_port::switch::PriorityCounters| json!({"sent": count.sent, "dropped": count.dropped, "waits": count.waits});
        json!({
            "name": port.name, "path": port.path, "gone": port.gone, "blocked": port.blocked,
            "received": count.received, "received_bytes": count.received_bytes, "flooded": count.flooded, "held": count.held,
            "copies": count.copies, "own": count.own, "refused": map(count.refused.iter()),
            "sent": count.sent, "sent_bytes": count.sent_bytes, "dropped": map(count.dropped.iter()),
            "finished": map(count.finished.iter()),
            "lost": map(port.fate.lost.iter()), "in_ring": port.fate.in_ring,
            "priorities": count.priorities.iter().map(priority).collect::<Vec<_>>(),
        })
    };
    let mut document = json!({
        "schema": "linerate.switch", "version": 1, "switch": name,
        "ports": ports.iter().map(port).collect::<Vec<_>>(),
        "ledger": {
            "received": ledger.received, "refused": map(ledger.refused.iter()), "copies": ledger.copies,
            "own": ledger.own,
            "sent": ledger.sent, "dropped": map(ledger.dropped.iter()), "lost": ledger.lost,
            "unexplained": ledger.unexplained,
        },
        "table": {
            "known": table.known, "learned": table.learned, "moved": table.moved, "evicted": table.evicted,
            "refused": table.refused,
        },
        "door": {"admitted": door.admitted, "refused": door.refused, "violations": door.violations},
    });
    if let Some(object) = document.as_object_mut() {
        object.extend(known(&job.switch).map(|(name, rows)| (name.to_owned(), rows)));
        let groups = job.switch.group_counters();
        let groups = groups.map(|groups| {
            json!({
                "known": groups.known, "entered": groups.entered, "refused": groups.refused,
                "messages": groups.messages,
            })
        });
        object.insert("group_table".into(), groups.into());
    }
    document
}

#[cfg(test)]
mod tests {
    /// Regression: the frames between two lines were cut to 2^32 - 1.
    #[test]
    fn a_rate_has_no_limit() {
        assert_eq!(super::rate(10_000_000_000, 2.0), "5000000000");
    }
}
