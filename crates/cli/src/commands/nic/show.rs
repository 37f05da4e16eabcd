//! Output of `nic show` and `nic list`.

use super::machine::host;
use crate::trouble::Trouble;
use linerate_nic::{Nic, Saved, ViSettings};
use linerate_port::{KINDS, Link};
#[cfg(target_os = "linux")]
use linerate_text::{colons, wrapped};
use serde_json::{Map, Value, json};
use std::path::Path;

/// FreeBSD's interface flags (`net/if.h`), as ifconfig prints them.
const IFF: [(u32, &str); 7] = [
    (0x1, "UP"),
    (0x2, "BROADCAST"),
    (0x40, "RUNNING"),
    (0x100, "PROMISC"),
    (0x200, "ALLMULTI"),
    (0x800, "SIMPLEX"),
    (0x8000, "MULTICAST"),
];

fn interface_flags(settings: &ViSettings, link: Link) -> String {
    let on = |name: &str| match name {
        "UP" => settings.up,
        "RUNNING" => settings.up && link == Link::Up,
        "PROMISC" => settings.promiscuous,
        "ALLMULTI" => settings.all_multicast,
        _ => true,
    };
    let rows: Vec<_> = IFF.iter().filter(|(_, name)| on(name)).collect();
    let bits = rows.iter().fold(0, |bits, (bit, _)| bits | bit);
    format!("{bits:x}<{}>", rows.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(","))
}

/// Text of an adapter as ifconfig -m and sysctl would print it; `words` are those saved for its port.
pub(super) fn adapter(nic: &Nic, words: &[String], json: bool) -> String {
    let control = nic.control();
    let (Ok(settings), Ok(parameters)) = (control.settings(0), control.parameters(0)) else { return String::new() };
    let (info, link) = (control.port(), nic.link());
    let status = if link == Link::Up { "active" } else { "no carrier" };
    if json {
        let offloads: Map<String, Value> =
            control.where_done().into_iter().map(|(what, how)| (what.to_owned(), how.into())).collect();
        let rows = parameters.iter().map(|(row, actual)| {
            let values = json!({ "actual": actual, "default": row.default, "about": row.about });
            (row.name.to_owned(), values)
        });
        let document = json!({
            "schema": 1,
            "port": info.name,
            "path": info.path,
            "status": status,
            "flags": interface_flags(&settings, link),
            "options": settings.flags.enabled().to_string(),
            "capabilities": settings.flags.capabilities().to_string(),
            "mac": colons(&settings.mac),
            "mtu": settings.mtu,
            "tx_queues": info.tx_queues,
            "rx_queues": info.rx_queues,
            "slots": info.slots,
            "offloads": offloads,
            "parameters": rows.collect::<Map<String, Value>>(),
            "saved": words,
            "notes": control.notes(),
        });
        return format!("{document:#}\n");
    }
    let mut text = format!("{}: flags={} mtu {}\n", info.name, interface_flags(&settings, link), settings.mtu);
    text += &settings.flags.to_string().lines().map(|line| format!("\t{line}\n")).collect::<String>();
    text += &format!("\tether {}\n\tstatus: {status}\n\tpath: {}\n", colons(&settings.mac), info.path);
    text += &format!("\tqueues: {} transmit, {} receive, {} slots each\n", info.tx_queues, info.rx_queues, info.slots);
    text += &control.notes().iter().map(|note| format!("\tnote: {note}\n")).collect::<String>();
    if !words.is_empty() {
        text += &format!("\tsaved: {}\n", words.join(" "));
    }
    text += "offloads\n";
    text += &control.where_done().iter().map(|(what, how)| format!("\t{what:26}{how}\n")).collect::<String>();
    text += "parameters\n";
    for (row, actual) in parameters {
        let name = format!("dev.lr.0.{}", row.name);
        text += &format!("\t{name:26}{actual:19}default {}; {}\n", row.default, row.about);
    }
    text
}

/// The host's interfaces, the kinds of ports, and the ports with saved settings.
pub(super) fn list(saved: &Saved, from: Option<&Path>, json: bool) -> Result<String, Trouble> {
    #[cfg(target_os = "linux")]
    let host = host(from)?;
    #[cfg(target_os = "linux")]
    let (table, documents) = (host.table(), host.documents());
    #[cfg(not(target_os = "linux"))]
    let (table, documents) = from.map_or_else(Default::default, |_| (String::new(), Vec::<Value>::new()));
    if json {
        let kinds: Vec<_> = KINDS.iter().map(|kind| json!({ "kind": kind.name, "about": kind.about })).collect();
        let saved: Map<String, Value> = saved.ports().map(|(port, words)| (port.clone(), json!(words))).collect();
        let document = json!({ "schema": 1, "host": documents, "kinds": kinds, "saved": saved });
        return Ok(format!("{document:#}\n"));
    }
    let mut text = table;
    for kind in KINDS {
        let name = format!("{}:", kind.name);
        let mut lines = wrapped(kind.about, 55).into_iter();
        text += &format!("{name:15} port     {}\n", lines.next().unwrap_or_default());
        lines.for_each(|line| text += &format!("{:25}{line}\n", ""));
    }
    text += "An interface is opened as xdp:NAME or packet:NAME, a TAP as tap:NAME.\n";
    if saved.ports().next().is_some() {
        text += "settings are kept for\n";
        text += &saved.ports().map(|(port, words)| format!("\t{port:16}{}\n", words.join(" "))).collect::<String>();
    }
    Ok(text)
}
