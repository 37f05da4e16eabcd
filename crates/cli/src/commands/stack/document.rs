//! A host's counters, and what it knows, as a table and as a document.

use crate::commands::ip;
use linerate_port::{Drops, Link};
use linerate_rt::net::{Served, Service, Serving, Streamed};
use linerate_stack::tcp::Connection;
use linerate_stack::{AddressState, Cidr, Counters, Neighbour, NeighbourState, Route};
use serde_json::{Map, Value, json};
use std::net::SocketAddr;

/// Most connections of a shard that are shown.
const SHOWN: usize = 1000;

/// Counts of one shard.
pub(super) struct Part {
    counters: Counters,
    served: Vec<(&'static Service, Served)>,
    streamed: Vec<(&'static Service, Streamed)>,
    connections: Vec<Value>,
    dropped: Drops,
}

impl Part {
    /// Copies the counters of a shard.
    pub(super) fn of(serving: &Serving) -> Self {
        let node = serving.node();
        Self {
            counters: *node.ip.host.counters(),
            served: serving.served().collect(),
            streamed: serving.streamed().collect(),
            connections: node.ip.host.tcp_all().take(SHOWN).map(connection).collect(),
            dropped: node.line().tx_counters().dropped,
        }
    }
}

/// State that the shards have in common.
pub(super) struct Common {
    control: linerate_nic::Control,
    addresses: Vec<(Cidr, Option<AddressState>)>,
    mac: String,
    mtu: usize,
    link: Link,
    routes: Vec<Route>,
    neighbours: Vec<Neighbour>,
}

impl Common {
    /// Copies what a shard has in common with the others.
    pub(super) fn of(serving: &mut Serving) -> Self {
        let (control, link) = (serving.node().line().control().clone(), serving.node().line().link());
        let host = serving.host();
        let addresses = host.addresses().iter().map(|cidr| (*cidr, host.address_state(cidr.addr()))).collect();
        Self {
            control,
            addresses,
            mac: host.mac().to_string(),
            mtu: host.mtu(),
            link,
            routes: host.routes().copied().collect(),
            neighbours: host.neighbours().iter().collect(),
        }
    }
}

/// All counters of all shards, by name.
fn figures(common: &Common, parts: &[Part]) -> Vec<(String, u64)> {
    let mut counters = Counters::default();
    parts.iter().for_each(|part| counters += part.counters);
    let mut figures = ip::figures(
        &counters,
        parts.iter().flat_map(|part| part.served.iter().copied()),
        parts.iter().flat_map(|part| part.streamed.iter().copied()),
    );
    let drops: Vec<Drops> = parts.iter().map(|part| part.dropped).collect();
    figures.extend(ip::adapter_figures(&common.control, &drops, 0));
    figures
}

/// Counters as a table, a line each.
pub(super) fn table(common: &Common, parts: &[Part]) -> String {
    figures(common, parts).iter().map(|(name, n)| format!("{name:28} {n}\n")).collect()
}

/// Counters and addresses as a document.
pub(super) fn document(common: &Common, parts: &[Part]) -> Value {
    let counters: Map<String, Value> = figures(common, parts).into_iter().map(|(name, n)| (name, json!(n))).collect();
    let info = common.control.port();
    json!({
        "schema": "linerate.stack", "version": 1, "port": info.name, "path": info.path, "queues": parts.len(),
        "addresses": common.addresses.iter().map(|(cidr, _)| cidr.to_string()).collect::<Vec<_>>(),
        "mac": common.mac, "mtu": common.mtu, "counters": counters,
    })
}

/// The same, and what the host knows now.
pub(super) fn known(common: &Common, parts: &[Part]) -> Value {
    let mut document = document(common, parts);
    let states = common.addresses.iter().map(|(cidr, state)| {
        let state = match state {
            Some(AddressState::Checking) => "checking",
            Some(AddressState::Deprecated) => "deprecated",
            Some(AddressState::Preferred) => "preferred",
            None => "gone",
        };
        json!({"address": cidr.to_string(), "state": state})
    });
    document["address_states"] = states.collect();
    document["link"] = if common.link == Link::Up { "up" } else { "down" }.into();
    document["routes"] =
        common.routes.iter().map(|route| json!({"to": route.to.to_string(), "via": route.via})).collect();
    document["connections"] = parts.iter().flat_map(|part| &part.connections).cloned().collect();
    document["neighbours"] = common.neighbours.iter().map(neighbour).collect();
    let mut services: Vec<&str> = parts.iter().flat_map(|part| &part.served).map(|(service, _)| service.name).collect();
    services.sort_unstable();
    services.dedup();
    document["services"] = json!(services);
    document
}

/// A connection, as `ss -ti` shows it: sizes in bytes, times in microseconds; no pacing over a short round trip.
fn connection((local, remote, row): (SocketAddr, SocketAddr, &Connection)) -> Value {
    let counters = row.counters();
    json!({
        "state": row.state().name(), "local": local, "remote": remote, "receive_queue": row.readable(),
        "send_queue": row.unacknowledged(), "cwnd": row.congestion_window(), "rtt_us": row.rtt().map(|ns| ns / 1000),
        "pacing_bits_per_s": row.pacing().map(|bytes| bytes.saturating_mul(8)),
        "mss": row.mss(), "acknowledged": counters.acknowledged, "sent_again": counters.sent_again,
        "timeouts": counters.timeouts, "old_timestamps": counters.old_timestamps,
        "outside_window": counters.outside_window,
    })
}

fn neighbour(row: &Neighbour) -> Value {
    let state = match row.state {
        NeighbourState::Incomplete => "incomplete",
        NeighbourState::Reachable => "reachable",
        NeighbourState::Stale => "stale",
        NeighbourState::Delay => "delay",
        NeighbourState::Probe => "probe",
        NeighbourState::Permanent => "permanent",
    };
    let mac = row.mac.map(|mac| mac.to_string());
    json!({"address": row.ip, "mac": mac, "state": state, "router": row.router, "held": row.held})
}
