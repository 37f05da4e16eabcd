//! REC, RRQ and the LS_ACC to REC: the status of an exchange.

use super::{ElsCommand, payload};
use crate::field::{array_at, put, u32_at};
use crate::{Error, FcId, OxId, RxId};

/// Status of an exchange (FC-FS-3, exchange status block).
pub mod e_stat {
    /// The sender of the reply is the exchange's responder.
    pub const RESPONDER: u32 = 0x8000_0000;
    /// The sender of the reply holds the sequence initiative.
    pub const SEQUENCE_INITIATIVE: u32 = 0x4000_0000;
    /// The exchange is complete.
    pub const COMPLETE: u32 = 0x2000_0000;
    /// The exchange ended abnormally.
    pub const ABNORMAL: u32 = 0x1000_0000;
    /// Recovery qualifier: the exchange's identifiers must not be reused yet.
    pub const RECOVERY_QUALIFIER: u32 = 0x0400_0000;
}

/// Offsets of the fields of REC and RRQ (FC-LS-3, REC and RRQ).
mod rec_rrq {
    pub(super) const COMMAND: usize = 0;
    pub(super) const ORIGINATOR: usize = 5;
    pub(super) const OX_ID: usize = 8;
    pub(super) const RX_ID: usize = 10;
}

/// Exchange named by REC and RRQ (FC-LS-3, RRQ and REC): the command's word, `0, S_ID`, OX_ID, RX_ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeRepr {
    /// The exchange's originator.
    pub originator: FcId,
    /// OX_ID of the originator.
    pub ox_id: OxId,
    /// RX_ID of the responder; unassigned if it is not known.
    pub rx_id: RxId,
}

impl ExchangeRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 12;

    /// The exchange in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the payload is too short.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self {
            originator: FcId::from_bytes(array_at(bytes, rec_rrq::ORIGINATOR)),
            ox_id: OxId::parse(bytes, rec_rrq::OX_ID),
            rx_id: RxId::parse(bytes, rec_rrq::RX_ID),
        })
    }

    /// The payload that begins with this command: REC or RRQ.
    #[must_use]
    pub fn bytes(&self, command: ElsCommand) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, rec_rrq::COMMAND, &command.word());
        put(&mut bytes, rec_rrq::ORIGINATOR, &self.originator.bytes());
        self.ox_id.emit(&mut bytes, rec_rrq::OX_ID);
        self.rx_id.emit(&mut bytes, rec_rrq::RX_ID);
        bytes
    }
}

/// Offsets of the fields of the LS_ACC to REC (FC-LS-3, REC).
mod rec_acc {
    pub(super) const COMMAND: usize = 0;
    pub(super) const OX_ID: usize = 4;
    pub(super) const RX_ID: usize = 6;
    pub(super) const ORIGINATOR: usize = 9;
    pub(super) const RESPONDER: usize = 13;
    pub(super) const TRANSFERRED: usize = 16;
    pub(super) const STATUS: usize = 20;
}

/// The LS_ACC to REC (FC-LS-3, REC): the command's word, OX_ID, RX_ID, `0, originator`, `0, responder`, the bytes
/// transferred, and the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecAccRepr {
    /// OX_ID of the originator.
    pub ox_id: OxId,
    /// RX_ID of the responder.
    pub rx_id: RxId,
    /// The exchange's originator.
    pub originator: FcId,
    /// Its responder.
    pub responder: FcId,
    /// FC4VALUE: in FCP, bytes received or sent without a gap (FCP-4, REC).
    pub transferred: u32,
    /// Bits of [`e_stat`].
    pub status: u32,
}

impl RecAccRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 24;

    /// Parses a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the payload is too short.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self {
            ox_id: OxId::parse(bytes, rec_acc::OX_ID),
            rx_id: RxId::parse(bytes, rec_acc::RX_ID),
            originator: FcId::from_bytes(array_at(bytes, rec_acc::ORIGINATOR)),
            responder: FcId::from_bytes(array_at(bytes, rec_acc::RESPONDER)),
            transferred: u32_at(bytes, rec_acc::TRANSFERRED),
            status: u32_at(bytes, rec_acc::STATUS),
        })
    }

    /// Serializes the payload.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, rec_acc::COMMAND, &ElsCommand::LS_ACC.word());
        self.ox_id.emit(&mut bytes, rec_acc::OX_ID);
        self.rx_id.emit(&mut bytes, rec_acc::RX_ID);
        put(&mut bytes, rec_acc::ORIGINATOR, &self.originator.bytes());
        put(&mut bytes, rec_acc::RESPONDER, &self.responder.bytes());
        put(&mut bytes, rec_acc::TRANSFERRED, &self.transferred.to_be_bytes());
        put(&mut bytes, rec_acc::STATUS, &self.status.to_be_bytes());
        bytes
    }
}
