//! A target's counters, and what it does, as a document.

use super::luns::Lines;
use super::{Node, Nodes};
use crate::commands::fcoe::common::counters;
use crate::commands::ip;
use linerate_fcoe::{Logins, TargetDrop, TargetPeer};
use linerate_port::Link;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// LUNs and their devices, for a document; with what is lost when they are closed.
pub(super) fn luns(lines: &Lines, losses: &[(u16, String)]) -> Value {
    let loss = |lun| losses.iter().find(|(of, _)| *of == lun).map_or_else(String::new, |(_, loss)| format!("; {loss}"));
    lines.get().into_iter().map(|(lun, line)| json!({"lun": lun, "device": line + &loss(lun)})).collect()
}

/// Names and counters; LUNs are added by who has them.
pub(super) fn document(nodes: &Nodes) -> Value {
    // Counters of all ports are added up, and IPv4 and IPv6 counters of a service.
    let mut counters = Map::new();
    for (name, n) in figures(nodes) {
        let before = counters.get(&name).and_then(Value::as_u64).unwrap_or(0);
        counters.insert(name, json!(before + n));
    }
    // The first port in front, and all of them in a list.
    let mut document = port(&nodes[0]);
    document["schema"] = "linerate.fcoe.target".into();
    document["version"] = 1.into();
    document["ports"] = nodes.iter().map(port).collect();
    document["counters"] = counters.into();
    document
}

fn port(node: &Node) -> Value {
    let (config, info) = (node.config(), node.line().info());
    json!({
        "port": info.name, "path": info.path, "wwpn": config.wwpn.to_string(), "wwnn": config.wwnn.to_string(),
        "mac": config.mac.to_string(), "link": if node.line().link() == Link::Up { "up" } else { "down" },
        "fc_id": node.node().own().map(|(id, _)| id.to_string()),
    })
}

/// The same, and who is logged in and what they do.
pub(super) fn known(nodes: &Nodes) -> Value {
    let mut document = document(nodes);
    let targets = || nodes.iter().filter_map(|node| Some((node, node.node().target()?)));
    let initiator = |node: &Node, known: &TargetPeer| {
        json!({
            "wwpn": known.peer.wwpn.to_string(), "fc_id": known.peer.fc_id.to_string(), "queue_depth": known.queue_depth,
            "commands": known.commands, "bytes_sent": known.bytes_sent, "bytes_received": known.bytes_received,
            "port": node.line().info().name, "authenticated": known.peer.authenticated,
        })
    };
    let initiators = targets().flat_map(|(node, target)| target.peers().map(move |known| initiator(node, known)));
    document["initiators"] = initiators.collect();
    // Ports of one target have the same secrets.
    let logins = || nodes.iter().map(|node| node.node().logins());
    if logins().any(|logins| logins.auth_counters().is_some()) {
        let failed = logins().flat_map(Logins::auth_failures).fold(BTreeMap::new(), |mut all, (name, n)| {
            *all.entry(name).or_insert(0) += n;
            all
        });
        let failed = failed.into_iter().map(|(name, n): (_, u64)| json!({"wwpn": name.to_string(), "times": n}));
        document["unauthenticated"] = failed.collect();
    }
    document["exchanges"] = targets().map(|(_, target)| target.exchanges()).sum::<usize>().into();
    document
}

/// All counters, by name; of several ports one list after the other.
pub(super) fn figures(nodes: &Nodes) -> Vec<(String, u64)> {
    nodes.iter().flat_map(of_port).collect()
}

/// All counters of a port, by name.
pub(super) fn of_port(node: &Node) -> Vec<(String, u64)> {
    let (tx, rx) = node.lines();
    let (sent, received) = (tx.counters(), rx.counters());
    let mut all: Vec<(String, u64)> = [
        ("frames_sent", sent.frames),
        ("frames_refused", sent.refused),
        ("frames_received", received.frames),
        ("frames_bad_crc", received.bad_crc),
        ("frames_too_long", received.too_long),
        ("frames_spoiled", node.line().control().ledger().spoiled),
    ]
    .map(|(name, n)| (name.to_owned(), n))
    .into();
    all.extend(counters(node.node()));
    if let Some((ip, services)) = node.ip() {
        let mut theirs = ip::figures(ip.host.counters(), services.served(&ip.host), std::iter::empty());
        theirs.extend(ip::adapter_figures(
            node.line().control(),
            &[node.line().tx_counters().dropped],
            linerate_rt::fc::IP,
        ));
        all.extend(theirs.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (format!("ip.{name}"), n)));
    }
    if let Some(target) = node.node().target() {
        let counters = target.counters();
        all.extend(
            [
                ("commands", counters.commands),
                ("bytes_sent", counters.bytes_sent),
                ("bytes_received", counters.bytes_received),
                ("frames_early", counters.early),
                ("exchanges_aborted", counters.aborted),
                ("exchanges_expired", counters.expired),
            ]
            .map(|(name, n)| (name.to_owned(), n)),
        );
        let drops =
            TargetDrop::ALL.map(|reason| (format!("target_dropped.{}", reason.name()), counters.dropped(reason)));
        let doubled = [("commands_held_back", counters.doubted), ("commands_doubled", counters.twins)]
            .map(|(name, n)| (name.to_owned(), n));
        all.extend(doubled.into_iter().chain(drops).filter(|(_, n)| *n > 0));
    }
    all
}
