//! The device behind an interface, by sysfs: its driver, where it is on its bus, how wide the way to it is, and which
//! processors are near it.

use super::source::{Source, end, number, text};
use crate::absent::{Absent, Part, part};
use serde::Serialize;

/// Greatest number of bridges above a device.
const DEEPEST: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    #[serde(serialize_with = "part")]
    pub driver: Part<String>,
    /// Version that the driver's module says; most have none.
    #[serde(serialize_with = "part")]
    pub module_version: Part<String>,
    /// Its own path in sysfs.
    pub path: String,
    /// Its PCI function: itself, or what it stands on.
    #[serde(serialize_with = "part")]
    pub pci: Part<Pci>,
    /// NUMA node; none if the machine has no such nodes.
    #[serde(serialize_with = "part")]
    pub node: Part<u32>,
    /// Processors near it, as a list (`0-7,16-23`).
    #[serde(serialize_with = "part")]
    pub near: Part<String>,
    /// Virtual functions that are on, and the most there can be.
    #[serde(serialize_with = "part")]
    pub virtual_functions: Part<(u32, u32)>,
}

/// A PCI function, and the way to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pci {
    /// Address: domain, bus, device, function.
    pub address: String,
    /// Vendor and device (`15b3:1017`), if they can be read.
    pub ids: Option<String>,
    /// Its own link.
    #[serde(serialize_with = "part")]
    pub link: Part<PciLink>,
    /// Bridges above it that are slower than the function's own link now could be: address and link.
    pub narrows: Vec<(String, PciLink)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PciLink {
    /// GT/s per lane now.
    pub speed: f64,
    /// GT/s per lane at most.
    pub speed_most: f64,
    /// Lanes now.
    pub width: u32,
    /// Lanes at most.
    pub width_most: u32,
}

impl Eq for PciLink {}

impl PciLink {
    fn of(source: &dyn Source, path: &str) -> Part<Self> {
        let speed = |file: &str| -> Part<f64> {
            let text = text(source, &format!("{path}/{file}"))?;
            let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
            number
                .filter(|gts: &f64| gts.is_finite() && *gts > 0.0)
                .ok_or_else(|| Absent::told(format!("the kernel says {text}")))
        };
        let width = |file: &str| number::<u32>(source, &format!("{path}/{file}"));
        let link = Self {
            speed: speed("current_link_speed")?,
            speed_most: speed("max_link_speed")?,
            width: width("current_link_width")?,
            width_most: width("max_link_width")?,
        };
        // What a port without a link says of its width.
        if link.width == 0 || link.width_most == 0 || link.width_most == 255 {
            return Err(Absent::told(format!("the kernel says {} lanes of {}", link.width, link.width_most)));
        }
        Ok(link)
    }

    /// Gigabits a second each way that frames of the link layer have, after its line code.
    #[must_use]
    pub fn gigabits(&self) -> f64 {
        capacity(self.speed, self.width)
    }

    /// Like [`PciLink::gigabits`], at most.
    #[must_use]
    pub fn gigabits_most(&self) -> f64 {
        capacity(self.speed_most, self.width_most)
    }
}

/// 8 bits in 10 up to 5 GT/s, 128 in 130 up to 32 GT/s, 236 bytes in 256 above.
fn capacity(speed: f64, width: u32) -> f64 {
    let code = if speed <= 5.0 {
        0.8
    } else if speed <= 32.0 {
        128.0 / 130.0
    } else {
        236.0 / 256.0
    };
    speed * f64::from(width) * code
}

/// Reads an interface's device; the reason if it has none.
pub(crate) fn read(source: &dyn Source, interface: &str) -> Part<Device> {
    let at = format!("sys/class/net/{interface}/device");
    let path = source.real(&at)?;
    let function = upwards(&path).find(|path| is_address(path.rsplit('/').next().unwrap_or_default()));
    let beside = function.unwrap_or(&path);
    Ok(Device {
        driver: end(source, &format!("{at}/driver")),
        module_version: text(source, &format!("{at}/driver/module/version")),
        pci: function.map_or_else(|| Err(Absent::told("it stands on no PCI function")), |path| Ok(pci(source, path))),
        node: number(source, &format!("{beside}/numa_node")),
        near: text(source, &format!("{beside}/local_cpulist")),
        virtual_functions: number(source, &format!("{beside}/sriov_numvfs"))
            .and_then(|on| Ok((on, number(source, &format!("{beside}/sriov_totalvfs"))?))),
        path,
    })
}

/// PCI address of an interface's device, or of what it stands on.
pub(crate) fn place(source: &dyn Source, interface: &str) -> Option<String> {
    let path = source.real(&format!("sys/class/net/{interface}/device")).ok()?;
    upwards(&path)
        .map(|path| path.rsplit('/').next().unwrap_or_default())
        .find(|name| is_address(name))
        .map(str::to_owned)
}

/// A path and those above it.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above)).take(DEEPEST)
}

/// True for a PCI address (`0000:3b:00.1`).
fn is_address(name: &str) -> bool {
    let parts: Vec<_> = name.split([':', '.']).collect();
    let hex = |part: &str, least: usize| part.len() >= least && part.bytes().all(|b| b.is_ascii_hexdigit());
    parts.len() == 4 && hex(parts[0], 4) && hex(parts[1], 2) && hex(parts[2], 2) && hex(parts[3], 1)
}

fn pci(source: &dyn Source, path: &str) -> Pci {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let link = PciLink::of(source, path);
    let id = |file: &str| text(source, &format!("{path}/{file}")).ok().map(|id| id.trim_start_matches("0x").to_owned());
    let ids = id("vendor").zip(id("device")).map(|(vendor, device)| format!("{vendor}:{device}"));
    let wanted = link.as_ref().map_or(0.0, PciLink::gigabits_most);
    let bridges = upwards(path).skip(1).filter(|path| is_address(&name(path)));
    let narrows = bridges.filter_map(|path| Some((name(path), PciLink::of(source, path).ok()?)));
    let narrows = narrows.filter(|(_, link)| link.gigabits() < wanted * 0.999).collect();
    Pci { address: name(path), ids, link, narrows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_names() {
        for name in ["0000:3b:00.1", "10000:e1:00.0", "0000:00:1c.4"] {
            assert!(is_address(name), "{name}");
        }
        for name in ["", "virtio0", "pci0000:00", "0000:3b:00", "0000:3b:0g.1", "net", "1-1:1.0"] {
            assert!(!is_address(name), "{name}");
        }
        let all: Vec<_> = upwards("a/b/c").collect();
        assert_eq!(all, ["a/b/c", "a/b", "a"]);
    }

    #[test]
    fn capacities_are_those_of_the_line_code() {
        let link = |speed, width| PciLink { speed, speed_most: speed, width, width_most: width };
        assert!((link(8.0, 16).gigabits() - 126.03).abs() < 0.01);
        assert!((link(5.0, 8).gigabits() - 32.0).abs() < 0.01);
        assert!((link(64.0, 16).gigabits_most() - 944.0).abs() < 0.1);
    }
}
