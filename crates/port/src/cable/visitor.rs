//! Processes that have connected to a maker or a switch and are not paired yet. None of them can block it.

use super::between::{HANDSHAKE, READY, Trouble};
use crate::admission::{Admission, Limits, Origin, Ticket};
use crate::sys::seqpacket as socket;
use linerate_ring::Foreign;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Most visitors at a time that have said nothing yet.
const MOST_SILENT: usize = 16;
/// Most visitors that hold an offer at a time; each has a region.
const MOST_OFFERED: usize = 4;

/// Length in bytes of the longest first message.
const HELLO: usize = 1024;

/// A process that has connected and is not paired yet.
pub(crate) struct Visitor<Offered> {
    pub(crate) socket: Foreign,
    origin: Origin,
    /// Its place; none while it is looked after.
    ticket: Option<Ticket>,
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

    /// The door at which it waits.
    fn door(&self) -> usize {
        self.offered.is_some().into()
    }

    /// Takes note of the offer made to the visitor.
    pub(crate) fn offered(&mut self, offered: Offered) {
        self.offered = Some(offered);
    }
}

/// All visitors.
pub(crate) struct Visitors<Offered> {
    all: Vec<Visitor<Offered>>,
    /// Those that have said nothing, and those that hold an offer, who have nothing to do with each other.
    doors: [Admission; 2],
}

impl<Offered> Default for Visitors<Offered> {
    fn default() -> Self {
        Self { all: Vec::new(), doors: [MOST_SILENT, MOST_OFFERED].map(|most| Admission::new(Limits::new(most))) }
    }
}

impl<Offered> Visitors<Offered> {
    /// Adds a visitor, new or returning; another one may have to go for it.
    pub(crate) fn admit(&mut self, mut visitor: Visitor<Offered>) {
        let door = &mut self.doors[visitor.door()];
        // Nobody proves anything before it is paired: that no proof lapses needs no time.
        let Ok((ticket, gone)) = door.admit(0, visitor.origin) else { return };
        visitor.ticket = Some(ticket);
        if let Some(gone) = gone {
            door.leave(gone);
            let at = visitor.door();
            self.all.retain(|other| other.door() != at || other.ticket != Some(gone));
        }
        self.all.push(visitor);
    }

    /// Adds a visitor that has just connected.
    pub(crate) fn come(&mut self, socket: Foreign) {
        let origin = Origin::Process(socket::peer_process(&socket));
        self.admit(Visitor { socket, origin, ticket: None, until: Instant::now() + HANDSHAKE, offered: None });
    }

    /// Sockets of all visitors.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.all.iter().map(|visitor| visitor.socket.as_fd())
    }

    /// Deadline of the first visitor to time out.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.all.iter().map(|visitor| visitor.until).min()
    }

    /// Takes out the visitors whose flag in `spoke` is set, and drops those whose time is over.
    pub(crate) fn speakers(&mut self, spoke: &[bool]) -> Vec<Visitor<Offered>> {
        let (now, mut spoke) = (Instant::now(), spoke.iter().copied().chain(std::iter::repeat(false)));
        let out = self.take_out(|visitor| {
            let spoke = spoke.next() == Some(true);
            spoke || visitor.until <= now
        });
        out.into_iter().filter(|visitor| visitor.until > now).collect()
    }

    /// Drops all visitors that hold an offer: another one was paired.
    pub(crate) fn withdraw_offers(&mut self) {
        self.take_out(|visitor| visitor.offered.is_some());
    }

    /// Takes out those for which `goes` is true; it is asked of each, in their order.
    fn take_out(&mut self, mut goes: impl FnMut(&Visitor<Offered>) -> bool) -> Vec<Visitor<Offered>> {
        let (out, stay): (Vec<_>, Vec<_>) = std::mem::take(&mut self.all).into_iter().partition(|one| goes(one));
        self.all = stay;
        for visitor in &out {
            visitor.ticket.into_iter().for_each(|ticket| self.doors[visitor.door()].leave(ticket));
        }
        out
    }
}
