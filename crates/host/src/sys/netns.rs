//! Network namespaces of threads: unshare and setns (`namespaces(7)`).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Gives the calling thread a new network namespace, inherited by threads that it starts.
pub(crate) fn unshare() -> io::Result<()> {
    // SAFETY: no pointers; only the calling thread's namespace changes.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens the calling thread's network namespace, which lives at least as long as the descriptor.
pub(crate) fn current() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Moves the calling thread into a namespace.
pub(crate) fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers; only the calling thread's namespace changes.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
