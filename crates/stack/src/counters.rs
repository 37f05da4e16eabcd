//! Counters, named after the place where they count. A packet that goes nowhere has a reason.
//!
//! Each packet that arrives, as a frame or from the host itself, is counted once more by what became of it:
//!
//! ```text
//! frames + looped = udp_received + echoes + errors_received + neighbours + fragments
//!                 + not_for_us + malformed + bad_checksum + bad_address + no_socket + queue_full + fragments discarded
//! ```
//!
//! The other discards are of what leaves, or of what was counted as a fragment when it came.

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Discard {
    /// For another station, another VLAN, or of a protocol that is not spoken here.
    NotForUs,
    /// A header that is cut off or contradicts itself.
    Malformed,
    /// A checksum that is wrong.
    BadChecksum,
    /// A source or destination that cannot be: multicast as source, our own address from outside.
    BadAddress,
    /// No socket at this port.
    NoSocket,
    /// The socket's queue is full.
    QueueFull,
    /// A fragment that can be of no datagram, or contradicts others.
    Fragments,
    /// A datagram whose fragments did not all come in time.
    Late,
    /// The neighbour did not answer, or too much was waiting for it.
    NoNeighbour,
    /// An answer found no room in the transmit ring, or more errors were due than may be sent.
    NoRoom,
    /// No route for an answer.
    NoRoute,
}

const REASONS: [(Discard, &str); 11] = [
    (Discard::NotForUs, "not_for_us"),
    (Discard::Malformed, "malformed"),
    (Discard::BadChecksum, "bad_checksum"),
    (Discard::BadAddress, "bad_address"),
    (Discard::NoSocket, "no_socket"),
    (Discard::QueueFull, "queue_full"),
    (Discard::Fragments, "fragments"),
    (Discard::Late, "late"),
    (Discard::NoNeighbour, "no_neighbour"),
    (Discard::NoRoom, "no_room"),
    (Discard::NoRoute, "no_route"),
];

impl Discard {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }

    /// True if it is what became of a packet that arrived.
    fn is_of_arrivals(self) -> bool {
        !matches!(self, Self::Late | Self::NoNeighbour | Self::NoRoom | Self::NoRoute)
    }
}

/// Counters of a host, in all layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that came.
    pub frames: u64,
    /// Packets that came from the host itself.
    pub looped: u64,
    /// ARP's and neighbour discovery's messages that were listened to.
    pub neighbours: u64,
    /// Fragments kept until the others come. The last one counts as what it completes.
    pub fragments: u64,
    /// UDP datagrams that reached a socket.
    pub udp_received: u64,
    /// UDP datagrams that left, or wait for their neighbour.
    pub udp_sent: u64,
    /// Those that took the fast path.
    pub udp_fast: u64,
    /// Those that took the flow table.
    pub udp_flow: u64,
    /// Echo requests for us.
    pub echoes: u64,
    /// ICMP errors sent.
    pub errors_sent: u64,
    /// ICMP errors that came and concern a socket.
    pub errors_received: u64,
    discarded: [u64; REASONS.len()],
}

impl Counters {
    /// Counts a packet that went nowhere.
    #[inline]
    pub(crate) fn discard(&mut self, why: Discard) {
        self.discarded[why as usize] += 1;
    }

    /// Packets of one reason.
    #[must_use]
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discarded[why as usize]
    }

    /// Packets that arrived without its being counted what became of them: none, unless something is wrong here.
    #[must_use]
    pub fn unexplained(&self) -> u64 {
        let discarded = REASONS.iter().filter(|(why, _)| why.is_of_arrivals()).map(|(why, _)| self.discarded(*why));
        let taken = self.udp_received + self.echoes + self.errors_received + self.neighbours + self.fragments;
        (self.frames + self.looped).abs_diff(taken + discarded.sum::<u64>())
    }

    /// The reasons that occurred, with their counts.
    pub fn discards(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        REASONS.iter().map(|(why, name)| (*name, self.discarded(*why))).filter(|(_, n)| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
