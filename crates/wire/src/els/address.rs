//! LOGO, ADISC and the LS_ACC to RTV: who a port is, and how long it waits.

use super::{ElsCommand, NAME, begins_with_command};
use crate::field::record;
use crate::{Error, FcId, Wwn};

record! {
    /// Logout (FC-LS-3, LOGO). The LS_ACC has no more than its word.
    LogoRepr[16] parse bytes(ElsCommand::LOGO.word());
    5 id: FcId = "The address of the port that logs out.";
    8 port_name: Wwn = "The name of that port.";
}

record! {
    /// Discover address, request and LS_ACC alike (FC-LS-3, ADISC).
    AdiscRepr[28] parse;
    5 hard_address: FcId = "The hard address of a loop; zero elsewhere.";
    8 port_name: Wwn = "The sender's port name.";
    16 node_name: Wwn = "The sender's node name.";
    25 id: FcId = "The sender's N_Port_ID.";
}

begins_with_command!(AdiscRepr);

record! {
    /// The LS_ACC to RTV (FC-LS-3, RTV). The request has no more than its word.
    RtvAccRepr[16] parse bytes(ElsCommand::LS_ACC.word());
    4 r_a_tov: u32 = "R_A_TOV in milliseconds.";
    8 e_d_tov: u32 = "E_D_TOV in milliseconds, or in nanoseconds with [`RtvAccRepr::NANOSECONDS`].";
    12 qualifier: u32 = "Bits that say what the times count.";
}

impl RtvAccRepr {
    /// E_D_TOV counts nanoseconds.
    pub const NANOSECONDS: u32 = 0x0400_0000;

    /// E_D_TOV in nanoseconds.
    #[must_use]
    pub fn e_d_tov_ns(&self) -> u64 {
        u64::from(self.e_d_tov) * if self.qualifier & Self::NANOSECONDS == 0 { 1_000_000 } else { 1 }
    }
}
