//! BA_ACC and BA_RJT: what became of an ABTS, which itself has no payload.

use super::payload;
use crate::field::{put, put_u16, u16_at};
use crate::{Error, OxId, RxId};

/// Offsets of the fields of BA_ACC (FC-FS-3, Basic Accept).
mod ba_acc {
    pub(super) const SEQ_ID_VALIDITY: usize = 0;
    pub(super) const SEQ_ID: usize = 1;
    pub(super) const OX_ID: usize = 4;
    pub(super) const RX_ID: usize = 6;
    pub(super) const LOW_SEQ_CNT: usize = 8;
    pub(super) const HIGH_SEQ_CNT: usize = 10;
}

/// Basic accept of an ABTS (FC-FS-3, BA_ACC): `valid, SEQ_ID, 0, 0`, OX_ID, RX_ID, lowest and highest SEQ_CNT
/// that are aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaAccRepr {
    /// The last sequence that can be delivered, if the one who answers says so: 0x80 on the wire; else 0.
    pub last_seq_id: Option<u8>,
    /// As the originator calls the exchange.
    pub ox_id: OxId,
    /// As the responder does.
    pub rx_id: RxId,
    /// The first SEQ_CNT that is aborted.
    pub low_seq_cnt: u16,
    /// The last.
    pub high_seq_cnt: u16,
}

impl BaAccRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 12;

    /// The values in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self {
            last_seq_id: (bytes[ba_acc::SEQ_ID_VALIDITY] & 0x80 != 0).then_some(bytes[ba_acc::SEQ_ID]),
            ox_id: OxId::parse(bytes, ba_acc::OX_ID),
            rx_id: RxId::parse(bytes, ba_acc::RX_ID),
            low_seq_cnt: u16_at(bytes, ba_acc::LOW_SEQ_CNT),
            high_seq_cnt: u16_at(bytes, ba_acc::HIGH_SEQ_CNT),
        })
    }

    /// The payload.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        if let Some(seq_id) = self.last_seq_id {
            put(&mut bytes, ba_acc::SEQ_ID_VALIDITY, &[0x80, seq_id]);
        }
        self.ox_id.emit(&mut bytes, ba_acc::OX_ID);
        self.rx_id.emit(&mut bytes, ba_acc::RX_ID);
        put_u16(&mut bytes, ba_acc::LOW_SEQ_CNT, self.low_seq_cnt);
        put_u16(&mut bytes, ba_acc::HIGH_SEQ_CNT, self.high_seq_cnt);
        bytes
    }
}

/// Basic reject (FC-FS-3, BA_RJT): `0, reason, explanation, vendor specific`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaRjtRepr {
    /// Why: [`BaRjtRepr::LOGICAL_ERROR`] and others.
    pub reason: u8,
    /// More of it: [`BaRjtRepr::INVALID_EXCHANGE`] and others.
    pub explanation: u8,
    /// The vendor's.
    pub vendor: u8,
}

impl BaRjtRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 4;
    /// Reason: the request makes no sense.
    pub const LOGICAL_ERROR: u8 = 0x03;
    /// Reason: it cannot be done.
    pub const UNABLE: u8 = 0x09;
    /// Explanation: invalid OX_ID-RX_ID combination.
    pub const INVALID_EXCHANGE: u8 = 0x03;

    /// The reasons in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let [_, reason, explanation, vendor] = *payload(bytes)?;
        Ok(Self { reason, explanation, vendor })
    }

    /// The payload.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        [0, self.reason, self.explanation, self.vendor]
    }
}
