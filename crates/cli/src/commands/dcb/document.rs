//! State of a port as a JSON document.

use super::Port;
use linerate_dcb::{Application, Classes, Counters, Neighbour, Off, Selection, Settings, Table};
use linerate_port::Link;
use linerate_rt::monotonic_ns;
use linerate_wire::Priority;
use serde_json::{Map, Value, json};

/// All that a document is made of, taken between two turns of the port.
pub(super) struct Snapshot {
    port: String,
    path: String,
    mac: String,
    link: Link,
    settings: Settings,
    table: Table,
    neighbours: Vec<Neighbour>,
    counters: Counters,
    now: u64,
}

impl Snapshot {
    pub(super) fn of((client, info, link): Port<'_>) -> Self {
        let dcb = client.dcb();
        Self {
            port: info.name.clone(),
            path: info.path.clone(),
            mac: client.mac().to_string(),
            link,
            settings: dcb.settings().clone(),
            table: dcb.operative().clone(),
            neighbours: dcb.neighbours().to_vec(),
            counters: *dcb.counters(),
            now: monotonic_ns(),
        }
    }

    pub(super) fn document(&self) -> Value {
        let Self { table, settings, counters, .. } = self;
        let (taken, conflict) = (table.taken, table.conflict);
        json!({
            "schema": "linerate.dcb", "version": 1,
            "port": self.port, "path": self.path, "mac": self.mac,
            "link": if self.link == Link::Up { "up" } else { "down" },
            "dcbx": table.version.map(|version| version.to_string()),
            "off": table.off.map(|off| match off {
                Off::NoPeer => "no peer".to_owned(),
                Off::Peers(peers) => format!("{peers} neighbours speak it"),
            }),
            "willing": settings.willing,
            "operative": table_of(&table.classes, table.pfc, &table.applications),
            "cn": Priority::ALL.iter().filter_map(|of| {
                Some(json!({ "prio": of.number(), "defence": table.congestion.defence(*of)?.name() }))
            }).collect::<Vec<_>>(),
            "from_peer": { "ets": taken.classes, "pfc": taken.pfc, "app": taken.applications },
            "conflict": { "pfc": conflict.pfc, "app": conflict.applications },
            "local": table_of(&settings.classes, settings.pfc, &settings.applications),
            "neighbours": self.neighbours.iter().map(|n| neighbour(n, self.now)).collect::<Vec<_>>(),
            "counters": {
                "sent": counters.sent, "received": counters.received, "dropped": named(counters.dropped.iter()),
                "tlvs_discarded": named(counters.tlvs_discarded.iter()),
                "tlvs_unrecognized": counters.tlvs_unrecognized, "aged_out": counters.aged_out,
                "changes": counters.changes, "changes_held": counters.changes_held, "events_lost": counters.events_lost,
            },
        })
    }
}

/// A neighbour, and what it said.
pub(in crate::commands) fn neighbour(neighbour: &Neighbour, now: u64) -> Value {
    let heard = &neighbour.heard;
    let ieee = heard.ieee.as_ref().map(|ieee| {
        json!({
            "ets": ieee.configuration.map(|(willing, classes)| {
                json!({ "willing": willing, "configuration": classes_of(&classes) })
            }),
            "recommendation": ieee.recommendation.map(|classes| classes_of(&classes)),
            "pfc": ieee.pfc.map(|(willing, pfc)| json!({ "willing": willing, "prio": priorities(pfc) })),
            "app": ieee.applications.as_ref().map(|apps| applications(apps)),
        })
    });
    let cee = heard.cee.as_ref().map(|cee| {
        json!({
            "sequence": cee.control.sequence, "acknowledged": cee.control.acknowledged,
            "pg": cee.classes.map(|(feature, classes)| {
                json!({ "willing": feature.willing, "error": feature.error, "configuration": classes_of(&classes) })
            }),
            "pfc": cee.pfc.map(|(feature, pfc)| {
                json!({ "willing": feature.willing, "error": feature.error, "prio": priorities(pfc) })
            }),
            "app": cee.applications.as_ref().map(|(_, apps)| applications(apps)),
        })
    });
    json!({
        "chassis": neighbour.chassis.to_string(), "port": neighbour.port.to_string(), "mac": neighbour.mac.to_string(),
        "system": neighbour.system, "description": neighbour.description, "ttl": neighbour.ttl,
        "expires_s": neighbour.expires.saturating_sub(now) / 1_000_000_000,
        "ieee": ieee, "cee": cee,
        "cn": heard.congestion.map(|cn| json!({ "prio": priorities(cn.priorities), "ready": priorities(cn.ready) })),
    })
}

fn named(counts: impl Iterator<Item = (&'static str, u64)>) -> Map<String, Value> {
    counts.map(|(name, n)| (name.to_owned(), n.into())).collect()
}

fn table_of(classes: &Classes, pfc: u8, apps: &[Application]) -> Value {
    json!({ "ets": classes_of(classes), "pfc": priorities(pfc), "app": applications(apps) })
}

fn classes_of(classes: &Classes) -> Value {
    let algorithm = |selection: &Selection| if *selection == Selection::Strict { "strict" } else { "ets" };
    json!({
        "prio_tc": classes.of,
        "tc_tsa": classes.selection.iter().map(algorithm).collect::<Vec<_>>(),
        "tc_bw": classes.selection.map(|selection| selection.share().unwrap_or(0)),
    })
}

/// Numbers of the priorities of a set, which has one bit each.
pub(in crate::commands) fn priorities(set: u8) -> Vec<u8> {
    Priority::ALL.iter().filter(|priority| set & priority.bit() != 0).map(|priority| priority.number()).collect()
}

fn applications(apps: &[Application]) -> Vec<Value> {
    let one = |app: &Application| json!({ "selector": app.selector.to_string(), "protocol": app.protocol, "prio": app.priority.number() });
    apps.iter().map(one).collect()
}
