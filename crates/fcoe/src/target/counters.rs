//! Counters of a target: work done, and frames dropped.

/// Reason that a frame, or an exchange, was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetDrop {
    /// The peer is not logged in, or was logged in earlier.
    NotLoggedIn,
    /// The frame's addresses are not those of the peer and of this port.
    Foreign,
    /// EOFni, EOFa, or another delimiter that invalidates a frame.
    Void,
    /// A kind of frame not meant for a target: R_CTL, TYPE or F_CTL are not a command's, its data's or a link
    /// service's.
    Unexpected,
    /// FCP_CMND of a peer that is no initiator.
    NotInitiator,
    /// Duplicate FCP_CMND, or data that has come before.
    Duplicate,
    /// FCP_CMND with the OX_ID of an exchange that is open, or was aborted: one of them is late.
    Late,
    /// No such exchange of the peer.
    UnknownExchange,
    /// Data for which no FCP_XFER_RDY is out.
    UnaskedData,
    /// Data without relative offset, or none.
    NoOffset,
    /// Data of a sequence other than the one that has begun, or not with the next SEQ_CNT.
    OutOfSequence,
    /// Data that begins before the next expected byte, and ends after it.
    Overlap,
    /// Data that begins after the next expected byte, and is not certain to belong there, or too far ahead.
    Gap,
    /// Data beyond the requested range.
    Beyond,
    /// The sequence ends before or after the burst does.
    WrongEnd,
    /// No room to queue a reply.
    NoRoom,
    /// Malformed FCP_CMND or SRR, answered as such.
    Malformed,
}

impl TargetDrop {
    /// All reasons.
    pub const ALL: [Self; 17] = [
        Self::NotLoggedIn,
        Self::Foreign,
        Self::Void,
        Self::Unexpected,
        Self::NotInitiator,
        Self::Duplicate,
        Self::Late,
        Self::UnknownExchange,
        Self::UnaskedData,
        Self::NoOffset,
        Self::OutOfSequence,
        Self::Overlap,
        Self::Gap,
        Self::Beyond,
        Self::WrongEnd,
        Self::NoRoom,
        Self::Malformed,
    ];

    /// Name of the reason in a table of counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotLoggedIn => "not_logged_in",
            Self::Foreign => "foreign",
            Self::Void => "void",
            Self::Unexpected => "unexpected",
            Self::NotInitiator => "not_initiator",
            Self::Duplicate => "duplicate",
            Self::Late => "late",
            Self::UnknownExchange => "unknown_exchange",
            Self::UnaskedData => "unasked_data",
            Self::NoOffset => "no_offset",
            Self::OutOfSequence => "out_of_sequence",
            Self::Overlap => "overlap",
            Self::Gap => "gap",
            Self::Beyond => "beyond",
            Self::WrongEnd => "wrong_end",
            Self::NoRoom => "no_room",
            Self::Malformed => "malformed",
        }
    }
}

/// Counters of a target since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetCounters {
    /// Commands given to the device server.
    pub commands: u64,
    /// Commands answered with FCP_RSP.
    pub responses: u64,
    /// Bytes of data in, retransmissions included.
    pub bytes_sent: u64,
    /// Bytes of data out that were stored.
    pub bytes_received: u64,
    /// Frames of data out that were stored although one before them was missing.
    pub early: u64,
    /// FCP_XFER_RDY frames sent.
    pub transfer_readies: u64,
    /// Commands answered with TASK SET FULL or BUSY.
    pub task_set_full: u64,
    /// Task management functions.
    pub functions: u64,
    /// Exchanges ended by ABTS.
    pub aborted: u64,
    /// Exchanges ended because another FCP_CMND came with their OX_ID.
    pub replaced: u64,
    /// Exchanges that were given up because their data did not come.
    pub expired: u64,
    /// READs held back because one alike had come a moment before.
    pub doubted: u64,
    /// Such READs that were dropped: their initiator meant another exchange, or none.
    pub twins: u64,
    /// Exchanges given up because their initiator does not know them, perhaps since FCP_CMND was duplicated.
    pub forgotten: u64,
    /// RECs sent to poll initiators about such exchanges.
    pub rec_polls: u64,
    /// SRRs accepted.
    pub retransmissions: u64,
    /// Steps of the device server that failed: its memory was missing, or it asked for more than FCP_DL.
    pub failed_steps: u64,
    drops: [u64; TargetDrop::ALL.len()],
}

impl TargetCounters {
    /// Number of frames dropped for this reason.
    #[must_use]
    pub const fn dropped(&self, reason: TargetDrop) -> u64 {
        self.drops[reason as usize]
    }

    /// Frames dropped, for all reasons.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.drops.iter().sum()
    }

    pub(super) fn drop(&mut self, reason: TargetDrop) {
        self.drops[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_and_a_name_of_its_own() {
        let mut counters = TargetCounters::default();
        for reason in TargetDrop::ALL {
            counters.drop(reason);
            assert_eq!(counters.dropped(reason), 1, "{}", reason.name());
        }
        assert_eq!(counters.drops(), 17);
    }
}
