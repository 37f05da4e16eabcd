//! LOGO, ADISC and the LS_ACC to RTV: who a port is, and how long it waits.

use super::{ElsCommand, payload};
use crate::field::{array_at, put, u32_at};
use crate::{Error, FcId, Wwn};

/// Logout (FC-LS-3, clause 4.2.9): the command's word, `0, N_Port_ID`, the port's name. The LS_ACC has no more than its
/// word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoRepr {
    /// The address of the port that logs out.
    pub id: FcId,
    /// Its name.
    pub port_name: Wwn,
}

impl LogoRepr {
    /// Octets of the payload.
    pub const LEN: usize = 16;

    /// The request in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let octets: &[u8; Self::LEN] = payload(octets)?;
        Ok(Self { id: FcId::from_octets(array_at(octets, 5)), port_name: Wwn(u64::from_be_bytes(array_at(octets, 8))) })
    }

    /// The payload.
    #[must_use]
    pub fn octets(&self) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        put(&mut octets, 0, &ElsCommand::LOGO.word());
        put(&mut octets, 5, &self.id.octets());
        put(&mut octets, 8, &self.port_name.0.to_be_bytes());
        octets
    }
}

/// Discover address, request and LS_ACC alike (FC-LS-3, clause 4.2.11): the command's word, `0, hard address`, the
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
    /// Octets of the payload.
    pub const LEN: usize = 28;

    /// The address in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let octets: &[u8; Self::LEN] = payload(octets)?;
        Ok(Self {
            hard_address: FcId::from_octets(array_at(octets, 5)),
            port_name: Wwn(u64::from_be_bytes(array_at(octets, 8))),
            node_name: Wwn(u64::from_be_bytes(array_at(octets, 16))),
            id: FcId::from_octets(array_at(octets, 25)),
        })
    }

    /// The payload that begins with this command: ADISC or LS_ACC.
    #[must_use]
    pub fn octets(&self, command: ElsCommand) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        put(&mut octets, 0, &command.word());
        put(&mut octets, 5, &self.hard_address.octets());
        put(&mut octets, 8, &self.port_name.0.to_be_bytes());
        put(&mut octets, 16, &self.node_name.0.to_be_bytes());
        put(&mut octets, 25, &self.id.octets());
        octets
    }
}

/// The LS_ACC to RTV (FC-LS-3, clause 4.2.12): the command's word, R_A_TOV, E_D_TOV, and a qualifier that says what
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
    /// Octets of the payload.
    pub const LEN: usize = 16;
    /// E_D_TOV counts nanoseconds.
    pub const NANOSECONDS: u32 = 0x0400_0000;

    /// The values in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let octets: &[u8; Self::LEN] = payload(octets)?;
        Ok(Self { r_a_tov: u32_at(octets, 4), e_d_tov: u32_at(octets, 8), qualifier: u32_at(octets, 12) })
    }

    /// The payload.
    #[must_use]
    pub fn octets(&self) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        put(&mut octets, 0, &ElsCommand::LS_ACC.word());
        put(&mut octets, 4, &self.r_a_tov.to_be_bytes());
        put(&mut octets, 8, &self.e_d_tov.to_be_bytes());
        put(&mut octets, 12, &self.qualifier.to_be_bytes());
        octets
    }

    /// E_D_TOV in nanoseconds.
    #[must_use]
    pub fn e_d_tov_ns(&self) -> u64 {
        u64::from(self.e_d_tov) * if self.qualifier & Self::NANOSECONDS == 0 { 1_000_000 } else { 1 }
    }
}
