//! LS_RJT: rejection of a request, with the reason.

use super::{ElsCommand, NAME};
use crate::Error;
use crate::field::record;

/// Reason codes (FC-LS-3, LS_RJT reason codes).
pub mod els_reason {
    /// No such command.
    pub const INVALID_COMMAND: u8 = 0x01;
    /// Logical error: the request is inconsistent.
    pub const LOGICAL_ERROR: u8 = 0x03;
    /// Logical busy: try again later.
    pub const LOGICAL_BUSY: u8 = 0x05;
    /// Protocol error.
    pub const PROTOCOL_ERROR: u8 = 0x07;
    /// Unable to perform the command.
    pub const UNABLE: u8 = 0x09;
    /// The command is not supported.
    pub const NOT_SUPPORTED: u8 = 0x0b;
    /// The command is in progress.
    pub const IN_PROGRESS: u8 = 0x0e;
    /// FIP error.
    pub const FIP_ERROR: u8 = 0x20;
}

/// Reason explanations (FC-LS-3, LS_RJT explanations).
pub mod els_explanation {
    /// No explanation.
    pub const NONE: u8 = 0x00;
    /// Service parameters: options.
    pub const OPTIONS: u8 = 0x01;
    /// Service parameters: receive data field size.
    pub const RECEIVE_SIZE: u8 = 0x07;
    /// Invalid port name.
    pub const PORT_NAME: u8 = 0x0d;
    /// Invalid node name.
    pub const NODE_NAME: u8 = 0x0e;
    /// Invalid originator S_ID.
    pub const ORIGINATOR: u8 = 0x15;
    /// No such exchange: invalid OX_ID-RX_ID combination.
    pub const EXCHANGE: u8 = 0x17;
    /// N_Port login required.
    pub const LOGIN_REQUIRED: u8 = 0x1e;
    /// Invalid N_Port_ID.
    pub const N_PORT_ID: u8 = 0x1f;
    /// Insufficient resources to support the login.
    pub const RESOURCES: u8 = 0x29;
    /// The request is not supported.
    pub const NOT_SUPPORTED: u8 = 0x2c;
    /// The payload's length is wrong.
    pub const PAYLOAD_LENGTH: u8 = 0x2d;
    /// The sender is no neighbour.
    pub const NOT_NEIGHBOUR: u8 = 0x62;
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
