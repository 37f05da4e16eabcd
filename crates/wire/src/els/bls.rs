//! BA_ACC and BA_RJT: what became of an ABTS, which itself has no payload.

use super::NAME;
use crate::field::{Field, record, values};
use crate::{Error, OxId, RxId};

record! {
    /// Basic accept of an ABTS (FC-FS-3, BA_ACC).
    BaAccRepr[12] parse bytes;
    0 last_seq_id: Option<u8> as IfValid = "The last sequence that can be delivered, if the one who answers says so.";
    4 ox_id: OxId = "As the originator calls the exchange.";
    6 rx_id: RxId = "As the responder does.";
    8 low_seq_cnt: u16 = "The first SEQ_CNT that is aborted.";
    10 high_seq_cnt: u16 = "The last SEQ_CNT that is aborted.";
}

/// A byte, behind one that says by 0x80 that it is valid.
struct IfValid;

impl Field for IfValid {
    type Value = Option<u8>;

    fn get(bytes: &[u8], at: usize) -> Option<u8> {
        (bytes[at] & 0x80 != 0).then_some(bytes[at + 1])
    }

    fn put(value: Option<u8>, bytes: &mut [u8], at: usize) {
        if let Some(value) = value {
            bytes[at..at + 2].copy_from_slice(&[0x80, value]);
        }
    }
}

record! {
    /// Basic reject (FC-FS-3, BA_RJT).
    BaRjtRepr[4] parse bytes;
    1 reason: u8 = "Reason code: [`BaRjtRepr::LOGICAL_ERROR`] and others.";
    2 explanation: u8 = "Reason explanation: [`BaRjtRepr::INVALID_EXCHANGE`] and others.";
    3 vendor: u8 = "Vendor-specific code.";
}

values! {
    impl BaRjtRepr: u8;
    LOGICAL_ERROR = 0x03, "Reason: the request makes no sense.";
    UNABLE = 0x09, "Reason: it cannot be done.";
    INVALID_EXCHANGE = 0x03, "Explanation: invalid OX_ID-RX_ID combination.";
}
