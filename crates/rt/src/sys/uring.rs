//! io_uring on one file, with requests that own the memory that the kernel reads and writes.
//!
//! Memory safety rests on one rule: a request's buffer is in the ring's table from before the request's submission
//! until its completion. Nobody can access it there, and dropping a ring waits for the requests under way.

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, opcode};
use linerate_block::Buffer;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A request to the kernel. Offsets are in bytes from the start of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// Read into the buffer's bytes from `from` on.
    Read { from: usize, offset: u64 },
    /// Write the buffer's bytes from `from` on; with `dsync` as if fdatasync followed (RWF_DSYNC).
    Write { from: usize, offset: u64, dsync: bool },
    /// fallocate(2).
    Allocate { mode: libc::c_int, offset: u64, len: u64 },
    /// fdatasync(2).
    Sync,
}

/// A completed request: the caller's `T`, its buffer, and the kernel's result.
pub(crate) struct Ended<T> {
    pub(crate) what: T,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) result: io::Result<usize>,
}

/// A ring, the file of its requests, and the requests under way, each with a `T` of the caller's.
pub(crate) struct Ring<T> {
    ring: IoUring,
    file: File,
    /// Requests under way, at most as many as the submission queue has entries. Never grows, so that nothing in it
    /// moves.
    flying: Vec<Option<(T, Option<Buffer>)>>,
    free: Vec<u32>,
    /// Number of requests not yet submitted to the kernel.
    unsubmitted: usize,
}

/// Most bytes that one request transfers; the caller sees a short read or write for the rest.
const MOST: usize = 1 << 30;

impl<T> Ring<T> {
    /// Makes a ring for up to `depth` requests at once.
    ///
    /// # Errors
    /// Errors of the kernel: io_uring is missing or forbidden, or there is no memory for it.
    pub(crate) fn new(file: File, depth: u32) -> io::Result<Self> {
        let ring = IoUring::builder().dontfork().setup_clamp().build(depth)?;
        let depth = ring.params().sq_entries().min(depth);
        let flying = (0..depth).map(|_| None).collect();
        Ok(Self { ring, file, flying, free: (0..depth).rev().collect(), unsubmitted: 0 })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Length of the file now; of a block device, its size.
    pub(crate) fn size(&self) -> io::Result<u64> {
        // The requests name their offsets: nobody else uses the file's position.
        (&self.file).seek(SeekFrom::End(0))
    }

    /// First byte from `offset` on that is in a hole, or that is not; None if all to the end is in one.
    ///
    /// # Errors
    /// Errors of the kernel: it does not know of a block device's holes.
    pub(crate) fn seek(&self, offset: u64, hole: bool) -> io::Result<Option<u64>> {
        let from = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let whence = if hole { libc::SEEK_HOLE } else { libc::SEEK_DATA };
        // SAFETY: lseek(2) takes no pointers.
        let at = unsafe { libc::lseek(self.file.as_raw_fd(), from, whence) };
        match u64::try_from(at) {
            Ok(at) => Ok(Some(at)),
            Err(_) => match io::Error::last_os_error() {
                e if e.raw_os_error() == Some(libc::ENXIO) => Ok(None),
                e => Err(e),
            },
        }
    }

    /// True if one more request can begin.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Begins a request, which [`Ring::submit`] passes to the kernel. Reads and writes need a buffer.
    ///
    /// # Panics
    /// Panics if there is no room.
    pub(crate) fn begin(&mut self, what: T, buffer: Option<Buffer>, request: Request) {
        let index = self.free.pop().expect("the caller asks for room first");
        // The buffer is moved into the table first: its address is taken where it stays.
        let (_, buffer) = self.flying[index as usize].insert((what, buffer));
        let bytes = |from: usize, buffer: &mut Option<Buffer>| {
            let bytes = buffer.as_mut().and_then(|buffer| buffer.bytes_mut().get_mut(from..)).unwrap_or_default();
            let len = u32::try_from(bytes.len().min(MOST)).unwrap_or(0);
            (bytes.as_mut_ptr(), len)
        };
        let fd = Fd(self.file.as_raw_fd());
        let entry = match request {
            Request::Read { from, offset } => {
                let (at, len) = bytes(from, buffer);
                opcode::Read::new(fd, at, len).offset(offset).build()
            }
            Request::Write { from, offset, dsync } => {
                let (at, len) = bytes(from, buffer);
                let flags = if dsync { libc::RWF_DSYNC } else { 0 };
                opcode::Write::new(fd, at, len).offset(offset).rw_flags(flags).build()
            }
            Request::Allocate { mode, offset, len } => {
                opcode::Fallocate::new(fd, len).offset(offset).mode(mode).build()
            }
            Request::Sync => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
        };
        // SAFETY: the bytes are valid for as long as the request is under way, since only its completion takes them out
        // of the table (`reap`), the table never grows, and `drop` waits or leaks it. The file is open as long as the
        // ring.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(u64::from(index))) };
        pushed.expect("the submission queue is as long as the table");
        self.unsubmitted += 1;
    }

    /// Submits all requests that have begun, in one system call. Those that the kernel cannot take now stay for the
    /// next call.
    pub(crate) fn submit(&mut self) {
        if self.unsubmitted > 0 {
            // Errors here are EAGAIN, EBUSY and EINTR: the entries stay in the queue.
            let _ = self.ring.submit();
            self.unsubmitted = self.ring.submission().len();
        }
    }

    /// True if requests are left that the kernel could not take, for lack of memory.
    pub(crate) fn is_behind(&self) -> bool {
        self.unsubmitted > 0
    }

    /// True if a completed request was not taken yet.
    pub(crate) fn has_ended(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Takes a completed request.
    pub(crate) fn reap(&mut self) -> Option<Ended<T>> {
        if self.free.len() == self.flying.len() {
            return None;
        }
        let entry = self.ring.completion().next()?;
        let index = u32::try_from(entry.user_data()).ok()?;
        let (what, buffer) = self.flying.get_mut(index as usize)?.take()?;
        self.free.push(index);
        let result = usize::try_from(entry.result()).map_err(|_| io::Error::from_raw_os_error(-entry.result()));
        Some(Ended { what, buffer, result })
    }
}

/// Readable when a request has completed.
impl<T> AsFd for Ring<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the ring's own, open for as long as the ring is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        while self.free.len() < self.flying.len() {
            let waited = self.ring.submit_and_wait(1);
            while self.reap().is_some() {}
            let again = |e: &io::Error| matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY));
            if waited.is_err_and(|e| !again(&e)) {
                // The kernel may still write to the buffers: their memory is leaked, never reused.
                std::mem::take(&mut self.flying).into_iter().for_each(std::mem::forget);
                return;
            }
        }
    }
}
