//! The interface of block devices.

use crate::{Completion, Geometry, Operation, SizeError, Tag};

/// A device whose blocks lie in memory: they are read and written in place, without an operation. Positions are byte
/// offsets on the device.
pub trait Memory {
    /// Bytes from `offset` on: at most `len`, as many as are contiguous; at least one if the device has it.
    fn read(&self, offset: u64, len: usize) -> &[u8];

    /// Writes bytes from `offset` on; bytes beyond the end of the device are dropped.
    fn write(&mut self, offset: u64, bytes: &[u8]);

    /// The 8 bytes of protection information of a block, if the device keeps any.
    fn protection(&self, lba: u64) -> Option<[u8; 8]>;

    /// Sets the protection information of a block.
    fn set_protection(&mut self, lba: u64, bytes: [u8; 8]);
}

/// Blocks that follow each other and are all in the same state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Number of blocks; at least one. Those behind them may be in the same state.
    pub blocks: u64,
    /// They are known to be deallocated: they read as zeros, with protection information of all ones if the device keeps
    /// any. Otherwise they are mapped, or nobody knows.
    pub deallocated: bool,
}

/// A block device. It never waits: operations are submitted and complete later, in any order.
pub trait Backend {
    /// Geometry and capabilities of the device.
    fn geometry(&self) -> &Geometry;

    /// Direct access to the blocks, if they lie in memory. Such a device completes every operation within
    /// [`submit`](Self::submit).
    fn memory(&mut self) -> Option<&mut dyn Memory> {
        None
    }

    /// Most bytes that one discard should cover. A device in memory that zeroes them does so in the thread that submits it.
    fn discard_span(&self) -> u32 {
        1 << 30
    }

    /// State of the blocks from `lba` on, which is on the device.
    fn extent(&mut self, lba: u64) -> Extent {
        Extent { blocks: self.geometry().blocks.saturating_sub(lba).max(1), deallocated: false }
    }

    /// Takes over the size that the device has now, after others have changed it.
    ///
    /// # Errors
    ///
    /// [`SizeError`]; nothing is changed then.
    fn refresh(&mut self) -> Result<(), SizeError> {
        Err(SizeError::Fixed)
    }

    /// Submits an operation.
    fn submit(&mut self, tag: Tag, operation: Operation);

    /// Passes the submitted operations on, in one system call for all.
    fn flush(&mut self) {}

    /// Takes the completion of an operation that has ended.
    fn complete(&mut self) -> Option<Completion>;
}

impl<B: Backend + ?Sized> Backend for Box<B> {
    fn geometry(&self) -> &Geometry {
        (**self).geometry()
    }

    fn memory(&mut self) -> Option<&mut dyn Memory> {
        (**self).memory()
    }

    fn discard_span(&self) -> u32 {
        (**self).discard_span()
    }

    fn extent(&mut self, lba: u64) -> Extent {
        (**self).extent(lba)
    }

    fn refresh(&mut self) -> Result<(), SizeError> {
        (**self).refresh()
    }

    #[inline]
    fn submit(&mut self, tag: Tag, operation: Operation) {
        (**self).submit(tag, operation);
    }

    fn flush(&mut self) {
        (**self).flush();
    }

    #[inline]
    fn complete(&mut self) -> Option<Completion> {
        (**self).complete()
    }
}
