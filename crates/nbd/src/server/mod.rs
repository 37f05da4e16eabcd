//! The server: its clients, and the operations that they have under way. Bytes in, operations out; ends in, bytes out.
//! Whoever has the connections moves the bytes, and whoever has the devices does the operations.
//!
//! NBD has no authentication, so whoever connects is a client, and clients are kept from each other: each has memory of its
//! own, a number of requests, and a time for its greeting, its data and its answers. When all places are taken and one more
//! comes, an idle client goes: of whoever has the most of them the one that has been idle longest, and before all one that
//! has never asked for anything. Where none is idle, whoever has more than half of the places loses one to others.

mod answers;
mod memory;
mod offer;
mod request;
mod session;

pub use session::{PATIENCE, STALL};

use crate::service::Export;
use linerate_block::{Completion, Operation, Tag};
use memory::Memory;
use request::Asked;
use session::{DEPTH, Session};
use std::cmp::Reverse;
use std::io::IoSlice;
use std::time::Instant;
use thiserror::Error;

/// Clients at once.
pub const CLIENTS: usize = 64;
/// Slices of bytes that leave at once, at most: answers of the negotiation, replies, and the data of each.
pub const SERVER_SLICES: usize = 1 + 2 * answers::BATCH;
/// Operations under way of clients that have left, with which one more is still let in.
const LEFT_BEHIND: usize = 8 * DEPTH;

/// A client has gone, or talks nonsense: hang up, and [leave](Server::leave) it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the client has gone, or talks nonsense")]
pub struct Gone;

/// A server of exports. Clients have places, 0 to [`CLIENTS`] - 1; `P` says whose a client is: those of one peer count
/// together.
///
/// To receive of a client: [`next`](Self::next) until there is no operation, then, if
/// [`wants_input`](Self::wants_input) says so, fill [`room`](Self::room), tell it by [`received`](Self::received), and
/// again. To send: [`output`](Self::output) and [`sent`](Self::sent) until there is no more.
#[derive(Debug)]
pub struct Server<P> {
    clients: Vec<Option<Client<P>>>,
    /// Who came when: a client's number is never used again.
    number: u64,
    /// Operations under way by tag: of which client, by place and number.
    asked: Vec<Option<(usize, u64, Asked)>>,
    free: Vec<u32>,
    memory: Memory,
    /// Operations under way whose clients have left.
    left_behind: usize,
}

#[derive(Debug)]
struct Client<P> {
    number: u64,
    peer: P,
    session: Session,
}

impl<P: Copy + PartialEq> Default for Server<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Copy + PartialEq> Server<P> {
    /// A server without clients.
    #[must_use]
    pub fn new() -> Self {
        let most = u32::try_from(CLIENTS * DEPTH + LEFT_BEHIND).unwrap_or(0);
        Self {
            clients: (0..CLIENTS).map(|_| None).collect(),
            number: 0,
            asked: (0..most).map(|_| None).collect(),
            free: (0..most).rev().collect(),
            memory: Memory::new(CLIENTS),
            left_behind: 0,
        }
    }

    /// Clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.iter().flatten().count()
    }

    /// Operations under way whose clients have left.
    #[must_use]
    pub fn left_behind(&self) -> usize {
        self.left_behind
    }

    /// True if there is no client and nothing is under way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.clients() == 0 && self.free.len() == self.asked.len()
    }

    /// A place for one more: a free one, or that of a client who gives way, which is to [leave](Self::leave) first; none for
    /// now if all have something under way.
    #[must_use]
    pub fn place_for(&self, comer: P) -> Option<usize> {
        if !self.memory.has_room() || self.left_behind > LEFT_BEHIND {
            return None;
        }
        if let Some(free) = self.clients.iter().position(Option::is_none) {
            return Some(free);
        }
        let clients = || self.clients.iter().enumerate().filter_map(|(at, place)| Some((at, place.as_ref()?)));
        let of = |peer| clients().filter(|(_, client)| client.peer == peer).count();
        let idle =
            clients().filter(|(_, client)| client.session.is_idle()).max_by_key(|(_, Client { peer, session, .. })| {
                (of(*peer), !session.has_asked(), Reverse(session.heard()))
            });
        let excess = || {
            clients()
                .filter(|(_, client)| client.peer != comer && of(client.peer) > CLIENTS / 2)
                .min_by_key(|(_, client)| client.session.heard())
        };
        idle.or_else(excess).map(|(at, _)| at)
    }

    /// A client of this peer takes a place; who was there leaves.
    pub fn enter(&mut self, place: usize, peer: P, now: Instant) {
        self.leave(place);
        self.number += 1;
        self.clients[place] = Some(Client { number: self.number, peer, session: Session::new(now) });
    }

    /// The client at a place leaves. What it has under way goes on.
    pub fn leave(&mut self, place: usize) {
        if let Some(Client { session, .. }) = self.clients[place].take() {
            self.left_behind += session.under_way();
            session.end(&mut self.memory);
        }
    }

    /// Takes no more requests: clients are over when all is answered.
    pub fn close(&mut self) {
        self.clients.iter_mut().flatten().for_each(|client| client.session.close());
    }

    /// The next operation that a client asks for, on the export at the place that stands before it; none if more must come
    /// first.
    ///
    /// # Errors
    /// The client talks nonsense.
    pub fn next(
        &mut self,
        place: usize,
        now: Instant,
        exports: &[Export],
    ) -> Result<Option<(usize, Tag, Operation)>, Gone> {
        let (Some(Client { number, session, .. }), Some(tag)) = (&mut self.clients[place], self.free.last().copied())
        else {
            return Ok(None);
        };
        let Some((asked, operation)) = session.next(now, exports, &mut self.memory)? else { return Ok(None) };
        self.free.pop();
        self.asked[tag as usize] = Some((place, *number, asked));
        Ok(Some((asked.export, Tag(tag), operation)))
    }

    /// True if bytes of a client are to be received.
    #[must_use]
    pub fn wants_input(&self, place: usize) -> bool {
        !self.free.is_empty() && self.session(place).is_some_and(Session::wants_input)
    }

    /// Place where the next bytes received of a client belong: a WRITE's data in its buffer, all else in a buffer of the
    /// server's. There is room if [`Server::wants_input`] says so after [`Server::next`].
    pub fn room(&mut self, place: usize) -> &mut [u8] {
        self.clients[place].as_mut().map_or(&mut [], |client| client.session.room())
    }

    /// Takes the first `octets` of [`Server::room`], which have been received.
    pub fn received(&mut self, place: usize, octets: usize) {
        if let Some(client) = &mut self.clients[place] {
            client.session.received(octets);
        }
    }

    /// An operation has ended: its client is answered, if it is still the one who asked. Gives the place of an export that
    /// is to be flushed under the same tag before.
    pub fn completed(&mut self, completion: Completion) -> Option<usize> {
        let Completion { tag, buffer, result } = completion;
        let slot = usize::try_from(tag.0).ok().and_then(|tag| self.asked.get_mut(tag))?;
        let (place, number, mut asked) = slot.take()?;
        if asked.then_flush && result.is_ok() {
            asked.then_flush = false;
            *slot = Some((place, number, asked));
            return Some(asked.export);
        }
        self.free.push(tag.0);
        match &mut self.clients[place] {
            Some(client) if client.number == number => client.session.answer(asked, result, buffer, &mut self.memory),
            _ => {
                self.left_behind = self.left_behind.saturating_sub(1);
                self.memory.give_after_leave(asked.memory, buffer);
            }
        }
        None
    }

    /// True if something is to be sent to a client.
    #[must_use]
    pub fn has_output(&self, place: usize) -> bool {
        self.session(place).is_some_and(Session::has_output)
    }

    /// Shows the bytes that are to be sent to a client next, a READ's data where it lies; gives how many slices there are.
    pub fn output<'a>(&'a mut self, place: usize, now: Instant, slices: &mut [IoSlice<'a>; SERVER_SLICES]) -> usize {
        self.clients[place].as_mut().map_or(0, |client| client.session.output(now, slices))
    }

    /// So many of the bytes that [`Server::output`] showed have been sent.
    pub fn sent(&mut self, place: usize, now: Instant, octets: usize) {
        if let Some(client) = &mut self.clients[place] {
            client.session.sent(now, octets, &mut self.memory);
        }
    }

    /// True if a client has said goodbye and has all its answers, or its time is over: hang up, and [leave](Self::leave) it.
    #[must_use]
    pub fn is_over(&self, place: usize, now: Instant) -> bool {
        self.session(place).is_some_and(|session| session.is_over(now))
    }

    /// When a client must have chosen an export, sent the rest of what it began, or taken an answer.
    #[must_use]
    pub fn deadline(&self, place: usize) -> Option<Instant> {
        self.session(place)?.deadline()
    }

    fn session(&self, place: usize) -> Option<&Session> {
        self.clients[place].as_ref().map(|client| &client.session)
    }
}
