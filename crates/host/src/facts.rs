//! Properties of an interface from sysfs. A missing or unreadable value is `None`; nothing is guessed.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The device's driver; a software interface has no device.
    pub driver: Option<String>,
    pub mtu: Option<u32>,
    /// Link speed as the driver reports it, in Mb/s. Virtual interfaces report arbitrary values.
    pub speed_mbps: Option<u32>,
    /// Operational state (RFC 2863): `up`, `down`, `unknown` ...
    pub state: Option<String>,
    /// NUMA node of the device; `None` if it has none.
    pub numa_node: Option<u32>,
    pub tx_queues: Option<u32>,
    pub rx_queues: Option<u32>,
}

impl Facts {
    /// Reads the properties below `root` (`/` except in tests); `None` if there is no such interface, or `interface` is
    /// no valid name. sysfs shows the network namespace of whoever mounted it.
    #[must_use]
    pub fn under(root: &Path, interface: &str) -> Option<Self> {
        if !is_name(interface) {
            return None;
        }
        let directory = root.join("sys/class/net").join(interface);
        if !directory.is_dir() {
            return None;
        }
        let driver = fs::read_link(directory.join("device/driver")).ok();
        let queues = |way: &str| {
            let entries = fs::read_dir(directory.join("queues")).ok()?.flatten();
            u32::try_from(entries.filter(|e| e.file_name().to_string_lossy().starts_with(way)).count()).ok()
        };
        Some(Self {
            driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
            mtu: number(&directory.join("mtu")),
            speed_mbps: number(&directory.join("speed")),
            state: text(&directory.join("operstate")),
            numa_node: number(&directory.join("device/numa_node")),
            tx_queues: queues("tx-"),
            rx_queues: queues("rx-"),
        })
    }
}

/// True if the kernel accepts `name` for an interface (`dev_valid_name`: 1 to 15 bytes, no slash, colon or space, not
/// `.` or `..`) and programs do not take it for an option.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let forbidden = |c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace();
    (1..16).contains(&name.len()) && name != "." && name != ".." && !name.starts_with('-') && !name.contains(forbidden)
}

/// Text of a small file, trimmed; `None` if it is missing, empty or not UTF-8.
fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(1 << 12).read_to_string(&mut text).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Number in a file of one number. Negative ones, which sysfs uses for "not known", are `None` for unsigned types.
fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_directory() {
        for name in ["eth0", "enp1s0f0np0", "a", "veth-0.1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../../etc", "-k", "a b", "a:1", "a\0", "sixteen-bytes-xx"] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn loopback_has_its_facts() {
        let Some(facts) = Facts::under(Path::new("/"), "lo") else {
            return linerate_skip::skip!("there is no /sys/class/net/lo");
        };
        assert_eq!((facts.mtu.is_some(), facts.driver, facts.numa_node), (true, None, None));
        assert_eq!(Facts::under(Path::new("/"), "no-such"), None);
    }
}
