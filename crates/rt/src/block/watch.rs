//! Something to sleep on that is no more than a descriptor.

use crate::machine::Sleeper;
use linerate_port::Interest;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// A descriptor, and what to wait for on it.
pub(super) struct Watch<'a> {
    fd: BorrowedFd<'a>,
    interest: Interest,
    due: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(fd: BorrowedFd<'a>, interest: Interest) -> Self {
        Self { fd, interest, due: None }
    }

    /// The sleep ends then at the latest.
    pub(super) fn until(self, due: Option<Instant>) -> Self {
        Self { due, ..self }
    }
}

impl Sleeper for Watch<'_> {
    fn fall_asleep(&mut self) -> bool {
        true
    }

    fn wake_up(&mut self) {}

    fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)> {
        Some((self.fd, self.interest))
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }
}
