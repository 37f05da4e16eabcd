//! Adapters of a FreeBSD host, from a tree with what its programs print.

use super::super::layout::{Layout, cut, speed};
use super::head::Head;
use super::list::Host;
use super::show::pcie;
use super::source;
use crate::trouble::Trouble;
use linerate_host::adapter::PciLink;
use linerate_host::freebsd::{DriverSysctl, FreebsdAdapter, FreebsdTexts, IfCapability, Ifconfig, PciExpress};
use linerate_host::{Absent, Part};
use linerate_nic::{Change, FLAGS, Flag};
use serde_json::{Value, json};
use std::path::Path;

/// The driver whose manual has the rules of [`FLAGS`].
const PUBLISHED: &str = "oce";

/// Most columns of a name that stands before a value.
const LABEL: usize = 72;

/// Texts of a FreeBSD host, if the tree is of one: it has a folder of that name.
pub(super) fn texts(from: Option<&Path>) -> Result<Option<FreebsdTexts>, Trouble> {
    if from.is_none() {
        return Ok(None);
    }
    let tree = source(from)?;
    if tree.names("freebsd").is_err() {
        return Ok(None);
    }
    Ok(Some(FreebsdTexts::read(|name| tree.file(&format!("freebsd/{name}")))))
}

fn unread(absent: &Absent) -> Trouble {
    Trouble::failed(format!("freebsd/ifconfig: {absent}"))
}

/// Rows of all interfaces.
pub(super) fn host(texts: &FreebsdTexts) -> Result<Host, Trouble> {
    let all = texts.interfaces.as_ref().map_err(unread)?;
    Ok(Host(all.iter().map(|link| row(link, texts)).collect()))
}

fn row(link: &Ifconfig, texts: &FreebsdTexts) -> ([String; 9], Value) {
    let driver = link.driver();
    let function = texts.function(&link.name);
    let kind = match function {
        _ if link.has("LOOPBACK") => "loopback",
        Some(_) => "device",
        None => "-",
    };
    let bus = function.map(|function| function.selector.as_str());
    let state = match link.status.as_deref() {
        _ if link.flags.is_some() && !link.has("UP") => Some("down"),
        Some("no carrier") => Some("no link"),
        other => other,
    };
    let there = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let cells = [
        link.name.clone(),
        kind.to_owned(),
        driver.to_owned(),
        there(bus),
        there(link.speed().map(speed).as_deref()),
        there(link.mtu.map(|mtu| mtu.to_string()).as_deref()),
        there(state),
        "-".to_owned(),
        "no".to_owned(),
    ];
    let document = json!({
        "name": link.name,
        "index": null,
        "kind": kind,
        "driver": driver,
        "bus": bus,
        "mac": link.ether,
        "speed_mbps": link.speed(),
        "mtu": link.mtu,
        "state": state,
        "queues": null,
        "xdp": null,
    });
    (cells, document)
}

/// Text or document of an interface.
pub(super) fn show(texts: &FreebsdTexts, name: &str, json: bool) -> Result<String, Trouble> {
    let adapter = texts.adapter(name).map_err(|absent| match absent.is_gone() {
        true => super::missing(name),
        false => unread(&absent),
    })?;
    if json {
        return Ok(format!("{:#}\n", json!({"schema": "linerate.nic.freebsd", "version": 1, "adapter": adapter})));
    }
    let mut out = Layout::default();
    head(&mut out, &adapter.interface);
    device(&mut out, &adapter);
    out.group("offloads");
    adapter.offloads.iter().for_each(|one| out.row(&cut(&one.name, LABEL), &offload(one, &adapter)));
    out.group("parameters");
    adapter.sysctls.iter().flatten().for_each(|one| variable(&mut out, &one.name, &parameter(one)));
    out.group("boot settings");
    adapter.boot.iter().flatten().for_each(|(name, value)| variable(&mut out, name, value));
    out.group("packages");
    let packages = adapter.packages.iter().flatten();
    packages.for_each(|one| out.row(&cut(&one.name, LABEL), &format!("{}, {}", one.version, one.comment)));
    out.group("counters that are not zero");
    let counters = adapter.counters.iter().flatten().filter(|(_, count)| **count != 0);
    counters.for_each(|(name, count)| variable(&mut out, name, &count.to_string()));
    absent(&mut out, &adapter);
    Ok(out.finish())
}

fn head(out: &mut Layout, link: &Ifconfig) {
    let flags = link.flags.as_ref().map(ToString::to_string).unwrap_or_default();
    let metric = link.metric.map(|metric| format!(" metric {metric}")).unwrap_or_default();
    let with = |name: &'static str, rows: &[String]| rows.iter().map(|row| format!("{name} {row}")).collect::<Vec<_>>();
    let mut lines = with("ether", link.ether.as_slice());
    lines.extend(with("hwaddr", link.hardware.as_slice()));
    lines.extend(with("inet", &link.inet));
    lines.extend(with("inet6", &link.inet6));
    let head = Head {
        first: format!("{}: flags={flags}{metric}", link.name),
        mtu: link.mtu,
        note: None,
        options: [&link.options, &link.capabilities].map(|set| set.as_ref().map(ToString::to_string)),
        lines,
        media: link.media.clone(),
        status: link.status.clone(),
        supported: link.supported.clone(),
    };
    head.show(out);
}

fn device(out: &mut Layout, adapter: &FreebsdAdapter) {
    out.group("device");
    let version = adapter.driver_version.as_deref().unwrap_or_default();
    out.row("driver", &format!("{} {version}", adapter.driver));
    out.maybe("firmware", adapter.firmware.clone().ok());
    out.maybe("description", adapter.description.clone().ok());
    out.maybe("parent", adapter.parent.clone().ok());
    if let Ok(pci) = &adapter.pci {
        let ids = pci.vendor_id.zip(pci.device_id);
        let ids = ids.map(|(vendor, device)| format!(" ({vendor:04x}:{device:04x})")).unwrap_or_default();
        out.row("PCI", &format!("{}{ids}", pci.selector));
        out.maybe("vendor", pci.vendor.clone());
        out.maybe("device", pci.device.clone());
        out.row("PCIe", &pci.express.as_ref().map_or_else(|| "pciconf tells no link".to_owned(), link));
        let payload = pci.express.as_ref().and_then(|express| express.max_data);
        out.maybe("PCIe payload", payload.map(|(now, most)| format!("{now} of {most} bytes")));
    }
    adapter.interface.other.iter().for_each(|line| out.row("also", line));
}

/// PCIe link as of Linux's adapters, if its speed is told.
fn link(express: &PciExpress) -> String {
    match (express.lanes, express.speed) {
        (Some((width, width_most)), Some((speed, speed_most))) => {
            pcie(&PciLink { speed, speed_most, width, width_most })
        }
        (Some((width, most)), None) => format!("x{width} of x{most}; pciconf tells no speed"),
        (None, _) => "pciconf tells no link".to_owned(),
    }
}

/// State and bit of a capability; of one that the published table has, what it is, and its rules at the published driver.
fn offload(one: &IfCapability, adapter: &FreebsdAdapter) -> String {
    let mut text = if one.enabled { "on" } else { "off" }.to_owned();
    if let Some(bit) = one.bit.filter(|bit| *bit < 64) {
        text += &format!(", bit {bit} ({:#x})", 1_u64 << bit);
    }
    let Some(flag) = FLAGS.iter().find(|flag| flag.label == one.name) else { return text };
    text += &format!(": {}", flag.what);
    if adapter.driver == PUBLISHED {
        let needs = |other: &&Flag| {
            other.clears.contains(flag.flag) && adapter.offloads.iter().any(|one| one.name == other.label)
        };
        let needed = FLAGS.iter().filter(needs).map(|other| format!("needs {}", other.label));
        let change = match flag.change {
            Change::Free => None,
            Change::OnOnly => Some("cannot be disabled".to_owned()),
            Change::Never => Some("cannot be changed".to_owned()),
        };
        needed.chain(change).for_each(|rule| text += &format!("; {rule}"));
    }
    text
}

fn parameter(one: &DriverSysctl) -> String {
    let more = [("default", &one.default), ("at boot", &one.boot)];
    let more = more.iter().filter_map(|(name, value)| Some(format!(", {name} {}", value.as_ref()?)));
    let value = if one.value.is_empty() { "(empty)" } else { &one.value };
    format!("{value}{}", more.collect::<String>())
}

/// A row of a long name: in one line if it fits.
fn variable(out: &mut Layout, name: &str, value: &str) {
    if name.chars().count() <= 32 && value.chars().count() <= 39 {
        out.wide(name, value);
    } else {
        out.row(&cut(name, LABEL), value);
    }
}

/// Parts that are not there, and why.
fn absent(out: &mut Layout, adapter: &FreebsdAdapter) {
    fn why<T>(part: &Part<T>) -> Option<&Absent> {
        part.as_ref().err()
    }
    let parts = [
        ("driver version", why(&adapter.driver_version)),
        ("firmware", why(&adapter.firmware)),
        ("description", why(&adapter.description)),
        ("PCI", why(&adapter.pci)),
        ("parameters", why(&adapter.sysctls)),
        ("boot settings", why(&adapter.boot)),
        ("packages", why(&adapter.packages)),
    ];
    out.group("not told");
    parts.iter().filter_map(|(name, why)| Some((name, (*why)?))).for_each(|(name, why)| out.row(name, &why.why));
    adapter.notes.iter().for_each(|note| out.row("text", note));
}
