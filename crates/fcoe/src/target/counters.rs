//! Counters of a target: work done, and frames dropped.

use linerate_text::reasons;

reasons! {
    /// Reason that a frame, or an exchange, was dropped.
    pub enum TargetDrop {
        /// The peer is not logged in, or was logged in earlier.
        NotLoggedIn = "not_logged_in",
        /// The frame's addresses are not those of the peer and of this port.
        Foreign = "foreign",
        /// EOFni, EOFa, or another delimiter that invalidates a frame.
        Void = "void",
        /// A kind of frame not meant for a target: R_CTL, TYPE or F_CTL are not a command's, its data's or a link
        /// service's.
        Unexpected = "unexpected",
        /// FCP_CMND of a peer that is no initiator.
        NotInitiator = "not_initiator",
        /// Duplicate FCP_CMND, or data that has come before.
        Duplicate = "duplicate",
        /// FCP_CMND with the OX_ID of an exchange that is open, or was aborted: one of them is late.
        Late = "late",
        /// No such exchange of the peer.
        UnknownExchange = "unknown_exchange",
        /// Data for which no FCP_XFER_RDY is out.
        UnaskedData = "unasked_data",
        /// Data without relative offset, or none.
        NoOffset = "no_offset",
        /// Data of a sequence other than the one that has begun, or not with the next SEQ_CNT.
        OutOfSequence = "out_of_sequence",
        /// Data that begins before the next expected byte, and ends after it.
        Overlap = "overlap",
        /// Data that begins after the next expected byte, and is not certain to belong there, or too far ahead.
        Gap = "gap",
        /// Data beyond the requested range.
        Beyond = "beyond",
        /// The sequence ends before or after the burst does.
        WrongEnd = "wrong_end",
        /// No room to queue a reply.
        NoRoom = "no_room",
        /// Malformed FCP_CMND or SRR, answered as such.
        Malformed = "malformed",
    }

    /// Frames and exchanges dropped, by reason.
    pub struct TargetDrops;
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
    drops: TargetDrops,
}

impl TargetCounters {
    #[must_use]
    pub const fn dropped(&self, reason: TargetDrop) -> u64 {
        self.drops.of(reason)
    }

    /// Frames dropped, for all reasons.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.drops.total()
    }

    pub(super) fn drop(&mut self, reason: TargetDrop) {
        self.drops.add(reason, 1);
    }
}
