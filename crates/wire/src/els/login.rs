//! FLOGI, FDISC, PLOGI and their LS_ACC: service parameters.

use super::{ElsCommand, payload};
use crate::field::{array_at, put, put_u16, u16_at, u32_at};
use crate::{Error, Wwn};

/// Offsets of the fields of a login and its LS_ACC (FC-LS-3, login and service parameters).
mod field {
    pub(super) const COMMAND: usize = 0;
    pub(super) const VERSION: usize = 4;
    pub(super) const BB_CREDIT: usize = 6;
    pub(super) const FEATURES: usize = 8;
    pub(super) const RECEIVE_SIZE: usize = 10;
    pub(super) const SEQUENCES: usize = 12;
    pub(super) const RELATIVE_OFFSET: usize = 14;
    pub(super) const E_D_TOV: usize = 16;
    pub(super) const PORT_NAME: usize = 20;
    pub(super) const NODE_NAME: usize = 28;
    pub(super) const CLASS_3: usize = 68;
}

/// Service parameters of a port: the payload of FLOGI, FDISC, PLOGI and of the LS_ACC to each (FC-LS-3, login and
/// service parameters). Of the classes only class 3 is kept: FCoE carries no other. All other fields are zero.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    command    |                       0                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |            version            |           BB credit           |  common service
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+  parameters
/// |           features            |BB_SC_N| receive data size, 12 |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     concurrent sequences      |  relative offset by category  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                            E_D_TOV                            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                     port name, 8 bytes …
/// |                     node name, 8 bytes …
/// |       classes 1, 2, 3 and auxiliary, 16 bytes each …
/// |               vendor version level, 16 bytes …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRepr {
    /// Highest and lowest supported version.
    pub version: u16,
    /// Buffer-to-buffer credit.
    pub bb_credit: u16,
    /// Common features: [`LoginRepr::CONTINUOUS_OFFSET`].
    pub features: u16,
    /// Buffer-to-buffer state change number: four bits.
    pub bb_sc_n: u8,
    /// Receive data field size: bytes of payload that the port accepts in a frame, twelve bits.
    pub receive_size: u16,
    /// Total concurrent sequences.
    pub sequences: u16,
    /// Information categories that may have a relative offset, one bit each.
    pub relative_offset: u16,
    /// E_D_TOV in milliseconds.
    pub e_d_tov: u32,
    /// The port's name.
    pub port_name: Wwn,
    /// The node's name.
    pub node_name: Wwn,
    /// Parameters of class 3.
    pub class_3: ClassParameters,
}

/// Offsets of the fields of a class (FC-LS-3, class service parameters).
mod class {
    pub(super) const OPTIONS: usize = 0;
    pub(super) const INITIATOR_CONTROL: usize = 2;
    pub(super) const RECIPIENT_CONTROL: usize = 4;
    pub(super) const RECEIVE_SIZE: usize = 6;
    pub(super) const SEQUENCES: usize = 8;
    pub(super) const CREDIT: usize = 10;
    pub(super) const OPEN_SEQUENCES: usize = 12;
}

/// Parameters of one class (FC-LS-3, class service parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassParameters {
    /// Service options: [`ClassParameters::VALID`] and others.
    pub options: u16,
    /// Initiator control: capabilities as initiator of sequences.
    pub initiator_control: u16,
    /// Recipient control: capabilities as recipient of sequences.
    pub recipient_control: u16,
    /// Receive data field size: bytes of payload that the port accepts in a frame.
    pub receive_size: u16,
    /// Concurrent sequences.
    pub sequences: u16,
    /// End-to-end credit.
    pub credit: u16,
    /// Open sequences per exchange.
    pub open_sequences: u16,
}

impl LoginRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 116;
    /// Continuously increasing relative offset, in [`LoginRepr::features`].
    pub const CONTINUOUS_OFFSET: u16 = 0x8000;

    /// Parses a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the payload is too short.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        let size = u16_at(bytes, field::RECEIVE_SIZE);
        Ok(Self {
            version: u16_at(bytes, field::VERSION),
            bb_credit: u16_at(bytes, field::BB_CREDIT),
            features: u16_at(bytes, field::FEATURES),
            bb_sc_n: bytes[field::RECEIVE_SIZE] >> 4,
            receive_size: size & 0x0fff,
            sequences: u16_at(bytes, field::SEQUENCES),
            relative_offset: u16_at(bytes, field::RELATIVE_OFFSET),
            e_d_tov: u32_at(bytes, field::E_D_TOV),
            port_name: Wwn(u64::from_be_bytes(array_at(bytes, field::PORT_NAME))),
            node_name: Wwn(u64::from_be_bytes(array_at(bytes, field::NODE_NAME))),
            class_3: ClassParameters::parse(&array_at(bytes, field::CLASS_3)),
        })
    }

    /// Serializes the payload, beginning with this command.
    #[must_use]
    pub fn bytes(&self, command: ElsCommand) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, field::COMMAND, &command.word());
        put_u16(&mut bytes, field::VERSION, self.version);
        put_u16(&mut bytes, field::BB_CREDIT, self.bb_credit);
        put_u16(&mut bytes, field::FEATURES, self.features);
        put_u16(&mut bytes, field::RECEIVE_SIZE, u16::from(self.bb_sc_n & 0xf) << 12 | self.receive_size & 0x0fff);
        put_u16(&mut bytes, field::SEQUENCES, self.sequences);
        put_u16(&mut bytes, field::RELATIVE_OFFSET, self.relative_offset);
        put(&mut bytes, field::E_D_TOV, &self.e_d_tov.to_be_bytes());
        put(&mut bytes, field::PORT_NAME, &self.port_name.0.to_be_bytes());
        put(&mut bytes, field::NODE_NAME, &self.node_name.0.to_be_bytes());
        put(&mut bytes, field::CLASS_3, &self.class_3.bytes());
        bytes
    }
}

impl ClassParameters {
    /// The class is supported.
    pub const VALID: u16 = 0x8000;
    /// Sequential delivery: frames of a sequence arrive in the order in which they were sent.
    pub const SEQUENTIAL_DELIVERY: u16 = 0x0800;

    fn parse(bytes: &[u8; 16]) -> Self {
        Self {
            options: u16_at(bytes, class::OPTIONS),
            initiator_control: u16_at(bytes, class::INITIATOR_CONTROL),
            recipient_control: u16_at(bytes, class::RECIPIENT_CONTROL),
            receive_size: u16_at(bytes, class::RECEIVE_SIZE),
            sequences: u16_at(bytes, class::SEQUENCES),
            credit: u16_at(bytes, class::CREDIT),
            open_sequences: u16_at(bytes, class::OPEN_SEQUENCES),
        }
    }

    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let fields = [
            (class::OPTIONS, self.options),
            (class::INITIATOR_CONTROL, self.initiator_control),
            (class::RECIPIENT_CONTROL, self.recipient_control),
            (class::RECEIVE_SIZE, self.receive_size),
            (class::SEQUENCES, self.sequences),
            (class::CREDIT, self.credit),
            (class::OPEN_SEQUENCES, self.open_sequences),
        ];
        for (at, value) in fields {
            put_u16(&mut bytes, at, value);
        }
        bytes
    }

    /// True if the class is supported.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.options & Self::VALID != 0
    }
}
