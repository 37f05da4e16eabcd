//! Operations of a device, and their outcomes.

use crate::Buffer;
use thiserror::Error;

/// Tag of an I/O operation, chosen by its submitter and returned with the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// Operation of a device. Blocks are logical blocks; the submitter has checked that they lie on the device.
#[derive(Debug)]
pub enum Operation {
    /// Read from this block on until the buffer is full.
    Read {
        /// The first block.
        lba: u64,
        /// Destination of the data; its length is a whole number of blocks.
        buffer: Buffer,
    },
    /// Write the buffer from this block on.
    Write {
        /// The first block.
        lba: u64,
        /// Data to write; its length is a whole number of blocks.
        buffer: Buffer,
        /// Force unit access: complete only when the data is on stable storage.
        fua: bool,
    },
    /// Put all writes that completed before on stable storage.
    Flush,
    /// Deallocate blocks: their content is no longer needed.
    Discard {
        /// The first block.
        lba: u64,
        /// Number of blocks.
        blocks: u64,
    },
    /// Write zeros; the device may deallocate the blocks if `discard` is set.
    WriteZeroes {
        /// The first block.
        lba: u64,
        /// Number of blocks.
        blocks: u64,
        /// The blocks may be deallocated.
        discard: bool,
        /// Force unit access: complete only when the zeros are on stable storage.
        fua: bool,
    },
}

/// Cause of an operation's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BackendError {
    /// The medium could not be read or written.
    #[error("the medium failed")]
    Medium,
    /// The backing storage has no more space.
    #[error("no space left behind the device")]
    NoSpace,
    /// The device is gone: no operation works any more.
    #[error("the device is gone")]
    Gone,
    /// The device cannot be reached at present; operations may work again later.
    #[error("the device cannot be reached at present")]
    NotReady,
    /// Another device answers where the device was, until somebody puts that right.
    #[error("another device answers in its place")]
    Replaced,
    /// The device does not support the operation.
    #[error("the device does not do that")]
    Unsupported,
    /// The device is read-only.
    #[error("the device is read-only")]
    ReadOnly,
}

/// Outcome of an operation.
#[derive(Debug)]
pub struct Completion {
    /// Tag of the operation.
    pub tag: Tag,
    /// Buffer of the operation, filled if it was a read that succeeded.
    pub buffer: Option<Buffer>,
    /// Success, or the cause of the failure.
    pub result: Result<(), BackendError>,
}
