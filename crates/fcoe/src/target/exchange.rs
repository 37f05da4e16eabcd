//! An FCP exchange as its responder sees it.

use crate::indexed::table_index;
use crate::{Lun, PeerId, Response};
use linerate_block::{Buffer, Tag};
use linerate_wire::{OxId, RxId};

table_index! {
    /// The place of an exchange in the target's table.
    ExchangeIndex
}

/// None, where the place of an exchange is expected.
pub(super) const NIL: ExchangeIndex = ExchangeIndex(u16::MAX);

impl ExchangeIndex {
    /// The exchange's task as the device server knows it.
    pub(super) fn tag(self) -> Tag {
        Tag(u32::from(self.0))
    }
}

/// One command: its names, and how far it is.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) peer: PeerId,
    pub(super) ox_id: OxId,
    pub(super) rx_id: RxId,
    pub(super) lun: Lun,
    /// Tells FCP_CMND sent twice from another that has the same OX_ID.
    pub(super) digest: u64,
    /// FCP_DL; zero when no data goes in either direction.
    pub(super) data_len: u32,
    /// Bytes of data that went in order, in the one direction that the command has.
    pub(super) moved: u32,
    pub(super) started: u64,
    /// When it is given up, or forgotten; never when `u64::MAX`.
    pub(super) deadline: u64,
    /// The last sequence that we began.
    pub(super) seq_id: u8,
    /// It counts in its peer's queue.
    pub(super) queued: bool,
    /// A task management function has ended it.
    pub(super) doomed: bool,
    pub(super) state: State,
    /// The list it is in, and its neighbours there.
    pub(super) list: Option<Which>,
    pub(super) next: ExchangeIndex,
    pub(super) prev: ExchangeIndex,
    /// The next exchange of the same bucket.
    pub(super) chain: ExchangeIndex,
}

/// The lists an exchange can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// It has something to send.
    Ready,
    /// It has ended, but may be asked for again.
    Finished,
    /// It was aborted; its names are not used again yet.
    Aborted,
}

/// State of an exchange.
#[derive(Debug)]
pub(super) enum State {
    /// It is none.
    Free,
    /// The device server is at it.
    Working,
    /// Data out is asked for, or is to be.
    Receiving(Receiving),
    /// Data in and then FCP_RSP are being sent, or have been.
    Answering(Answering),
    /// ABTS was accepted.
    Aborted,
}

/// Place of data.
#[derive(Debug)]
pub(super) enum Place {
    /// Nowhere: there is none.
    Nowhere,
    /// In the unit's memory from this byte on.
    Memory(u64),
    /// Here.
    Buffer(Buffer),
}

impl Place {
    /// The buffer, if it is one.
    pub(super) fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Buffer(buffer) => Some(buffer),
            Self::Nowhere | Self::Memory(_) => None,
        }
    }
}

/// Data out.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) into: Place,
    /// Bytes in all.
    pub(super) len: u32,
    /// Bytes that are there, in order.
    pub(super) received: u32,
    /// Place where the burst that was or is to be asked for ends.
    pub(super) burst_end: u32,
    /// FCP_XFER_RDY was sent for it.
    pub(super) asked: bool,
    /// The sequence that brings the burst, once it has begun, and the next SEQ_CNT in it.
    pub(super) sequence: Option<(u8, u16)>,
    /// Time at which the initiator was last asked whether it knows the exchange.
    pub(super) polled: u64,
}

/// Data in, and the response.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) from: Place,
    /// Bytes in all.
    pub(super) len: u32,
    /// Bytes that were sent.
    pub(super) sent: u32,
    /// A frame of the sequence that carries the data was sent.
    pub(super) begun: bool,
    /// SEQ_CNT of the next frame of data.
    pub(super) seq_cnt: u16,
    pub(super) response: Response,
    pub(super) said: Said,
}

/// State of FCP_RSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Not yet, or it is to be sent again.
    No,
    /// FCP_CONF is to come.
    ToConfirm,
    /// That was all.
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
            list: None,
            next: NIL,
            prev: NIL,
            chain: NIL,
        }
    }

    /// It has not ended: its originator still waits for an answer.
    pub(super) fn is_open(&self) -> bool {
        match &self.state {
            State::Free | State::Aborted => false,
            State::Working | State::Receiving(_) => true,
            State::Answering(answering) => answering.said == Said::No,
        }
    }

    /// Its originator has sent data under our name for it: it is the one that it knows by its own name.
    pub(super) fn is_acknowledged(&self) -> bool {
        match &self.state {
            State::Free | State::Aborted => false,
            // Nothing else moves bytes before there is an answer.
            State::Working | State::Receiving(_) => self.moved > 0,
            State::Answering(answering) => answering.len == 0 && self.moved > 0,
        }
    }

    /// Bytes that it keeps for others in a buffer of its own.
    pub(super) fn kept(&self) -> usize {
        match &self.state {
            State::Answering(Answering { from: Place::Buffer(buffer), .. }) => buffer.capacity(),
            _ => 0,
        }
    }
}
