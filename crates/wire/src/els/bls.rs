//! BA_ACC and BA_RJT: what became of an ABTS, which itself has no payload.

use super::payload;
use crate::field::{put, put_u16, u16_at};
use crate::{Error, OxId, RxId};

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
    /// Octets of the payload.
    pub const LEN: usize = 12;

    /// The values in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let octets: &[u8; Self::LEN] = payload(octets)?;
        Ok(Self {
            last_seq_id: (octets[0] & 0x80 != 0).then_some(octets[1]),
            ox_id: OxId::parse(octets, 4),
            rx_id: RxId::parse(octets, 6),
            low_seq_cnt: u16_at(octets, 8),
            high_seq_cnt: u16_at(octets, 10),
        })
    }

    /// The payload.
    #[must_use]
    pub fn octets(&self) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        if let Some(seq_id) = self.last_seq_id {
            put(&mut octets, 0, &[0x80, seq_id]);
        }
        self.ox_id.emit(&mut octets, 4);
        self.rx_id.emit(&mut octets, 6);
        put_u16(&mut octets, 8, self.low_seq_cnt);
        put_u16(&mut octets, 10, self.high_seq_cnt);
        octets
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
    /// Octets of the payload.
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
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let [_, reason, explanation, vendor] = *payload(octets)?;
        Ok(Self { reason, explanation, vendor })
    }

    /// The payload.
    #[must_use]
    pub const fn octets(&self) -> [u8; Self::LEN] {
        [0, self.reason, self.explanation, self.vendor]
    }
}
