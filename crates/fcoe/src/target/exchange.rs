//! An FCP exchange from its responder's side.

use super::early::Early;
use crate::indexed::table_index;
use crate::{Lun, PeerId, Response};
use linerate_block::{Buffer, Tag};
use linerate_wire::{OxId, RxId};

table_index! {
    /// Index of an exchange in the target's table.
    ExchangeIndex
}

/// Null index.
pub(super) const NIL: ExchangeIndex = ExchangeIndex(u16::MAX);

impl ExchangeIndex {
    /// Tag of the exchange's task at the device server.
    pub(super) fn tag(self) -> Tag {
        Tag(u32::from(self.0))
    }
}

/// One command: its identifiers and its progress.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) peer: PeerId,
    pub(super) ox_id: OxId,
    pub(super) rx_id: RxId,
    pub(super) lun: Lun,
    /// Digest that tells FCP_CMND sent twice from another one with the same OX_ID.
    pub(super) digest: u64,
    /// FCP_DL; zero when no data goes in either direction.
    pub(super) data_len: u32,
    /// Bytes of data transferred in order, in the one direction that the command has.
    pub(super) moved: u32,
    pub(super) started: u64,
    /// Time at which it is given up, or forgotten; never when `u64::MAX`.
    pub(super) deadline: u64,
    /// SEQ_ID of the last sequence that we began.
    pub(super) seq_id: u8,
    /// The exchange counts in its peer's queue.
    pub(super) queued: bool,
    /// A task management function has ended the exchange.
    pub(super) doomed: bool,
    pub(super) state: State,
    /// Response after the data, while it is being answered.
    pub(super) response: Response,
    /// List that the exchange is in, and its neighbours there.
    pub(super) list: Option<Which>,
    pub(super) next: ExchangeIndex,
    pub(super) prev: ExchangeIndex,
    /// The next exchange of the same bucket.
    pub(super) chain: ExchangeIndex,
}

/// List of exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Frames are to be sent.
    Ready,
    /// Ended, but the peer may ask for a retransmission.
    Finished,
    /// Aborted; the identifiers are not used again yet.
    Aborted,
}

#[derive(Debug)]
pub(super) enum State {
    Free,
    /// The device server works on the command.
    Working,
    /// Data out has been requested, or is to be.
    Receiving(Receiving),
    /// Data in and then FCP_RSP are being sent, or have been sent.
    Answering(Answering),
    /// ABTS was accepted.
    Aborted,
}

/// Location of data.
#[derive(Debug)]
pub(super) enum Place {
    Nowhere,
    /// The unit's memory, from this byte on.
    Memory(u64),
    Buffer(Buffer),
}

impl Place {
    pub(super) fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Buffer(buffer) => Some(buffer),
            Self::Nowhere | Self::Memory(_) => None,
        }
    }
}

/// State of the transfer of data out.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) into: Place,
    /// Total number of bytes.
    pub(super) len: u32,
    /// Bytes received in order.
    pub(super) received: u32,
    /// End of the current or next burst, as an offset in the data.
    pub(super) burst_end: u32,
    /// FCP_XFER_RDY was sent for the burst.
    pub(super) asked: bool,
    /// SEQ_ID of the sequence that carries the burst, once it has begun, and the next SEQ_CNT in it.
    pub(super) sequence: Option<(u8, u16)>,
    /// Bytes in the last frame of that sequence that came in its turn.
    pub(super) size: u32,
    /// SEQ_ID of the sequence before, whose late frames must not be taken for those of this one.
    pub(super) before: Option<u8>,
    /// Frames of the burst that are stored although one before them is missing.
    pub(super) early: Early,
    /// Time at which the initiator was last polled with REC about the exchange.
    pub(super) polled: u64,
}

/// State of the transfer of data in, and of the response.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) from: Place,
    /// Total number of bytes.
    pub(super) len: u32,
    /// Bytes sent.
    pub(super) sent: u32,
    /// A frame of the sequence that carries the data was sent.
    pub(super) begun: bool,
    /// SEQ_CNT of the next frame of data.
    pub(super) seq_cnt: u16,
    pub(super) said: Said,
}

/// State of FCP_RSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Not sent, or to be sent again.
    No,
    /// Sent; FCP_CONF is awaited.
    ToConfirm,
    /// Sent and finished.
    Done,
}

impl Exchange {
    pub(super) const fn free() -> Self {
        Self {
            peer: PeerId { index: 0, generation: 0 },
            ox_id: OxId::UNASSIGNED,
            rx_id: RxId::UNASSIGNED,
            lun: Lun([0; 8]),
            digest: 0,
            data_len: 0,
            moved: 0,
            started: 0,
            deadline: u64::MAX,
            seq_id: 0,
            queued: false,
            doomed: false,
            state: State::Free,
            response: Response::good(0),
            list: None,
            next: NIL,
            prev: NIL,
            chain: NIL,
        }
    }

    /// True if the exchange has not ended: its originator still waits for an answer.
    pub(super) fn is_open(&self) -> bool {
        match &self.state {
            State::Free | State::Aborted => false,
            State::Working | State::Receiving(_) => true,
            State::Answering(answering) => answering.said == Said::No,
        }
    }

    /// True if the originator has sent data with our RX_ID: it knows this exchange by its OX_ID.
    pub(super) fn is_acknowledged(&self) -> bool {
        match &self.state {
            State::Free | State::Aborted => false,
            // No bytes are counted otherwise before there is an answer.
            State::Working | State::Receiving(_) => self.moved > 0,
            State::Answering(answering) => answering.len == 0 && self.moved > 0,
        }
    }

    /// Bytes that it keeps for retransmission in a buffer of its own.
    pub(super) fn kept(&self) -> usize {
        match &self.state {
            State::Answering(Answering { from: Place::Buffer(buffer), .. }) => buffer.capacity(),
            _ => 0,
        }
    }
}
