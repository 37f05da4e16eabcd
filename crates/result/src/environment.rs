//! The machine that a run was made on. Every fact is optional: `null` means that it could not be read; nothing is
//! guessed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine and its interfaces as they were when the run started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Version of linerate that made the run.
    pub linerate: Option<String>,
    /// Cargo profile by which that linerate was built: `release`, `dist`, `debug`.
    pub build: Option<String>,
    /// Name of the host; `null` in documents that do not record it.
    pub host: Option<String>,
    /// Kernel name and release, as `Linux 6.12.0`.
    pub kernel: Option<String>,
    /// Operating system by its own name, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Processor model by its own name.
    pub cpu: Option<String>,
    /// Number of logical processors that are online.
    pub cores: Option<u32>,
    /// Memory that the kernel manages, bytes.
    pub memory_bytes: Option<u64>,
    /// Hypervisor underneath; `none` when the processor reports that there is none, `null` when it is not known.
    pub hypervisor: Option<String>,
    pub huge_pages_2m: Option<HugePages>,
    /// Interfaces that the tests used, by name.
    pub interfaces: BTreeMap<String, Interface>,
}

/// A pool of huge pages of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    /// Pages in the pool.
    pub total: u64,
    pub free: u64,
}

/// A network interface of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    pub driver: Option<String>,
    /// Firmware version as the driver reports it.
    pub firmware: Option<String>,
    /// Largest layer 3 packet, bytes.
    pub mtu: Option<u32>,
    /// Link speed as the driver reports it, Mb/s; on virtual interfaces the value means nothing.
    pub speed_mbps: Option<u32>,
    /// Operational state (RFC 2863): `up`, `down`, `unknown` ...
    pub state: Option<String>,
    /// NUMA node of the device; `null` when it has none.
    pub numa_node: Option<u32>,
    /// Offloads by their ethtool names; `true` for those that are on.
    pub offloads: Option<BTreeMap<String, bool>>,
    pub queues: Option<Queues>,
}

/// Number of queues of an interface or port in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    pub tx: u32,
    pub rx: u32,
}
