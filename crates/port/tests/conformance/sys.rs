//! Sleeping on a descriptor.

use linerate_port::Interest;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Sleeps until the descriptor is ready or the time is over; true if it is ready.
pub(crate) fn poll(fd: BorrowedFd<'_>, interest: Interest, limit: Duration) -> bool {
    let events = match interest {
        Interest::Readable => libc::POLLIN,
        Interest::Writable => libc::POLLOUT,
    };
    let mut fd = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one writable entry.
    unsafe { libc::poll(&raw mut fd, 1, limit) == 1 }
}
