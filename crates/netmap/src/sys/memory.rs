//! The memory that the program maps: a sparse file without a name. The program's threads write into it at any time, so it is
//! read and written by atomic words, and frames are copied.

use super::user;
use crate::facts::{BUF, BUFS, MEMORY, PAGE, RINGS};
use linerate_ring::Frame;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

pub(crate) struct Memory {
    base: NonNull<u8>,
    /// None: the program brought it.
    file: Option<OwnedFd>,
    pub(crate) len: usize,
    /// Bytes before the first buffer.
    pub(crate) rings: usize,
    pub(crate) bufs: u32,
}

// SAFETY: the mapping is of the process, not of a thread, and all access to it is atomic, or a copy that bears others.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the name is a C string; the descriptor that comes back is new and ours.
        let file = unsafe {
            let fd = libc::memfd_create(c"netmap".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let size = libc::off_t::try_from(MEMORY).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: no pointers. Sealed, it cannot be cut off under the mapping.
        let done = unsafe {
            libc::ftruncate(file.as_raw_fd(), size) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) == 0
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), MEMORY, prot, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, file: Some(file), len: MEMORY, rings: RINGS, bufs: BUFS })
    }

    /// The program's memory at an address, mapped once more: what the program does with its own mapping is its affair. Memory that is
    /// not shared becomes so, with what is in it.
    ///
    /// # Errors
    /// EFAULT: it is not one mapping that can be read and written, or begins within a page.
    pub(crate) fn over(at: u64, len: usize, rings: usize, bufs: u32) -> io::Result<Self> {
        let fault = || io::Error::from_raw_os_error(libc::EFAULT);
        let (theirs, whole) = (usize::try_from(at).unwrap_or(0), len.checked_next_multiple_of(PAGE).ok_or_else(fault)?);
        let theirs = std::ptr::without_provenance_mut::<libc::c_void>(theirs);
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        let moves = libc::MREMAP_MAYMOVE;
        // SAFETY: new mappings at addresses that the kernel chooses. The fixed one takes the place of the program's memory, with the
        // same bytes in it; the library's own is not the program's to name, and what a program breaks in itself is its own affair.
        let base = unsafe {
            let shared = libc::mremap(theirs, 0, whole, moves);
            if shared != libc::MAP_FAILED {
                shared
            } else {
                let new = libc::mmap(std::ptr::null_mut(), whole, prot, flags, -1, 0);
                let there = new != libc::MAP_FAILED
                    && user::read(at, std::slice::from_raw_parts_mut(new.cast(), whole)).is_ok()
                    && libc::mremap(new, 0, whole, moves | libc::MREMAP_FIXED, theirs) != libc::MAP_FAILED;
                if !there {
                    libc::munmap(new, whole);
                }
                if there { new } else { libc::MAP_FAILED }
            }
        };
        if base == libc::MAP_FAILED {
            return Err(fault());
        }
        let base = NonNull::new(base.cast()).ok_or_else(fault)?;
        let (memory, mut last) = (Self { base, file: None, len: whole, rings, bufs }, [0]);
        // A mapping that is longer than what it maps has no last byte.
        let end = base.as_ptr().addr() as u64 + whole as u64 - 1;
        user::read(end, &mut last).and_then(|()| user::write(end, &last)).map_err(|_| fault())?;
        Ok(memory)
    }

    /// Descriptor of the file behind it, for the program's own mapping; -1 for memory that the program brought.
    pub(crate) fn file(&self) -> RawFd {
        self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    fn at(&self, at: usize, bytes: usize) -> NonNull<u8> {
        assert!(at.is_multiple_of(bytes) && at + bytes <= self.rings, "offset {at} of the rings");
        // SAFETY: inside the mapping, as was checked.
        unsafe { self.base.add(at) }
    }

    /// Four bytes among interfaces and rings, at an offset that is a multiple of four.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: aligned, mapped as long as this lives, and atomic for all who use it.
        unsafe { self.at(at, 4).cast().as_ref() }
    }

    /// Eight bytes among interfaces and rings, at an offset that is a multiple of eight.
    pub(crate) fn long(&self, at: usize) -> &AtomicU64 {
        // SAFETY: aligned, mapped as long as this lives, and atomic for all who use it. The program's own threads may write
        // halves of it: they are machine code of another compiler, and what is read is checked.
        unsafe { self.at(at, 8).cast().as_ref() }
    }

    /// The first `len` bytes of a buffer; None if there is no such buffer, or it is shorter.
    pub(crate) fn buffer(&self, index: u32, len: usize) -> Option<Frame<'_>> {
        if !(2..self.bufs).contains(&index) || len > BUF {
            return None;
        }
        // SAFETY: buffer `index` ends inside the mapping, which lives as long as this; a foreign frame is only copied.
        Some(unsafe { Frame::foreign(self.base.add(self.rings + index as usize * BUF), len) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn buffers_outside_the_memory_are_none_and_the_last_one_is_whole() {
        let memory = Memory::new().unwrap();
        for (index, len) in [(0, 1), (1, 1), (BUFS, 1), (u32::MAX, 1), (2, BUF + 1)] {
            assert!(memory.buffer(index, len).is_none(), "{index}, {len}");
        }
        let mut last = memory.buffer(BUFS - 1, BUF).unwrap();
        assert!(last.write(BUF - 3, b"end"));
        memory.word(RINGS - 4).store(7, Relaxed);
        assert_eq!(memory.long(RINGS - 8).load(Relaxed) >> 32, 7);
    }
}
