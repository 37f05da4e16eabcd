//! LS_RJT: rejection of a request, with the reason.

use super::{ElsCommand, payload};
use crate::Error;
use crate::field::put;

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

/// Offsets of the fields (FC-LS-3, LS_RJT).
mod field {
    pub(super) const COMMAND: usize = 0;
    pub(super) const REASON: usize = 5;
    pub(super) const EXPLANATION: usize = 6;
    pub(super) const VENDOR: usize = 7;
}

/// Link service reject (FC-LS-3, LS_RJT): the command's word, `0, reason, explanation, vendor specific`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsRjtRepr {
    /// Reason code of [`els_reason`].
    pub reason: u8,
    /// Reason explanation of [`els_explanation`].
    pub explanation: u8,
    /// Vendor-specific code.
    pub vendor: u8,
}

impl LsRjtRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 8;

    /// Reject without a vendor-specific code.
    #[must_use]
    pub const fn new(reason: u8, explanation: u8) -> Self {
        Self { reason, explanation, vendor: 0 }
    }

    /// Parses a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the payload is too short.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self { reason: bytes[field::REASON], explanation: bytes[field::EXPLANATION], vendor: bytes[field::VENDOR] })
    }

    /// Serializes the payload.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, field::COMMAND, &ElsCommand::LS_RJT.word());
        put(&mut bytes, field::REASON, &[self.reason, self.explanation, self.vendor]);
        bytes
    }
}
