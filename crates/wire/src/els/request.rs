//! Requests of all kinds.

use super::{
    AdiscRepr, AuthMessage, ElsCommand, ExchangeRepr, LoginRepr, LogoRepr, NAME, ServicePages, WORD_LEN, emit, payload,
};
use crate::Error;
use crate::field::put;

/// Payload of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElsRequest<'a> {
    /// Log in to the fabric or, in VN2VN, to another VN_Port.
    Flogi(LoginRepr),
    /// Get a further N_Port_ID.
    Fdisc(LoginRepr),
    /// Log in to an N_Port.
    Plogi(LoginRepr),
    /// Log processes in.
    Prli(ServicePages<'a>),
    /// Log them out.
    Prlo(ServicePages<'a>),
    /// Log out.
    Logo(LogoRepr),
    /// ADISC: asks for address and names.
    Adisc(AdiscRepr),
    /// RTV: asks for the time-outs.
    Rtv,
    /// REC: asks for the state of an exchange.
    Rec(ExchangeRepr),
    /// An exchange's recovery is over.
    Rrq(ExchangeRepr),
    /// Send these bytes back.
    Echo(&'a [u8]),
    /// Throw these bytes away.
    Test(&'a [u8]),
    /// AUTH_ELS: a message of an authentication.
    Auth(AuthMessage<'a>),
}

impl<'a> ElsRequest<'a> {
    /// The request in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] and [`Error::Malformed`] when its length is wrong; [`Error::Malformed`] with `"command"`
    /// when it is none of these.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let head: &[u8; WORD_LEN] = payload(bytes)?;
        Ok(match ElsCommand(head[0]) {
            ElsCommand::FLOGI => Self::Flogi(LoginRepr::parse(bytes)?),
            ElsCommand::FDISC => Self::Fdisc(LoginRepr::parse(bytes)?),
            ElsCommand::PLOGI => Self::Plogi(LoginRepr::parse(bytes)?),
            ElsCommand::PRLI => Self::Prli(ServicePages::new_checked(bytes)?),
            ElsCommand::PRLO => Self::Prlo(ServicePages::new_checked(bytes)?),
            ElsCommand::LOGO => Self::Logo(LogoRepr::parse(bytes)?),
            ElsCommand::ADISC => Self::Adisc(AdiscRepr::parse(bytes)?),
            ElsCommand::RTV => Self::Rtv,
            ElsCommand::REC => Self::Rec(ExchangeRepr::parse(bytes)?),
            ElsCommand::RRQ => Self::Rrq(ExchangeRepr::parse(bytes)?),
            ElsCommand::ECHO => Self::Echo(&bytes[WORD_LEN..]),
            ElsCommand::TEST => Self::Test(&bytes[WORD_LEN..]),
            ElsCommand::AUTH => Self::Auth(AuthMessage::parse(bytes)?),
            _ => return Err(Error::Malformed(NAME, "command")),
        })
    }

    /// Command.
    #[must_use]
    pub fn command(&self) -> ElsCommand {
        match self {
            Self::Flogi(_) => ElsCommand::FLOGI,
            Self::Fdisc(_) => ElsCommand::FDISC,
            Self::Plogi(_) => ElsCommand::PLOGI,
            Self::Prli(_) => ElsCommand::PRLI,
            Self::Prlo(_) => ElsCommand::PRLO,
            Self::Logo(_) => ElsCommand::LOGO,
            Self::Adisc(_) => ElsCommand::ADISC,
            Self::Rtv => ElsCommand::RTV,
            Self::Rec(_) => ElsCommand::REC,
            Self::Rrq(_) => ElsCommand::RRQ,
            Self::Echo(_) => ElsCommand::ECHO,
            Self::Test(_) => ElsCommand::TEST,
            Self::Auth(_) => ElsCommand::AUTH,
        }
    }

    /// Writes the payload; returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the buffer is too short.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let command = self.command();
        match self {
            Self::Flogi(login) | Self::Fdisc(login) | Self::Plogi(login) => emit(&login.bytes(command), buffer),
            Self::Prli(pages) | Self::Prlo(pages) => ServicePages::emit(command, pages.iter(), buffer),
            Self::Logo(logo) => emit(&logo.bytes(), buffer),
            Self::Adisc(adisc) => emit(&adisc.bytes(command), buffer),
            Self::Rtv => emit(&command.word(), buffer),
            Self::Rec(exchange) | Self::Rrq(exchange) => emit(&exchange.bytes(command), buffer),
            Self::Echo(bytes) | Self::Test(bytes) => emit_bytes(command, bytes, buffer),
            Self::Auth(AuthMessage { header, body }) => emit(&[&header.bytes()[..], body].concat(), buffer),
        }
    }
}

/// A payload of the command's word and bytes.
pub(super) fn emit_bytes(command: ElsCommand, bytes: &[u8], buffer: &mut [u8]) -> Result<usize, Error> {
    let len = WORD_LEN + bytes.len();
    let place = buffer.get_mut(..len).ok_or(Error::Truncated(NAME))?;
    put(place, 0, &command.word());
    put(place, WORD_LEN, bytes);
    Ok(len)
}
