//! Geometry of a device: its blocks, and what it can do.

use thiserror::Error;

/// Geometry of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a logical block: a power of two from 512 to 4096.
    pub block_size: u32,
    /// Number of logical blocks.
    pub blocks: u64,
    /// Log2 of the number of logical blocks in a physical block.
    pub physical_exponent: u8,
    /// The device is read-only.
    pub read_only: bool,
    /// The device has a volatile write cache: writes may be lost with the power until a flush.
    pub volatile: bool,
    /// Blocks can be deallocated ([`Operation::Discard`](crate::Operation::Discard)).
    pub discards: bool,
    /// Deallocated blocks read as zeros.
    pub discard_zeroes: bool,
    /// The device keeps 8 bytes of protection information for each block
    /// ([`Memory::protection`](crate::Memory::protection), or interleaved behind each block in buffers of block_size +
    /// 8).
    pub protection: bool,
    /// Product name in INQUIRY data: "ram", "file".
    pub product: &'static str,
    /// Serial number, unique and constant while the device exists: VPD pages 80h and 83h are built from it.
    pub serial: u64,
}

impl Geometry {
    /// Number of blocks of `block_size` bytes in `size` bytes.
    ///
    /// # Errors
    ///
    /// [`GeometryError`] when `size` is zero or not a multiple of the block size, or the block size is not a power of
    /// two from 512 to 4096.
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

/// Reason that a device cannot have a given geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// Unsupported block size.
    #[error("no device has blocks of {0} bytes: give 512, 1024, 2048 or 4096")]
    BlockSize(u32),
    /// Size that is zero or not a multiple of the block size.
    #[error("the size is no number of blocks: give a multiple of {block_size} bytes")]
    Size {
        /// Bytes of a block.
        block_size: u32,
    },
    /// More bytes than can be allocated.
    #[error("no memory is so large: give a smaller size")]
    Memory,
}

/// Reason that a device does not take over another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SizeError {
    /// Devices of its kind keep the size with which they were opened.
    #[error("a device of its kind keeps its size: remove it, and add it again")]
    Fixed,
    /// The size is no number of blocks.
    #[error("its size, {size} bytes, is no number of blocks: make it a multiple of {block_size}")]
    Blocks {
        /// Bytes of the device.
        size: u64,
        /// Bytes of a block.
        block_size: u32,
    },
    /// The size cannot be determined.
    #[error("its size cannot be read: {0}")]
    Unreadable(std::io::ErrorKind),
}
