//! Output of `nic show` and `nic list`.

use linerate_nic::{Nic, Saved, ViSettings};
use linerate_port::{KINDS, Link};
use serde_json::{Map, Value, json};
use std::fs;
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

pub(super) fn colons(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
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
            "mac": colons(settings.mac),
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
    text += &format!("\tether {}\n\tstatus: {status}\n\tpath: {}\n", colons(settings.mac), info.path);
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

/// Host interfaces: name, address, MTU, state.
fn host() -> Vec<[String; 4]> {
    let class = Path::new("/sys/class/net");
    let read = |name: &str, file: &str| {
        fs::read_to_string(class.join(name).join(file)).map_or_else(|_| "-".to_owned(), |text| text.trim().to_owned())
    };
    let entries = fs::read_dir(class).into_iter().flatten().flatten();
    let mut rows: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|name| [name.clone(), read(&name, "address"), read(&name, "mtu"), read(&name, "operstate")])
        .collect();
    rows.sort();
    rows
}

/// The host's interfaces, the kinds of ports, and the ports with saved settings.
pub(super) fn list(saved: &Saved, json: bool) -> String {
    let host = host();
    if json {
        let interfaces: Vec<_> = host
            .iter()
            .map(|[name, mac, mtu, state]| json!({ "name": name, "mac": mac, "mtu": mtu.parse::<u64>().ok(), "state": state }))
            .collect();
        let kinds: Vec<_> = KINDS.iter().map(|kind| json!({ "kind": kind.name, "about": kind.about })).collect();
        let saved: Map<String, Value> = saved.ports().map(|(port, words)| (port.clone(), json!(words))).collect();
        let document = json!({ "schema": 1, "host": interfaces, "kinds": kinds, "saved": saved });
        return format!("{document:#}\n");
    }
    let mut text = String::from("interfaces of this host (xdp:NAME, packet:NAME; tap:NAME for a TAP)\n");
    for [name, mac, mtu, state] in &host {
        text += &format!("\t{name:16}{mac:19}mtu {mtu:8}{state}\n");
    }
    text += "adapters of linerate's own are made over any port\n";
    text += &KINDS.iter().map(|kind| format!("\t{:16}{}\n", format!("{}:", kind.name), kind.about)).collect::<String>();
    if saved.ports().next().is_some() {
        text += "settings are kept for\n";
        text += &saved.ports().map(|(port, words)| format!("\t{port:16}{}\n", words.join(" "))).collect::<String>();
    }
    text
}
