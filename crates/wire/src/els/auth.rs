//! AUTH_ELS, the messages by which ports authenticate each other (FC-SP-2), as far as DH-CHAP needs them.
//!
//! Each message is a request of its own, and its LS_ACC has no more than its word. Messages in fragments, and those that
//! are concatenated with others, have a flag set and are not read here.

use super::{ElsCommand, NAME};
use crate::field::{Field, put, record, u16_at, u32_at, values};
use crate::{Error, Wwn};

values! {
    /// Codes of messages (FC-SP-2, AUTH message codes).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct AuthCode(u8);
    REJECT = 0x0a, "AUTH_Reject: the end of a transaction that has failed.";
    NEGOTIATE = 0x0b, "AUTH_Negotiate: its beginning, with what the sender can do.";
    DONE = 0x0c, "AUTH_Done: the end of transactions that have no message of their own for it.";
    CHALLENGE = 0x10, "DHCHAP_Challenge.";
    REPLY = 0x11, "DHCHAP_Reply.";
    SUCCESS = 0x12, "DHCHAP_Success.";
}

values! {
    /// Reasons of AUTH_Reject (FC-SP-2, AUTH_Reject reason codes).
    pub mod auth_reason: u8;
    FAILURE = 0x01, "Authentication failure.";
    LOGICAL_ERROR = 0x02, "Logical error.";
}

values! {
    /// Explanations of AUTH_Reject (FC-SP-2, AUTH_Reject reason code explanations).
    pub mod auth_explanation: u8;
    MECHANISM = 0x01, "No authentication mechanism that both can use.";
    GROUP = 0x02, "No Diffie-Hellman group that both can use.";
    HASH = 0x03, "No hash function that both can use.";
    STARTED = 0x04, "A transaction has been started already.";
    FAILED = 0x05, "Authentication failed.";
    PAYLOAD = 0x06, "Incorrect payload.";
    MESSAGE = 0x07, "Incorrect authentication protocol message.";
    RESTART = 0x08, "Restart the authentication protocol.";
    CONCATENATION = 0x09, "Concatenation is not supported.";
    VERSION = 0x0a, "Unsupported protocol version.";
}

record! {
    /// The beginning of a message (FC-SP-2, AUTH_ELS message format). Its first byte is the link service's command.
    AuthHeader[12] parse bytes([ElsCommand::AUTH.0]);
    1 flags: u8 = "Zero, unless the message is a fragment or concatenated with others.";
    2 code: AuthCode = "What message it is.";
    3 version: u8 = "Version of the protocol: [`AuthHeader::VERSION`].";
    4 len: u32 = "Bytes behind these.";
    8 transaction: u32 = "Transaction identifier, which the initiator has chosen.";
}

impl AuthHeader {
    /// The version of FC-SP and FC-SP-2.
    pub const VERSION: u8 = 1;
}

/// A message: its header, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthMessage<'a> {
    /// Its beginning; `len` is that of the body.
    pub header: AuthHeader,
    /// [`AuthBody::parse`] reads it.
    pub body: &'a [u8],
}

impl<'a> AuthMessage<'a> {
    /// The message in a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than its header and the length there, [`Error::Malformed`] when it is longer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = AuthHeader::parse(bytes)?;
        let (len, body) = (header.len as usize, &bytes[AuthHeader::LEN..]);
        match body.len() {
            there if there < len => Err(Error::Truncated(NAME)),
            there if there > len => Err(Error::Malformed(NAME, "length")),
            _ => Ok(Self { header, body }),
        }
    }
}

/// Numbers of 32 bits, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthNumbers<'a>(&'a [u8]);

impl<'a> AuthNumbers<'a> {
    /// The numbers in bytes, of which those behind the last whole number count for nothing.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(&bytes[..bytes.len() & !3])
    }

    /// One number after the other.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.chunks_exact(4).map(|number| u32_at(number, 0))
    }
}

values! {
    /// Hash functions (FC-SP, DH-CHAP hash identifiers).
    pub mod auth_hash: u32;
    MD5 = 5, "MD5.";
    SHA_1 = 6, "SHA-1.";
}

/// Body of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthBody<'a> {
    /// AUTH_Reject.
    Reject {
        /// One of [`auth_reason`].
        reason: u8,
        /// One of [`auth_explanation`].
        explanation: u8,
    },
    /// AUTH_Negotiate.
    Negotiate {
        /// Name of the sender.
        name: Wwn,
        /// Hash functions and Diffie-Hellman groups of DH-CHAP, the best ones first, if the sender can use it.
        dh_chap: Option<(AuthNumbers<'a>, AuthNumbers<'a>)>,
    },
    /// AUTH_Done.
    Done,
    /// DHCHAP_Challenge.
    Challenge {
        /// Name of the sender.
        name: Wwn,
        /// The hash function that was chosen: one of [`auth_hash`].
        hash: u32,
        /// The Diffie-Hellman group that was chosen: 0 for none, 1 to 4 for those of 1024, 1280, 1536 and 2048 bits.
        group: u32,
        /// The challenge, as long as the hash.
        challenge: &'a [u8],
        /// The sender's public value, as long as the group's modulus.
        dh: &'a [u8],
    },
    /// DHCHAP_Reply.
    Reply {
        /// The response to the challenge.
        response: &'a [u8],
        /// The sender's public value.
        dh: &'a [u8],
        /// A challenge of the sender, if the other one is to authenticate itself, too.
        challenge: &'a [u8],
    },
    /// DHCHAP_Success.
    Success {
        /// The response to the challenge of the reply, if there was one.
        response: &'a [u8],
    },
}

/// Tag of a world-wide name, and of the list of hash functions.
const FIRST: u16 = 1;
/// Tag of the list of groups.
const SECOND: u16 = 2;
/// Number of DH-CHAP among authentication protocols.
const DH_CHAP: u32 = 1;
const WWN_LEN: usize = 8;

/// Part of a body that has not been read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Error::Truncated(NAME))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, Error> {
        self.take(4).map(|bytes| u32_at(bytes, 0))
    }

    /// Bytes behind their number.
    fn counted(&mut self) -> Result<&'a [u8], Error> {
        let len = self.number()?;
        self.take(len as usize)
    }

    /// A tag, and the length behind it.
    fn tag(&mut self) -> Result<(u16, u16), Error> {
        self.take(4).map(|bytes| (u16_at(bytes, 0), u16_at(bytes, 2)))
    }

    fn name(&mut self) -> Result<Wwn, Error> {
        match self.tag()? {
            (FIRST, 8) => self.take(WWN_LEN).map(|bytes| Wwn::get(bytes, 0)),
            _ => Err(Error::Malformed(NAME, "name")),
        }
    }

    /// The two lists of DH-CHAP; parameters with other tags are passed over.
    fn dh_chap(&mut self) -> Result<(AuthNumbers<'a>, AuthNumbers<'a>), Error> {
        let mut lists = [None; 2];
        while !self.0.is_empty() {
            let (tag, words) = self.tag()?;
            let numbers = AuthNumbers(self.take(usize::from(words) * 4)?);
            if let FIRST | SECOND = tag
                && lists[usize::from(tag - FIRST)].replace(numbers).is_some()
            {
                return Err(Error::Malformed(NAME, "parameter"));
            }
        }
        lists[0].zip(lists[1]).ok_or(Error::Malformed(NAME, "parameter"))
    }

    /// The protocols of AUTH_Negotiate.
    fn protocols(&mut self) -> Result<Option<(AuthNumbers<'a>, AuthNumbers<'a>)>, Error> {
        let (count, mut found) = (self.number()?, None);
        for _ in 0..count {
            let mut protocol = Self(self.counted()?);
            if protocol.number()? == DH_CHAP && found.replace(protocol.dh_chap()?).is_some() {
                return Err(Error::Malformed(NAME, "protocol"));
            }
        }
        Ok(found)
    }
}

impl<'a> AuthBody<'a> {
    /// The body of a message of this code.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it ends before a length in it does, [`Error::Malformed`] when it is longer, is of another
    /// message, or names its sender by anything but a world-wide name.
    pub fn parse(code: AuthCode, body: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Rest(body);
        let parsed = match code {
            AuthCode::REJECT => {
                let bytes = rest.take(4)?;
                Self::Reject { reason: bytes[0], explanation: bytes[1] }
            }
            AuthCode::NEGOTIATE => Self::Negotiate { name: rest.name()?, dh_chap: rest.protocols()? },
            AuthCode::DONE => Self::Done,
            AuthCode::CHALLENGE => Self::Challenge {
                name: rest.name()?,
                hash: rest.number()?,
                group: rest.number()?,
                challenge: rest.counted()?,
                dh: rest.counted()?,
            },
            AuthCode::REPLY => {
                Self::Reply { response: rest.counted()?, dh: rest.counted()?, challenge: rest.counted()? }
            }
            AuthCode::SUCCESS => Self::Success { response: rest.counted()? },
            _ => return Err(Error::Malformed(NAME, "message")),
        };
        if rest.0.is_empty() { Ok(parsed) } else { Err(Error::Malformed(NAME, "length")) }
    }

    /// Code of the message.
    #[must_use]
    pub fn code(&self) -> AuthCode {
        match self {
            Self::Reject { .. } => AuthCode::REJECT,
            Self::Negotiate { .. } => AuthCode::NEGOTIATE,
            Self::Done => AuthCode::DONE,
            Self::Challenge { .. } => AuthCode::CHALLENGE,
            Self::Reply { .. } => AuthCode::REPLY,
            Self::Success { .. } => AuthCode::SUCCESS,
        }
    }

    /// The message, whole, of this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when a list has more than 65535 numbers, or the message more bytes than its length can say.
    pub fn message(&self, transaction: u32) -> Result<Vec<u8>, Error> {
        let mut out = vec![0; AuthHeader::LEN];
        match *self {
            Self::Reject { reason, explanation } => out.extend([reason, explanation, 0, 0]),
            Self::Done => {}
            Self::Negotiate { name, dh_chap } => {
                put_name(&mut out, name);
                out.extend(u32::from(dh_chap.is_some()).to_be_bytes());
                if let Some((hashes, groups)) = dh_chap {
                    let len = 12 + hashes.0.len() + groups.0.len();
                    out.extend(number(len)?);
                    out.extend(DH_CHAP.to_be_bytes());
                    for (tag, list) in [(FIRST, hashes), (SECOND, groups)] {
                        let words = u16::try_from(list.0.len() / 4).map_err(|_| Error::TooLarge(NAME, "list"))?;
                        out.extend(tag.to_be_bytes());
                        out.extend(words.to_be_bytes());
                        out.extend(list.0);
                    }
                }
            }
            Self::Challenge { name, hash, group, challenge, dh } => {
                put_name(&mut out, name);
                out.extend(hash.to_be_bytes());
                out.extend(group.to_be_bytes());
                put_counted(&mut out, &[challenge, dh])?;
            }
            Self::Reply { response, dh, challenge } => put_counted(&mut out, &[response, dh, challenge])?,
            Self::Success { response } => put_counted(&mut out, &[response])?,
        }
        let len = u32::from_be_bytes(number(out.len() - AuthHeader::LEN)?);
        let header = AuthHeader { flags: 0, code: self.code(), version: AuthHeader::VERSION, len, transaction };
        put(&mut out, 0, &header.bytes());
        Ok(out)
    }
}

fn number(len: usize) -> Result<[u8; 4], Error> {
    u32::try_from(len).map(u32::to_be_bytes).map_err(|_| Error::TooLarge(NAME, "length"))
}

fn put_name(out: &mut Vec<u8>, name: Wwn) {
    out.extend(FIRST.to_be_bytes());
    out.extend([0, 8]);
    out.extend(name.0.to_be_bytes());
}

fn put_counted(out: &mut Vec<u8>, all: &[&[u8]]) -> Result<(), Error> {
    for bytes in all {
        out.extend(number(bytes.len())?);
        out.extend(*bytes);
    }
    Ok(())
}
