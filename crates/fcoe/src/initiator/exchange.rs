//! One exchange of ours: a command, the progress of its data, and the frames to send for it.

use super::ranges::Ranges;
use crate::indexed::table_index;
use crate::{Lun, PeerId, TaskAttribute};
use linerate_block::{Buffer, Tag};
use linerate_wire::scsi::opcode;
use linerate_wire::{FcHeader, OxId, RxId, Sof, f_ctl};

/// Direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    None,
    In,
    Out,
}

/// State of an exchange: the event that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Free,
    /// Waits for the target.
    Running,
    /// Waits until this time, at which the command is sent again.
    Pausing(u64),
    /// Waits for the reply to REC.
    Asking,
    /// Waits for the reply to SRR.
    Requesting,
    /// Waits for the reply to ABTS; then the next step follows.
    Aborting(After),
    /// Waits for room to send FCP_CONF; all else is done.
    Confirming,
}

/// Step after an abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Send the command again.
    Resend,
    /// End the command: it has taken too long.
    TimedOut,
}

/// Frames to send, in this order when there are several.
pub(super) mod want {
    pub(in super::super) const COMMAND: u8 = 1;
    pub(in super::super) const DATA: u8 = 2;
    pub(in super::super) const REC: u8 = 4;
    pub(in super::super) const SRR: u8 = 8;
    pub(in super::super) const ABTS: u8 = 16;
    pub(in super::super) const CONF: u8 = 32;
}

/// Data out that an FCP_XFER_RDY has asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Burst {
    pub(super) offset: u32,
    pub(super) end: u32,
    pub(super) seq_id: u8,
    pub(super) seq_cnt: u16,
}

/// GOOD status that came before all data: a path that reorders may still deliver the data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// Time at which it came.
    pub(super) since: u64,
    /// Bytes that were not transferred, according to the status.
    pub(super) under: u64,
    /// Residual to report to the submitter of the command.
    pub(super) residual: i64,
    /// True if the target waits for FCP_CONF, and so still keeps the exchange.
    pub(super) confirm: bool,
}

/// Contents of an SRR.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Retransmission {
    pub(super) offset: u32,
    pub(super) r_ctl: u8,
}

table_index! {
    /// Index of an exchange in the initiator's table.
    ExchangeIndex
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) phase: Phase,
    pub(super) peer: PeerId,
    pub(super) ox_id: OxId,
    pub(super) rx_id: RxId,
    pub(super) direction: Direction,
    pub(super) buffer: Option<Buffer>,
    /// FCP_DL.
    pub(super) length: u32,
    /// Data in that was stored; data out that was requested.
    pub(super) ranges: Ranges,
    pub(super) continuity: Continuity,
    pub(super) burst: Burst,
    pub(super) held: Option<Held>,
    /// Two frames had different data for one place: neither is trusted.
    pub(super) damaged: bool,
    /// The outcome has been reported.
    pub(super) reported: bool,
    /// The exchange is in the queue of those with frames to send.
    pub(super) queued: bool,
    /// Bits of [`want`].
    pub(super) wants: u8,
    pub(super) seq_id: u8,
    /// Number of times that the command was sent again.
    pub(super) attempts: u8,
    /// Number of RECs or ABTSs sent without an answer.
    pub(super) silent: u8,
    /// OX_ID of our REC or SRR.
    pub(super) service: OxId,
    pub(super) retransmission: Retransmission,
    pub(super) started: u64,
    pub(super) deadline: u64,
    /// Time at which the command was last begun.
    pub(super) attempted: u64,
    /// Time at which a frame was last sent or received.
    pub(super) progress: u64,
    /// Time at which REC or SRR was sent, or ABTS was to be sent.
    pub(super) asked: u64,
    pub(super) tag: Tag,
    pub(super) lun: Lun,
    pub(super) cdb: [u8; 32],
    pub(super) cdb_len: u8,
    pub(super) attribute: TaskAttribute,
    /// A reset of the unit rather than a command.
    pub(super) reset: bool,
}

impl Exchange {
    /// Time without a frame after which the target is asked (REC). Linux's target finds an exchange by the RX_ID alone,
    /// and so does not know one before its first frame, even if it works on it: each time that the command is sent
    /// again, the time is doubled.
    pub(super) fn patience(&self, rec_tov: u64) -> u64 {
        let doubled = if self.rx_id == RxId::UNASSIGNED { u32::from(self.attempts) } else { 0 };
        rec_tov.saturating_mul(1 << doubled.min(16))
    }

    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Free,
            peer: PeerId { index: 0, generation: 0 },
            ox_id: OxId::UNASSIGNED,
            rx_id: RxId::UNASSIGNED,
            direction: Direction::None,
            buffer: None,
            length: 0,
            ranges: Ranges::default(),
            continuity: Continuity::default(),
            burst: Burst::default(),
            held: None,
            damaged: false,
            reported: false,
            queued: false,
            wants: 0,
            seq_id: 0,
            attempts: 0,
            silent: 0,
            service: OxId::UNASSIGNED,
            retransmission: Retransmission::default(),
            started: 0,
            deadline: 0,
            attempted: 0,
            progress: 0,
            asked: 0,
            tag: Tag(0),
            lun: Lun([0; 8]),
            cdb: [0; 32],
            cdb_len: 0,
            attribute: TaskAttribute::Simple,
            reset: false,
        }
    }

    /// Resets the exchange to the state before the command was sent, with another OX_ID.
    pub(super) fn restart(&mut self, now: u64, ox_id: OxId) {
        self.phase = Phase::Running;
        self.ox_id = ox_id;
        self.rx_id = RxId::UNASSIGNED;
        self.ranges = Ranges::default();
        self.continuity = Continuity::default();
        self.held = None;
        self.damaged = false;
        self.wants = want::COMMAND;
        self.seq_id = 0;
        self.silent = 0;
        self.attempted = now;
        self.progress = now;
    }

    /// SEQ_ID for our next sequence.
    pub(super) fn next_seq_id(&mut self) -> u8 {
        self.seq_id = self.seq_id.wrapping_add(1);
        self.seq_id
    }

    /// True if the target's frames are still accepted.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Free | Phase::Confirming) && self.wants & want::COMMAND == 0
    }

    /// True if exactly the data that is not residual was transferred: data in is stored completely; data out was
    /// requested and sent completely.
    pub(super) fn has_moved(&self, under: u64) -> bool {
        match self.direction {
            Direction::None => true,
            _ => {
                !self.damaged
                    && self.wants & want::DATA == 0
                    && self.ranges.is_whole()
                    && u64::from(self.length).checked_sub(under) == Some(u64::from(self.ranges.end()))
            }
        }
    }

    /// True if a command that the target may have executed can be sent again: a second execution changes nothing. A
    /// comparison or a reservation that has succeeded may fail the second time (SBC-3, clause 5.2; SPC-4, clause 6.16).
    pub(super) fn is_repeatable(&self) -> bool {
        const EXTENDED_COPY: u8 = 0x83;
        match self.cdb[0] {
            opcode::COMPARE_AND_WRITE | opcode::PERSISTENT_RESERVE_OUT | EXTENDED_COPY => false,
            // READ, VERIFY, WRITE, WRITE AND VERIFY and WRITE SAME (32).
            opcode::VARIABLE_LENGTH => self.cdb[8] == 0 && matches!(self.cdb[9], 0x09..=0x0d),
            _ => true,
        }
    }
}

/// Expected position of the next frame of an incoming sequence: SEQ_CNT and relative offset grow together (FC-FS-3,
/// clauses 12.10 and 12.15).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Continuity {
    open: bool,
    seq_id: u8,
    seq_cnt: u16,
    offset: u32,
    /// Bytes of the sequence's full frames.
    size: u32,
}

impl Continuity {
    /// True if a frame's position is consistent. Out of order it is when count and offset differ from the expected ones
    /// by the same number of full frames.
    pub(super) fn admit(&mut self, header: &FcHeader, sof: Sof, len: u32) -> bool {
        let (offset, last) = (header.parameter, header.has(f_ctl::END_SEQUENCE));
        if self.open && header.seq_id == self.seq_id {
            if header.seq_cnt == self.seq_cnt && offset == self.offset {
                if !last {
                    self.size = len;
                }
                self.expect(header, offset, len);
                return true;
            }
            let ahead = i16::from_be_bytes(header.seq_cnt.wrapping_sub(self.seq_cnt).to_be_bytes());
            let belongs = i64::from(offset) == i64::from(self.offset) + i64::from(ahead) * i64::from(self.size)
                && (len == self.size || last && len < self.size);
            if belongs && ahead > 0 {
                self.expect(header, offset, len);
            }
            if belongs || sof != Sof::I3 {
                return belongs;
            }
        }
        // Another sequence, perhaps with the same SEQ_ID. Its first frame shows where it begins; without that, only the
        // first sequence of the exchange, or after SRR, is known to begin at an offset, with SEQ_CNT zero.
        let size = if sof == Sof::I3 { len } else { self.size_of_first(header, len) };
        if size > 0 {
            self.open = true;
            self.seq_id = header.seq_id;
            self.size = size;
            self.expect(header, offset, len);
        }
        size > 0
    }

    /// Bytes of full frames of the first sequence, according to a frame that has overtaken its first one; zero when the
    /// frame is not of that sequence.
    fn size_of_first(&self, header: &FcHeader, len: u32) -> u32 {
        let count = u32::from(header.seq_cnt);
        let Some(ahead) = header.parameter.checked_sub(self.offset).filter(|_| !self.open) else { return 0 };
        // The last frame may be shorter than the others.
        let last = header.has(f_ctl::END_SEQUENCE);
        let size = if last { ahead.checked_div(count).unwrap_or(0) } else { len };
        let fits = u64::from(size) * u64::from(count) == u64::from(ahead) && len <= size;
        if fits { size } else { 0 }
    }

    /// Expects a sequence that begins at this offset.
    pub(super) fn begin(&mut self, offset: u32) {
        *self = Self { offset, ..Self::default() };
    }

    /// Sets the position expected after this frame. Nothing follows the last one, which may be shorter: other frames
    /// are then measured from its start.
    fn expect(&mut self, header: &FcHeader, offset: u32, len: u32) {
        if header.has(f_ctl::END_SEQUENCE) {
            (self.seq_cnt, self.offset) = (header.seq_cnt, offset);
        } else {
            (self.seq_cnt, self.offset) = (header.seq_cnt.wrapping_add(1), offset.saturating_add(len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_exchanges_are_a_few_mebibytes() {
        assert!(size_of::<Exchange>() <= 320, "{}", size_of::<Exchange>());
    }
}
