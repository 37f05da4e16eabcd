//! One interface of a FreeBSD host, put together from all texts.

use super::sysctl::{counts, default_in};
use super::{FreebsdTexts, Ifconfig, InstalledPackage, LoaderConf, PciFunction};
use crate::absent::{Absent, Part, part};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything about an interface of a FreeBSD host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FreebsdAdapter {
    /// Output of ifconfig.
    pub interface: Ifconfig,
    /// Capabilities in the order of their bits.
    pub offloads: Vec<super::IfCapability>,
    /// Driver: the letters of the interface's name, or `vlan`.
    pub driver: String,
    #[serde(serialize_with = "part")]
    pub driver_version: Part<String>,
    #[serde(serialize_with = "part")]
    pub firmware: Part<String>,
    #[serde(serialize_with = "part")]
    pub description: Part<String>,
    /// Bus that the device is on.
    #[serde(serialize_with = "part")]
    pub parent: Part<String>,
    /// Function on the PCI bus, with its link.
    #[serde(serialize_with = "part")]
    pub pci: Part<PciFunction>,
    /// The driver's variables that do not count.
    #[serde(serialize_with = "part")]
    pub sysctls: Part<Vec<DriverSysctl>>,
    /// The driver's counters, by their names below the device.
    #[serde(serialize_with = "part")]
    pub counters: Part<BTreeMap<String, u64>>,
    /// Settings of the boot that are the driver's or the network's.
    #[serde(serialize_with = "part")]
    pub boot: Part<Vec<(String, String)>>,
    /// Installed packages about the driver.
    #[serde(serialize_with = "part")]
    pub packages: Part<Vec<InstalledPackage>>,
    /// Faults of the texts.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriverSysctl {
    /// Name, whole.
    pub name: String,
    /// Value now.
    pub value: String,
    /// Default, as its description tells or the driver's source has it.
    pub default: Option<String>,
    /// Value given at boot.
    pub boot: Option<String>,
    pub about: Option<String>,
}

/// Names that drivers have for their version and for that of the firmware.
const VERSIONS: [&str; 4] = ["component_revision", "driver_version", "iflib.driver_version", "version"];
const FIRMWARE: [&str; 4] = ["firmware_version", "fw_version", "hw.fw_version", "firmware.version"];

/// Defaults in a driver's source (`sys/dev/oce/oce_if.c`), which its descriptions do not tell: driver, variable, value.
const DEFAULTS: [(&str, &str, &str); 3] =
    [("oce", "max_rsp_handled", "64"), ("oce", "enable_rss", "1"), ("oce", "rq_buf_size", "2048")];

/// Beginnings of boot settings that are the network's, whatever the driver.
const NETWORK: [&str; 4] = ["net.", "kern.ipc.", "hw.pci.", "hw.intr"];

impl FreebsdAdapter {
    /// Puts together what the texts say of an interface.
    pub(super) fn of(interface: Ifconfig, texts: &FreebsdTexts) -> Self {
        let (driver, unit) = split(&interface.name);
        let (device, tunables) = (format!("dev.{driver}.{unit}"), format!("hw.{driver}"));
        let first = |leaves: &[&str]| {
            let sysctl = texts.sysctl.as_ref().map_err(Absent::clone)?;
            let value = leaves.iter().find_map(|leaf| sysctl.get(&format!("{device}.{leaf}")));
            // oce prints its version between slashes.
            let value = value.map(|value| value.trim_matches('/')).filter(|value| !value.is_empty());
            value
                .map(str::to_owned)
                .ok_or_else(|| Absent::told(format!("sysctl has no {device}.{}", leaves.join(", "))))
        };
        Self {
            offloads: interface.offloads(),
            driver_version: first(&VERSIONS),
            firmware: first(&FIRMWARE),
            description: first(&["%desc"]),
            parent: first(&["%parent"]),
            pci: texts.pci.as_ref().map_err(Absent::clone).and_then(|_| {
                let missing = || Absent::told(format!("pciconf lists no {}", interface.name));
                texts.function(&interface.name).cloned().ok_or_else(missing)
            }),
            sysctls: sysctls(texts, driver, [&device, &tunables]),
            counters: texts.sysctl.as_ref().map_err(Absent::clone).map(|sysctl| {
                let numbers = sysctl.below(&device).filter(|(leaf, _)| counts(leaf));
                numbers.filter_map(|(leaf, value)| Some((leaf.to_owned(), value.parse().ok()?))).collect()
            }),
            boot: texts.loader.as_ref().map_err(Absent::clone).map(|conf| boot(conf, driver)),
            packages: texts
                .packages
                .as_ref()
                .map_err(Absent::clone)
                .map(|all| all.iter().filter(|one| one.is_about(driver)).cloned().collect()),
            notes: notes(texts, &interface),
            driver: driver.to_owned(),
            interface,
        }
    }
}

/// Driver and unit of an interface's name; that of a VLAN may be the name of the one below it, a dot and its number (vlan(4)).
pub(crate) fn split(name: &str) -> (&str, &str) {
    if let Some((_, tag)) = name.rsplit_once('.') {
        return ("vlan", tag);
    }
    let driver = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (driver, name.strip_prefix(driver).unwrap_or_default())
}

fn sysctls(texts: &FreebsdTexts, driver: &str, nodes: [&str; 2]) -> Part<Vec<DriverSysctl>> {
    let sysctl = texts.sysctl.as_ref().map_err(Absent::clone)?;
    let loader = texts.loader.as_ref().ok();
    let row = |node: &str, leaf: &str, value: &str| {
        let name = format!("{node}.{leaf}");
        let about = texts.descriptions.as_ref().ok().and_then(|all| all.get(&name)).filter(|text| !text.is_empty());
        let published = || {
            let row = DEFAULTS.iter().find(|(of, name, _)| *of == driver && *name == leaf);
            row.map(|(_, _, value)| (*value).to_owned())
        };
        DriverSysctl {
            default: about.and_then(default_in).or_else(published),
            // A device's variable is given at boot for all devices of the driver, too.
            boot: loader
                .and_then(|conf| conf.get(&name).or_else(|| conf.get(&format!("hw.{driver}.{leaf}"))))
                .map(str::to_owned),
            about: about.map(str::to_owned),
            value: value.to_owned(),
            name,
        }
    };
    let below = |node| sysctl.below(node).map(move |(leaf, value)| (node, leaf, value));
    let rows = nodes.into_iter().flat_map(below).filter(|(_, leaf, _)| !counts(leaf) && !leaf.starts_with('%'));
    Ok(rows.map(|(node, leaf, value)| row(node, leaf, value)).collect())
}

/// Settings of the boot that are the driver's or the network's.
fn boot(conf: &LoaderConf, driver: &str) -> Vec<(String, String)> {
    let own = [format!("hw.{driver}."), format!("dev.{driver}."), format!("if_{driver}_"), format!("{driver}_")];
    let about = |name: &str| own.iter().map(String::as_str).chain(NETWORK).any(|begin| name.starts_with(begin));
    conf.settings.iter().filter(|(name, _)| about(name)).cloned().collect()
}

fn notes(texts: &FreebsdTexts, interface: &Ifconfig) -> Vec<String> {
    let cut = texts.cut.iter().map(|name| format!("{name}: its last line has no end, and was left out"));
    let wrong = texts.loader.iter().flat_map(|conf| &conf.wrong);
    let broken =
        interface.broken.iter().map(|line| format!("ifconfig: a set cannot be read, and was left out: {line}"));
    cut.chain(broken).chain(wrong.map(|line| format!("loader.conf: line {line} is not NAME=\"VALUE\""))).collect()
}
