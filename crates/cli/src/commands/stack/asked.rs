//! `linerate stack show`: a host that runs, from another shell.

use crate::commands::control::{Kind, moved, rows, table, word};
use crate::commands::shared::port_name;
use serde_json::Value;

/// Requests to hosts.
pub(super) const KIND: Kind = Kind {
    name: "stack",
    many: "hosts",
    start: "linerate stack up -i PORT --addr CIDR",
    show: "linerate stack show",
    resolve: port_name,
    text,
    moved: |before, now, seconds| moved(&before["counters"], &now["counters"], seconds),
};

fn text(document: &Value) -> String {
    let words = |row: &Value, names: &[&str]| names.iter().map(|name| word(&row[*name])).collect();
    let router = |row: &Value| if row["router"] == true { "yes".to_owned() } else { "-".to_owned() };
    let services: Vec<&str> = document["services"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let counters = document["counters"].as_object().into_iter().flatten();
    let of = |name: &str| word(&document[name]);
    let head = format!(
        "{}, process {}: {}\n{}, MTU {}, link {}, queues {}; services: {}\n",
        of("port"),
        of("pid"),
        of("path"),
        of("mac"),
        of("mtu"),
        of("link"),
        of("queues"),
        if services.is_empty() { "-".to_owned() } else { services.join(", ") }
    );
    let parts = [
        head,
        table(&["address", "state"], &rows(document, "address_states", |row| words(row, &["address", "state"]))),
        table(&["route", "by"], &rows(document, "routes", |row| words(row, &["to", "via"]))),
        table(
            &[
                "state",
                "recv-Q",
                "send-Q",
                "local",
                "remote",
                "cwnd",
                "rtt us",
                "pacing bit/s",
                "sent again",
                "time-outs",
                "old stamps",
                "outside",
            ],
            &rows(document, "connections", |row| {
                let names = [
                    "state",
                    "receive_queue",
                    "send_queue",
                    "local",
                    "remote",
                    "cwnd",
                    "rtt_us",
                    "pacing_bits_per_s",
                    "sent_again",
                    "timeouts",
                    "old_timestamps",
                    "outside_window",
                ];
                words(row, &names)
            }),
        ),
        table(
            &["neighbour", "MAC address", "state", "router"],
            &rows(document, "neighbours", |row| {
                vec![word(&row["address"]), word(&row["mac"]), word(&row["state"]), router(row)]
            }),
        ),
        counters.filter(|(_, n)| n.as_u64() != Some(0)).map(|(name, n)| format!("{name:28} {n}\n")).collect(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
