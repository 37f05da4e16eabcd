//! Those who have connected to a maker, or to a switch, and are not paired yet. None of them can make it wait.

use super::between::{HANDSHAKE, READY, Trouble};
use crate::sys::seqpacket as socket;
use linerate_ring::Foreign;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Most visitors at a time: for one more the oldest has to go.
const MOST: usize = 16;
/// Most that hold an offer at a time; each has a region.
const MOST_OFFERED: usize = 4;

/// Longest first words.
const HELLO: usize = 1024;

/// Somebody who has connected.
pub(crate) struct Visitor<Offered> {
    pub(crate) socket: Foreign,
    until: Instant,
    /// Its offer; None before it has got one.
    offered: Option<Offered>,
}

/// What a visitor wants.
pub(crate) enum Wish<Offered> {
    /// Nothing yet.
    Wait,
    /// An offer: its first words.
    Hello(Vec<u8>),
    /// To be paired over what it was offered.
    Pair(Offered),
}

impl<Offered> Visitor<Offered> {
    /// Hears what it has said. Descriptors that came with it are let go.
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

    /// It has got an offer.
    pub(crate) fn offered(&mut self, offered: Offered) {
        self.offered = Some(offered);
    }
}

/// All of them, the oldest first.
pub(crate) struct Visitors<Offered>(Vec<Visitor<Offered>>);

impl<Offered> Default for Visitors<Offered> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Offered> Visitors<Offered> {
    /// One more, or one who stays.
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

    /// Somebody who has just connected.
    pub(crate) fn come(&mut self, socket: Foreign) {
        self.admit(Visitor { socket, until: Instant::now() + HANDSHAKE, offered: None });
    }

    /// Their sockets.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|visitor| visitor.socket.as_fd())
    }

    /// When the first of them has had its time.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.0.iter().map(|visitor| visitor.until).min()
    }

    /// Takes out those who have said something, as the list of all says, and forgets those whose time is over.
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

    /// Somebody else was paired: offers that are out are void.
    pub(crate) fn withdraw_offers(&mut self) {
        self.0.retain(|visitor| visitor.offered.is_none());
    }
}
