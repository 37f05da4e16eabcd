//! Counters of queues. A frame that is not carried is counted with a reason.

use linerate_text::reasons;

reasons! {
    /// Reason that a frame was not carried.
    pub enum DropReason {
        /// The frame was on its way when the other end of the cable died or closed.
        PeerDied = "peer_died",
        /// More than 64 fragments.
        TooManyFragments = "too_many_fragments",
        /// Longer than the port or the link can carry.
        TooLong = "too_long",
        /// Shorter than an Ethernet header.
        TooShort = "too_short",
        /// The other process named a buffer that it does not own.
        BadIndex = "bad_index",
        /// The other process named a length beyond the buffer.
        BadLength = "bad_length",
        /// The receive ring had no free slot when the frame came.
        NoRoom = "no_room",
        /// The frame was longer than the receive buffer.
        Truncated = "truncated",
        /// The system refused to send the frame.
        Refused = "refused",
        /// The other side had no receiver.
        NoReceiver = "no_receiver",
        /// A wrapper dropped it on purpose.
        Fault = "fault",
        /// A record of a capture file that is no frame or is damaged.
        BadRecord = "bad_record",
        /// The frame's VLAN is not one of the port.
        Vlan = "vlan",
        /// The frame's destination is at the port that it came from.
        SamePort = "same_port",
        /// The frame was sent by a monitor port, which only watches others.
        Monitor = "monitor",
        /// The frame's metadata asks for a checksum or a segmentation that the destination port does not do, and that cannot
        /// be done on the way because it does not fit the frame.
        Unfinished = "unfinished",
        /// The frame's destination is one of the sixteen addresses that no bridge forwards (IEEE 802.1Q-2022, table 8-1).
        Reserved = "reserved",
        /// The port that the frame came from is blocked: it is joined to another port outside of the switch.
        Blocked = "blocked",
        /// The frame is a probe of the switch itself that came back.
        Own = "own",
    }

    /// Frames not carried, by reason.
    pub struct Drops;
}

impl Drops {
    /// Sets a count that is kept elsewhere (the kernel, a ring).
    pub fn set(&mut self, reason: DropReason, n: u64) {
        self.0[reason as usize] = n;
    }

    /// Counts as numbers, for another process.
    pub(crate) fn numbers(&self) -> &[u64; linerate_ring::TOLD] {
        &self.0
    }

    /// Counts from the numbers of another process; impossibly large ones are cut.
    pub(crate) fn from_numbers(numbers: [u64; linerate_ring::TOLD]) -> Self {
        Self(numbers.map(|n| n.min(1 << 56)))
    }

    /// Difference from an earlier count.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].saturating_sub(before.0[i])))
    }
}

/// Counters of a transmit queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Frames sent: the next hop (far ring, kernel, file) has them.
    pub frames: u64,
    /// Bytes of these frames, without FCS.
    pub bytes: u64,
    /// Syncs that moved something.
    pub batches: u64,
    /// System calls made to send frames.
    pub syscalls: u64,
    /// Frames committed and then not carried.
    pub dropped: Drops,
}

/// Counters of a receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Slots delivered to the ring (a frame has one or more).
    pub slots: u64,
    /// Syncs that moved something.
    pub batches: u64,
    /// System calls made to receive frames.
    pub syscalls: u64,
    /// Frames that reached the port but not the ring.
    pub dropped: Drops,
}
