//! Replacements under miri: memory is the heap's, and there are no files.
use super::*;
use std::alloc::{Layout, alloc_zeroed, dealloc};

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len, 4096).expect("a size that fits")
}

impl Mapping {
    /// Allocates zeroed memory.
    pub fn private(len: usize, _huge: bool) -> io::Result<Self> {
        overlong(len)?;
        // SAFETY: the size is not zero, which was just checked.
        let base = NonNull::new(unsafe { alloc_zeroed(layout(len)) }).expect("memory");
        Ok(Self { base, len, page: Page::Small })
    }

    /// Not supported under miri.
    pub fn shared(_: &OwnedFd, _: usize) -> io::Result<Self> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Does nothing.
    pub fn advise_huge(&self, _: usize, _: usize) {}
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: allocated above with the same layout.
        unsafe { dealloc(self.base.as_ptr(), layout(self.len)) };
    }
}

/// Not supported under miri.
pub fn memory_file(_: usize) -> io::Result<OwnedFd> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Not supported under miri.
pub fn sealed_size(_: &impl AsFd) -> io::Result<Option<u64>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Not supported under miri.
pub fn has_reserved_pages(_: &impl AsFd) -> io::Result<bool> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Does nothing: the replacement of an eventfd is never read.
pub fn clear(_: &OwnedFd) {}

/// Returns the write end of a pipe in place of an eventfd.
pub fn event() -> io::Result<OwnedFd> {
    Ok(io::pipe()?.1.into())
}
