//! The machine that a run was made on. Every fact is optional: what could not be read is `null`, never guessed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine and its interfaces as they were when the run started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Version of linerate that measured.
    pub linerate: Option<String>,
    /// Kernel name and release, as `Linux 6.12.0`.
    pub kernel: Option<String>,
    /// Operating system as it calls itself, as `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Processor model as it calls itself.
    pub cpu: Option<String>,
    /// Logical processors that are on line.
    pub cores: Option<u32>,
    /// Memory that the kernel manages, bytes.
    pub memory_bytes: Option<u64>,
    /// Hypervisor underneath; `none` when the processor says that there is none, `null` when nothing tells.
    pub hypervisor: Option<String>,
    /// Huge pages of 2 MiB.
    pub huge_pages_2m: Option<HugePages>,
    /// Interfaces that the tests used, by name.
    pub interfaces: BTreeMap<String, Interface>,
}

/// A pool of huge pages of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    /// Pages in the pool.
    pub total: u64,
    /// Pages of the pool that nobody uses.
    pub free: u64,
}

/// A network interface of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// Kernel driver.
    pub driver: Option<String>,
    /// Firmware version as the driver tells it.
    pub firmware: Option<String>,
    /// Largest layer 3 packet, bytes.
    pub mtu: Option<u32>,
    /// Link speed as the driver claims it, Mb/s. Virtual interfaces claim what they like.
    pub speed_mbps: Option<u32>,
    /// Operational state (RFC 2863): `up`, `down`, `unknown` ...
    pub state: Option<String>,
    /// NUMA node of the device; `null` when it has none.
    pub numa_node: Option<u32>,
    /// Offloads by ethtool's names, and whether each is on.
    pub offloads: Option<BTreeMap<String, bool>>,
    /// Hardware queues.
    pub queues: Option<Queues>,
}

/// How many queues an interface or port has, each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Transmit queues.
    pub tx: u32,
    /// Receive queues.
    pub rx: u32,
}
