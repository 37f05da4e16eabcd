//! Commands of an initiator, and their outcomes.

use crate::{Lun, PeerId, TaskAttribute};
use linerate_block::{Buffer, Tag};
use thiserror::Error;

/// Data of a command, and where it goes; FCP_DL is the buffer's length.
#[derive(Debug)]
pub enum Data {
    /// None moves.
    None,
    /// The target's, into this buffer.
    In(Buffer),
    /// This buffer, to the target.
    Out(Buffer),
}

/// A command for a logical unit of a peer.
#[derive(Debug)]
pub struct Command {
    /// As the one who submits it calls it: [`Completed::tag`].
    pub tag: Tag,
    /// To which logical unit.
    pub lun: Lun,
    /// The command descriptor block, of which `cdb_len` bytes count.
    pub cdb: [u8; 32],
    /// 6 to 32; FCP_CMND carries at least 16 bytes, the rest of them zero (FCP-4, clause 9.2).
    pub cdb_len: u8,
    /// Its place in the queue.
    pub attribute: TaskAttribute,
    /// Its data.
    pub data: Data,
    /// Nanoseconds from submission after which it is aborted.
    pub timeout: u64,
}

/// Why a command was not taken; it goes back to the one who submitted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// The peer has as many commands as its queue depth.
    #[error("the target's queue is full: submit again when a command has completed")]
    Busy,
    /// All exchanges are in use.
    #[error("all exchanges are in use: submit again when a command has completed, or configure more")]
    Full,
    /// The CDB is longer than 32 bytes or shorter than 6, or the data longer than 4 GiB.
    #[error("the command is malformed: a CDB has 6 to 32 octets, its data less than 4 GiB")]
    Malformed,
}

/// Why the transport could not do a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TransportError {
    /// It was lost as often as it is sent.
    #[error("the command was lost each time that it was sent")]
    Retries,
    /// It was lost, and to send it twice is not the same as once.
    #[error("the command was lost, and whether the target has done it is unknown")]
    NotRepeatable,
    /// Neither the command nor its ABTS was answered.
    #[error("the target does not answer ABTS")]
    AbortUnanswered,
    /// A reset of the logical unit took it away.
    #[error("a reset of the logical unit ended the command")]
    Reset,
    /// The target's FCP_RSP carries this RSP_CODE (FCP-4, clause 9.5).
    #[error("the target's FCP_RSP has code {0:#04x}")]
    ResponseCode(u8),
}

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The target has answered: [`Completed::status`] counts. With GOOD, all data but the residual has moved.
    Response,
    /// The target has answered a task management function with this RSP_CODE: 0x00 complete, 0x08 succeeded, others
    /// failed (FCP-4, clause 9.5).
    Function(u8),
    /// It took too long, and was aborted.
    TimedOut,
    /// The peer is gone.
    LinkLost,
    /// The transport failed.
    Transport(TransportError),
}

/// A command that has ended.
#[derive(Debug)]
pub struct Completed {
    /// Which.
    pub tag: Tag,
    /// Whose.
    pub peer: PeerId,
    /// How.
    pub outcome: Outcome,
    /// The SCSI status, with [`Outcome::Response`] (SAM-5, clause 5.3).
    pub status: u8,
    /// Sense data, of which `sense_len` bytes count.
    pub sense: [u8; 96],
    /// See `sense`.
    pub sense_len: u8,
    /// Bytes that the command wanted beyond the buffer (greater than zero), or did not move of it (less than zero,
    /// never by more than its length).
    pub residual: i64,
    /// The buffer that came with it. Filled, with [`Outcome::Response`] and GOOD, but for the residual; anything may be in
    /// it otherwise. `None` with a command that has none.
    pub buffer: Option<Buffer>,
}

impl Completed {
    /// The sense data.
    #[must_use]
    pub fn sense(&self) -> &[u8] {
        &self.sense[..usize::from(self.sense_len).min(self.sense.len())]
    }

    /// True if the target did the command.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.outcome == Outcome::Response && self.status == 0
    }
}

/// Something that others should know.
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
    /// Commands that a peer has at once, at most; TASK SET FULL lowers it for a while.
    pub queue_depth: u16,
    /// Number of times that a command is sent again.
    pub retries: u8,
}

impl Default for InitiatorConfig {
    /// 4096 exchanges, 1024 for a peer, 8 retries.
    fn default() -> Self {
        Self { exchanges: 4096, queue_depth: 1024, retries: 8 }
    }
}

/// Counters of a peer. Frames that are dropped are counted under their reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InitiatorCounters {
    /// Commands submitted.
    pub commands: u64,
    /// Commands that ended with a status.
    pub responses: u64,
    /// Commands that ended otherwise.
    pub failed: u64,
    /// Bytes of data placed.
    pub octets_in: u64,
    /// Bytes of data sent, those sent again included.
    pub octets_out: u64,
    /// Commands sent again.
    pub resent: u64,
    /// RECs sent.
    pub rec: u64,
    /// SRRs sent.
    pub srr: u64,
    /// ABTSs sent.
    pub abts: u64,
    /// RRQs sent.
    pub rrq: u64,
    /// ABTSs that were given up.
    pub abts_unanswered: u64,
    /// Commands whose time had passed.
    pub timed_out: u64,
    /// Responses TASK SET FULL or BUSY.
    pub task_set_full: u64,
    /// GOOD came with fewer bytes of data than it says, or before all data had gone.
    pub short: u64,
    /// Dropped: no exchange has this OX_ID, or it is with somebody else or has another RX_ID.
    pub unknown_exchange: u64,
    /// Dropped: not a frame that an exchange of this state or direction can have.
    pub unexpected: u64,
    /// Dropped: the frame is not formed as it should be.
    pub malformed: u64,
    /// Dropped: data, or a demand for data, beyond the command's.
    pub beyond: u64,
    /// Dropped: data where data was already, and the same.
    pub duplicate: u64,
    /// Dropped: data where other data was already.
    pub overlap: u64,
    /// Dropped: SEQ_CNT and relative offset do not belong together.
    pub discontinuous: u64,
    /// Data placed beyond a hole, or into one.
    pub out_of_order: u64,
}
