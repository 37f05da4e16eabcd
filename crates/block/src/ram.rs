//! A device whose blocks lie in memory.

use crate::{Backend, BackendError, Completion, Extent, Geometry, GeometryError, Memory, Operation, Tag};
use std::collections::VecDeque;

/// RAM disk: a block reads as zeros until it is written, and again after it was discarded.
#[derive(Debug)]
pub struct Ram {
    geometry: Geometry,
    bytes: Vec<u8>,
    /// Protection information, each byte inverted: a block that was never written has all ones (SBC-3, clause 4.22.2),
    /// and memory that was never touched is zeros.
    protection: Vec<u8>,
    ended: VecDeque<Completion>,
}

/// Zeroed vector whose pages take memory when they are first written. An allocation of zeros that fails ends the
/// process, so a fallible reservation is tried first.
fn zeros(len: usize) -> Result<Vec<u8>, GeometryError> {
    let mut asked: Vec<u8> = Vec::new();
    asked.try_reserve_exact(len).map_err(|_| GeometryError::Memory)?;
    // Keeps the optimizer from removing an allocation that nothing uses.
    std::hint::black_box(&mut asked);
    drop(asked);
    Ok(vec![0; len])
}

impl Ram {
    /// Disk of `size` bytes in blocks of `block_size`, with or without protection information. Memory pages are
    /// allocated when they are first written.
    ///
    /// # Errors
    ///
    /// [`GeometryError`] when the size is not a multiple of the block size, the block size is not supported, or the
    /// memory cannot be allocated.
    pub fn new(size: u64, block_size: u32, protection: bool, serial: u64) -> Result<Self, GeometryError> {
        let geometry = Geometry {
            block_size,
            blocks: Geometry::blocks_of(size, block_size)?,
            physical_exponent: 0,
            read_only: false,
            volatile: false,
            discards: true,
            discard_zeroes: true,
            protection,
            product: "ram",
            serial,
        };
        let len = usize::try_from(size).ok().filter(|size| isize::try_from(*size).is_ok());
        let bytes = zeros(len.ok_or(GeometryError::Memory)?)?;
        // A block has 512 bytes at least, so 8 bytes for each cannot overflow.
        let protection = zeros(if protection { bytes.len() / block_size as usize * 8 } else { 0 })?;
        Ok(Self { geometry, bytes, protection, ended: VecDeque::new() })
    }

    /// The same disk, read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.geometry.read_only = true;
        self
    }

    /// Bytes `[start, end)` of a range of blocks, cut to the device.
    fn span(&self, lba: u64, blocks: u64) -> std::ops::Range<usize> {
        let at = |lba: u64| {
            let byte = lba.saturating_mul(u64::from(self.geometry.block_size));
            usize::try_from(byte).map_or(self.bytes.len(), |byte| byte.min(self.bytes.len()))
        };
        at(lba)..at(lba.saturating_add(blocks))
    }

    fn zero(&mut self, lba: u64, blocks: u64) {
        let span = self.span(lba, blocks);
        self.bytes[span.clone()].fill(0);
        if !self.protection.is_empty() {
            let block = self.geometry.block_size as usize;
            self.protection[span.start / block * 8..span.end / block * 8].fill(0);
        }
    }

    /// True if a block is as if it had never been written: one that was discarded cannot be told from it.
    fn is_blank(&self, lba: u64) -> bool {
        let span = self.span(lba, 1);
        let block = self.geometry.block_size as usize;
        let tuples = if self.protection.is_empty() { 0..0 } else { span.start / block * 8..span.end / block * 8 };
        // All bytes of a block are looked at: a loop without an exit is vectorized.
        let or = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all | byte);
        or(&self.bytes[span]) | or(&self.protection[tuples]) == 0
    }

    /// Bytes of a block in a buffer: with its protection information behind it if the device keeps any.
    fn stride(&self) -> usize {
        self.geometry.block_size as usize + if self.protection.is_empty() { 0 } else { 8 }
    }
}

impl Memory for Ram {
    fn read(&self, offset: u64, len: usize) -> &[u8] {
        let rest = usize::try_from(offset).ok().and_then(|start| self.bytes.get(start..)).unwrap_or(&[]);
        &rest[..len.min(rest.len())]
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let rest = usize::try_from(offset).ok().and_then(|start| self.bytes.get_mut(start..)).unwrap_or(&mut []);
        let len = bytes.len().min(rest.len());
        rest[..len].copy_from_slice(&bytes[..len]);
    }

    fn protection(&self, lba: u64) -> Option<[u8; 8]> {
        let at = usize::try_from(lba).ok()?.checked_mul(8)?;
        let bytes: [u8; 8] = self.protection.get(at..)?.get(..8)?.try_into().ok()?;
        Some(bytes.map(|byte| !byte))
    }

    fn set_protection(&mut self, lba: u64, bytes: [u8; 8]) {
        let at = usize::try_from(lba).ok().and_then(|lba| lba.checked_mul(8));
        if let Some(kept) = at.and_then(|at| self.protection.get_mut(at..)?.get_mut(..8)) {
            kept.copy_from_slice(&bytes.map(|byte| !byte));
        }
    }
}

impl Backend for Ram {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn memory(&mut self) -> Option<&mut dyn Memory> {
        Some(self)
    }

    fn discard_span(&self) -> u32 {
        64 << 20
    }

    /// A block of zeros is deallocated, whoever wrote them (SBC-3, clause 4.7: a mapped block of zeros may become one by
    /// itself where deallocated blocks read as zeros). As many blocks are looked at as a discard would zero.
    fn extent(&mut self, lba: u64) -> Extent {
        let deallocated = self.is_blank(lba);
        let most = u64::from(self.discard_span() / self.geometry.block_size);
        let end = self.geometry.blocks.min(lba.saturating_add(most));
        let other = (lba.saturating_add(1)..end).find(|lba| self.is_blank(*lba) != deallocated);
        Extent { blocks: other.unwrap_or(end).saturating_sub(lba).max(1), deallocated }
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let writes = !matches!(operation, Operation::Read { .. } | Operation::Flush);
        let (stride, block) = (self.stride(), self.geometry.block_size as usize);
        let completion = match operation {
            Operation::Write { buffer, .. } if self.geometry.read_only => {
                Completion { tag, buffer: Some(buffer), result: Err(BackendError::ReadOnly) }
            }
            _ if writes && self.geometry.read_only => {
                Completion { tag, buffer: None, result: Err(BackendError::ReadOnly) }
            }
            Operation::Read { lba, mut buffer } => {
                for (lba, to) in (lba..).zip(buffer.bytes_mut().chunks_exact_mut(stride)) {
                    let from = self.span(lba, 1);
                    to[..from.len()].copy_from_slice(&self.bytes[from]);
                    if let (Some(tuple), Some(kept)) = (to.get_mut(block..), self.protection(lba)) {
                        tuple.copy_from_slice(&kept);
                    }
                }
                Completion { tag, buffer: Some(buffer), result: Ok(()) }
            }
            Operation::Write { lba, buffer, .. } => {
                for (lba, from) in (lba..).zip(buffer.bytes().chunks_exact(stride)) {
                    let to = self.span(lba, 1);
                    let len = to.len();
                    self.bytes[to].copy_from_slice(&from[..len]);
                    if let Some(tuple) = from.get(block..).and_then(|tuple| tuple.try_into().ok()) {
                        self.set_protection(lba, tuple);
                    }
                }
                Completion { tag, buffer: Some(buffer), result: Ok(()) }
            }
            Operation::Flush => Completion { tag, buffer: None, result: Ok(()) },
            Operation::Discard { lba, blocks } | Operation::WriteZeroes { lba, blocks, .. } => {
                self.zero(lba, blocks);
                Completion { tag, buffer: None, result: Ok(()) }
            }
        };
        self.ended.push_back(completion);
    }

    fn complete(&mut self) -> Option<Completion> {
        self.ended.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;

    fn done(ram: &mut Ram, operation: Operation) -> Completion {
        ram.submit(Tag(7), operation);
        let completion = ram.complete().unwrap();
        assert!(completion.tag == Tag(7) && ram.complete().is_none());
        completion
    }

    #[test]
    fn what_is_written_is_read_by_either_way() {
        let mut ram = Ram::new(8192, 512, false, 1).unwrap();
        let mut buffer = Buffer::new(1024);
        buffer.bytes_mut().fill(3);
        done(&mut ram, Operation::Write { lba: 2, buffer, fua: true });
        assert_eq!(Memory::read(&ram, 1023, 3), [0, 3, 3]);
        ram.write(2047, &[9, 9]);
        let read = done(&mut ram, Operation::Read { lba: 3, buffer: Buffer::new(1024) });
        let data = read.buffer.unwrap();
        assert_eq!((data.bytes()[510], data.bytes()[511], data.bytes()[512], data.bytes()[513]), (3, 9, 9, 0));
        done(&mut ram, Operation::Discard { lba: 3, blocks: u64::MAX });
        assert_eq!((Memory::read(&ram, 1535, 2), ram.read(8191, 100).len()), (&[3, 0][..], 1));
        done(&mut ram, Operation::WriteZeroes { lba: 0, blocks: 16, discard: false, fua: false });
        assert!(ram.read(0, 8192).iter().all(|byte| *byte == 0));
        ram.write(u64::MAX, &[1]);
        assert!(ram.read(u64::MAX, 1).is_empty() && ram.read(8192, 1).is_empty());
        let mut sealed = ram.read_only();
        let refused = done(&mut sealed, Operation::Write { lba: 0, buffer: Buffer::new(512), fua: false });
        assert_eq!((refused.result, refused.buffer.is_some()), (Err(BackendError::ReadOnly), true));
        let refused = done(&mut sealed, Operation::Discard { lba: 0, blocks: 1 });
        assert_eq!(refused.result, Err(BackendError::ReadOnly));
    }

    #[test]
    fn protection_information_is_all_ones_until_it_is_written() {
        let mut ram = Ram::new(4096, 512, true, 1).unwrap();
        assert_eq!(ram.protection(7), Some([0xff; 8]), "SBC-3, clause 4.22.2");
        assert_eq!(ram.protection(8), None);
        ram.set_protection(7, [1, 2, 3, 4, 5, 6, 7, 8]);
        let read = done(&mut ram, Operation::Read { lba: 6, buffer: Buffer::new(1040) }).buffer.unwrap();
        assert_eq!((&read.bytes()[512..520], &read.bytes()[1032..]), (&[0xff; 8][..], &[1, 2, 3, 4, 5, 6, 7, 8][..]));
        done(&mut ram, Operation::Write { lba: 0, buffer: read, fua: false });
        assert_eq!(ram.protection(1), Some([1, 2, 3, 4, 5, 6, 7, 8]));
        done(&mut ram, Operation::Discard { lba: 1, blocks: 1 });
        assert_eq!((ram.protection(1), ram.protection(7)), (Some([0xff; 8]), Some([1, 2, 3, 4, 5, 6, 7, 8])));
    }

    #[test]
    fn blocks_of_zeros_are_deallocated() {
        for protected in [false, true] {
            let mut ram = Ram::new(65 << 20, 512, protected, 1).unwrap();
            let most = (64 << 20) / 512;
            assert_eq!(ram.extent(0), Extent { blocks: most, deallocated: true }, "no more than a discard would zero");
            ram.write(10 * 512 + 511, &[1, 1]);
            assert_eq!(ram.extent(3), Extent { blocks: 7, deallocated: true });
            assert_eq!(ram.extent(10), Extent { blocks: 2, deallocated: false });
            assert_eq!(ram.extent(most + 2047), Extent { blocks: 1, deallocated: true });
            done(&mut ram, Operation::Discard { lba: 11, blocks: 1 });
            assert_eq!(ram.extent(10), Extent { blocks: 1, deallocated: false });
            done(&mut ram, Operation::WriteZeroes { lba: 10, blocks: 1, discard: true, fua: false });
            assert_eq!(ram.extent(3), Extent { blocks: most, deallocated: true });
        }
        let mut ram = Ram::new(4096, 512, true, 1).unwrap();
        ram.set_protection(2, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]);
        assert_eq!(ram.extent(0), Extent { blocks: 2, deallocated: true });
        assert_eq!(
            ram.extent(2),
            Extent { blocks: 1, deallocated: false },
            "its protection information says something"
        );
    }

    #[test]
    fn sizes_that_are_none_are_refused() {
        let refused = |size, block| Ram::new(size, block, false, 0).unwrap_err();
        assert_eq!(refused(1000, 512), GeometryError::Size { block_size: 512 });
        assert_eq!(refused(0, 512), GeometryError::Size { block_size: 512 });
        assert_eq!(refused(4096, 520), GeometryError::BlockSize(520));
        assert_eq!(refused(4096, 256), GeometryError::BlockSize(256));
        assert_eq!(refused(u64::MAX - 511, 512), GeometryError::Memory);
    }
}
