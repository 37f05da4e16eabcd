//! Operations of a device, and their outcomes.

use crate::Buffer;
use thiserror::Error;

/// Which I/O something belongs to, as the one who submitted it calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// Operation of a device. Blocks are logical ones; the one who asks has checked that they are on the device.
#[derive(Debug)]
pub enum Operation {
    /// Read from this block on until the buffer is full.
    Read {
        /// The first block.
        lba: u64,
        /// A number of blocks in length.
        buffer: Buffer,
    },
    /// Write the buffer from this block on.
    Write {
        /// The first block.
        lba: u64,
        /// A number of blocks in length.
        buffer: Buffer,
        /// Completed only when it is on stable storage.
        fua: bool,
    },
    /// Complete when all that was completed before is on stable storage.
    Flush,
    /// Blocks are not needed any more.
    Discard {
        /// The first block.
        lba: u64,
        /// How many.
        blocks: u64,
    },
    /// Blocks become zeros; they may be given back when `discard` is set.
    WriteZeroes {
        /// The first block.
        lba: u64,
        /// How many.
        blocks: u64,
        /// May be given back.
        discard: bool,
        /// Completed only when it is on stable storage.
        fua: bool,
    },
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BackendError {
    /// The medium could not be read or written.
    #[error("the medium failed")]
    Medium,
    /// There is no more space behind it.
    #[error("no space left behind the device")]
    NoSpace,
    /// The device is gone: nothing works any more.
    #[error("the device is gone")]
    Gone,
    /// It does not do that.
    #[error("the device does not do that")]
    Unsupported,
    /// It is not to be written.
    #[error("the device is read-only")]
    ReadOnly,
}

/// Outcome of an operation.
#[derive(Debug)]
pub struct Completion {
    /// Which.
    pub tag: Tag,
    /// The buffer that went with it, filled if it was a read that succeeded.
    pub buffer: Option<Buffer>,
    /// How.
    pub result: Result<(), BackendError>,
}
