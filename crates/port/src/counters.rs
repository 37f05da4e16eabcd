//! Counters of queues. A frame that is not carried is counted with a reason.

/// Reason that a frame was not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum DropReason {
    /// The frame was on its way when the other end of the cable died or closed.
    PeerDied,
    /// More than 64 fragments.
    TooManyFragments,
    /// Longer than the port or the link can carry.
    TooLong,
    /// Shorter than an Ethernet header.
    TooShort,
    /// The other process named a buffer that it does not own.
    BadIndex,
    /// The other process named a length beyond the buffer.
    BadLength,
    /// The receive ring had no free slot when the frame came.
    NoRoom,
    /// The frame was longer than the receive buffer.
    Truncated,
    /// The system refused to send the frame.
    Refused,
    /// The other side had no receiver.
    NoReceiver,
    /// A wrapper dropped it on purpose.
    Fault,
    /// A record of a capture file that is no frame or is damaged.
    BadRecord,
    /// The frame's VLAN is not one of the port.
    Vlan,
    /// The frame's destination is at the port that it came from.
    SamePort,
    /// The frame was sent by a monitor port, which only watches others.
    Monitor,
    /// The frame's metadata asks for a checksum or a segmentation that the destination port does not do, and that cannot
    /// be done on the way because it does not fit the frame.
    Unfinished,
    /// The frame's destination is one of the sixteen addresses that no bridge forwards (IEEE 802.1Q-2022, table 8-1).
    Reserved,
    /// The port that the frame came from is blocked: it is joined to another port outside of the switch.
    Blocked,
    /// The frame is a probe of the switch itself that came back.
    Own,
}

/// All reasons in order, with their names.
const REASONS: [(DropReason, &str); linerate_ring::TOLD] = [
    (DropReason::PeerDied, "peer_died"),
    (DropReason::TooManyFragments, "too_many_fragments"),
    (DropReason::TooLong, "too_long"),
    (DropReason::TooShort, "too_short"),
    (DropReason::BadIndex, "bad_index"),
    (DropReason::BadLength, "bad_length"),
    (DropReason::NoRoom, "no_room"),
    (DropReason::Truncated, "truncated"),
    (DropReason::Refused, "refused"),
    (DropReason::NoReceiver, "no_receiver"),
    (DropReason::Fault, "fault"),
    (DropReason::BadRecord, "bad_record"),
    (DropReason::Vlan, "vlan"),
    (DropReason::SamePort, "same_port"),
    (DropReason::Monitor, "monitor"),
    (DropReason::Unfinished, "unfinished"),
    (DropReason::Reserved, "reserved"),
    (DropReason::Blocked, "blocked"),
    (DropReason::Own, "own"),
];

impl DropReason {
    /// Name of the reason in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }
}

/// Frames not carried, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; REASONS.len()]);

impl Drops {
    /// Counts `n` frames.
    pub fn add(&mut self, reason: DropReason, n: u64) {
        // Some counts come from other processes and may be large.
        let count = &mut self.0[reason as usize];
        *count = count.saturating_add(n);
    }

    /// Sets a count that is kept elsewhere (the kernel, a ring).
    pub fn set(&mut self, reason: DropReason, n: u64) {
        self.0[reason as usize] = n;
    }

    /// Adds all counts of another one.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
    }

    /// Counts as numbers, for another process.
    pub(crate) fn numbers(&self) -> &[u64; REASONS.len()] {
        &self.0
    }

    /// Counts from the numbers of another process; impossibly large ones are cut.
    pub(crate) fn from_numbers(numbers: [u64; REASONS.len()]) -> Self {
        Self(numbers.map(|n| n.min(1 << 56)))
    }

    /// Difference from an earlier count.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].saturating_sub(before.0[i])))
    }

    /// Number of frames of one reason.
    #[must_use]
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Number of frames of all reasons.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |all, n| all.saturating_add(*n))
    }

    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        REASONS.iter().map(|(reason, name)| (*name, self.of(*reason))).filter(|(_, n)| *n > 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_stands_at_its_place() {
        for (i, (reason, name)) in REASONS.iter().enumerate() {
            assert_eq!(*reason as usize, i);
            assert_eq!(reason.name(), *name);
        }
        let mut drops = Drops::default();
        drops.add(DropReason::NoRoom, 3);
        drops.add(DropReason::Fault, 2);
        assert_eq!(drops.iter().collect::<Vec<_>>(), [("no_room", 3), ("fault", 2)]);
        assert_eq!(drops.total(), 5);
    }
}
