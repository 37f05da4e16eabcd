//! What a node is told, and the times of the standard.

use crate::Role;
use linerate_wire::{MacAddr, VlanTag, Wwn};

/// What a node is told about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipConfig {
    /// The ENode's MAC address: one station's, not a group's.
    pub mac: MacAddr,
    /// The port's name; no two ports may have the same.
    pub wwpn: Wwn,
    /// The node's name.
    pub wwnn: Wwn,
    /// Bytes of the longest FCoE frame behind its Ethernet header: 2158 for all of FC, 1498 where the MTU is 1500.
    pub max_fcoe_size: u16,
    /// What the port is in FCP.
    pub role: Role,
    /// Number of others expected.
    pub mode: FipMode,
    /// The tag of our frames, which those of others must have the VLAN of; none, or VLAN 0, is for frames of no VLAN.
    pub vlan: Option<VlanTag>,
    /// What the random delays are drawn from; nodes that start together want different ones.
    pub seed: u64,
}

/// Number of others that a VN_Port expects (FC-BB-6, clause 7, VN2VN point-to-point and multipoint).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FipMode {
    /// Any number.
    Multipoint,
    /// One, in the same mode. With a second, or one in the other mode (Linux knows no other), it goes on as multipoint
    /// until the link goes down.
    PointToPoint,
}

const MILLISECOND: u64 = 1_000_000;

/// A random delay below this comes before the first Probe Request, and between the two.
pub(super) const PROBE_WAIT: u64 = 100 * MILLISECOND;
/// Time for which answers are awaited after the second Probe Request, after a Claim, and after the first Beacon.
pub(super) const ANNOUNCE_WAIT: u64 = 400 * MILLISECOND;
/// From Beacon to Beacon.
pub(super) const BEACON_PERIOD: u64 = 8000 * MILLISECOND;
/// A random delay below this is added to it.
pub(super) const BEACON_FUZZ: u64 = 100 * MILLISECOND;
/// A neighbour is gone when it was silent for two and a half periods.
pub(super) const AGE: u64 = 20_000 * MILLISECOND;
/// After so many conflicts …
pub(super) const RATE_LIMIT_CONFLICTS: u32 = 10;
/// … each further try waits so long.
pub(super) const RATE_LIMIT_WAIT: u64 = 10_000 * MILLISECOND;
/// When there was no room for a frame that must go out, it is tried again so much later.
pub(super) const RETRY: u64 = 10 * MILLISECOND;
