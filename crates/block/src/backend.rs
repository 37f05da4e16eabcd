//! The interface of block devices.

use crate::{Completion, Geometry, Operation, Tag};

/// A device whose blocks lie in memory: they are read and written where they are, without an operation. Bytes are given by
/// their place on the device.
pub trait Memory {
    /// At most `len` bytes from `offset` on, as many as lie together; at least one if the device has it.
    fn read(&self, offset: u64, len: usize) -> &[u8];

    /// Writes bytes from `offset` on; those beyond the device are not written.
    fn write(&mut self, offset: u64, octets: &[u8]);

    /// The 8 bytes of protection information of a block, if the device keeps them.
    fn protection(&self, lba: u64) -> Option<[u8; 8]>;

    /// Sets them.
    fn set_protection(&mut self, lba: u64, octets: [u8; 8]);
}

/// A block device. It never waits: operations are submitted and complete later, in any order.
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

impl<B: Backend + ?Sized> Backend for Box<B> {
    fn geometry(&self) -> &Geometry {
        (**self).geometry()
    }

    fn memory(&mut self) -> Option<&mut dyn Memory> {
        (**self).memory()
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
