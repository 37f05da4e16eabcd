//! Configuration of a host.

use crate::Fills;
use linerate_wire::{MacAddr, VlanTag};

/// Configuration of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// MAC address of the host.
    pub mac: MacAddr,
    /// Longest IP packet on the link, in bytes.
    pub mtu: usize,
    /// VLAN tag of all its frames; None for untagged frames only.
    pub vlan: Option<VlanTag>,
    /// UDP checksums, over IPv4 and over IPv6, that the adapter completes on request.
    pub fills: Fills,
    /// Capacity of a socket's queue, in bytes.
    pub inbox: usize,
    /// Bytes of memory of all TCP connections of a shard. Those of one origin hold three quarters of it at most: above that each has
    /// little, and none of them is accepted.
    pub tcp_memory: usize,
    /// Most neighbours at a time; their table is made at the start.
    pub neighbours: usize,
    /// Seed of all values that must not be predictable: ports, identifications, hashes.
    pub seed: u64,
}

impl Config {
    /// Bytes of datagrams that a socket queues, unless it is said otherwise: as many as Linux queues.
    pub const INBOX: usize = 212_992;

    /// Makes a configuration with an MTU of 1500, no tag, no offloads, 208 KiB a UDP socket, 256 MiB for TCP, and 1024
    /// neighbours.
    #[must_use]
    pub fn new(mac: MacAddr, seed: u64) -> Self {
        Self {
            mac,
            mtu: 1500,
            vlan: None,
            fills: Fills::default(),
            inbox: Self::INBOX,
            tcp_memory: 256 << 20,
            neighbours: 1024,
            seed,
        }
    }
}
