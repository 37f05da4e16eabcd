//! Commands of an initiator, and their outcomes.

use crate::{Lun, PeerId, TaskAttribute};
use linerate_block::{Buffer, Tag};
use thiserror::Error;

/// Data of a command, with its buffer; FCP_DL is the buffer's length.
#[derive(Debug)]
pub enum Data {
    None,
    /// Data in, from the target into this buffer.
    In(Buffer),
    /// Data out, from this buffer to the target.
    Out(Buffer),
}

/// A command for a logical unit of a peer.
#[derive(Debug)]
pub struct Command {
    /// Tag chosen by the submitter: [`Completed::tag`].
    pub tag: Tag,
    pub lun: Lun,
    /// Command descriptor block, of which `cdb_len` bytes are valid.
    pub cdb: [u8; 32],
    /// Length of the CDB, 6 to 32; FCP_CMND carries at least 16 bytes, the rest of them zero (FCP-4, clause 9.2).
    pub cdb_len: u8,
    pub attribute: TaskAttribute,
    pub data: Data,
    /// Nanoseconds from submission after which the command is aborted.
    pub timeout: u64,
}

/// Reason that a command was not accepted; it is returned to the submitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// The peer's queue depth is reached.
    #[error("the target's queue is full: submit again when a command has completed")]
    Busy,
    /// All exchanges are in use.
    #[error("all exchanges are in use: submit again when a command has completed, or configure more")]
    Full,
    #[error("the command is malformed: a CDB has 6 to 32 bytes, its data less than 4 GiB")]
    Malformed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TransportError {
    #[error("the command was lost each time that it was sent")]
    Retries,
    /// The command was lost, and repeating it could do harm.
    #[error("the command was lost, and whether the target has done it is unknown")]
    NotRepeatable,
    /// Neither the command nor its ABTS was answered.
    #[error("the target does not answer ABTS")]
    AbortUnanswered,
    #[error("a reset of the logical unit ended the command")]
    Reset,
    /// The target's FCP_RSP carries this RSP_CODE (FCP-4, clause 9.5).
    #[error("the target's FCP_RSP has code {0:#04x}")]
    ResponseCode(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The target has answered: [`Completed::status`] is valid. With GOOD, all data but the residual was transferred.
    Response,
    /// The target has answered a task management function with this RSP_CODE: 0x00 complete, 0x08 succeeded, others
    /// failed (FCP-4, clause 9.5).
    Function(u8),
    /// The command took too long, and was aborted: the target has released it.
    TimedOut,
    /// The peer is gone.
    LinkLost,
    Transport(TransportError),
}

#[derive(Debug)]
pub struct Completed {
    pub tag: Tag,
    /// Peer that it was sent to.
    pub peer: PeerId,
    pub outcome: Outcome,
    /// SCSI status, with [`Outcome::Response`] (SAM-5, clause 5.3).
    pub status: u8,
    /// Sense data, of which `sense_len` bytes are valid.
    pub sense: [u8; 96],
    /// Valid bytes of `sense`.
    pub sense_len: u8,
    /// Bytes that the command wanted beyond the buffer (greater than zero), or did not transfer of it (less than zero,
    /// never by more than its length).
    pub residual: i64,
    /// Buffer of the command. Filled, with [`Outcome::Response`] and GOOD, except for the residual; its content is
    /// undefined otherwise. `None` for a command without data.
    pub buffer: Option<Buffer>,
}

impl Completed {
    #[must_use]
    pub fn sense(&self) -> &[u8] {
        &self.sense[..usize::from(self.sense_len).min(self.sense.len())]
    }

    /// The data of a good command that was received.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        let missing = usize::try_from(self.residual.min(0).unsigned_abs()).unwrap_or(0);
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.bytes()[..buffer.len().saturating_sub(missing)])
    }

    /// True if the target executed the command successfully.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.outcome == Outcome::Response && self.status == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The peer does not answer ABTS: log out and in again (FCP-4, clause 12.3).
    Logout(PeerId),
}

/// Limits of an initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitiatorConfig {
    /// Exchanges at once, at most 32768; about 300 bytes each.
    pub exchanges: usize,
    /// Most commands of a peer at once; TASK SET FULL lowers it for a while.
    pub queue_depth: u16,
    /// Number of times that a command is repeated.
    pub retries: u8,
}

impl Default for InitiatorConfig {
    /// Defaults: 4096 exchanges, 1024 for a peer, 8 retries.
    fn default() -> Self {
        Self { exchanges: 4096, queue_depth: 1024, retries: 8 }
    }
}

/// Counters of a peer. Dropped frames are counted by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InitiatorCounters {
    /// Commands submitted.
    pub commands: u64,
    /// Commands that ended with a status.
    pub responses: u64,
    /// Commands that ended otherwise.
    pub failed: u64,
    /// Bytes of data in that were stored.
    pub bytes_in: u64,
    /// Bytes of data out sent, retransmissions included.
    pub bytes_out: u64,
    /// Commands sent again.
    pub resent: u64,
    pub rec: u64,
    pub srr: u64,
    pub abts: u64,
    pub rrq: u64,
    /// ABTSs given up without an answer.
    pub abts_unanswered: u64,
    pub timed_out: u64,
    /// Responses TASK SET FULL or BUSY.
    pub task_set_full: u64,
    /// GOODs with fewer bytes of data than stated, or before all data was sent.
    pub short: u64,
    /// Dropped: no exchange has this OX_ID, or its peer or RX_ID differs.
    pub unknown_exchange: u64,
    /// Dropped: not a frame for an exchange of this state or direction.
    pub unexpected: u64,
    /// Dropped: malformed.
    pub malformed: u64,
    /// Dropped: data, or a request for data, beyond the command's length.
    pub beyond: u64,
    /// Dropped: data that was already received, and is the same.
    pub duplicate: u64,
    /// Dropped: data that differs from data already received for the same place.
    pub overlap: u64,
    /// Dropped: SEQ_CNT and relative offset are inconsistent.
    pub discontinuous: u64,
    /// Data stored beyond a hole, or into one.
    pub out_of_order: u64,
}
