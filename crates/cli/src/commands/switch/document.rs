//! A switch's counters, and what it knows, as a document.

use crate::commands::dcb;
use linerate_dcb::Neighbour;
use linerate_load::switch::SwitchJob;
use linerate_port::switch::{
    ClassCounters, GroupCounters, Ledger, ListenerCounters, PortReport, PriorityCounters, Storm, Switch, TableCounters,
};
use linerate_rt::dcb::SwitchDcb;
use linerate_rt::monotonic_ns;
use linerate_wire::MacAddr;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Ports with listeners, and the seconds for which they count.
type Listeners = Vec<(String, u64)>;

/// Content of a document, copied from a switch: its thread has other things to do than to make a text of it.
pub(super) struct Snapshot {
    ports: Vec<PortReport>,
    table: TableCounters,
    listener: ListenerCounters,
    group_table: Option<GroupCounters>,
    /// There may be thousands, so they have the number of their port, and each name is copied once.
    addresses: Vec<(u16, MacAddr, u16, u64)>,
    names: BTreeMap<u16, String>,
    groups: Vec<(u16, IpAddr, Listeners)>,
    queriers: Vec<(u16, IpAddr, Option<String>)>,
    routers: Vec<(String, bool)>,
    blocked: Vec<(String, String)>,
    storms: Vec<Storm>,
    /// Those that LLDP has told of, by port.
    neighbours: Vec<(String, Vec<Neighbour>)>,
}

impl Snapshot {
    /// Copies the state of a switch.
    pub(super) fn of(job: &SwitchJob) -> Self {
        let switch: &Switch = &job.switch;
        let mut names = BTreeMap::new();
        let mut addresses = Vec::with_capacity(usize::try_from(switch.table().known).unwrap_or(0));
        let mut last = None;
        for row in switch.addresses() {
            if last.replace(row.number) != Some(row.number) {
                names.entry(row.number).or_insert_with(|| row.port.to_owned());
            }
            addresses.push((row.vlan, row.mac, row.number, row.age));
        }
        let of = |ports: Vec<(&str, u64)>| ports.into_iter().map(|(port, left)| (port.to_owned(), left)).collect();
        Self {
            ports: switch.ports(),
            table: switch.table(),
            listener: job.listener.counters(),
            group_table: switch.group_counters(),
            addresses,
            names,
            groups: switch.groups().map(|row| (row.vlan, row.group, of(row.ports))).collect(),
            queriers: switch.queriers().map(|row| (row.vlan, row.address, row.port.map(str::to_owned))).collect(),
            routers: switch.routers().map(|row| (row.port.to_owned(), row.v6)).collect(),
            blocked: switch.blocked().map(|row| (row.port.to_owned(), row.joined_to.to_owned())).collect(),
            storms: switch.storms(),
            neighbours: job
                .dcb
                .iter()
                .flat_map(SwitchDcb::ports)
                .map(|(port, client)| (port.to_owned(), client.dcb().neighbours().to_vec()))
                .collect(),
        }
    }

    /// All counters, and what the switch knows, with rows in order.
    pub(super) fn document(mut self, name: &str) -> Value {
        let (ledger, now) = (Ledger::of(&self.ports), monotonic_ns());
        let Self { table, listener, .. } = self;
        self.addresses.sort_by_key(|(vlan, mac, ..)| (*vlan, mac.0));
        self.groups.sort_by_key(|(vlan, group, _)| (*vlan, *group));
        self.queriers.sort_by_key(|(vlan, address, _)| (*vlan, *address));
        let addresses = self.addresses.iter();
        let groups = self.groups.iter().map(|(vlan, group, ports)| {
            let ports: Vec<_> = ports.iter().map(|(port, left)| json!({"port": port, "left_s": left})).collect();
            json!({"group": group, "vlan": vlan, "ports": ports})
        });
        let queriers = self.queriers.iter();
        let routers = self.routers.iter().map(|(port, v6)| json!({"port": port, "ip": if *v6 { 6 } else { 4 }}));
        json!({
            "schema": "linerate.switch", "version": 1, "switch": name,
            "ports": self.ports.iter().map(port).collect::<Vec<_>>(),
            "ledger": {
                "received": ledger.received, "refused": map(ledger.refused.iter()), "copies": ledger.copies,
                "own": ledger.own,
                "sent": ledger.sent, "dropped": map(ledger.dropped.iter()), "waiting": ledger.waiting,
                "lost": ledger.lost,
                "unexplained": ledger.unexplained,
            },
            "table": {
                "size": table.size, "known": table.known, "learned": table.learned, "moved": table.moved, "evicted": table.evicted,
                "refused": table.refused,
            },
            "door": {"admitted": listener.admitted, "refused": listener.refused, "violations": listener.violations},
            "addresses": addresses
                .map(|(vlan, mac, port, age)| {
                    json!({"mac": mac.to_string(), "vlan": vlan, "port": self.names.get(port), "age_s": age})
                })
                .collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
            "queriers": queriers
                .map(|(vlan, address, port)| json!({"address": address, "vlan": vlan, "port": port}))
                .collect::<Vec<_>>(),
            "routers": routers.collect::<Vec<_>>(),
            "blocked": self.blocked.iter()
                .map(|(port, other)| json!({"port": port, "joined_to": other}))
                .collect::<Vec<_>>(),
            "storms": self.storms.iter()
                .map(|storm| json!({
                    "port": storm.port, "class": storm.class, "prio": dcb::priorities(storm.priorities), "circle": storm.circle,
                }))
                .collect::<Vec<_>>(),
            "neighbours": self.neighbours.iter()
                .flat_map(|(port, all)| all.iter().map(move |known| {
                    let mut row = dcb::neighbour(known, now);
                    row["at"] = json!(port);
                    row
                }))
                .collect::<Vec<_>>(),
            "group_table": self.group_table.map(|groups| {
                json!({
                    "known": groups.known, "entered": groups.entered, "refused": groups.refused,
                    "messages": groups.messages,
                })
            }),
        })
    }
}

fn map<'a>(drops: impl Iterator<Item = (&'a str, u64)>) -> Value {
    drops.map(|(reason, n)| (reason.to_owned(), Value::from(n))).collect::<Map<_, _>>().into()
}

fn port(port: &PortReport) -> Value {
    let count = &port.count;
    let priority =
        |count: &PriorityCounters| json!({"sent": count.sent, "dropped": count.dropped, "waits": count.waits});
    let class = |(class, count): (usize, &ClassCounters)| {
        json!({
            "class": class, "queued": count.queued, "queued_bytes": count.queued_bytes, "waiting": count.waiting,
            "waiting_bytes": count.waiting_bytes, "storms": count.storms, "ecn_marked": count.marked, "cnms": count.notices,
            "dropped": map(count.dropped.iter()),
        })
    };
    json!({
        "name": port.name, "path": port.path, "gone": port.gone, "blocked": port.blocked,
        "received": count.received, "received_bytes": count.received_bytes, "flooded": count.flooded, "held": count.held,
        "copies": count.copies, "own": count.own, "kept": count.kept, "refused": map(count.refused.iter()),
        "sent": count.sent, "sent_bytes": count.sent_bytes, "dropped": map(count.dropped.iter()),
        "finished": map(count.finished.iter()),
        "lost": map(port.fate.lost.iter()), "in_ring": port.fate.in_ring,
        "priorities": count.priorities.iter().map(priority).collect::<Vec<_>>(),
        "pfc": {
            "requests": port.pfc.requests, "indications": port.pfc.indications,
            "tx_pause_frames": port.pfc.tx_pause_frames, "rx_pause_frames": port.pfc.rx_pause_frames,
        },
        "classes": port.classes.as_ref().map(|classes| classes.iter().enumerate().map(class).collect::<Vec<_>>()),
    })
}
