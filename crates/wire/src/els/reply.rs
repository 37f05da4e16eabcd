//! Replies of all kinds.

use super::request::emit_bytes;
use super::{
    AdiscRepr, ElsCommand, LoginRepr, LsRjtRepr, NAME, RecAccRepr, RtvAccRepr, ServicePages, WORD_LEN, emit, payload,
};
use crate::Error;

/// Payload of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElsReply<'a> {
    /// LS_ACC: it is done.
    Accept(ElsAccept<'a>),
    /// LS_RJT: it is not.
    Reject(LsRjtRepr),
}

/// Payload of an LS_ACC, which depends on the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElsAccept<'a> {
    /// To FLOGI, FDISC and PLOGI.
    Login(LoginRepr),
    /// To PRLI and PRLO.
    Process(ServicePages<'a>),
    /// To ADISC.
    Adisc(AdiscRepr),
    /// To RTV.
    Rtv(RtvAccRepr),
    /// To REC.
    Rec(RecAccRepr),
    /// To ECHO.
    Echo(&'a [u8]),
    /// To LOGO, RRQ and AUTH_ELS, and to what is not known here.
    Plain,
}

impl<'a> ElsReply<'a> {
    /// The reply to a request of this command.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than such a reply, [`Error::Malformed`] when it is neither LS_ACC nor
    /// LS_RJT or has pages of a wrong length.
    pub fn parse(command: ElsCommand, bytes: &'a [u8]) -> Result<Self, Error> {
        let head: &[u8; WORD_LEN] = payload(bytes)?;
        match ElsCommand(head[0]) {
            ElsCommand::LS_RJT => return Ok(Self::Reject(LsRjtRepr::parse(bytes)?)),
            ElsCommand::LS_ACC => {}
            _ => return Err(Error::Malformed(NAME, "reply")),
        }
        Ok(Self::Accept(match command {
            ElsCommand::FLOGI | ElsCommand::FDISC | ElsCommand::PLOGI => ElsAccept::Login(LoginRepr::parse(bytes)?),
            ElsCommand::PRLI | ElsCommand::PRLO => ElsAccept::Process(ServicePages::new_checked(bytes)?),
            ElsCommand::ADISC => ElsAccept::Adisc(AdiscRepr::parse(bytes)?),
            ElsCommand::RTV => ElsAccept::Rtv(RtvAccRepr::parse(bytes)?),
            ElsCommand::REC => ElsAccept::Rec(RecAccRepr::parse(bytes)?),
            ElsCommand::ECHO => ElsAccept::Echo(&bytes[WORD_LEN..]),
            _ => ElsAccept::Plain,
        }))
    }

    /// Writes the payload; returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the buffer is too short.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        const ACCEPT: ElsCommand = ElsCommand::LS_ACC;
        match self {
            Self::Reject(reject) => emit(&reject.bytes(), buffer),
            Self::Accept(ElsAccept::Login(login)) => emit(&login.bytes(ACCEPT), buffer),
            Self::Accept(ElsAccept::Process(pages)) => ServicePages::emit(ACCEPT, pages.iter(), buffer),
            Self::Accept(ElsAccept::Adisc(adisc)) => emit(&adisc.bytes(ACCEPT), buffer),
            Self::Accept(ElsAccept::Rtv(rtv)) => emit(&rtv.bytes(), buffer),
            Self::Accept(ElsAccept::Rec(rec)) => emit(&rec.bytes(), buffer),
            Self::Accept(ElsAccept::Echo(bytes)) => emit_bytes(ACCEPT, bytes, buffer),
            Self::Accept(ElsAccept::Plain) => emit(&ACCEPT.word(), buffer),
        }
    }
}
