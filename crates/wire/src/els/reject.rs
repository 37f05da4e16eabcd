//! LS_RJT: rejection of a request, with the reason.

use super::{ElsCommand, NAME};
use crate::Error;
use crate::field::{record, values};

values! {
    /// Reason codes (FC-LS-3, LS_RJT reason codes).
    pub mod els_reason: u8;
    INVALID_COMMAND = 0x01, "No such command.";
    LOGICAL_ERROR = 0x03, "Logical error: the request is inconsistent.";
    LOGICAL_BUSY = 0x05, "Logical busy: try again later.";
    PROTOCOL_ERROR = 0x07, "Protocol error.";
    UNABLE = 0x09, "Unable to perform the command.";
    NOT_SUPPORTED = 0x0b, "The command is not supported.";
    IN_PROGRESS = 0x0e, "The command is in progress.";
    FIP_ERROR = 0x20, "FIP error.";
}

values! {
    /// Reason explanations (FC-LS-3, LS_RJT explanations).
    pub mod els_explanation: u8;
    NONE = 0x00, "No explanation.";
    OPTIONS = 0x01, "Service parameters: options.";
    RECEIVE_SIZE = 0x07, "Service parameters: receive data field size.";
    PORT_NAME = 0x0d, "Invalid port name.";
    NODE_NAME = 0x0e, "Invalid node name.";
    ORIGINATOR = 0x15, "Invalid originator S_ID.";
    EXCHANGE = 0x17, "No such exchange: invalid OX_ID-RX_ID combination.";
    LOGIN_REQUIRED = 0x1e, "N_Port login required.";
    N_PORT_ID = 0x1f, "Invalid N_Port_ID.";
    RESOURCES = 0x29, "Insufficient resources to support the login.";
    NOT_SUPPORTED = 0x2c, "The request is not supported.";
    PAYLOAD_LENGTH = 0x2d, "The payload's length is wrong.";
    AUTHENTICATION = 0x48, "Authentication required (FC-SP-2).";
    NOT_NEIGHBOUR = 0x62, "The sender is no neighbour.";
}

record! {
    /// Link service reject (FC-LS-3, LS_RJT).
    LsRjtRepr[8] parse bytes(ElsCommand::LS_RJT.word());
    5 reason: u8 = "Reason code of [`els_reason`].";
    6 explanation: u8 = "Reason explanation of [`els_explanation`].";
    7 vendor: u8 = "Vendor-specific code.";
}

impl LsRjtRepr {
    /// Reject without a vendor-specific code.
    #[must_use]
    pub const fn new(reason: u8, explanation: u8) -> Self {
        Self { reason, explanation, vendor: 0 }
    }
}
