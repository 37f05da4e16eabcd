//! Processes that have connected to a maker or a switch and are not paired yet. None of them can block it.

use super::between::{HANDSHAKE, READY, Trouble};
use crate::sys::seqpacket as socket;
use linerate_ring::Foreign;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Most visitors at a time: for one more the oldest is dropped.
const MOST: usize = 16;
/// Most visitors that hold an offer at a time; each has a region.
const MOST_OFFERED: usize = 4;

/// Length in bytes of the longest first message.
const HELLO: usize = 1024;

/// A process that has connected and is not paired yet.
pub(crate) struct Visitor<Offered> {
    pub(crate) socket: Foreign,
    until: Instant,
    /// The visitor's offer; None before one is made.
    offered: Option<Offered>,
}

/// Request of a visitor.
pub(crate) enum Wish<Offered> {
    /// None yet.
    Wait,
    /// An offer; this is the visitor's first message.
    Hello(Vec<u8>),
    /// Pairing over the region that was offered.
    Pair(Offered),
}

impl<Offered> Visitor<Offered> {
    /// Receives the visitor's message. Descriptors that came with it are closed.
    pub(crate) fn hear(&mut self) -> Result<Wish<Offered>, Trouble> {
        let (word, fds) = match socket::receive(&self.socket, HELLO) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(Wish::Wait),
            message => message?,
        };
        match self.offered.take() {
            None => Ok(Wish::Hello(word)),
            Some(offered) if word == READY && fds.is_empty() => Ok(Wish::Pair(offered)),
            Some(_) => Err(Trouble::Again),
        }
    }

    /// Takes note of the offer made to the visitor.
    pub(crate) fn offered(&mut self, offered: Offered) {
        self.offered = Some(offered);
    }
}

/// All visitors, the oldest first.
pub(crate) struct Visitors<Offered>(Vec<Visitor<Offered>>);

impl<Offered> Default for Visitors<Offered> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Offered> Visitors<Offered> {
    /// Adds a visitor, new or returning.
    pub(crate) fn admit(&mut self, visitor: Visitor<Offered>) {
        let offered = self.0.iter().filter(|v| v.offered.is_some()).count();
        if visitor.offered.is_some() && offered >= MOST_OFFERED {
            let oldest = self.0.iter().position(|v| v.offered.is_some());
            oldest.map(|i| self.0.remove(i));
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(visitor);
    }

    /// Adds a visitor that has just connected.
    pub(crate) fn come(&mut self, socket: Foreign) {
        self.admit(Visitor { socket, until: Instant::now() + HANDSHAKE, offered: None });
    }

    /// Sockets of all visitors.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|visitor| visitor.socket.as_fd())
    }

    /// Deadline of the first visitor to time out.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.0.iter().map(|visitor| visitor.until).min()
    }

    /// Takes out the visitors whose flag in `spoke` is set, and drops those whose time is over.
    pub(crate) fn speakers(&mut self, spoke: &[bool]) -> Vec<Visitor<Offered>> {
        let now = Instant::now();
        let (mut speakers, mut silent) = (Vec::new(), Vec::new());
        for (i, visitor) in std::mem::take(&mut self.0).into_iter().enumerate() {
            if visitor.until <= now {
                continue;
            }
            let list = if spoke.get(i) == Some(&true) { &mut speakers } else { &mut silent };
            list.push(visitor);
        }
        self.0 = silent;
        speakers
    }

    /// Drops all visitors that hold an offer: another one was paired.
    pub(crate) fn withdraw_offers(&mut self) {
        self.0.retain(|visitor| visitor.offered.is_none());
    }
}
