//! Messages of the transmission phase.

use super::{CHUNK_MAGIC, REQUEST_MAGIC, SIMPLE_MAGIC, WireError, join, u16_at, u32_at, u64_at};

/// A request; the data of a WRITE follows.
///
/// ```text
///   0x25609513 (4)   flags (2)   type (2)   cookie (8)   offset (8)   length (4)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// See [`super::command`].
    pub flags: u16,
    /// See [`super::command`].
    pub kind: u16,
    /// Cookie that the reply repeats.
    pub cookie: u64,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
}

impl Request {
    /// Length in bytes.
    pub const LEN: usize = 28;

    /// Parses a request.
    ///
    /// # Errors
    /// The magic number is wrong.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, WireError> {
        if u32_at(bytes, 0) != REQUEST_MAGIC {
            return Err(WireError::Magic);
        }
        Ok(Self {
            flags: u16_at(bytes, 4),
            kind: u16_at(bytes, 6),
            cookie: u64_at(bytes, 8),
            offset: u64_at(bytes, 16),
            len: u32_at(bytes, 24),
        })
    }

    /// Serializes the request.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        let [flags, kind] = [self.flags.to_be_bytes(), self.kind.to_be_bytes()];
        let [cookie, offset] = [self.cookie.to_be_bytes(), self.offset.to_be_bytes()];
        join(&[&REQUEST_MAGIC.to_be_bytes(), &flags, &kind, &cookie, &offset, &self.len.to_be_bytes()])
    }
}

/// Head of a reply: a simple reply, followed by the data of a READ if there was no error, or a chunk of a structured
/// reply, followed by `len` bytes.
///
/// ```text
///   0x67446698 (4)   error (4)   cookie (8)
///   0x668e33ef (4)   flags (2)   type (2)   cookie (8)   length (4)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Simple reply.
    Simple {
        /// 0, or one of [`super::error`].
        error: u32,
        /// Cookie of the request.
        cookie: u64,
    },
    /// Chunk of a structured reply.
    Chunk {
        /// See [`super::chunk`].
        flags: u16,
        /// See [`super::chunk`].
        kind: u16,
        /// Cookie of the request.
        cookie: u64,
        /// Bytes of this chunk.
        len: u32,
    },
}

impl Reply {
    /// Bytes of a simple reply's head.
    pub const SIMPLE_LEN: usize = 16;
    /// Bytes of a chunk's head.
    pub const CHUNK_LEN: usize = 20;

    /// Parses a head from the start of the received bytes, and returns it with its length; None if more bytes must
    /// arrive first.
    ///
    /// # Errors
    /// The magic number is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, WireError> {
        let Some(magic) = bytes.first_chunk() else { return Ok(None) };
        match (u32::from_be_bytes(*magic), bytes.len()) {
            (SIMPLE_MAGIC, Self::SIMPLE_LEN..) => {
                Ok(Some((Self::Simple { error: u32_at(bytes, 4), cookie: u64_at(bytes, 8) }, Self::SIMPLE_LEN)))
            }
            (CHUNK_MAGIC, Self::CHUNK_LEN..) => {
                let (flags, kind) = (u16_at(bytes, 4), u16_at(bytes, 6));
                let (cookie, len) = (u64_at(bytes, 8), u32_at(bytes, 16));
                Ok(Some((Self::Chunk { flags, kind, cookie, len }, Self::CHUNK_LEN)))
            }
            (SIMPLE_MAGIC | CHUNK_MAGIC, _) => Ok(None),
            _ => Err(WireError::Magic),
        }
    }

    /// Serializes the head; returns its length in bytes.
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
