//! Addresses of frames, and identities of peers.

use linerate_wire::{FcId, MacAddr, VlanTag, Wwn};

/// The Ethernet addresses of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub src: MacAddr,
    pub dst: MacAddr,
    /// The tag, if frames have one.
    pub vlan: Option<VlanTag>,
}

/// Role of a port in FCP; both may be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// The port has LUNs.
    pub target: bool,
    /// The port sends commands.
    pub initiator: bool,
}

/// Index in the table of peers, with a generation. It stays the same while the peer is logged in; later another peer
/// may have the index, with another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId {
    /// Index in the table.
    pub index: u16,
    /// Number of times that the index was given.
    pub generation: u16,
}

/// A logged-in VN_Port (PLOGI and PRLI done): all properties that an exchange with it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub id: PeerId,
    pub wwpn: Wwn,
    pub wwnn: Wwn,
    pub fc_id: FcId,
    /// Our address identifier, as used with this peer.
    pub own: FcId,
    /// Path from our VN_Port's MAC address to the peer's.
    pub link: Link,
    /// Largest payload that it accepts in a frame, in bytes: its receive data field size, at most 2112, a multiple of
    /// four.
    pub max_payload: usize,
    pub role: Role,
    /// Retry (SRR) is supported: PRLI's bit 8 on both sides.
    pub retry: bool,
    /// FCP_CONF is sent on request: PRLI's bit 7 on both sides.
    pub confirm: bool,
    /// Its E_D_TOV in nanoseconds, from RTV or by default (2 s; twice that for R_A_TOV).
    pub e_d_tov: u64,
    /// Its R_A_TOV in nanoseconds.
    pub r_a_tov: u64,
    /// It has proved its name (DH-CHAP).
    pub authenticated: bool,
}
