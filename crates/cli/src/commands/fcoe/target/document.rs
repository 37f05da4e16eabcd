//! A target's counters, and what it does, as a document.

use super::Node;
use super::luns::Luns;
use crate::commands::fcoe::common::counters;
use crate::commands::ip;
use linerate_fcoe::{TargetDrop, TargetPeer};
use linerate_port::Link;
use serde_json::{Map, Value, json};

/// LUNs and their devices, for a document.
pub(super) fn luns(luns: &Luns) -> Value {
    luns.lines().map(|(lun, line)| json!({"lun": lun, "device": line})).collect()
}

/// Names and counters; LUNs are added by who has them.
pub(super) fn document(node: &Node) -> Value {
    // IPv4 and IPv6 counters of a service are added up.
    let mut counters = Map::new();
    for (name, n) in figures(node) {
        let before = counters.get(&name).and_then(Value::as_u64).unwrap_or(0);
        counters.insert(name, json!(before + n));
    }
    let (config, info) = (node.config(), node.line().info());
    json!({
        "schema": "linerate.fcoe.target", "version": 1, "port": info.name, "path": info.path,
        "wwpn": config.wwpn.to_string(), "wwnn": config.wwnn.to_string(), "mac": config.mac.to_string(),
        "counters": counters,
    })
}

/// The same, and who is logged in and what they do.
pub(super) fn known(node: &Node) -> Value {
    let mut document = document(node);
    document["link"] = if node.line().link() == Link::Up { "up" } else { "down" }.into();
    document["fc_id"] = node.node().own().map(|(id, _)| id.to_string()).into();
    let target = node.node().target();
    let initiator = |known: &TargetPeer| {
        json!({
            "wwpn": known.peer.wwpn.to_string(), "fc_id": known.peer.fc_id.to_string(), "queue_depth": known.queue_depth,
            "commands": known.commands, "bytes_sent": known.bytes_sent, "bytes_received": known.bytes_received,
        })
    };
    document["initiators"] = target.iter().flat_map(|target| target.peers()).map(initiator).collect();
    document["exchanges"] = target.map_or(0, |target| target.exchanges()).into();
    document
}

/// All counters, by name.
pub(super) fn figures(node: &Node) -> Vec<(String, u64)> {
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
        let mut theirs = ip::figures(ip.host.counters(), services.served(&ip.host));
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
