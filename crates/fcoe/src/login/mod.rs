//! Logins of VN_Ports with each other (FC-BB-6, VN2VN; FC-LS-3): FLOGI inside FIP, PLOGI, PRLI, and the link services
//! that check and end a session.
//!
//! Out of scope: discovery of neighbours and FCP exchanges. A port that is no neighbour gets rejects only.

mod answer;
mod ask;
mod authenticate;
mod logins;
mod recent;
mod retry;
mod send;
mod table;

pub use logins::Logins;

use crate::{AuthFailure, AuthProof, Peer, PeerId, Role};
use linerate_wire::{FcHeader, FcId, MacAddr, OxId, RxId, VlanTag, Wwn};

use crate::Sequence;

/// Error detect time-out in nanoseconds: our announced value, and a peer's until it states another (FC-FS-3, timers).
pub const E_D_TOV: u64 = E_D_TOV_MS as u64 * 1_000_000;
/// Resource allocation time-out, nanoseconds: twice the other, as VN2VN has no fabric whose delay counts.
pub const R_A_TOV: u64 = R_A_TOV_MS as u64 * 1_000_000;
/// The same time-outs in milliseconds, as service parameters and RTV carry them.
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

/// Service parameters and limits of our port.
#[derive(Debug, Clone)]
pub struct LoginConfig {
    pub wwpn: Wwn,
    pub wwnn: Wwn,
    pub role: Role,
    /// Largest payload that we accept in a frame, in bytes: [`max_payload`] of the MTU; from 256 to 2112.
    pub max_payload: u16,
    /// True if we support retry (SRR).
    pub retry: bool,
    /// True if we support confirmed completion (FCP_CONF).
    pub confirm: bool,
    /// VLAN tag of our frames.
    pub vlan: Option<VlanTag>,
    /// Most neighbours at a time: from 1 to 2048.
    pub peers: usize,
}

/// Properties of a VN_Port known before it logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourInfo {
    pub wwpn: Wwn,
    pub wwnn: Wwn,
    /// Its address: 000001 to 00ffff.
    pub fc_id: FcId,
    /// Its ENode's MAC address, the destination of FIP frames.
    pub enode_mac: MacAddr,
    /// Its VN_Port's MAC address, the destination of FCoE frames.
    pub vn_mac: MacAddr,
    /// The longest FCoE PDU that reaches it, in bytes from the FCoE header to behind the EOF: 2158 for a full frame; 0
    /// if unknown.
    pub max_fcoe_size: u16,
    /// Role of the port, if its claim stated one (FC-4 features).
    pub role: Option<Role>,
}

/// A link service received inside FIP.
#[derive(Debug, Clone, Copy)]
pub struct TunneledEls<'a> {
    /// The frame's source: the sender's ENode MAC address.
    pub src: MacAddr,
    /// The VN_Port's MAC address in its MAC descriptor, if it has one.
    pub mac: Option<MacAddr>,
    /// The sender as known to discovery, if it is. A port may log in before its first beacon is received.
    pub neighbour: Option<NeighbourInfo>,
    pub header: FcHeader,
    pub payload: &'a [u8],
}

/// Status of an exchange, for the LS_ACC to REC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeStatus {
    /// RX_ID of the responder.
    pub rx_id: RxId,
    /// Bytes transferred without a gap, in the direction of the data.
    pub transferred: u32,
    /// Bits of [`linerate_wire::e_stat`].
    pub status: u32,
}

/// Access of the logins to the parts around them.
pub trait Ways {
    /// Sends a link service inside FIP to a neighbour; false when there is no room. A request is FLOGI or LOGO, by its
    /// first byte; a reply is sent only from within [`Logins::handle_fip_els`], to the request that it was called
    /// with.
    fn fip(&mut self, to: &NeighbourInfo, header: &FcHeader, payload: &[u8]) -> bool;

    /// Sends a link service in an FCoE frame; false when there is no room.
    fn fc(&mut self, sequence: &Sequence<'_>) -> bool;

    /// Status of an exchange with this peer, begun by `originator`: the peer or us. The RX_ID is unassigned when the
    /// peer does not know it. None when there is no such exchange.
    fn exchange_status(&mut self, peer: &Peer, originator: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus>;

    /// Ends the recovery of an exchange that the peer began and aborted (RRQ): its identifiers are free again. False
    /// when there is no such exchange. An implementation that keeps no identifiers after an abort need not check.
    fn reinstate(&mut self, _peer: &Peer, _ox_id: OxId, _rx_id: RxId) -> bool {
        true
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginEvent {
    /// Logged in: exchanges can begin.
    Up(Peer),
    /// Properties of a logged-in peer have changed: its time-outs, or its service parameters.
    Changed(Peer),
    /// Logged out: its exchanges are over.
    Down(PeerId, SessionEnd),
    /// The neighbour of this name rejects our login, because it knows another port by our name.
    NameTaken(Wwn),
    /// The login with the port of this name was authenticated.
    Authenticated(Wwn, AuthProof),
    /// It could not be, and is given up until the port's next beacon.
    Unauthenticated(Wwn, AuthFailure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionEnd {
    /// The peer logged out.
    LoggedOut,
    /// The peer's process logged out (PRLO).
    ProcessLoggedOut,
    /// The peer logs in again.
    LoginAgain,
    /// The peer is another port now, or has another address.
    Moved,
    /// The peer sent no beacon for too long.
    Gone,
    /// The peer does not regard us as logged in.
    Refused,
    /// The peer does not answer.
    Silent,
    /// Our address was lost or changed.
    NoAddress,
    /// The login could not be authenticated.
    Unauthenticated,
    /// We logged out.
    Shutdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoginCounters {
    pub requests_sent: u64,
    /// Requests received.
    pub requests: u64,
    /// Requests that came twice, and were answered once.
    pub twins: u64,
    /// LS_ACC sent.
    pub accepts_sent: u64,
    /// LS_RJT sent.
    pub rejects_sent: u64,
    /// LS_RJT received.
    pub rejects: u64,
    /// Requests of ours without an answer in time.
    pub timeouts: u64,
    pub retries: u64,
    /// Sessions that came up.
    pub ups: u64,
    /// Sessions that ended.
    pub downs: u64,
    /// Replies that match no pending request.
    pub unknown_replies: u64,
    /// Frames whose source MAC address does not belong to their S_ID.
    pub wrong_source: u64,
    /// Frames from addresses that belong to no neighbour.
    pub strangers: u64,
    /// Frames for another address than ours.
    pub wrong_destination: u64,
    /// Malformed payloads and headers.
    pub malformed: u64,
    /// Neighbours with an impossible address.
    pub bad_neighbours: u64,
    /// Neighbours for which there was no place.
    pub table_full: u64,
    /// Frames for which there was no room.
    pub unsent: u64,
}
