//! Facts of one network interface, read from the host.

use std::path::Path;

use linerate_host::Facts;
use linerate_result::{Interface, Queues};

/// Reads the facts that sysfs has of interface `name`; `None` when there is no such interface, or the name is invalid.
pub(super) fn read(root: &Path, name: &str) -> Option<Interface> {
    let facts = Facts::under(root, name)?;
    Some(Interface {
        driver: facts.driver,
        firmware: None,
        mtu: facts.mtu,
        speed_mbps: facts.speed_mbps,
        state: facts.state,
        numa_node: facts.numa_node,
        offloads: None,
        queues: facts.tx_queues.zip(facts.rx_queues).map(|(tx, rx)| Queues { tx, rx }),
    })
}

/// Adds driver, firmware and offloads, which sysfs does not show. Facts that the kernel does not tell stay unknown.
#[cfg(target_os = "linux")]
pub(super) fn complete(name: &str, interface: &mut Interface) {
    use linerate_host::{Driver, Ethtool};
    if let Ok(driver) = Driver::of(name) {
        interface.firmware = driver.firmware;
        interface.driver = interface.driver.take().or(driver.name);
    }
    let features = Ethtool::open().and_then(|mut ethtool| ethtool.features(name));
    interface.offloads = features.ok().map(|features| features.listed()).filter(|list| !list.is_empty());
}

/// Does nothing: on other systems nothing more is known.
#[cfg(not(target_os = "linux"))]
pub(super) fn complete(_: &str, _: &mut Interface) {}
