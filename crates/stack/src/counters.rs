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

use std::ops::AddAssign;

/// Reason for which a packet was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Discard {
    /// For another station, another VLAN, or of a protocol that is not supported.
    NotForUs,
    /// A header that is truncated or inconsistent.
    Malformed,
    /// A wrong checksum.
    BadChecksum,
    /// An invalid source or destination: multicast as source, our own address from outside.
    BadAddress,
    /// No socket at this port.
    NoSocket,
    /// The socket's queue is full.
    QueueFull,
    /// To a broadcast or a group, for a socket that takes none of these ([`Host::udp_refuse_broadcasts`]).
    ///
    /// [`Host::udp_refuse_broadcasts`]: crate::Host::udp_refuse_broadcasts
    Broadcast,
    /// A fragment that is invalid, or contradicts others.
    Fragments,
    /// A datagram whose fragments did not all arrive in time.
    Late,
    /// The neighbour did not answer, or too many packets waited for it.
    NoNeighbour,
    /// No room for an answer in the transmit ring, or an error above the rate limit.
    NoRoom,
    /// No route for an answer.
    NoRoute,
}

const REASONS: [(Discard, &str); 12] = [
    (Discard::NotForUs, "not_for_us"),
    (Discard::Malformed, "malformed"),
    (Discard::BadChecksum, "bad_checksum"),
    (Discard::BadAddress, "bad_address"),
    (Discard::NoSocket, "no_socket"),
    (Discard::QueueFull, "queue_full"),
    (Discard::Broadcast, "broadcast"),
    (Discard::Fragments, "fragments"),
    (Discard::Late, "late"),
    (Discard::NoNeighbour, "no_neighbour"),
    (Discard::NoRoom, "no_room"),
    (Discard::NoRoute, "no_route"),
];

impl Discard {
    /// Name of the reason in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }

    /// True if the reason is the result of an arriving packet.
    fn is_of_arrivals(self) -> bool {
        !matches!(self, Self::Late | Self::NoNeighbour | Self::NoRoom | Self::NoRoute)
    }
}

/// Counters of a host, in all layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    discarded: [u64; REASONS.len()],
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        let Self {
            frames,
            looped,
            neighbours,
            fragments,
            udp_received,
            udp_sent,
            udp_fast,
            udp_flow,
            tcp_received,
            tcp_sent,
            echoes,
            errors_sent,
            errors_received,
            conflicts,
            discarded,
        } = other;
        self.frames += frames;
        self.looped += looped;
        self.neighbours += neighbours;
        self.fragments += fragments;
        self.udp_received += udp_received;
        self.udp_sent += udp_sent;
        self.udp_fast += udp_fast;
        self.udp_flow += udp_flow;
        self.tcp_received += tcp_received;
        self.tcp_sent += tcp_sent;
        self.echoes += echoes;
        self.errors_sent += errors_sent;
        self.errors_received += errors_received;
        self.conflicts += conflicts;
        self.discarded.iter_mut().zip(discarded).for_each(|(sum, n)| *sum += n);
    }
}

impl Counters {
    /// Counts a discarded packet.
    #[inline]
    pub(crate) fn discard(&mut self, why: Discard) {
        self.discarded[why as usize] += 1;
    }

    /// Packets discarded for one reason.
    #[must_use]
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discarded[why as usize]
    }

    /// Arrived packets without a counted result; always 0 unless there is a bug.
    #[must_use]
    pub fn unexplained(&self) -> u64 {
        let discarded = REASONS.iter().filter(|(why, _)| why.is_of_arrivals()).map(|(why, _)| self.discarded(*why));
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
        REASONS.iter().map(|(why, name)| (*name, self.discarded(*why))).filter(|(_, n)| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_every_counter_of_both() {
        let one = Counters {
            frames: 1,
            looped: 2,
            neighbours: 3,
            fragments: 4,
            udp_received: 5,
            udp_sent: 6,
            udp_fast: 7,
            udp_flow: 8,
            tcp_received: 14,
            tcp_sent: 15,
            echoes: 9,
            errors_sent: 10,
            errors_received: 11,
            conflicts: 13,
            discarded: [12; REASONS.len()],
        };
        let mut sum = Counters::default();
        sum += one;
        assert_eq!(sum, one);
        sum += one;
        assert_eq!((sum.frames, sum.errors_received, sum.conflicts), (2, 22, 26));
        assert_eq!(sum.discarded, [24; REASONS.len()]);
        let all = [sum.looped, sum.neighbours, sum.fragments, sum.udp_received, sum.udp_sent, sum.udp_fast];
        assert_eq!((all, sum.udp_flow, sum.echoes, sum.errors_sent), ([4, 6, 8, 10, 12, 14], 16, 18, 20));
        assert_eq!((sum.tcp_received, sum.tcp_sent), (28, 30));
    }

    #[test]
    fn every_reason_stands_at_its_place() {
        for (i, (why, name)) in REASONS.iter().enumerate() {
            assert_eq!((*why as usize, why.name()), (i, *name));
        }
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
