//! REC, RRQ and the LS_ACC to REC: the status of an exchange.

use super::{ElsCommand, NAME, begins_with_command};
use crate::field::{record, values};
use crate::{Error, FcId, OxId, RxId};

values! {
    /// Status of an exchange (FC-FS-3, exchange status block).
    pub mod e_stat: u32;
    RESPONDER = 0x8000_0000, "The sender of the reply is the exchange's responder.";
    SEQUENCE_INITIATIVE = 0x4000_0000, "The sender of the reply holds the sequence initiative.";
    COMPLETE = 0x2000_0000, "The exchange is complete.";
    ABNORMAL = 0x1000_0000, "The exchange ended abnormally.";
    RECOVERY_QUALIFIER = 0x0400_0000, "Recovery qualifier: the exchange's identifiers must not be reused yet.";
}

record! {
    /// Exchange named by REC and RRQ (FC-LS-3, RRQ and REC).
    ExchangeRepr[12] parse;
    5 originator: FcId = "The exchange's originator.";
    8 ox_id: OxId = "OX_ID of the originator.";
    10 rx_id: RxId = "RX_ID of the responder; unassigned if it is not known.";
}

begins_with_command!(ExchangeRepr);

record! {
    /// The LS_ACC to REC (FC-LS-3, REC).
    RecAccRepr[24] parse bytes(ElsCommand::LS_ACC.word());
    4 ox_id: OxId = "OX_ID of the originator.";
    6 rx_id: RxId = "RX_ID of the responder.";
    9 originator: FcId = "The exchange's originator.";
    13 responder: FcId = "The exchange's responder.";
    16 transferred: u32 = "FC4VALUE: in FCP, bytes received or sent without a gap (FCP-4, REC).";
    20 status: u32 = "Bits of [`e_stat`].";
}
