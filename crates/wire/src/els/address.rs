//! LOGO, ADISC and the LS_ACC to RTV: who a port is, and how long it waits.

use super::{ElsCommand, payload};
use crate::field::{array_at, put, u32_at};
use crate::{Error, FcId, Wwn};

/// Offsets of the fields of LOGO (FC-LS-3, LOGO).
mod logo {
    pub(super) const COMMAND: usize = 0;
    pub(super) const N_PORT_ID: usize = 5;
    pub(super) const PORT_NAME: usize = 8;
}

/// Logout (FC-LS-3, LOGO): the command's word, `0, N_Port_ID`, the port's name. The LS_ACC has no more than its
/// word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoRepr {
    /// The address of the port that logs out.
    pub id: FcId,
    /// Its name.
    pub port_name: Wwn,
}

impl LogoRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 16;

    /// The request in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self {
            id: FcId::from_bytes(array_at(bytes, logo::N_PORT_ID)),
            port_name: Wwn(u64::from_be_bytes(array_at(bytes, logo::PORT_NAME))),
        })
    }

    /// The payload.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, logo::COMMAND, &ElsCommand::LOGO.word());
        put(&mut bytes, logo::N_PORT_ID, &self.id.bytes());
        put(&mut bytes, logo::PORT_NAME, &self.port_name.0.to_be_bytes());
        bytes
    }
}

/// Offsets of the fields of ADISC and its LS_ACC (FC-LS-3, ADISC).
mod adisc {
    pub(super) const COMMAND: usize = 0;
    pub(super) const HARD_ADDRESS: usize = 5;
    pub(super) const PORT_NAME: usize = 8;
    pub(super) const NODE_NAME: usize = 16;
    pub(super) const N_PORT_ID: usize = 25;
}

/// Discover address, request and LS_ACC alike (FC-LS-3, ADISC): the command's word, `0, hard address`, the
/// port's name, the node's name, `0, N_Port_ID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdiscRepr {
    /// The hard address of a loop; zero elsewhere.
    pub hard_address: FcId,
    /// The sender's port name.
    pub port_name: Wwn,
    /// Its node name.
    pub node_name: Wwn,
    /// Its address.
    pub id: FcId,
}

impl AdiscRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 28;

    /// The address in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self {
            hard_address: FcId::from_bytes(array_at(bytes, adisc::HARD_ADDRESS)),
            port_name: Wwn(u64::from_be_bytes(array_at(bytes, adisc::PORT_NAME))),
            node_name: Wwn(u64::from_be_bytes(array_at(bytes, adisc::NODE_NAME))),
            id: FcId::from_bytes(array_at(bytes, adisc::N_PORT_ID)),
        })
    }

    /// The payload that begins with this command: ADISC or LS_ACC.
    #[must_use]
    pub fn bytes(&self, command: ElsCommand) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, adisc::COMMAND, &command.word());
        put(&mut bytes, adisc::HARD_ADDRESS, &self.hard_address.bytes());
        put(&mut bytes, adisc::PORT_NAME, &self.port_name.0.to_be_bytes());
        put(&mut bytes, adisc::NODE_NAME, &self.node_name.0.to_be_bytes());
        put(&mut bytes, adisc::N_PORT_ID, &self.id.bytes());
        bytes
    }
}

/// Offsets of the fields of the LS_ACC to RTV (FC-LS-3, RTV).
mod rtv_acc {
    pub(super) const COMMAND: usize = 0;
    pub(super) const R_A_TOV: usize = 4;
    pub(super) const E_D_TOV: usize = 8;
    pub(super) const QUALIFIER: usize = 12;
}

/// The LS_ACC to RTV (FC-LS-3, RTV): the command's word, R_A_TOV, E_D_TOV, and a qualifier that says what
/// E_D_TOV counts. The request has no more than its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtvAccRepr {
    /// Milliseconds.
    pub r_a_tov: u32,
    /// Milliseconds, or nanoseconds with [`RtvAccRepr::NANOSECONDS`].
    pub e_d_tov: u32,
    /// Bits.
    pub qualifier: u32,
}

impl RtvAccRepr {
    /// Bytes of the payload.
    pub const LEN: usize = 16;
    /// E_D_TOV counts nanoseconds.
    pub const NANOSECONDS: u32 = 0x0400_0000;

    /// The values in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = payload(bytes)?;
        Ok(Self {
            r_a_tov: u32_at(bytes, rtv_acc::R_A_TOV),
            e_d_tov: u32_at(bytes, rtv_acc::E_D_TOV),
            qualifier: u32_at(bytes, rtv_acc::QUALIFIER),
        })
    }

    /// The payload.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, rtv_acc::COMMAND, &ElsCommand::LS_ACC.word());
        put(&mut bytes, rtv_acc::R_A_TOV, &self.r_a_tov.to_be_bytes());
        put(&mut bytes, rtv_acc::E_D_TOV, &self.e_d_tov.to_be_bytes());
        put(&mut bytes, rtv_acc::QUALIFIER, &self.qualifier.to_be_bytes());
        bytes
    }

    /// E_D_TOV in nanoseconds.
    #[must_use]
    pub fn e_d_tov_ns(&self) -> u64 {
        u64::from(self.e_d_tov) * if self.qualifier & Self::NANOSECONDS == 0 { 1_000_000 } else { 1 }
    }
}
