//! Sleeping until a descriptor is ready or a time has come.

use linerate_port::Interest;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

/// Most descriptors watched at once; the rest are checked when the sleep ends.
const MOST: usize = 256;

/// Descriptors to sleep on, as plain numbers: whoever adds one keeps it open until the sleep ends.
pub(crate) struct PollSet {
    fds: [libc::pollfd; MOST],
    n: usize,
}

impl PollSet {
    pub(crate) fn new() -> Self {
        Self { fds: [libc::pollfd { fd: -1, events: 0, revents: 0 }; MOST], n: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.n = 0;
    }

    /// Adds a descriptor; false if there are too many, so that it is not watched.
    pub(crate) fn add(&mut self, fd: BorrowedFd<'_>, interest: Interest) -> bool {
        let events = match interest {
            Interest::Readable => libc::POLLIN,
            Interest::Writable => libc::POLLOUT,
        };
        let fd: RawFd = fd.as_raw_fd();
        let Some(entry) = self.fds.get_mut(self.n) else { return false };
        *entry = libc::pollfd { fd, events, revents: 0 };
        self.n += 1;
        true
    }

    /// Sleeps until a descriptor is ready, the time has passed, or a signal is received.
    pub(crate) fn sleep(&mut self, timeout: Option<Duration>) {
        let at_most = timeout.map(|t| libc::timespec {
            tv_sec: t.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: t.subsec_nanos().into(),
        });
        let time = at_most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `n` entries are valid, the time is null or outlives the call, no signal mask is given. Any result is
        // fine: the caller polls its queues again in each case.
        unsafe { libc::ppoll(self.fds.as_mut_ptr(), self.n as libc::nfds_t, time, std::ptr::null()) };
    }
}
