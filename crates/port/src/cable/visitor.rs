//! Those who have connected to a maker and are not paired yet. None of them can make it wait.

use super::between::{HANDSHAKE, Trouble, add_bells};
use super::message;
use crate::sys::seqpacket as socket;
use linerate_ring::Bell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Most visitors at a time: for one more the oldest has to go.
const MOST: usize = 16;
/// Most that hold an offer at a time; each may send as many bells as there are queues.
const MOST_OFFERED: usize = 4;

/// Somebody who has connected.
pub(super) struct Visitor {
    pub(super) socket: OwnedFd,
    until: Instant,
    /// The bells that it has sent so far; None before it has got an offer.
    bells: Option<Vec<Bell>>,
}

/// What a visitor wants.
pub(super) enum Wish {
    /// Nothing yet.
    Wait,
    /// It said hello: which end it is, if it can be understood.
    Offer(Option<bool>),
    /// All its bells are here: to be paired.
    Pair(Vec<Bell>),
}

impl Visitor {
    /// Hears what it has said.
    pub(super) fn hear(&mut self, bells_wanted: usize) -> Result<Wish, Trouble> {
        let message = match socket::receive(&self.socket, 64) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(Wish::Wait),
            message => message?,
        };
        let Some(bells) = &mut self.bells else {
            return Ok(Wish::Offer(message::read_hello(&message.0)));
        };
        add_bells(bells, message, bells_wanted)?;
        Ok(if bells.len() == bells_wanted { Wish::Pair(std::mem::take(bells)) } else { Wish::Wait })
    }

    /// It has got an offer.
    pub(super) fn offered(&mut self) {
        self.bells = Some(Vec::new());
    }
}

/// All of them, the oldest first.
#[derive(Default)]
pub(super) struct Visitors(Vec<Visitor>);

impl Visitors {
    /// One more, or one who stays.
    pub(super) fn admit(&mut self, visitor: Visitor) {
        let offered = self.0.iter().filter(|v| v.bells.is_some()).count();
        if visitor.bells.is_some() && offered >= MOST_OFFERED {
            let oldest = self.0.iter().position(|v| v.bells.is_some());
            oldest.map(|i| self.0.remove(i));
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(visitor);
    }

    /// Somebody who has just connected.
    pub(super) fn come(&mut self, socket: OwnedFd) {
        self.admit(Visitor { socket, until: Instant::now() + HANDSHAKE, bells: None });
    }

    /// Their sockets.
    pub(super) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|visitor| visitor.socket.as_fd())
    }

    /// When the first of them has had its time.
    pub(super) fn until(&self) -> Option<Instant> {
        self.0.iter().map(|visitor| visitor.until).min()
    }

    /// Takes out those who have said something, as the list of all says, and forgets those whose time is over.
    pub(super) fn speakers(&mut self, spoke: &[bool]) -> Vec<Visitor> {
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
    pub(super) fn withdraw_offers(&mut self) {
        self.0.retain(|visitor| visitor.bells.is_none());
    }
}
