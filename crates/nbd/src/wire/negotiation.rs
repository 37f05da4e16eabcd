//! Messages of the negotiation.

use super::facts::{ExportInfo, Sizes};
use super::{
    IHAVEOPT, LONGEST_NAME, LONGEST_OPTION, NBDMAGIC, REPLY_MAGIC, WireError, info, join, u16_at, u32_at, u64_at,
};

/// The server's greeting.
///
/// ```text
///   NBDMAGIC (8)   IHAVEOPT (8)   handshake flags (2)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// See [`super::handshake`].
    pub flags: u16,
}

impl Greeting {
    /// Length in bytes.
    pub const LEN: usize = 18;

    /// Parses a greeting.
    ///
    /// # Errors
    /// The greeting is not that of a newstyle server.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, WireError> {
        match (u64_at(bytes, 0), u64_at(bytes, 8)) {
            (NBDMAGIC, IHAVEOPT) => Ok(Self { flags: u16_at(bytes, 16) }),
            (NBDMAGIC, 0x0000_4202_8186_1253) => Err(WireError::OldStyle),
            _ => Err(WireError::Magic),
        }
    }

    /// Serializes the greeting.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        join(&[&NBDMAGIC.to_be_bytes(), &IHAVEOPT.to_be_bytes(), &self.flags.to_be_bytes()])
    }
}

/// Option that the client sends; `len` bytes of data follow.
///
/// ```text
///   IHAVEOPT (8)   option (4)   length (4)   data
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHeader {
    /// See [`super::option`].
    pub option: u32,
    /// Bytes of data.
    pub len: u32,
}

impl OptionHeader {
    /// Length in bytes.
    pub const LEN: usize = 16;

    /// Parses an option header.
    ///
    /// # Errors
    /// The magic number is wrong.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, WireError> {
        if u64_at(bytes, 0) != IHAVEOPT {
            return Err(WireError::Magic);
        }
        Ok(Self { option: u32_at(bytes, 8), len: u32_at(bytes, 12) })
    }

    /// Serializes the header.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        join(&[&IHAVEOPT.to_be_bytes(), &self.option.to_be_bytes(), &self.len.to_be_bytes()])
    }
}

/// An answer to an option; `len` bytes of data follow.
///
/// ```text
///   0x3e889045565a9 (8)   option (4)   reply type (4)   length (4)   data
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionReply {
    /// The option that it answers.
    pub option: u32,
    /// See [`super::reply`].
    pub kind: u32,
    /// Bytes of data.
    pub len: u32,
}

impl OptionReply {
    /// Length in bytes.
    pub const LEN: usize = 20;

    /// Parses a reply header.
    ///
    /// # Errors
    /// The magic number is wrong, or the data is longer than any that is defined.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, WireError> {
        if u64_at(bytes, 0) != REPLY_MAGIC {
            return Err(WireError::Magic);
        }
        let reply = Self { option: u32_at(bytes, 8), kind: u32_at(bytes, 12), len: u32_at(bytes, 16) };
        if reply.len > LONGEST_OPTION { Err(WireError::Length) } else { Ok(reply) }
    }

    /// Serializes the header.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        let magic = REPLY_MAGIC.to_be_bytes();
        join(&[&magic, &self.option.to_be_bytes(), &self.kind.to_be_bytes(), &self.len.to_be_bytes()])
    }
}

/// Data of GO and INFO: the export's name, and the information wanted beyond size and flags.
///
/// ```text
///   name's length (4)   name   number of information requests (2)   information requests (2 each)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Go {
    /// The export's name; empty is the default one.
    pub name: String,
    /// Information types asked for: see [`info`].
    pub wanted: Vec<u16>,
}

impl Go {
    /// Parses the data.
    ///
    /// # Errors
    /// Lengths that do not match, or a name that is too long or not UTF-8.
    pub fn parse(data: &[u8]) -> Result<Self, WireError> {
        let (len, rest) = data.split_first_chunk().ok_or(WireError::Length)?;
        let len = usize::try_from(u32::from_be_bytes(*len)).map_err(|_| WireError::Length)?;
        let (name, rest) = rest.split_at_checked(len).ok_or(WireError::Length)?;
        let (count, rest) = rest.split_first_chunk().ok_or(WireError::Length)?;
        let wanted: Vec<u16> = rest.chunks_exact(2).map(|two| u16_at(two, 0)).collect();
        if len > LONGEST_NAME
            || wanted.len() * 2 != rest.len()
            || wanted.len() != usize::from(u16::from_be_bytes(*count))
        {
            return Err(WireError::Length);
        }
        let name = std::str::from_utf8(name).map_err(|_| WireError::Length)?.to_owned();
        Ok(Self { name, wanted })
    }

    /// Serializes the data.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut data = u32::try_from(self.name.len()).unwrap_or(0).to_be_bytes().to_vec();
        data.extend_from_slice(self.name.as_bytes());
        data.extend_from_slice(&u16::try_from(self.wanted.len()).unwrap_or(0).to_be_bytes());
        self.wanted.iter().for_each(|kind| data.extend_from_slice(&kind.to_be_bytes()));
        data
    }
}

/// Data of an INFO reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Info {
    /// Size in bytes, and transmission flags.
    Export(ExportInfo),
    /// Sizes of requests.
    BlockSize(Sizes),
    /// Name of the export.
    Name(String),
    /// Description of the export.
    Description(String),
    /// Information of another type, which is ignored.
    Other(u16),
}

impl Info {
    /// Parses the data.
    ///
    /// # Errors
    /// A length that does not match the type, or sizes that the protocol does not allow.
    pub fn parse(data: &[u8]) -> Result<Self, WireError> {
        let (kind, rest) = data.split_first_chunk().ok_or(WireError::Length)?;
        let text = || String::from_utf8_lossy(rest).into_owned();
        match (u16::from_be_bytes(*kind), rest.len()) {
            (info::EXPORT, 10) => Ok(Self::Export(ExportInfo { size: u64_at(rest, 0), flags: u16_at(rest, 8) })),
            (info::BLOCK_SIZE, 12) => {
                let sizes = Sizes { least: u32_at(rest, 0), preferred: u32_at(rest, 4), most: u32_at(rest, 8) };
                if sizes.are_right() { Ok(Self::BlockSize(sizes)) } else { Err(WireError::Length) }
            }
            (info::EXPORT | info::BLOCK_SIZE, _) => Err(WireError::Length),
            (info::NAME, _) => Ok(Self::Name(text())),
            (info::DESCRIPTION, _) => Ok(Self::Description(text())),
            (other, _) => Ok(Self::Other(other)),
        }
    }

    /// Serializes the data.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Self::Export(ExportInfo { size, flags }) => {
                [&info::EXPORT.to_be_bytes()[..], &size.to_be_bytes(), &flags.to_be_bytes()].concat()
            }
            Self::BlockSize(Sizes { least, preferred, most }) => {
                let numbers = [least.to_be_bytes(), preferred.to_be_bytes(), most.to_be_bytes()].concat();
                [&info::BLOCK_SIZE.to_be_bytes()[..], &numbers].concat()
            }
            Self::Name(text) => [&info::NAME.to_be_bytes()[..], text.as_bytes()].concat(),
            Self::Description(text) => [&info::DESCRIPTION.to_be_bytes()[..], text.as_bytes()].concat(),
            Self::Other(kind) => kind.to_be_bytes().to_vec(),
        }
    }
}
