//! The formats of the NBD protocol, both directions, without I/O. All numbers are big-endian.
//!
//! Source: the NBD project's `doc/proto.md`, chapters "Fixed newstyle negotiation", "Option types", "Option reply
//! types", "Transmission phase". Messages of a peer are checked here as far as one message alone permits.

pub(crate) mod facts;
mod negotiation;
mod transmission;

pub use negotiation::{Go, Greeting, Info, OptionHeader, OptionReply};
pub use transmission::{Reply, Request};

/// "NBDMAGIC": the server's first bytes.
pub const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT": second word of a newstyle greeting, and the start of each option.
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
    /// Fixed newstyle: all options are answered.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// No 124 zeros after the answer to EXPORT_NAME.
    pub const NO_ZEROES: u16 = 2;
}

/// Option types.
pub mod option {
    /// Choose an export, and begin. The server answers without a reply type, and hangs up on an error.
    pub const EXPORT_NAME: u32 = 1;
    /// End the negotiation.
    pub const ABORT: u32 = 2;
    /// List all exports.
    pub const LIST: u32 = 3;
    /// Describe an export.
    pub const INFO: u32 = 6;
    /// Describe an export, and begin.
    pub const GO: u32 = 7;
    /// Use structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
}

/// Option reply types.
pub mod reply {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export's name.
    pub const SERVER: u32 = 2;
    /// Information about an export: see [`super::info`].
    pub const INFO: u32 = 3;
    /// Errors have this bit.
    pub const ERROR: u32 = 1 << 31;
    /// The option is not supported.
    pub const ERR_UNSUP: u32 = ERROR | 1;
    /// The option's data is wrong.
    pub const ERR_INVALID: u32 = ERROR | 3;
    /// There is no such export.
    pub const ERR_UNKNOWN: u32 = ERROR | 6;
}

/// Information types of [`reply::INFO`].
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// Name of the export.
    pub const NAME: u16 = 1;
    /// Description of the export.
    pub const DESCRIPTION: u16 = 2;
    /// Least, preferred and greatest size of a request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags of an export.
pub mod export {
    /// The other flags are valid.
    pub const HAS_FLAGS: u16 = 1;
    /// The export is read-only.
    pub const READ_ONLY: u16 = 1 << 1;
    /// FLUSH is supported.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// FUA is supported.
    pub const SEND_FUA: u16 = 1 << 3;
    /// TRIM is supported.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// WRITE_ZEROES is supported.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// A flush on one connection covers all connections.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

/// Request types.
pub mod command {
    /// Read.
    pub const READ: u16 = 0;
    /// Write; the data follows.
    pub const WRITE: u16 = 1;
    /// Disconnect. There is no reply.
    pub const DISC: u16 = 2;
    /// Put all completed writes on stable storage.
    pub const FLUSH: u16 = 3;
    /// Deallocate: the content is no longer needed.
    pub const TRIM: u16 = 4;
    /// Write zeros.
    pub const WRITE_ZEROES: u16 = 6;
    /// Command flag: complete when the data is on stable storage.
    pub const FLAG_FUA: u16 = 1;
    /// Command flag of WRITE_ZEROES: do not deallocate the space.
    pub const FLAG_NO_HOLE: u16 = 2;
}

/// Types of structured reply chunks.
pub mod chunk {
    /// Chunk flag: the last chunk of its reply.
    pub const FLAG_DONE: u16 = 1;
    /// Chunk without content.
    pub const NONE: u16 = 0;
    /// An offset, then data.
    pub const OFFSET_DATA: u16 = 1;
    /// An offset, and the length of a range of zeros.
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
    /// Not supported.
    pub const ENOTSUP: u32 = 95;
    /// The server is going away.
    pub const ESHUTDOWN: u32 = 108;
}

/// Fault of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not this protocol, or out of step.
    #[error("not NBD, or out of step")]
    Magic,
    /// The oldstyle negotiation of before 2011.
    #[error("the oldstyle negotiation of old NBD servers")]
    OldStyle,
    /// Impossible length.
    #[error("a length that cannot be")]
    Length,
}

/// Longest name of an export (`doc/proto.md`, "Values": strings).
pub const LONGEST_NAME: usize = 4096;
/// Longest data of an option or of its reply that is processed.
pub const LONGEST_OPTION: u32 = 65536;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes.get(at..at + 2).and_then(|o| o.try_into().ok()).unwrap_or_default())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes.get(at..at + 4).and_then(|o| o.try_into().ok()).unwrap_or_default())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes.get(at..at + 8).and_then(|o| o.try_into().ok()).unwrap_or_default())
}

/// Concatenates parts to an array of fixed length.
fn join<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    for part in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    bytes
}

#[cfg(test)]
mod tests;
