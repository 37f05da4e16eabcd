//! `nic show NAME`: all that kernel and driver tell of an interface of the host, in groups.

use super::super::layout::{Layout, speed};
use super::head::Head;
use super::queues::rows;
use super::{freebsd, interface, media, offloads, source};
use crate::commands::dcb::priorities;
use crate::trouble::Trouble;
use linerate_host::adapter::{Adapter, Fate, Interface, PciLink, interfaces, read};
use linerate_host::shell::operand;
use linerate_host::{Absent, Part};
use serde_json::json;
use std::path::Path;

/// Text of an interface of the host.
pub(in super::super) fn show(name: &str, from: Option<&Path>, json: bool) -> Result<String, Trouble> {
    if let Some(texts) = freebsd::texts(from)? {
        return freebsd::show(&texts, name, json);
    }
    let mut source = source(from)?;
    let found = interface(&mut *source, name)?;
    let adapter = read(&mut *source, found);
    if json {
        return Ok(document(&adapter));
    }
    // Indexes are shown as names; a recorded tree has no others, and a list that fails costs only these.
    let others = interfaces(&mut *source).unwrap_or_default();
    Ok(text(&adapter, &others))
}

fn document(adapter: &Adapter) -> String {
    format!("{:#}\n", json!({"schema": "linerate.nic.host", "version": 1, "adapter": adapter}))
}

fn text(adapter: &Adapter, others: &[Interface]) -> String {
    let mut out = Layout::default();
    head(&mut out, adapter);
    device(&mut out, adapter, others);
    super::queues::show(&mut out, adapter);
    receive(&mut out, adapter);
    link(&mut out, adapter);
    features(&mut out, adapter);
    absent(&mut out, adapter);
    out.finish()
}

/// Words that `ifconfig -m` would print.
fn head(out: &mut Layout, adapter: &Adapter) {
    let link = &adapter.interface;
    let (modes, port) = (adapter.modes.as_ref().ok(), adapter.port.as_ref().ok());
    let media = modes.map(|modes| {
        let kind = port.and_then(|port| port.port).unwrap_or_default();
        let current = modes.speed.map(|mbps| {
            let duplex = modes.duplex.unwrap_or("unknown");
            let name =
                media::current(&modes.supported, mbps, duplex, kind).unwrap_or_else(|| format!("{}bit/s", speed(mbps)));
            format!("{name} <{duplex}-duplex>")
        });
        let auto = if modes.autonegotiation == Some(true) { "autoselect" } else { "manual" };
        match current {
            Some(current) => format!("Ethernet {auto} ({current})"),
            None => format!("Ethernet {auto}"),
        }
    });
    let mut supported: Vec<_> = modes
        .iter()
        .flat_map(|modes| modes.supported.iter().filter_map(|name| media::mode(name)))
        .map(|(name, duplex)| format!("media {name} mediaopt {duplex}"))
        .collect();
    if !supported.is_empty() && modes.is_some_and(|modes| modes.supported.iter().any(|name| name == "Autoneg")) {
        supported.insert(0, "media autoselect".to_owned());
    }
    let head = Head {
        first: format!("{}: flags=<{}>", link.name, link.flags.join(",")),
        mtu: link.mtu,
        note: match &adapter.fate {
            Fate::Stayed => None,
            Fate::Renamed(name) => Some(format!("it was renamed to {name} while it was read; parts may be missing")),
            Fate::Gone => Some("it vanished while it was read; parts are missing".to_owned()),
        },
        options: [false, true].map(|all| offloads::options(adapter, all)),
        lines: link.address.iter().map(|address| format!("ether {address}")).collect(),
        media,
        status: Some(status(adapter)),
        supported,
    };
    head.show(out);
}

fn status(adapter: &Adapter) -> String {
    let link = &adapter.interface;
    if !link.has("UP") {
        return "down".to_owned();
    }
    let detail = adapter.link.as_ref().ok();
    let detected = detail.and_then(|detail| detail.detected).unwrap_or_else(|| link.has("LOWER_UP"));
    let why = detail.and_then(|one| {
        one.reason.clone().map(|why| match &one.detail {
            Some(detail) => format!(" ({why}: {detail})"),
            None => format!(" ({why})"),
        })
    });
    if detected { "active".to_owned() } else { format!("no carrier{}", why.unwrap_or_default()) }
}

fn device(out: &mut Layout, adapter: &Adapter, others: &[Interface]) {
    let link = &adapter.interface;
    out.group("interface");
    out.row("index", &link.index.to_string());
    out.maybe("other names", Some(link.other_names.join(" ")));
    out.maybe("alias", link.alias.clone());
    out.maybe("kind", link.kind.clone());
    let named = |index: u32| {
        let other = others.iter().find(|other| other.index == index);
        other.map_or_else(|| format!("interface {index}"), |other| other.name.clone())
    };
    out.maybe("of this kind", link.details.line(named));
    out.maybe("permanent address", link.permanent_address.clone());
    out.maybe("MTU", link.mtu.map(|mtu| format!("{mtu}{}", limits(link))));
    out.maybe("state", link.state.map(str::to_owned));
    out.maybe(
        "carrier changes",
        link.carrier_changes[0].map(|all| match link.carrier_changes {
            [_, Some(up), Some(down)] => format!("{all} ({up} up, {down} down)"),
            _ => all.to_string(),
        }),
    );
    out.maybe(
        "queueing",
        link.qdisc.as_ref().map(|name| match link.queue_length {
            Some(length) => format!("{name}, {length} frames"),
            None => name.clone(),
        }),
    );
    out.maybe("master", link.master.map(named));
    out.maybe("as its member", link.member.line(named));
    out.maybe(
        "lower or far end",
        link.lower.map(|index| {
            if link.lower_elsewhere { format!("interface {index} of another network namespace") } else { named(index) }
        }),
    );
    out.maybe("promiscuous users", link.promiscuity.filter(|n| *n > 0).map(|n| n.to_string()));
    out.maybe("super-frames", Some(rows(&link.super_frames)));
    out.group("device");
    if let Ok(driver) = &adapter.driver {
        out.maybe(
            "driver",
            driver.name.as_ref().map(|name| format!("{name} {}", driver.version.as_deref().unwrap_or_default())),
        );
        out.maybe("firmware", driver.firmware.clone());
        out.maybe("option ROM", driver.rom.clone());
        out.maybe("bus", driver.bus.clone());
    }
    if let Ok(devlink) = &adapter.devlink {
        out.row("devlink", &devlink.handle);
        let versions = [("running", &devlink.running), ("stored", &devlink.stored), ("fixed", &devlink.fixed)];
        for (kind, all) in versions.into_iter().filter(|(_, all)| !all.is_empty()) {
            let all = all.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ");
            out.row(kind, &all);
        }
        out.maybe("serial number", devlink.serial_number.clone());
        out.maybe("board's serial", devlink.board_serial_number.clone());
    }
    if let Ok(device) = &adapter.device {
        out.maybe("driver bound", device.driver.clone().ok());
        out.maybe("path", Some(format!("/{}", device.path)));
        if let Ok(pci) = &device.pci {
            let ids = pci.ids.as_ref().map(|ids| format!(" ({ids})")).unwrap_or_default();
            out.row("PCI", &format!("{}{ids}", pci.address));
            out.row("PCIe", &pci.link.as_ref().map_or_else(|why| format!("not told: {why}"), pcie));
            for (address, link) in &pci.narrows {
                out.row("narrowed by", &format!("{address}: {}", pcie(link)));
            }
        }
        out.maybe("NUMA node", device.node.as_ref().ok().map(u32::to_string));
        out.maybe("CPUs near", device.near.clone().ok());
        out.maybe(
            "virtual functions",
            device.virtual_functions.as_ref().ok().map(|(on, all)| format!("{on} of {all}")),
        );
    }
}

fn limits(link: &Interface) -> String {
    match (link.mtu_least, link.mtu_most) {
        (Some(least), Some(most)) => format!(" ({least} to {most})"),
        (Some(least), None) => format!(" (from {least})"),
        _ => String::new(),
    }
}

pub(super) fn pcie(link: &PciLink) -> String {
    let one = |speed: f64, width: u32, gigabits: f64| format!("{speed} GT/s x{width}, {gigabits:.1} Gb/s each way");
    let now = one(link.speed, link.width, link.gigabits());
    if link.gigabits() < link.gigabits_most() {
        format!("{now}; at most {}", one(link.speed_most, link.width_most, link.gigabits_most()))
    } else {
        now
    }
}

fn receive(out: &mut Layout, adapter: &Adapter) {
    out.group("receive-side scaling");
    if let Ok(rss) = &adapter.rss {
        out.maybe("hash function", rss.function.clone());
        out.maybe("symmetric", rss.symmetric.map(str::to_owned));
        out.maybe(
            "key",
            rss.key.as_ref().map(|key| {
                let bytes: Vec<_> = key.split(':').collect();
                bytes.chunks(16).map(|line| line.join(":")).collect::<Vec<_>>().join(": ")
            }),
        );
        out.maybe("table", rss.table.as_ref().map(|table| table_text(table)));
        rss.fields
            .iter()
            .filter(|(_, fields)| !fields.is_empty())
            .for_each(|(flow, fields)| out.row(&format!("fields {flow}"), &fields.join(", ")));
    }
    out.group("XDP");
    if let Ok(xdp) = &adapter.xdp {
        out.row("driver", &if xdp.features.is_empty() { "none".to_owned() } else { xdp.features.join(", ") });
        out.maybe("program", adapter.interface.xdp_program.map(|id| id.to_string()));
        out.maybe("metadata", Some(xdp.rx_metadata.join(", ")));
        out.maybe("AF_XDP transmit", Some(xdp.xsk.join(", ")));
        out.maybe("zero-copy slots", xdp.zero_copy_segments.map(|n| n.to_string()));
    }
    out.group("time-stamping");
    if let Ok(stamps) = &adapter.stamps {
        out.maybe("capabilities", Some(stamps.capabilities.join(", ")));
        out.row("hardware clock", &stamps.clock.map_or_else(|| "none".to_owned(), |n| format!("/dev/ptp{n}")));
        out.maybe("transmit", Some(stamps.transmit.join(", ")));
        out.maybe("receive", Some(stamps.receive.join(", ")));
    }
}

/// Entries of the table, runs together: how often each queue is there, if that is shorter.
fn table_text(table: &[u32]) -> String {
    let mut counts = std::collections::BTreeMap::<u32, usize>::new();
    table.iter().for_each(|queue| *counts.entry(*queue).or_default() += 1);
    let even = counts.values().max().zip(counts.values().min()).is_some_and(|(most, least)| most - least <= 1);
    if even && counts.len() > 1 {
        let queues = (counts.keys().next().copied().unwrap_or(0), counts.keys().last().copied().unwrap_or(0));
        return format!("{} entries, evenly over {} queues ({} to {})", table.len(), counts.len(), queues.0, queues.1);
    }
    let each = counts.iter().map(|(queue, n)| format!("queue {queue}: {n}")).collect::<Vec<_>>().join(", ");
    format!("{} entries; {each}", table.len())
}

fn link(out: &mut Layout, adapter: &Adapter) {
    let yes = |value: Option<bool>| value.map(|on| if on { "on" } else { "off" }.to_owned());
    out.group("link");
    if let Ok(modes) = &adapter.modes {
        out.maybe("speed", modes.speed.map(|mbps| format!("{mbps} Mb/s")));
        out.maybe("duplex", modes.duplex.map(str::to_owned));
        out.maybe("autonegotiation", yes(modes.autonegotiation));
        out.maybe("lanes", modes.lanes.map(|n| n.to_string()));
        out.maybe("supported", Some(modes.supported.join(" ")));
        out.maybe("advertised", Some(modes.advertised.join(" ")));
        out.maybe("partner", modes.partner.as_ref().map(|all| all.join(" ")));
    }
    if let Ok(port) = &adapter.port {
        out.maybe("port", port.port.map(str::to_owned));
        out.maybe("transceiver", port.transceiver.map(str::to_owned));
    }
    if let Ok(link) = &adapter.link {
        out.maybe("link detected", link.detected.map(|on| if on { "yes" } else { "no" }.to_owned()));
        out.maybe("reason", link.reason.clone());
        out.maybe("detail", link.detail.clone());
        out.maybe("signal quality", link.quality.map(|(now, best)| format!("{now} of {best}")));
        out.maybe("link downs", link.downs.map(|n| n.to_string()));
    }
    if let Ok(module) = &adapter.module {
        super::module::show(out, module);
    }
    out.group("pause frames");
    if let Ok(pause) = &adapter.pause {
        out.maybe("autonegotiation", yes(pause.autonegotiation));
        out.maybe("receive", yes(pause.rx));
        out.maybe("transmit", yes(pause.tx));
        out.maybe("counters", Some(rows(&pause.counters)));
    }
    out.group("error correction");
    if let Ok(fec) = &adapter.fec {
        out.maybe("auto", yes(fec.auto));
        out.maybe("configured", Some(fec.configured.join(" ")));
        out.maybe("active", fec.active.clone());
        out.maybe("counters", Some(rows(&fec.counters)));
    }
    out.group("energy-efficient Ethernet");
    if let Ok(eee) = &adapter.eee {
        out.maybe("enabled", yes(eee.enabled));
        out.maybe("active", yes(eee.active));
        out.maybe("transmitter idles", yes(eee.tx_idle));
    }
    out.group("Data Center Bridging");
    if let Ok(dcb) = &adapter.dcb {
        out.maybe("DCBX", dcb.dcbx.map(|dcbx| dcbx.to_string()));
        let lossless =
            dcb.pfc.as_ref().map(|pfc| priorities(pfc.enabled).iter().map(u8::to_string).collect::<Vec<_>>());
        out.maybe("lossless priorities", lossless.map(|all| all.join(" ")));
        out.row("more", &format!("linerate dcb show {}", operand(&adapter.interface.name)));
    }
}

fn features(out: &mut Layout, adapter: &Adapter) {
    out.group("offloads");
    if let Ok(features) = &adapter.features {
        // Those that are off and fixed are told in one row.
        let never: Vec<_> = features
            .0
            .iter()
            .filter(|(_, one)| !one.active && !one.changeable)
            .map(|(name, _)| name.as_str())
            .collect();
        for (name, one) in features.0.iter().filter(|(_, one)| one.active || one.changeable) {
            let mut words = vec![if one.active { "on" } else { "off" }.to_owned()];
            if !one.changeable {
                words.push("[fixed]".to_owned());
            } else if one.wanted != one.active {
                words.push(format!("[requested {}]", if one.wanted { "on" } else { "off" }));
            }
            words.extend(offloads::names_of(name).iter().map(|name| (*name).to_owned()));
            feature(out, name, &words.join(" "));
        }
        out.maybe("off [fixed]", Some(never.join(" ")));
    }
    out.group("private flags");
    for (name, on) in adapter.private_flags.iter().flatten() {
        feature(out, name, if *on { "on" } else { "off" });
    }
}

fn feature(out: &mut Layout, name: &str, words: &str) {
    // Names are longer than labels.
    out.wide(name, words);
}

/// Parts that are not there, and why.
fn absent(out: &mut Layout, adapter: &Adapter) {
    fn why<T>(part: &Part<T>) -> Option<&Absent> {
        part.as_ref().err()
    }
    let parts = [
        ("driver", why(&adapter.driver)),
        ("device", why(&adapter.device)),
        ("modes", why(&adapter.modes)),
        ("port", why(&adapter.port)),
        ("module", why(&adapter.module)),
        ("link", why(&adapter.link)),
        ("channels", why(&adapter.channels)),
        ("rings", why(&adapter.rings)),
        ("moderation", why(&adapter.coalesce)),
        ("receive-side scaling", why(&adapter.rss)),
        ("offloads", why(&adapter.features)),
        ("private flags", why(&adapter.private_flags)),
        ("pause frames", why(&adapter.pause)),
        ("error correction", why(&adapter.fec)),
        ("energy efficiency", why(&adapter.eee)),
        ("XDP", why(&adapter.xdp)),
        ("queues", why(&adapter.queues)),
        ("steering", why(&adapter.steering)),
        ("interrupts", why(&adapter.irqs)),
        ("time-stamping", why(&adapter.stamps)),
    ];
    out.group("not told");
    parts.iter().filter_map(|(name, why)| Some((name, (*why)?))).for_each(|(name, why)| out.row(name, &why.why));
}
