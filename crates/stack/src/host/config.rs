//! Configuration of a host.

use crate::Fills;
use linerate_wire::{MacAddr, VlanTag};

/// Configuration of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its hardware address.
    pub mac: MacAddr,
    /// Longest IP packet on the link, in bytes.
    pub mtu: usize,
    /// The tag of all its frames; without one it speaks untagged only.
    pub vlan: Option<VlanTag>,
    /// UDP checksums, over IPv4 and over IPv6, that the adapter fills in when it is asked to.
    pub fills: Fills,
    /// Bytes that wait in a socket for their reader.
    pub inbox: usize,
    /// For all that shall not be foreseen: ports, identifications, hashes.
    pub seed: u64,
}

impl Config {
    /// With an MTU of 1500, no tag, no help of the adapter, and 208 KiB a socket.
    #[must_use]
    pub fn new(mac: MacAddr, seed: u64) -> Self {
        Self { mac, mtu: 1500, vlan: None, fills: Fills::default(), inbox: 212_992, seed }
    }
}
