//! FLOGI, FDISC, PLOGI and their LS_ACC: service parameters.

use super::{ElsCommand, payload};
use crate::field::{array_at, put, put_u16, u16_at, u32_at};
use crate::{Error, Wwn};

/// Service parameters of a port: the payload of FLOGI, FDISC, PLOGI and of the LS_ACC to each (FC-LS-3, clauses 4.2.5
/// and 6.6). Of the classes only class 3 is kept: FCoE carries no other. What is not named is zero.
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
/// |                     port name, 8 octets …
/// |                     node name, 8 octets …
/// |       classes 1, 2, 3 and auxiliary, 16 octets each …
/// |               vendor version level, 16 octets …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRepr {
    /// Highest and lowest version that the port speaks.
    pub version: u16,
    /// Buffer-to-buffer credit.
    pub bb_credit: u16,
    /// Common features: [`LoginRepr::CONTINUOUS_OFFSET`].
    pub features: u16,
    /// Buffer-to-buffer state change number: four bits.
    pub bb_sc_n: u8,
    /// Octets of payload that it takes in a frame: twelve bits.
    pub receive_size: u16,
    /// Sequences at a time in all classes.
    pub sequences: u16,
    /// Which information categories may have a relative offset.
    pub relative_offset: u16,
    /// Milliseconds.
    pub e_d_tov: u32,
    /// The port's name.
    pub port_name: Wwn,
    /// The node's name.
    pub node_name: Wwn,
    /// Class 3.
    pub class_3: ClassParameters,
}

/// Parameters of one class (FC-LS-3, clause 6.6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassParameters {
    /// [`ClassParameters::VALID`] and others.
    pub options: u16,
    /// What the port can do as initiator of sequences.
    pub initiator_control: u16,
    /// What it can do as recipient.
    pub recipient_control: u16,
    /// Octets of payload that it takes in a frame.
    pub receive_size: u16,
    /// Sequences at a time.
    pub sequences: u16,
    /// End-to-end credit.
    pub credit: u16,
    /// Open sequences in an exchange.
    pub open_sequences: u16,
}

impl LoginRepr {
    /// Octets of the payload.
    pub const LEN: usize = 116;
    /// Continuously increasing relative offset, in [`LoginRepr::features`].
    pub const CONTINUOUS_OFFSET: u16 = 0x8000;
    /// E_D_TOV counts nanoseconds, in [`LoginRepr::features`].
    pub const E_D_TOV_NS: u16 = 0x0400;

    /// The parameters in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let octets: &[u8; Self::LEN] = payload(octets)?;
        let size = u16_at(octets, 10);
        Ok(Self {
            version: u16_at(octets, 4),
            bb_credit: u16_at(octets, 6),
            features: u16_at(octets, 8),
            bb_sc_n: octets[10] >> 4,
            receive_size: size & 0x0fff,
            sequences: u16_at(octets, 12),
            relative_offset: u16_at(octets, 14),
            e_d_tov: u32_at(octets, 16),
            port_name: Wwn(u64::from_be_bytes(array_at(octets, 20))),
            node_name: Wwn(u64::from_be_bytes(array_at(octets, 28))),
            class_3: ClassParameters::parse(&array_at(octets, 68)),
        })
    }

    /// The payload that begins with this command.
    #[must_use]
    pub fn octets(&self, command: ElsCommand) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        put(&mut octets, 0, &command.word());
        put_u16(&mut octets, 4, self.version);
        put_u16(&mut octets, 6, self.bb_credit);
        put_u16(&mut octets, 8, self.features);
        put_u16(&mut octets, 10, u16::from(self.bb_sc_n & 0xf) << 12 | self.receive_size & 0x0fff);
        put_u16(&mut octets, 12, self.sequences);
        put_u16(&mut octets, 14, self.relative_offset);
        put(&mut octets, 16, &self.e_d_tov.to_be_bytes());
        put(&mut octets, 20, &self.port_name.0.to_be_bytes());
        put(&mut octets, 28, &self.node_name.0.to_be_bytes());
        put(&mut octets, 68, &self.class_3.octets());
        octets
    }
}

impl ClassParameters {
    /// The port has this class.
    pub const VALID: u16 = 0x8000;
    /// Frames of a sequence come in the order in which they were sent.
    pub const SEQUENTIAL_DELIVERY: u16 = 0x0800;

    fn parse(octets: &[u8; 16]) -> Self {
        Self {
            options: u16_at(octets, 0),
            initiator_control: u16_at(octets, 2),
            recipient_control: u16_at(octets, 4),
            receive_size: u16_at(octets, 6),
            sequences: u16_at(octets, 8),
            credit: u16_at(octets, 10),
            open_sequences: u16_at(octets, 12),
        }
    }

    fn octets(&self) -> [u8; 16] {
        let mut octets = [0; 16];
        let fields = [
            self.options,
            self.initiator_control,
            self.recipient_control,
            self.receive_size,
            self.sequences,
            self.credit,
            self.open_sequences,
        ];
        for (i, field) in fields.into_iter().enumerate() {
            put_u16(&mut octets, 2 * i, field);
        }
        octets
    }

    /// Whether the port has this class.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.options & Self::VALID != 0
    }
}
