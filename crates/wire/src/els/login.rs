//! FLOGI, FDISC, PLOGI and their LS_ACC: service parameters.

use super::{ElsCommand, NAME, begins_with_command};
use crate::field::{Bits, Low16, record};
use crate::{Error, Wwn};

record! {
    /// Service parameters of a port: the payload of FLOGI, FDISC, PLOGI and of the LS_ACC to each (FC-LS-3, login and
    /// service parameters). Of the classes only class 3 is kept: FCoE carries no other. All other fields are zero.
    LoginRepr[116] parse;
    4 version: u16 = "Highest and lowest supported version.";
    6 bb_credit: u16 = "Buffer-to-buffer credit.";
    8 features: u16 = "Common features: [`LoginRepr::CONTINUOUS_OFFSET`] and [`LoginRepr::SECURITY`].";
    10 bb_sc_n: u8 as Bits<7, 4> = "Buffer-to-buffer state change number: four bits.";
    10 receive_size: u16 as Low16<12> = "Receive data field size: bytes of payload that the port accepts in a frame, twelve bits.";
    12 sequences: u16 = "Total concurrent sequences.";
    14 relative_offset: u16 = "Information categories that may have a relative offset, one bit each.";
    16 e_d_tov: u32 = "E_D_TOV in milliseconds.";
    20 port_name: Wwn = "World-wide name of the port.";
    28 node_name: Wwn = "World-wide name of the node.";
    68 class_3: ClassParameters = "Parameters of class 3.";
}

begins_with_command!(LoginRepr);

impl LoginRepr {
    /// Continuously increasing relative offset, in [`LoginRepr::features`].
    pub const CONTINUOUS_OFFSET: u16 = 0x8000;
    /// Security bit: the port authenticates itself (FC-LS-3, common service parameters; FC-SP-2).
    pub const SECURITY: u16 = 0x0020;
}

record! {
    /// Parameters of one class (FC-LS-3, class service parameters).
    #[derive(Default)]
    ClassParameters[16];
    0 options: u16 = "Service options: [`ClassParameters::VALID`] and others.";
    2 initiator_control: u16 = "Initiator control: capabilities as initiator of sequences.";
    4 recipient_control: u16 = "Recipient control: capabilities as recipient of sequences.";
    6 receive_size: u16 = "Receive data field size: bytes of payload that the port accepts in a frame.";
    8 sequences: u16 = "Most sequences at a time.";
    10 credit: u16 = "End-to-end credit: frames without an acknowledgment.";
    12 open_sequences: u16 = "Open sequences per exchange.";
}

impl ClassParameters {
    /// The class is supported.
    pub const VALID: u16 = 0x8000;
    /// Sequential delivery: frames of a sequence arrive in the order in which they were sent.
    pub const SEQUENTIAL_DELIVERY: u16 = 0x0800;

    /// True if the class is supported.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.options & Self::VALID != 0
    }
}
