//! What LUNs live on.

mod null;
mod ram;

pub use null::Null;
pub use ram::Ram;

use crate::Buffer;
use thiserror::Error;

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Octets of a logical block: a power of two from 512 to 4096.
    pub block_size: u32,
    /// Logical blocks there are.
    pub blocks: u64,
    /// Log2 of logical blocks in a physical one.
    pub physical_exponent: u8,
    /// Nothing can be written.
    pub read_only: bool,
    /// What was written may be lost with the power until it is flushed.
    pub volatile: bool,
    /// Blocks can be given back ([`Operation::Discard`]).
    pub discards: bool,
    /// Blocks that were given back read as zeros.
    pub discard_zeroes: bool,
    /// It keeps 8 octets of protection information for each block ([`Memory::protection`], or interleaved behind each block
    /// in buffers of block_size + 8).
    pub protection: bool,
    /// What the product is called in INQUIRY: "ram", "file".
    pub product: &'static str,
    /// What tells this device from others for as long as it exists: VPD pages 80 and 83 are made of it.
    pub serial: u64,
}

impl Geometry {
    /// The blocks of `block_size` octets in `size`.
    ///
    /// # Errors
    ///
    /// [`GeometryError`] when there is none or a part of one left over, or the block size is no power of two from 512 to
    /// 4096.
    pub fn blocks_of(size: u64, block_size: u32) -> Result<u64, GeometryError> {
        if !block_size.is_power_of_two() || !(512..=4096).contains(&block_size) {
            return Err(GeometryError::BlockSize(block_size));
        }
        let block = u64::from(block_size);
        if size == 0 || !size.is_multiple_of(block) {
            Err(GeometryError::Size { block_size })
        } else {
            Ok(size / block)
        }
    }
}

/// Why there cannot be such a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// No such block size.
    #[error("no device has blocks of {0} octets: give 512, 1024, 2048 or 4096")]
    BlockSize(u32),
    /// No number of blocks.
    #[error("the size is no number of blocks: give a multiple of {block_size} octets")]
    Size {
        /// Octets of a block.
        block_size: u32,
    },
    /// More than memory can be addressed.
    #[error("no memory is so large: give a smaller size")]
    Memory,
}

/// Which I/O something belongs to, as the one who submitted it calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// What a device can be asked to do. Blocks are logical ones; the one who asks has checked that they are on the device.
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

/// How an operation ended.
#[derive(Debug)]
pub struct Completion {
    /// Which.
    pub tag: Tag,
    /// The buffer that went with it, filled if it was a read that succeeded.
    pub buffer: Option<Buffer>,
    /// How.
    pub result: Result<(), BackendError>,
}

/// A device whose blocks lie in memory: they are read and written where they are, without an operation. Octets are given by
/// their place on the device.
pub trait Memory {
    /// At most `len` octets from `offset` on, as many as lie together; at least one if the device has it.
    fn read(&self, offset: u64, len: usize) -> &[u8];

    /// Writes octets from `offset` on; those beyond the device are not written.
    fn write(&mut self, offset: u64, octets: &[u8]);

    /// The 8 octets of protection information of a block, if the device keeps them.
    fn protection(&self, lba: u64) -> Option<[u8; 8]>;

    /// Sets them.
    fn set_protection(&mut self, lba: u64, octets: [u8; 8]);
}

/// A block device: one file of this crate or of `rt` each. It never waits: operations are submitted and complete later, in
/// any order.
pub trait Backend {
    /// What it is.
    fn geometry(&self) -> &Geometry;

    /// Its memory, if it is memory. Such a device ends every operation within [`submit`](Self::submit).
    fn memory(&mut self) -> Option<&mut dyn Memory> {
        None
    }

    /// Begins an operation.
    fn submit(&mut self, tag: Tag, operation: Operation);

    /// Hands on what was submitted, in one system call for all.
    fn flush(&mut self) {}

    /// Takes an operation that has ended.
    fn complete(&mut self) -> Option<Completion>;
}
