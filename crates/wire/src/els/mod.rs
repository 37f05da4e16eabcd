//! Extended and basic link services: what N_Ports say to each other about logins and exchanges (FC-LS-3; FC-FS-3,
//! basic link services).
//!
//! A request begins with its command code; a reply with LS_ACC or LS_RJT, and only who asked knows what the accepted
//! reply means. [`ElsRequest`] and [`ElsReply`] are the payloads in all their shapes.

mod address;
mod bls;
mod exchange;
mod login;
mod process;
mod reject;
mod reply;
mod request;

pub use address::{AdiscRepr, LogoRepr, RtvAccRepr};
pub use bls::{BaAccRepr, BaRjtRepr};
pub use exchange::{ExchangeRepr, RecAccRepr, e_stat};
pub use login::{ClassParameters, LoginRepr};
pub use process::{ServicePage, ServicePages, fcp_service};
pub use reject::{LsRjtRepr, els_explanation, els_reason};
pub use reply::{ElsAccept, ElsReply};
pub use request::ElsRequest;

const NAME: &str = "els";

/// Bytes of the command's word, with which each request and reply begins.
const WORD_LEN: usize = 4;

/// Command codes of link services (FC-LS-3, ELS command codes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ElsCommand(pub u8);

impl ElsCommand {
    /// Link service reject: a reply.
    pub const LS_RJT: Self = Self(0x01);
    /// Link service accept: a reply.
    pub const LS_ACC: Self = Self(0x02);
    /// N_Port login.
    pub const PLOGI: Self = Self(0x03);
    /// Login to the fabric, and in VN2VN to another VN_Port.
    pub const FLOGI: Self = Self(0x04);
    /// Logout.
    pub const LOGO: Self = Self(0x05);
    /// Read timeout values.
    pub const RTV: Self = Self(0x0e);
    /// Echo.
    pub const ECHO: Self = Self(0x10);
    /// Test: no reply.
    pub const TEST: Self = Self(0x11);
    /// Reinstate recovery qualifier.
    pub const RRQ: Self = Self(0x12);
    /// Read exchange concise.
    pub const REC: Self = Self(0x13);
    /// Process login.
    pub const PRLI: Self = Self(0x20);
    /// Process logout.
    pub const PRLO: Self = Self(0x21);
    /// Discover N_Port service parameters of a further N_Port_ID.
    pub const FDISC: Self = Self(0x51);
    /// Discover address.
    pub const ADISC: Self = Self(0x52);

    /// The command that a payload begins with; zero when it is empty, which is none.
    #[must_use]
    pub fn of(payload: &[u8]) -> Self {
        Self(payload.first().copied().unwrap_or(0))
    }

    /// The word that a payload of this command begins with.
    const fn word(self) -> [u8; 4] {
        [self.0, 0, 0, 0]
    }
}

/// Makes a record that follows any command a payload of it.
macro_rules! begins_with_command {
    ($name:ident) => {
        impl $name {
            /// The payload that begins with this command.
            #[must_use]
            pub fn bytes(&self, command: ElsCommand) -> [u8; Self::LEN] {
                let mut bytes = [0; Self::LEN];
                crate::field::put(&mut bytes, 0, &command.word());
                <Self as crate::field::Field>::put(*self, &mut bytes, 0);
                bytes
            }
        }
    };
}

use begins_with_command;

/// The bytes of a payload, or an error when there are fewer.
fn payload<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], crate::Error> {
    bytes.first_chunk().ok_or(crate::Error::Truncated(NAME))
}

/// Writes bytes to the front of a buffer; returns their number.
fn emit(bytes: &[u8], buffer: &mut [u8]) -> Result<usize, crate::Error> {
    let place = buffer.get_mut(..bytes.len()).ok_or(crate::Error::Truncated(NAME))?;
    place.copy_from_slice(bytes);
    Ok(bytes.len())
}

#[cfg(test)]
mod tests;
