//! SRR: sequence retransmission request, and its answers.

use crate::field::{Field, record};
use crate::{Error, OxId, RxId};

const NAME: &str = "fcp sequence retransmission request";
const COMMAND: u8 = 0x14;
const ACCEPT: u8 = 0x02;
const REJECT: u8 = 0x01;

record! {
    /// The SRR request of the FC-4 link services (FCP-4, clause 8.2): asks for a retransmission.
    FcpSrr[16] bytes([COMMAND]);
    4 ox_id: OxId = "OX_ID of the exchange to recover.";
    6 rx_id: RxId = "RX_ID of the exchange; unassigned when the originator does not know it.";
    8 offset: u32 = "Relative offset from which data, or FCP_XFER_RDY, is wanted again.";
    12 r_ctl: u8 = "R_CTL of the wanted unit: `DATA`, `DATA_DESCRIPTOR` or `STATUS` of [`r_ctl`](crate::r_ctl).";
}

impl FcpSrr {
    /// Parses a request: the payload of its frame.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter, [`Error::Malformed`] when it is another link service.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        match bytes.first() {
            Some(&COMMAND) if bytes.len() >= Self::LEN => Ok(Self::get(bytes, 0)),
            Some(&COMMAND) | None => Err(Error::Truncated(NAME)),
            Some(_) => Err(Error::Malformed(NAME, "command")),
        }
    }
}

/// The answer to SRR (FCP-4, clause 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FcpSrrReply {
    /// Accept: the unit will be retransmitted.
    Accept,
    /// FCP_RJT: the unit will not be retransmitted.
    Reject {
        /// The reason code (FCP-4, clause 8.4): 0x03 logical error, 0x09 unable to perform, 0x0b not supported.
        reason: u8,
        /// Its explanation: 0x17 invalid OX_ID-RX_ID combination, 0x2a unable to supply the requested data.
        explanation: u8,
    },
}

impl FcpSrrReply {
    /// Bytes of the longer answer.
    pub const MAX_LEN: usize = 8;

    /// Parses an answer: the payload of its frame.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than its command requires, [`Error::Malformed`] for another command.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        match bytes {
            [ACCEPT, _, _, _, ..] => Ok(Self::Accept),
            [REJECT, _, _, _, _, reason, explanation, _, ..] => {
                Ok(Self::Reject { reason: *reason, explanation: *explanation })
            }
            [] | [ACCEPT | REJECT, ..] => Err(Error::Truncated(NAME)),
            _ => Err(Error::Malformed(NAME, "reply")),
        }
    }

    /// Serializes the answer; the second value is its length in bytes.
    #[must_use]
    pub fn bytes(self) -> ([u8; Self::MAX_LEN], usize) {
        match self {
            Self::Accept => ([ACCEPT, 0, 0, 0, 0, 0, 0, 0], 4),
            Self::Reject { reason, explanation } => ([REJECT, 0, 0, 0, 0, reason, explanation, 0], 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_answers_are_read_as_they_were_written() {
        let request = FcpSrr { ox_id: OxId(1), rx_id: RxId::UNASSIGNED, offset: 0x8000, r_ctl: 5 };
        let bytes = request.bytes();
        assert_eq!(bytes, [0x14, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0x80, 0, 5, 0, 0, 0]);
        assert_eq!(FcpSrr::parse(&bytes), Ok(request));
        assert_eq!(FcpSrr::parse(&bytes[..15]), Err(Error::Truncated(NAME)));
        assert_eq!(FcpSrr::parse(&[0x13; 16]), Err(Error::Malformed(NAME, "command")));
        for reply in [FcpSrrReply::Accept, FcpSrrReply::Reject { reason: 9, explanation: 0x2a }] {
            let (bytes, len) = reply.bytes();
            assert_eq!(FcpSrrReply::parse(&bytes[..len]), Ok(reply));
            assert_eq!(FcpSrrReply::parse(&bytes[..len - 1]), Err(Error::Truncated(NAME)));
        }
        assert_eq!(FcpSrrReply::parse(&[3, 0, 0, 0]), Err(Error::Malformed(NAME, "reply")));
    }
}
