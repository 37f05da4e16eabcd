//! A terminal that does not show what is typed.

use super::outcome;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A terminal without its echo, which it has again in the end.
pub(crate) struct Hushed<'a> {
    terminal: BorrowedFd<'a>,
    before: libc::termios,
}

impl<'a> Hushed<'a> {
    /// Takes the echo away; what was typed before is lost.
    pub(crate) fn new(terminal: BorrowedFd<'a>) -> io::Result<Self> {
        // SAFETY: all zeros is a valid termios.
        let mut before: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: a descriptor that is open as long as it is borrowed, and a termios to be written.
        outcome(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut before) })?;
        let mut silent = before;
        silent.c_lflag &= !libc::ECHO;
        let hushed = Self { terminal, before };
        hushed.set(&silent).map(|()| hushed)
    }

    fn set(&self, settings: &libc::termios) -> io::Result<()> {
        // SAFETY: as above, and a termios to be read.
        outcome(unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSAFLUSH, settings) }).map(drop)
    }
}

impl Drop for Hushed<'_> {
    fn drop(&mut self) {
        let _ = self.set(&self.before);
    }
}
