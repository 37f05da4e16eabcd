//! Properties of a received packet, passed from layer to layer.

use super::Report;
use crate::link::Arrived;
use linerate_wire::{IpProtocol, MacAddr};
use std::net::IpAddr;

/// Properties of an IP packet whose payload is to be processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) hops: u8,
    /// The packet from its IP header on, for errors that quote it.
    pub(crate) whole: &'a [u8],
    pub(crate) protocol: IpProtocol,
    /// Offset in the packet of the byte that names the protocol.
    pub(crate) named_at: u32,
    pub(crate) payload: &'a [u8],
    /// It was sent to a group or a broadcast: no ICMP error is sent in reply.
    pub(crate) to_all: bool,
    pub(crate) origin: Origin,
}

impl Packet<'_> {
    /// True if a router has marked it for congestion (RFC 3168, section 5).
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        let class = self.whole.get(1).map_or(0, |byte| if self.from.is_ipv4() { *byte } else { *byte >> 4 });
        class & 3 == 3
    }
}

/// Result of IP's input for a packet to this host.
#[derive(Debug)]
pub(crate) enum Taken<'a> {
    /// A payload for a protocol above IP.
    Up(Packet<'a>),
    /// A packet completed by its last fragment, to be processed as if it had never been fragmented.
    Whole(Vec<u8>),
    /// An ICMP error about a packet that a socket may have sent.
    Error(Report),
    /// Nothing left to be done.
    Done,
}

/// Origin of an IP packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// Source and destination MAC address; None for a packet from this host.
    pub(crate) stations: Option<(MacAddr, MacAddr)>,
    /// The adapter has verified the upper checksum, or the packet never left the machine.
    pub(crate) verified: bool,
    /// The packet was reassembled from fragments.
    pub(crate) joined: bool,
}

impl Origin {
    /// Origin of a packet that came in a frame.
    #[inline]
    pub(crate) fn link(arrived: &Arrived<'_>) -> Self {
        Self { stations: Some(arrived.stations), verified: arrived.verified, joined: false }
    }

    /// Origin of a packet that never left the host.
    pub(crate) fn ourselves() -> Self {
        Origin { verified: true, ..Origin::default() }
    }

    /// True if the packet was sent to several stations (multicast MAC address).
    #[inline]
    pub(super) fn to_group(self) -> bool {
        self.stations.is_some_and(|(_, dst)| dst.is_multicast())
    }

    /// Origin of a reassembled packet: the adapter saw fragments only, so the checksum is still to be verified.
    pub(crate) fn joined(self) -> Self {
        Self { verified: false, joined: true, ..self }
    }
}
