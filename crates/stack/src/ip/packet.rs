//! Facts about a received packet on its way up.

use super::Report;
use crate::link::Arrived;
use linerate_wire::{IpProtocol, MacAddr};
use std::net::IpAddr;

/// Facts about an IP packet when its payload is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) hops: u8,
    /// The packet from its IP header on, for errors that quote it.
    pub(crate) whole: &'a [u8],
    pub(crate) protocol: IpProtocol,
    /// Which byte of the packet names it.
    pub(crate) named_at: u32,
    pub(crate) payload: &'a [u8],
    /// It came to everybody (a group or a broadcast): nobody answers with an error.
    pub(crate) to_all: bool,
    pub(crate) origin: Origin,
}

/// Result of IP's input for a packet to this host.
#[derive(Debug)]
pub(crate) enum Taken<'a> {
    /// It carries a payload for a protocol above.
    Up(Packet<'a>),
    /// It was the last fragment of this packet, which is to be taken as if it had never been in fragments.
    Whole(Vec<u8>),
    /// It was an ICMP error about what a socket may have sent.
    Error(Report),
    /// Nothing is left to do.
    Done,
}

/// Origin of an IP packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// The stations that it came from and to on the link; none if it came from ourselves.
    pub(crate) stations: Option<(MacAddr, MacAddr)>,
    /// The adapter has verified the upper checksum, or the packet never left the machine.
    pub(crate) verified: bool,
    /// It was in fragments.
    pub(crate) joined: bool,
}

impl Origin {
    /// It came in a frame.
    #[inline]
    pub(crate) fn link(arrived: &Arrived<'_>) -> Self {
        Self { stations: Some(arrived.stations), verified: arrived.verified, joined: false }
    }

    /// It never left the host.
    pub(crate) fn ourselves() -> Self {
        Origin { verified: true, ..Origin::default() }
    }

    /// It came to more than one station.
    #[inline]
    pub(super) fn to_group(self) -> bool {
        self.stations.is_some_and(|(_, dst)| dst.is_multicast())
    }

    /// It was in fragments: the adapter saw pieces only, so the checksum is still to be verified.
    pub(crate) fn joined(self) -> Self {
        Self { verified: false, joined: true, ..self }
    }
}
