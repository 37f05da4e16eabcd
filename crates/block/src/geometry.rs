//! Geometry of a device: its blocks, and what it can do.

use thiserror::Error;

/// Geometry of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a logical block: a power of two from 512 to 4096.
    pub block_size: u32,
    /// Logical blocks there are.
    pub blocks: u64,
    /// Log2 of logical blocks in a physical one.
    pub physical_exponent: u8,
    /// Nothing can be written.
    pub read_only: bool,
    /// What was written may be lost with the power until it is flushed.
    pub volatile: bool,
    /// Blocks can be given back ([`Operation::Discard`](crate::Operation::Discard)).
    pub discards: bool,
    /// Blocks that were given back read as zeros.
    pub discard_zeroes: bool,
    /// It keeps 8 bytes of protection information for each block ([`Memory::protection`](crate::Memory::protection), or
    /// interleaved behind each block in buffers of block_size + 8).
    pub protection: bool,
    /// What the product is called in INQUIRY: "ram", "file".
    pub product: &'static str,
    /// What tells this device from others for as long as it exists: VPD pages 80 and 83 are made of it.
    pub serial: u64,
}

impl Geometry {
    /// The blocks of `block_size` bytes in `size`.
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
        /// Bytes of a block.
        block_size: u32,
    },
    /// More than memory can be addressed.
    #[error("no memory is so large: give a smaller size")]
    Memory,
}
