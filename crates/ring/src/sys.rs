//! System calls for memory and doorbells: memfd, mmap, eventfd, messages with descriptors, and the closing of these.
//! The rest of this crate makes no system calls.

pub(crate) mod closing;
pub mod doorbell;
pub mod message;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;

/// A mapping of memory; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
    page: Page,
}

/// Size of the pages that back a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// 2 MiB pages reserved by the administrator (hugetlbfs).
    Huge,
    /// Pages of the system's size, which the kernel may merge into 2 MiB pages (transparent huge pages).
    Small,
}

// SAFETY: a mapping is plain memory; concurrent access to it is the responsibility of those who hand out pointers.
unsafe impl Send for Mapping {}
// SAFETY: as above; `Mapping` itself offers no access to the bytes.
unsafe impl Sync for Mapping {}

/// Bytes of a 2 MiB page.
pub const HUGE: usize = 2 << 20;

impl Mapping {
    /// Address of the first byte.
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: an empty mapping cannot be made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size of the pages that back the mapping.
    #[must_use]
    pub fn page(&self) -> Page {
        self.page
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Adds one huge page to a length. Refuses lengths (0 and overflowing ones) for which the mapping could not be trimmed.
fn overlong(len: usize) -> io::Result<usize> {
    let overlong = len.checked_add(HUGE).filter(|overlong| len > 0 && isize::try_from(*overlong).is_ok());
    overlong.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(not(miri))]
mod real {
    use super::*;
    use std::fs::File;
    use std::os::fd::FromRawFd;

    /// FreeBSD never reserves swap for a mapping and no longer has this flag.
    #[cfg(target_os = "linux")]
    const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
    #[cfg(not(target_os = "linux"))]
    const NO_RESERVE: libc::c_int = 0;

    fn map(len: usize, flags: libc::c_int, fd: libc::c_int, page: Page) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
        if p == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(p.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Mapping { base, len, page })
    }

    impl Mapping {
        /// Maps zeroed memory private to this process: reserved huge pages if `huge` and available, else small ones.
        ///
        /// # Errors
        /// Errors of the kernel; also for a length of 0, and for more than the address space.
        pub fn private(len: usize, huge: bool) -> io::Result<Self> {
            let overlong = overlong(len)?;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            #[cfg(target_os = "linux")]
            if huge && let Ok(m) = map(len, flags | libc::MAP_HUGETLB, -1, Page::Huge) {
                return Ok(m);
            }
            let _ = huge;
            // Longer by one huge page, then trimmed to its boundary, so that the kernel can merge small pages into huge
            // ones.
            let m = map(overlong, flags | NO_RESERVE, -1, Page::Small)?;
            let lead = m.base.as_ptr().align_offset(HUGE);
            let base = m.base.as_ptr().wrapping_add(lead);
            std::mem::forget(m);
            // SAFETY: both ends of the fresh mapping beyond [base, base + len) belong to nobody else.
            unsafe {
                if lead > 0 {
                    libc::munmap(base.wrapping_sub(lead).cast(), lead);
                }
                if HUGE > lead {
                    libc::munmap(base.wrapping_add(len).cast(), HUGE - lead);
                }
            }
            let base = NonNull::new(base).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
            Ok(Self { base, len, page: Page::Small })
        }

        /// Maps a whole file, shared.
        pub fn shared(fd: &OwnedFd, len: usize) -> io::Result<Self> {
            map(len, libc::MAP_SHARED, fd.as_raw_fd(), Page::Small)
        }

        /// Asks for 2 MiB pages under `[from, to)`; the kernel may decline.
        pub fn advise_huge(&self, from: usize, to: usize) {
            let (from, to) = (from / HUGE * HUGE, to.next_multiple_of(HUGE).min(self.len / HUGE * HUGE));
            if self.page == Page::Huge || from >= to {
                return;
            }
            #[cfg(target_os = "linux")]
            // SAFETY: the range lies inside the mapping; both advices keep its contents.
            unsafe {
                let at = self.base.as_ptr().add(from).cast();
                libc::madvise(at, to - from, libc::MADV_HUGEPAGE);
                libc::madvise(at, to - from, libc::MADV_COLLAPSE);
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: this mapping is ours, and whoever held pointers into it also held this value alive.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }

    /// Creates a memory file: sized once and sealed against change of size, so that nobody can truncate it under a
    /// reader.
    pub fn memory_file(len: usize) -> io::Result<OwnedFd> {
        // SAFETY: the name is a C string; the descriptor that comes back is new and ours.
        let file = unsafe {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            File::from_raw_fd(check(libc::memfd_create(c"linerate".as_ptr(), flags))?)
        };
        file.set_len(len as u64)?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: fcntl with integer arguments on a descriptor of ours.
        check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
        Ok(file.into())
    }

    /// Size of a file that somebody else sent, if it is sealed against change of size.
    pub fn sealed_size(fd: &impl AsFd) -> io::Result<Option<u64>> {
        // SAFETY: fcntl with integer arguments on a descriptor of ours.
        let seals = unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GET_SEALS) };
        let wanted = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        if seals < 0 || seals & wanted != wanted {
            return Ok(None);
        }
        Ok(Some(File::from(fd.as_fd().try_clone_to_owned()?).metadata()?.len()))
    }

    /// True if a file's pages come from the pool of reserved 2 MiB pages: holes can be punched into it despite its
    /// seals.
    #[cfg(target_os = "linux")]
    pub fn has_reserved_pages(fd: &impl AsFd) -> io::Result<bool> {
        // SAFETY: all zeroes is a valid `statfs`, which fstatfs writes.
        let kind = unsafe {
            let mut stat: libc::statfs = std::mem::zeroed();
            check(libc::fstatfs(fd.as_fd().as_raw_fd(), &raw mut stat))?;
            stat.f_type
        };
        Ok(kind == libc::HUGETLBFS_MAGIC)
    }

    /// Always false: there is no such pool.
    #[cfg(not(target_os = "linux"))]
    pub fn has_reserved_pages(_: &impl AsFd) -> io::Result<bool> {
        Ok(false)
    }

    /// Resets an eventfd of this process to 0.
    pub fn clear(fd: &OwnedFd) {
        let mut count = [0u8; 8];
        // SAFETY: eight writable bytes; EAGAIN means that it was 0 already.
        unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }

    /// A new eventfd, non-blocking.
    pub fn event() -> io::Result<OwnedFd> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        Ok(unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?) })
    }
}

#[cfg(miri)]
#[path = "sys/stand_in.rs"]
mod real;

pub use real::{clear, event, has_reserved_pages, memory_file, sealed_size};

/// Adds one to an eventfd, so that whoever polls it wakes.
pub fn signal(fd: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    // A full counter (EAGAIN) means that a wake-up is pending already; a valid descriptor gives no other error.
    // SAFETY: eight readable bytes.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: an overlong mapping's length wrapped around, and the memory after it was unmapped.
    #[test]
    fn no_mapping_is_empty_or_longer_than_there_are_addresses() {
        for len in [0, usize::MAX, usize::MAX - HUGE, usize::MAX - HUGE + 1, isize::MAX.cast_unsigned()] {
            assert!(Mapping::private(len, false).is_err(), "{len}");
        }
        let mapping = Mapping::private(4096, false).unwrap();
        assert_eq!((mapping.len(), mapping.is_empty()), (4096, false));
    }
}
