//! A device that keeps nothing: it measures the cost of an I/O without a medium.

use crate::{Backend, Completion, Geometry, GeometryError, Memory, Operation, Tag};
use std::collections::VecDeque;

/// Data of every read.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A disk that reads as zeros and discards writes: neither copies data.
#[derive(Debug)]
pub struct Null {
    geometry: Geometry,
    size: u64,
    ended: VecDeque<Completion>,
}

impl Null {
    /// Disk that reports `size` bytes in blocks of `block_size`.
    ///
    /// # Errors
    ///
    /// [`GeometryError`] when the size is not a multiple of the block size, or the block size is not supported.
    pub fn new(size: u64, block_size: u32, serial: u64) -> Result<Self, GeometryError> {
        let geometry = Geometry {
            block_size,
            blocks: Geometry::blocks_of(size, block_size)?,
            physical_exponent: 0,
            read_only: false,
            volatile: false,
            discards: true,
            discard_zeroes: true,
            protection: false,
            product: "null",
            serial,
        };
        Ok(Self { geometry, size, ended: VecDeque::new() })
    }
}

impl Memory for Null {
    fn read(&self, offset: u64, len: usize) -> &[u8] {
        let left = usize::try_from(self.size.saturating_sub(offset)).map_or(len, |left| left.min(len));
        &ZEROS[..left.min(ZEROS.len())]
    }

    fn write(&mut self, _: u64, _: &[u8]) {}

    fn protection(&self, _: u64) -> Option<[u8; 8]> {
        None
    }

    fn set_protection(&mut self, _: u64, _: [u8; 8]) {}
}

impl Backend for Null {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn memory(&mut self) -> Option<&mut dyn Memory> {
        Some(self)
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let buffer = match operation {
            Operation::Read { mut buffer, .. } => {
                buffer.bytes_mut().fill(0);
                Some(buffer)
            }
            Operation::Write { buffer, .. } => Some(buffer),
            Operation::Flush | Operation::Discard { .. } | Operation::WriteZeroes { .. } => None,
        };
        self.ended.push_back(Completion { tag, buffer, result: Ok(()) });
    }

    fn complete(&mut self) -> Option<Completion> {
        self.ended.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;

    #[test]
    fn it_reads_zeros_and_ends_every_operation() {
        let mut null = Null::new(1 << 40, 512, 1).unwrap();
        null.write(0, &[1; 512]);
        assert_eq!(null.read(0, 1 << 20), [0; 1 << 16]);
        assert_eq!((null.read((1 << 40) - 8, 512).len(), null.read(1 << 40, 512).len()), (8, 0));
        let mut buffer = Buffer::new(512);
        buffer.bytes_mut().fill(1);
        null.submit(Tag(1), Operation::Write { lba: 0, buffer, fua: true });
        let buffer = null.complete().unwrap().buffer.unwrap();
        null.submit(Tag(2), Operation::Read { lba: 0, buffer });
        assert_eq!(null.complete().unwrap().buffer.unwrap().bytes(), [0; 512]);
        null.submit(Tag(3), Operation::Discard { lba: 0, blocks: 1 });
        let ended = null.complete().unwrap();
        assert_eq!((ended.tag, ended.result, ended.buffer.is_none()), (Tag(3), Ok(()), true));
        assert!(null.complete().is_none());
        assert_eq!(Null::new(511, 512, 1).unwrap_err(), GeometryError::Size { block_size: 512 });
    }
}
