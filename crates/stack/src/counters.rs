//! What is counted, where it happens. A packet that goes nowhere has a reason.

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
    /// The fragments did not become a datagram: too many, too late, or they contradict each other.
    Fragments,
    /// The neighbour did not answer, or too much was waiting for it.
    NoNeighbour,
    /// An answer found no room in the transmit ring, or more errors were due than may be sent.
    NoRoom,
    /// No route for an answer.
    NoRoute,
    /// The datagram may not be fragmented and is too long for the way.
    TooLong,
}

const REASONS: [(Discard, &str); 11] = [
    (Discard::NotForUs, "not_for_us"),
    (Discard::Malformed, "malformed"),
    (Discard::BadChecksum, "bad_checksum"),
    (Discard::BadAddress, "bad_address"),
    (Discard::NoSocket, "no_socket"),
    (Discard::QueueFull, "queue_full"),
    (Discard::Fragments, "fragments"),
    (Discard::NoNeighbour, "no_neighbour"),
    (Discard::NoRoom, "no_room"),
    (Discard::NoRoute, "no_route"),
    (Discard::TooLong, "too_long"),
];

impl Discard {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }
}

/// What a host did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that came.
    pub frames: u64,
    /// UDP datagrams that reached a socket.
    pub udp_received: u64,
    /// UDP datagrams that left, or wait for their neighbour.
    pub udp_sent: u64,
    /// Those that took the fast path.
    pub udp_fast: u64,
    /// Those that took the flow table.
    pub udp_flow: u64,
    /// Echo requests answered.
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
        counters.discard(Discard::TooLong);
        assert_eq!(counters.discards().collect::<Vec<_>>(), [("too_long", 1)]);
    }
}
