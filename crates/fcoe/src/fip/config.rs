//! Configuration of a node, and the times of the standard.

use crate::Role;
use linerate_wire::{MacAddr, VlanTag, Wwn};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipConfig {
    /// The ENode's MAC address: an individual one.
    pub mac: MacAddr,
    /// The port's name; no two ports may have the same.
    pub wwpn: Wwn,
    pub wwnn: Wwn,
    /// Bytes of the longest FCoE frame after its Ethernet header: 2158 for full FC frames, 1498 where the MTU is 1500.
    pub max_fcoe_size: u16,
    pub role: Role,
    pub mode: FipMode,
    /// Tag of our frames, whose VLAN received ones must have; None, or VLAN 0, is for untagged frames.
    pub vlan: Option<VlanTag>,
    /// Seed of the random delays; nodes that start together should have different ones.
    pub seed: u64,
}

/// Number of others that a VN_Port expects (FC-BB-6, clause 7, VN2VN point-to-point and multipoint).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FipMode {
    /// Any number.
    Multipoint,
    /// One, in the same mode. With a second port, or one in the other mode (Linux supports no other), it continues as
    /// multipoint until the link goes down.
    PointToPoint,
}

const MILLISECOND: u64 = 1_000_000;

/// Upper bound of the random delay before the first Probe Request, and between the two.
pub(super) const PROBE_WAIT: u64 = 100 * MILLISECOND;
/// Time for which answers are awaited after the second Probe Request, after a Claim, and after the first Beacon.
pub(super) const ANNOUNCE_WAIT: u64 = 400 * MILLISECOND;
pub(super) const BEACON_PERIOD: u64 = 8000 * MILLISECOND;
/// Upper bound of the random delay added to it.
pub(super) const BEACON_FUZZ: u64 = 100 * MILLISECOND;
/// Silence after which a neighbour is gone: two and a half periods.
pub(super) const AGE: u64 = 20_000 * MILLISECOND;
/// Number of conflicts …
pub(super) const RATE_LIMIT_CONFLICTS: u32 = 10;
/// … after which each further attempt waits this long.
pub(super) const RATE_LIMIT_WAIT: u64 = 10_000 * MILLISECOND;
/// Longest time in which a network that sends our frames back to us does so.
pub(super) const ECHO: u64 = 1000 * MILLISECOND;
/// Delay before another attempt to send a required frame for which there was no room.
pub(super) const RETRY: u64 = 10 * MILLISECOND;
