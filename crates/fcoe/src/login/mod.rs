//! Logins of VN_Ports with each other (FC-BB-6, VN2VN; FC-LS-3): FLOGI inside FIP, PLOGI, PRLI, and what keeps a
//! session and ends it.
//!
//! Out of scope: it finds no neighbours, runs no FCP exchange, and answers nobody who is no
//! neighbour with anything but a reject.

mod answer;
mod ask;
mod logins;
mod retry;
mod send;
mod table;

pub use logins::Logins;

use crate::{Peer, PeerId, Role};
use linerate_wire::{FcHeader, FcId, MacAddr, OxId, RxId, VlanTag, Wwn};

use crate::Sequence;

/// Error detect time-out, nanoseconds: what we announce, and what a peer's is until it says otherwise (FC-FS-3,
/// timers).
pub const E_D_TOV: u64 = E_D_TOV_MS as u64 * 1_000_000;
/// Resource allocation time-out, nanoseconds: twice the other, as VN2VN has no fabric whose delay counts.
pub const R_A_TOV: u64 = R_A_TOV_MS as u64 * 1_000_000;
/// The same in milliseconds, as service parameters and RTV have them.
const E_D_TOV_MS: u32 = 2000;
const R_A_TOV_MS: u32 = 4000;

/// The longest payload of a frame (FC-FS-3, data field).
pub const MAX_PAYLOAD: u16 = 2112;
/// The shortest that each port must take (FC-LS-3, receive data field size).
pub const MIN_PAYLOAD: u16 = 256;

/// Bytes of payload in the longest frame on a network of this MTU: at most 2112, a multiple of four.
///
/// ```
/// assert_eq!([1500, 2180, 2500].map(linerate_fcoe::max_payload), [1452, 2112, 2112]);
/// ```
#[must_use]
pub fn max_payload(mtu: usize) -> u16 {
    let payload = u16::try_from(mtu.saturating_sub(linerate_wire::FcoeFrame::OVERHEAD));
    payload.map_or(MAX_PAYLOAD, |payload| payload.min(MAX_PAYLOAD)) & !3
}

/// What a port says of itself when it logs in.
#[derive(Debug, Clone)]
pub struct LoginConfig {
    /// Our port name.
    pub wwpn: Wwn,
    /// Our node name.
    pub wwnn: Wwn,
    /// What we are.
    pub role: Role,
    /// Bytes of payload that we take in a frame: [`max_payload`] of the MTU; from 256 to 2112.
    pub max_payload: u16,
    /// True if we retry (SRR).
    pub retry: bool,
    /// True if we do confirmed completion (FCP_CONF).
    pub confirm: bool,
    /// The tag of our frames.
    pub vlan: Option<VlanTag>,
    /// Neighbours that we can know at a time: from 1 to 2048.
    pub peers: usize,
}

/// What is known of a VN_Port before it logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourInfo {
    /// Its port name.
    pub wwpn: Wwn,
    /// Its node name.
    pub wwnn: Wwn,
    /// Its address: 000001 to 00ffff.
    pub fc_id: FcId,
    /// Its ENode's MAC address, where FIP frames go.
    pub enode_mac: MacAddr,
    /// Its VN_Port's, where FCoE frames go.
    pub vn_mac: MacAddr,
    /// The longest FCoE PDU that reaches it, in bytes from the FCoE header to behind the EOF: 2158 for a full frame;
    /// 0 if it did not say.
    pub max_fcoe_size: u16,
    /// What it is, if its claim said so (FC-4 features).
    pub role: Option<Role>,
}

/// A link service that came inside FIP.
#[derive(Debug, Clone, Copy)]
pub struct TunneledEls<'a> {
    /// The frame's source: the sender's ENode MAC address.
    pub src: MacAddr,
    /// The VN_Port's MAC address in its MAC descriptor, if it has one.
    pub mac: Option<MacAddr>,
    /// What discovery knows of the sender, if anything. A port may log in before we heard its first beacon.
    pub neighbour: Option<NeighbourInfo>,
    /// The FC header.
    pub header: FcHeader,
    /// The payload.
    pub payload: &'a [u8],
}

/// What became of an exchange, for the LS_ACC to REC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeStatus {
    /// As the responder calls it.
    pub rx_id: RxId,
    /// Bytes that went over without a gap, in the direction of the data.
    pub transferred: u32,
    /// Bits of [`linerate_wire::e_stat`].
    pub status: u32,
}

/// What logins need of the parts around them.
pub trait Ways {
    /// Sends a link service inside FIP to a neighbour; false when there is no room. A request is FLOGI or LOGO, by its
    /// first byte; a reply is sent only from within [`Logins::handle_fip_els`], to the request that it was called
    /// with.
    fn fip(&mut self, to: &NeighbourInfo, header: &FcHeader, payload: &[u8]) -> bool;

    /// Sends a link service in an FCoE frame; false when there is no room.
    fn fc(&mut self, sequence: &Sequence<'_>) -> bool;

    /// What became of an exchange with this peer, which `originator` began: the peer or we. The RX_ID is unassigned when
    /// the peer does not know it. None when there is no such exchange.
    fn exchange_status(&mut self, peer: &Peer, originator: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus>;

    /// A peer is done with the recovery of an exchange that it began and aborted (RRQ): its names are free again. False
    /// when there is no such exchange. Who keeps no names after an abort need not look.
    fn reinstate(&mut self, _peer: &Peer, _ox_id: OxId, _rx_id: RxId) -> bool {
        true
    }
}

/// Event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginEvent {
    /// Logged in: exchanges can begin.
    Up(Peer),
    /// What is known of a peer that is logged in has changed: its time-outs, or what it can do.
    Changed(Peer),
    /// Logged out: its exchanges are over.
    Down(PeerId, SessionEnd),
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionEnd {
    /// It logged out.
    LoggedOut,
    /// Its process logged out.
    ProcessLoggedOut,
    /// It logs in anew.
    LoginAgain,
    /// It is another port now, or has another address.
    Moved,
    /// It sent no beacon for too long.
    Gone,
    /// It does not take us for logged in.
    Refused,
    /// It does not answer.
    Silent,
    /// We have no address, or another.
    NoAddress,
    /// We logged out.
    Shutdown,
}

/// Counts of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoginCounters {
    /// Requests that we sent.
    pub requests_sent: u64,
    /// Requests that came.
    pub requests: u64,
    /// LS_ACC that we sent.
    pub accepts_sent: u64,
    /// LS_RJT that we sent.
    pub rejects_sent: u64,
    /// LS_RJT that came.
    pub rejects: u64,
    /// Requests of ours that nobody answered in time.
    pub timeouts: u64,
    /// Requests that we sent once more.
    pub retries: u64,
    /// Sessions that came up.
    pub ups: u64,
    /// Sessions that ended.
    pub downs: u64,
    /// Replies to nothing that we asked.
    pub unknown_replies: u64,
    /// Frames whose S_ID is not that of the MAC address they came from.
    pub wrong_source: u64,
    /// Frames from addresses that are no neighbour.
    pub strangers: u64,
    /// Frames for an address that is not ours.
    pub wrong_destination: u64,
    /// Payloads and headers that are not what they should be.
    pub malformed: u64,
    /// Neighbours with an address that none can have.
    pub bad_neighbours: u64,
    /// Neighbours for which there was no place.
    pub table_full: u64,
    /// Frames for which there was no room.
    pub unsent: u64,
}
