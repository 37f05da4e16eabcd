//! One network interface, as sysfs shows it.

use std::fs;
use std::path::Path;

use linerate_result::{Interface, Queues};

use super::{number, text};

/// The facts of interface `name`; `None` when there is no such interface, or when it is no name of one.
pub(super) fn read(root: &Path, name: &str) -> Option<Interface> {
    if !is_name(name) {
        return None;
    }
    let directory = root.join("sys/class/net").join(name);
    if !directory.is_dir() {
        return None;
    }
    let path = |file: &str| format!("sys/class/net/{name}/{file}");
    let driver = fs::read_link(directory.join("device/driver")).ok();
    Some(Interface {
        driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
        firmware: None,
        mtu: number(root, &path("mtu")),
        speed_mbps: number(root, &path("speed")),
        state: text(root, &path("operstate")),
        numa_node: number(root, &path("device/numa_node")),
        offloads: None,
        queues: queues(&directory.join("queues")),
    })
}

/// Whether the kernel takes `name` for an interface (`dev_valid_name`: 1 to 15 bytes, no slash, colon or space, not `.` or
/// `..`) and programs do not take it for an option.
pub(super) fn is_name(name: &str) -> bool {
    let forbidden = |c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace();
    (1..16).contains(&name.len()) && name != "." && name != ".." && !name.starts_with('-') && !name.contains(forbidden)
}

fn queues(directory: &Path) -> Option<Queues> {
    let mut queues = Queues::default();
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        queues.tx += u32::from(name.starts_with("tx-"));
        queues.rx += u32::from(name.starts_with("rx-"));
    }
    Some(queues)
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_stay_inside_their_directory() {
        for name in ["eth0", "enp1s0f0np0", "a", "veth-0.1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../../etc", "-k", "a b", "a:1", "a\0", "sixteen-bytes-xx"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
