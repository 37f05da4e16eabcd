//! Sockets that carry frames: options, batches of messages (sendmmsg, recvmmsg) gathered from and
//! scattered to ring slots.

use crate::frames::Outgoing;
use crate::vnet;
use linerate_ring::{OwnRx, OwnTx};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

/// The result of a call that gives -1 and errno.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets a socket option. `T` is plain data, laid out as the option wants it.
pub(crate) fn set_option<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let len = u32::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: `value` is readable for `len` bytes; the kernel checks what they mean.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const *value).cast(), len) }).map(drop)
}

/// Appends a frame's parts to a gather list.
pub(super) fn gather(ring: &mut OwnTx<'_>, frame: &Outgoing, iovecs: &mut Vec<libc::iovec>) {
    for slot in frame.from..frame.from + frame.slots {
        let part = ring.pending_frame(slot);
        if !part.is_empty() {
            iovecs.push(libc::iovec { iov_base: part.as_ptr().as_ptr().cast(), iov_len: part.len() });
        }
    }
}

/// Appends whole buffers of free slots to a scatter list; returns their total bytes, None if a slot has no buffer.
pub(super) fn scatter(ring: &mut OwnRx<'_>, from: u32, slots: u32, iovecs: &mut Vec<libc::iovec>) -> Option<usize> {
    let mut bytes = 0;
    for slot in from..from + slots {
        let part = ring.free_frame(slot)?;
        bytes += part.len();
        iovecs.push(libc::iovec { iov_base: part.as_ptr().as_ptr().cast(), iov_len: part.len() });
    }
    Some(bytes)
}

/// Lists for batches of messages, kept from call to call.
pub(crate) struct Messages {
    messages: Vec<libc::mmsghdr>,
    iovecs: Vec<libc::iovec>,
    headers: Vec<[u8; vnet::LONG]>,
}

// SAFETY: the pointers in the lists are made and used within one call; between calls they are dead values.
unsafe impl Send for Messages {}

impl Messages {
    pub(crate) fn new() -> Self {
        Self { messages: Vec::new(), iovecs: Vec::new(), headers: Vec::new() }
    }

    /// Points each message at its part of the list, which starts at the index in `starts`.
    fn point(&mut self, starts: &[usize]) {
        self.messages.clear();
        let base = self.iovecs.as_mut_ptr();
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(self.iovecs.len());
            // SAFETY: an `mmsghdr` is plain data, for which zeros are fine.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = base.wrapping_add(start);
            message.msg_hdr.msg_iovlen = (end - start) as _;
            self.messages.push(message);
        }
    }

    /// Sends frames of a ring in one system call, each as one message after its virtio header if `with_header`. Returns
    /// the number sent; an error is about the first.
    pub(crate) fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        ring: &mut OwnTx<'_>,
        frames: &[Outgoing],
        with_header: bool,
    ) -> io::Result<usize> {
        self.iovecs.clear();
        self.headers.clear();
        self.headers.extend(frames.iter().map(|frame| vnet::header(frame.meta)));
        let mut starts = [0; MOST];
        let frames = &frames[..frames.len().min(MOST)];
        for (i, frame) in frames.iter().enumerate() {
            starts[i] = self.iovecs.len();
            if with_header {
                let iov_base = self.headers[i].as_mut_ptr().cast();
                self.iovecs.push(libc::iovec { iov_base, iov_len: vnet::SHORT });
            }
            gather(ring, frame, &mut self.iovecs);
        }
        self.point(&starts[..frames.len()]);
        let n = u32::try_from(frames.len()).unwrap_or(0);
        // SAFETY: `messages` has n entries; they point into `iovecs`, and those at headers and at slots of the ring that
        // are borrowed until the call is over.
        let sent = unsafe { libc::sendmmsg(fd.as_raw_fd(), self.messages.as_mut_ptr(), n, DONTWAIT as _) };
        check(sent).map(|sent| usize::try_from(sent).unwrap_or(0))
    }

    /// Receives up to `most` messages in one system call, each into `slots` free slots of its own, in order. Returns
    /// the number received; then see [`Messages::received`].
    pub(crate) fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        ring: &mut OwnRx<'_>,
        slots: u32,
        most: u32,
    ) -> io::Result<u32> {
        self.iovecs.clear();
        let mut starts = [0; MOST];
        let n = most.min(ring.room() / slots.max(1)).min(u32::try_from(MOST).unwrap_or(1));
        for i in 0..n {
            starts[i as usize] = self.iovecs.len();
            if scatter(ring, i * slots, slots, &mut self.iovecs).is_none() {
                return Err(io::Error::from(io::ErrorKind::InvalidInput));
            }
        }
        if n == 0 {
            return Ok(0);
        }
        self.point(&starts[..n as usize]);
        let none = std::ptr::null_mut();
        // SAFETY: `messages` has n entries; they point into `iovecs`, and those at buffers of free slots of the ring,
        // which is borrowed until the call is over.
        let got = unsafe { libc::recvmmsg(fd.as_raw_fd(), self.messages.as_mut_ptr(), n, DONTWAIT as _, none) };
        check(got).map(|got| u32::try_from(got).unwrap_or(0))
    }

    /// Bytes of the `i`th message of the last receipt; true if it was longer than its slots.
    pub(crate) fn received(&self, i: u32) -> (usize, bool) {
        self.messages
            .get(i as usize)
            .map_or((0, false), |m| (m.msg_len as usize, m.msg_hdr.msg_flags & libc::MSG_TRUNC != 0))
    }
}

/// Most messages of one call.
pub(crate) const MOST: usize = 64;
const DONTWAIT: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
