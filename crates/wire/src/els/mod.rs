//! Extended and basic link services: what N_Ports say to each other about logins and exchanges (FC-LS-3; FC-FS-3,
//! basic link services).
//!
//! A request begins with its command code; a reply with LS_ACC or LS_RJT, and only who asked knows what the accepted
//! reply means. [`ElsRequest`] and [`ElsReply`] are the payloads in all their shapes.

mod address;
mod auth;
mod bls;
mod exchange;
mod login;
mod process;
mod reject;
mod reply;
mod request;

pub use address::{AdiscRepr, LogoRepr, RtvAccRepr};
pub use auth::{AuthBody, AuthCode, AuthHeader, AuthMessage, AuthNumbers, auth_explanation, auth_hash, auth_reason};
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

values! {
    /// Command codes of link services (FC-LS-3, ELS command codes).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct ElsCommand(u8);
    LS_RJT = 0x01, "Link service reject: a reply.";
    LS_ACC = 0x02, "Link service accept: a reply.";
    PLOGI = 0x03, "N_Port login.";
    FLOGI = 0x04, "Login to the fabric, and in VN2VN to another VN_Port.";
    LOGO = 0x05, "Logout.";
    RTV = 0x0e, "Read timeout values.";
    ECHO = 0x10, "Echo.";
    TEST = 0x11, "Test: no reply.";
    RRQ = 0x12, "Reinstate recovery qualifier.";
    REC = 0x13, "Read exchange concise.";
    PRLI = 0x20, "Process login.";
    PRLO = 0x21, "Process logout.";
    FDISC = 0x51, "Discover N_Port service parameters of a further N_Port_ID.";
    ADISC = 0x52, "Discover address.";
    AUTH = 0x90, "AUTH_ELS: a message of an authentication.";
}

impl ElsCommand {
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

use crate::field::values;
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
