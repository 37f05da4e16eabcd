//! The formats of the NBD protocol, both directions, without I/O. All numbers are big-endian.
//!
//! Source: the NBD project's `doc/proto.md`, chapters "Fixed newstyle negotiation", "Option types", "Option reply types",
//! "Transmission phase". What comes from a peer is checked here as far as one message can tell.

use super::info::{ExportInfo, Sizes};

/// "NBDMAGIC": the server's first octets.
pub const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT": what follows in newstyle negotiation, and the start of each option.
pub const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
/// The start of each option reply.
pub const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// The start of each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The start of a simple reply.
pub const SIMPLE_MAGIC: u32 = 0x6744_6698;
/// The start of a structured reply chunk.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Handshake flags, of server and client alike.
pub mod handshake {
    /// Options are answered: fixed newstyle.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// No 124 zeros after the answer to EXPORT_NAME.
    pub const NO_ZEROES: u16 = 2;
}

/// Option types.
pub mod option {
    /// Choose an export, and begin. It has no reply type and no way to fail but to hang up.
    pub const EXPORT_NAME: u32 = 1;
    /// Hang up.
    pub const ABORT: u32 = 2;
    /// Name all exports.
    pub const LIST: u32 = 3;
    /// Tell of an export.
    pub const INFO: u32 = 6;
    /// Tell of an export, and begin.
    pub const GO: u32 = 7;
    /// Answer in chunks.
    pub const STRUCTURED_REPLY: u32 = 8;
}

/// Option reply types.
pub mod reply {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export's name.
    pub const SERVER: u32 = 2;
    /// Something of an export: see [`super::info`].
    pub const INFO: u32 = 3;
    /// Errors have this bit.
    pub const ERROR: u32 = 1 << 31;
    /// The option is not known.
    pub const ERR_UNSUP: u32 = ERROR | 1;
    /// The option's data is wrong.
    pub const ERR_INVALID: u32 = ERROR | 3;
    /// There is no such export.
    pub const ERR_UNKNOWN: u32 = ERROR | 6;
    /// The option's data is too long.
    pub const ERR_TOO_BIG: u32 = ERROR | 9;
}

/// Information types of [`reply::INFO`].
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// What the export is called.
    pub const NAME: u16 = 1;
    /// What it is.
    pub const DESCRIPTION: u16 = 2;
    /// Least, preferred and greatest size of a request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags of an export.
pub mod export {
    /// The others mean something.
    pub const HAS_FLAGS: u16 = 1;
    /// It is not to be written.
    pub const READ_ONLY: u16 = 1 << 1;
    /// FLUSH is there.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// FUA is there.
    pub const SEND_FUA: u16 = 1 << 3;
    /// TRIM is there.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// WRITE_ZEROES is there.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// A flush on one connection is one for all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

/// Request types.
pub mod command {
    /// Read.
    pub const READ: u16 = 0;
    /// Write; the data follows.
    pub const WRITE: u16 = 1;
    /// Hang up. There is no reply.
    pub const DISC: u16 = 2;
    /// Put on stable storage what was completed before.
    pub const FLUSH: u16 = 3;
    /// Not needed any more.
    pub const TRIM: u16 = 4;
    /// Zeros.
    pub const WRITE_ZEROES: u16 = 6;
    /// Command flag: complete when it is on stable storage.
    pub const FLAG_FUA: u16 = 1;
    /// Command flag of WRITE_ZEROES: the space is kept.
    pub const FLAG_NO_HOLE: u16 = 2;
}

/// Types of structured reply chunks.
pub mod chunk {
    /// The last one of its request.
    pub const FLAG_DONE: u16 = 1;
    /// Nothing.
    pub const NONE: u16 = 0;
    /// An offset, then data.
    pub const OFFSET_DATA: u16 = 1;
    /// An offset and a length of zeros.
    pub const OFFSET_HOLE: u16 = 2;
    /// Errors have this bit; they begin with an error number and a message's length.
    pub const ERROR: u16 = 1 << 15;
}

/// Error numbers.
pub mod error {
    /// Not permitted.
    pub const EPERM: u32 = 1;
    /// The medium failed.
    pub const EIO: u32 = 5;
    /// No memory.
    pub const ENOMEM: u32 = 12;
    /// The request is wrong.
    pub const EINVAL: u32 = 22;
    /// No space.
    pub const ENOSPC: u32 = 28;
    /// Not known.
    pub const ENOTSUP: u32 = 95;
    /// The server is going away.
    pub const ESHUTDOWN: u32 = 108;
}

/// What a message can be wrong in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not this protocol, or out of step.
    #[error("not NBD, or out of step")]
    Magic,
    /// The oldstyle negotiation of before 2011.
    #[error("the oldstyle negotiation of old NBD servers")]
    OldStyle,
    /// A length that cannot be.
    #[error("a length that cannot be")]
    Length,
}

/// Longest name of an export (`doc/proto.md`, "Values": strings).
pub const LONGEST_NAME: usize = 4096;
/// Longest data of an option or of its reply that is looked at.
pub const LONGEST_OPTION: u32 = 65536;

fn u16_at(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(octets.get(at..at + 2).and_then(|o| o.try_into().ok()).unwrap_or_default())
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets.get(at..at + 4).and_then(|o| o.try_into().ok()).unwrap_or_default())
}

fn u64_at(octets: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(octets.get(at..at + 8).and_then(|o| o.try_into().ok()).unwrap_or_default())
}

/// Puts parts of fixed length one behind the other.
fn join<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut octets = [0; N];
    let mut at = 0;
    for part in parts {
        octets[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    octets
}

/// The server's greeting.
///
/// ```text
///   NBDMAGIC (8)   IHAVEOPT (8)   handshake flags (2)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// See [`handshake`].
    pub flags: u16,
}

impl Greeting {
    /// Octets it has.
    pub const LEN: usize = 18;

    /// Reads one.
    ///
    /// # Errors
    /// It is not that of a newstyle server.
    pub fn parse(octets: &[u8; Self::LEN]) -> Result<Self, WireError> {
        match (u64_at(octets, 0), u64_at(octets, 8)) {
            (NBDMAGIC, IHAVEOPT) => Ok(Self { flags: u16_at(octets, 16) }),
            (NBDMAGIC, 0x0000_4202_8186_1253) => Err(WireError::OldStyle),
            _ => Err(WireError::Magic),
        }
    }

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        join(&[&NBDMAGIC.to_be_bytes(), &IHAVEOPT.to_be_bytes(), &self.flags.to_be_bytes()])
    }
}

/// What a client asks for while it negotiates; `len` octets of data follow.
///
/// ```text
///   IHAVEOPT (8)   option (4)   length (4)   data
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHeader {
    /// See [`option`].
    pub option: u32,
    /// Octets of data.
    pub len: u32,
}

impl OptionHeader {
    /// Octets it has.
    pub const LEN: usize = 16;

    /// Reads one.
    ///
    /// # Errors
    /// It does not begin as one does.
    pub fn parse(octets: &[u8; Self::LEN]) -> Result<Self, WireError> {
        if u64_at(octets, 0) != IHAVEOPT {
            return Err(WireError::Magic);
        }
        Ok(Self { option: u32_at(octets, 8), len: u32_at(octets, 12) })
    }

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        join(&[&IHAVEOPT.to_be_bytes(), &self.option.to_be_bytes(), &self.len.to_be_bytes()])
    }
}

/// An answer to an option; `len` octets of data follow.
///
/// ```text
///   0x3e889045565a9 (8)   option (4)   reply type (4)   length (4)   data
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionReply {
    /// The option that it answers.
    pub option: u32,
    /// See [`reply`].
    pub kind: u32,
    /// Octets of data.
    pub len: u32,
}

impl OptionReply {
    /// Octets it has.
    pub const LEN: usize = 20;

    /// Reads one.
    ///
    /// # Errors
    /// It does not begin as one does, or its data is longer than any that is defined.
    pub fn parse(octets: &[u8; Self::LEN]) -> Result<Self, WireError> {
        if u64_at(octets, 0) != REPLY_MAGIC {
            return Err(WireError::Magic);
        }
        let reply = Self { option: u32_at(octets, 8), kind: u32_at(octets, 12), len: u32_at(octets, 16) };
        if reply.len > LONGEST_OPTION { Err(WireError::Length) } else { Ok(reply) }
    }

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        let magic = REPLY_MAGIC.to_be_bytes();
        join(&[&magic, &self.option.to_be_bytes(), &self.kind.to_be_bytes(), &self.len.to_be_bytes()])
    }
}

/// The data of GO and INFO: which export, and what to be told of it beyond size and flags.
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
    /// Reads it.
    ///
    /// # Errors
    /// Lengths that do not fit, or a name that is too long or not UTF-8.
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

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut data = u32::try_from(self.name.len()).unwrap_or(0).to_be_bytes().to_vec();
        data.extend_from_slice(self.name.as_bytes());
        data.extend_from_slice(&u16::try_from(self.wanted.len()).unwrap_or(0).to_be_bytes());
        self.wanted.iter().for_each(|kind| data.extend_from_slice(&kind.to_be_bytes()));
        data
    }
}

/// The data of an INFO reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Info {
    /// Octets, and transmission flags.
    Export(ExportInfo),
    /// Sizes of requests.
    BlockSize(Sizes),
    /// What is of no use here.
    Other(u16),
}

impl Info {
    /// Reads it.
    ///
    /// # Errors
    /// A length that is not that of its type, or sizes that are no sizes.
    pub fn parse(data: &[u8]) -> Result<Self, WireError> {
        let (kind, rest) = data.split_first_chunk().ok_or(WireError::Length)?;
        match (u16::from_be_bytes(*kind), rest.len()) {
            (info::EXPORT, 10) => Ok(Self::Export(ExportInfo { size: u64_at(rest, 0), flags: u16_at(rest, 8) })),
            (info::BLOCK_SIZE, 12) => {
                let sizes = Sizes { least: u32_at(rest, 0), preferred: u32_at(rest, 4), most: u32_at(rest, 8) };
                if sizes.are_right() { Ok(Self::BlockSize(sizes)) } else { Err(WireError::Length) }
            }
            (info::EXPORT | info::BLOCK_SIZE, _) => Err(WireError::Length),
            (other, _) => Ok(Self::Other(other)),
        }
    }

    /// Writes it.
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
            Self::Other(kind) => kind.to_be_bytes().to_vec(),
        }
    }
}

/// A request; the data of a WRITE follows.
///
/// ```text
///   0x25609513 (4)   flags (2)   type (2)   cookie (8)   offset (8)   length (4)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// See [`command`].
    pub flags: u16,
    /// See [`command`].
    pub kind: u16,
    /// Comes back with the reply.
    pub cookie: u64,
    /// The first octet.
    pub offset: u64,
    /// How many.
    pub len: u32,
}

impl Request {
    /// Octets it has.
    pub const LEN: usize = 28;

    /// Reads one.
    ///
    /// # Errors
    /// It does not begin as one does.
    pub fn parse(octets: &[u8; Self::LEN]) -> Result<Self, WireError> {
        if u32_at(octets, 0) != REQUEST_MAGIC {
            return Err(WireError::Magic);
        }
        Ok(Self {
            flags: u16_at(octets, 4),
            kind: u16_at(octets, 6),
            cookie: u64_at(octets, 8),
            offset: u64_at(octets, 16),
            len: u32_at(octets, 24),
        })
    }

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        let [flags, kind] = [self.flags.to_be_bytes(), self.kind.to_be_bytes()];
        let [cookie, offset] = [self.cookie.to_be_bytes(), self.offset.to_be_bytes()];
        join(&[&REQUEST_MAGIC.to_be_bytes(), &flags, &kind, &cookie, &offset, &self.len.to_be_bytes()])
    }
}

/// The head of a reply: a simple one, behind which the data of a READ follows if there was no error, or a chunk of a
/// structured one, behind which `len` octets follow.
///
/// ```text
///   0x67446698 (4)   error (4)   cookie (8)
///   0x668e33ef (4)   flags (2)   type (2)   cookie (8)   length (4)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// All of it.
    Simple {
        /// 0, or one of [`error`].
        error: u32,
        /// The request's.
        cookie: u64,
    },
    /// A part of it.
    Chunk {
        /// See [`chunk`].
        flags: u16,
        /// See [`chunk`].
        kind: u16,
        /// The request's.
        cookie: u64,
        /// Octets of this chunk.
        len: u32,
    },
}

impl Reply {
    /// Octets of a simple one.
    pub const SIMPLE_LEN: usize = 16;
    /// Octets of a chunk's head.
    pub const CHUNK_LEN: usize = 20;

    /// Reads one from the start of what has come: none if that is too little yet, otherwise with the octets it took.
    ///
    /// # Errors
    /// It does not begin as one does.
    pub fn parse(octets: &[u8]) -> Result<Option<(Self, usize)>, WireError> {
        let Some(magic) = octets.first_chunk() else { return Ok(None) };
        match (u32::from_be_bytes(*magic), octets.len()) {
            (SIMPLE_MAGIC, Self::SIMPLE_LEN..) => {
                Ok(Some((Self::Simple { error: u32_at(octets, 4), cookie: u64_at(octets, 8) }, Self::SIMPLE_LEN)))
            }
            (CHUNK_MAGIC, Self::CHUNK_LEN..) => {
                let (flags, kind) = (u16_at(octets, 4), u16_at(octets, 6));
                let (cookie, len) = (u64_at(octets, 8), u32_at(octets, 16));
                Ok(Some((Self::Chunk { flags, kind, cookie, len }, Self::CHUNK_LEN)))
            }
            (SIMPLE_MAGIC | CHUNK_MAGIC, _) => Ok(None),
            _ => Err(WireError::Magic),
        }
    }

    /// Writes it; gives how many octets it has.
    pub fn emit(&self, to: &mut [u8; Self::CHUNK_LEN]) -> usize {
        match self {
            Self::Simple { error, cookie } => {
                let parts: [u8; Self::SIMPLE_LEN] =
                    join(&[&SIMPLE_MAGIC.to_be_bytes(), &error.to_be_bytes(), &cookie.to_be_bytes()]);
                to[..Self::SIMPLE_LEN].copy_from_slice(&parts);
                Self::SIMPLE_LEN
            }
            Self::Chunk { flags, kind, cookie, len } => {
                let [flags, kind] = [flags.to_be_bytes(), kind.to_be_bytes()];
                *to = join(&[&CHUNK_MAGIC.to_be_bytes(), &flags, &kind, &cookie.to_be_bytes(), &len.to_be_bytes()]);
                Self::CHUNK_LEN
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_those_of_the_protocol() {
        let greeting = Greeting { flags: 3 }.emit();
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
        assert_eq!(Greeting::parse(&greeting), Ok(Greeting { flags: 3 }));
        let mut old = greeting;
        old[8..16].copy_from_slice(&0x0000_4202_8186_1253u64.to_be_bytes());
        assert_eq!(Greeting::parse(&old), Err(WireError::OldStyle));
        let request = Request { flags: 1, kind: command::WRITE, cookie: 7, offset: 0x1000, len: 512 };
        let octets = request.emit();
        assert_eq!(octets[..8], [0x25, 0x60, 0x95, 0x13, 0, 1, 0, 1]);
        assert_eq!(octets[8..], [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 2, 0]);
        assert_eq!(Request::parse(&octets), Ok(request));
        let option = OptionHeader { option: option::GO, len: 6 };
        assert_eq!(OptionHeader::parse(&option.emit()), Ok(option));
        let reply = OptionReply { option: option::GO, kind: reply::ERR_UNKNOWN, len: 0 };
        assert_eq!(reply.emit()[..8], [0, 3, 0xe8, 0x89, 4, 0x55, 0x65, 0xa9]);
        assert_eq!(OptionReply::parse(&reply.emit()), Ok(reply));
    }

    #[test]
    fn replies_are_told_apart_and_wait_for_their_end() {
        let simple = Reply::Simple { error: error::EIO, cookie: 9 };
        let chunk = Reply::Chunk { flags: chunk::FLAG_DONE, kind: chunk::OFFSET_DATA, cookie: 10, len: 520 };
        for reply in [simple, chunk] {
            let mut octets = [0; Reply::CHUNK_LEN];
            let len = reply.emit(&mut octets);
            assert_eq!(Reply::parse(&octets[..len]), Ok(Some((reply, len))));
            for n in 0..len {
                assert_eq!(Reply::parse(&octets[..n]), Ok(None), "{n} octets");
            }
            octets[0] ^= 1;
            assert_eq!(Reply::parse(&octets), Err(WireError::Magic));
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let go = Go { name: "disk".into(), wanted: vec![info::BLOCK_SIZE] };
        let data = go.emit();
        assert_eq!(Go::parse(&data), Ok(go));
        for n in 0..data.len() {
            assert_eq!(Go::parse(&data[..n]), Err(WireError::Length), "{n} octets");
        }
        assert_eq!(Go::parse(&[&data[..], &[0, 0]].concat()), Err(WireError::Length), "one too many");
        let long = Go { name: "x".repeat(LONGEST_NAME + 1), wanted: Vec::new() };
        assert_eq!(Go::parse(&long.emit()), Err(WireError::Length));
        let reply = OptionReply { option: option::GO, kind: reply::INFO, len: LONGEST_OPTION + 1 };
        assert_eq!(OptionReply::parse(&reply.emit()), Err(WireError::Length));
        let sizes = Sizes { least: 512, preferred: 4096, most: 1 << 20 };
        let data = Info::BlockSize(sizes).emit();
        assert_eq!(Info::parse(&data), Ok(Info::BlockSize(sizes)));
        assert_eq!(Info::parse(&data[..13]), Err(WireError::Length));
        let wrong = Info::BlockSize(Sizes { least: 0, ..sizes }).emit();
        assert_eq!(Info::parse(&wrong), Err(WireError::Length), "no size at all");
    }
}
