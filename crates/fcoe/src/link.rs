//! Between whom frames go.

use linerate_wire::{FcId, MacAddr, VlanTag, Wwn};

/// The Ethernet addresses of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Sender.
    pub src: MacAddr,
    /// Receiver.
    pub dst: MacAddr,
    /// The tag, if frames have one.
    pub vlan: Option<VlanTag>,
}

/// What a port is in FCP: both may be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// It has LUNs.
    pub target: bool,
    /// It sends commands.
    pub initiator: bool,
}

/// A place in the table of peers. It stays the same while the peer is logged in; later another peer may have it, with
/// another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId {
    /// Which place.
    pub index: u16,
    /// Number of times that it was given.
    pub generation: u16,
}

/// A VN_Port that is logged in (PLOGI and PRLI done): all that an exchange with it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its place in the table.
    pub id: PeerId,
    /// Its port name.
    pub wwpn: Wwn,
    /// Its node name.
    pub wwnn: Wwn,
    /// Its address identifier.
    pub fc_id: FcId,
    /// Ours, as it knows us.
    pub own: FcId,
    /// From our VN_Port's MAC address to its.
    pub link: Link,
    /// Bytes of payload that it takes in a frame: its receive data field size, at most 2112, a multiple of four.
    pub max_payload: usize,
    /// What it is.
    pub role: Role,
    /// It retries (SRR): PRLI's bit 8 on both sides.
    pub retry: bool,
    /// It wants FCP_CONF when asked: PRLI's bit 7 on both sides.
    pub confirm: bool,
    /// Nanoseconds of its E_D_TOV and R_A_TOV, as RTV said or as it is by default (2 s; twice the later of them).
    pub e_d_tov: u64,
    /// See `e_d_tov`.
    pub r_a_tov: u64,
}
