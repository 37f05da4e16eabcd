//! Counters, named after the place where they count. A discarded packet is counted by its reason.
//!
//! Each packet that arrives, as a frame or from the host itself, is counted once more by its result:
//!
//! ```text
//! frames + looped = udp_received + tcp_received + echoes + errors_received + neighbours + fragments
//!                 + not_for_us + malformed + bad_checksum + bad_address + no_socket + queue_full + broadcast + fragments discarded
//! ```
//!
//! The other discards are of packets sent, or of packets counted as a fragment when they arrived.

use linerate_text::{counters, reasons};

reasons! {
    /// Reason for which a packet was discarded.
    pub enum Discard {
        /// For another station, another VLAN, or of a protocol that is not supported.
        NotForUs = "not_for_us",
        /// A header that is truncated or inconsistent.
        Malformed = "malformed",
        /// A wrong checksum.
        BadChecksum = "bad_checksum",
        /// An invalid source or destination: multicast as source, our own address from outside.
        BadAddress = "bad_address",
        /// No socket at this port.
        NoSocket = "no_socket",
        /// The socket's queue is full.
        QueueFull = "queue_full",
        /// To a broadcast or a group, for a socket that takes none of these ([`Host::udp_refuse_broadcasts`]).
        ///
        /// [`Host::udp_refuse_broadcasts`]: crate::Host::udp_refuse_broadcasts
        Broadcast = "broadcast",
        /// A fragment that is invalid, or contradicts others.
        Fragments = "fragments",
        /// A datagram whose fragments did not all arrive in time.
        Late = "late",
        /// The neighbour did not answer, or too many packets waited for it.
        NoNeighbour = "no_neighbour",
        /// No room for an answer in the transmit ring, or an error above the rate limit.
        NoRoom = "no_room",
        /// No route for an answer.
        NoRoute = "no_route",
    }

    /// Packets discarded, by reason.
    pub struct Discards;
}

impl Discard {
    /// True if the reason is the result of an arriving packet.
    fn is_of_arrivals(self) -> bool {
        !matches!(self, Self::Late | Self::NoNeighbour | Self::NoRoom | Self::NoRoute)
    }
}

counters! {
    /// Counters of a host, in all layers.
    pub struct Counters {
        /// Frames received.
        pub frames: u64,
        /// Packets received from the host itself.
        pub looped: u64,
        /// Messages of ARP, neighbour discovery and multicast listener discovery processed.
        pub neighbours: u64,
        /// Fragments held until the others arrive. The last one is counted by the packet that it completes.
        pub fragments: u64,
        /// UDP datagrams delivered to a socket.
        pub udp_received: u64,
        /// UDP datagrams sent, or waiting for their neighbour.
        pub udp_sent: u64,
        /// UDP datagrams sent by the fast path.
        pub udp_fast: u64,
        /// UDP datagrams sent by the flow table.
        pub udp_flow: u64,
        /// TCP segments taken by a connection.
        pub tcp_received: u64,
        /// TCP segments sent, or waiting for their neighbour.
        pub tcp_sent: u64,
        /// Echo requests received.
        pub echoes: u64,
        /// ICMP errors sent.
        pub errors_sent: u64,
        /// ICMP errors received that concern a socket.
        pub errors_received: u64,
        /// Claims of other stations to the host's addresses; each is among the discarded packets too.
        pub conflicts: u64,
        /// Packets discarded.
        discarded: Discards,
    }
}

impl Counters {
    /// Counts a discarded packet.
    #[inline]
    pub(crate) fn discard(&mut self, why: Discard) {
        self.discarded.add(why, 1);
    }

    /// Packets discarded for one reason.
    #[must_use]
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discarded.of(why)
    }

    /// Arrived packets without a counted result; always 0 unless there is a bug.
    #[must_use]
    pub fn unexplained(&self) -> u64 {
        let discarded = Discard::ALL.into_iter().filter(|why| why.is_of_arrivals()).map(|why| self.discarded(why));
        let taken = self.udp_received
            + self.tcp_received
            + self.echoes
            + self.errors_received
            + self.neighbours
            + self.fragments;
        (self.frames + self.looped).abs_diff(taken + discarded.sum::<u64>())
    }

    /// Names and counts of the reasons that occurred.
    pub fn discards(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.discarded.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrived_without_a_result_is_unexplained() {
        let mut counters = Counters::default();
        counters.discard(Discard::NoRoute);
        assert_eq!(counters.discards().collect::<Vec<_>>(), [("no_route", 1)]);
        assert_eq!(counters.unexplained(), 0);
        counters.frames = 1;
        assert_eq!(counters.unexplained(), 1);
        counters.discard(Discard::NoSocket);
        assert_eq!(counters.unexplained(), 0);
    }
}
