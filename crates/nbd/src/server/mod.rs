//! The server: its clients, and their operations under way. Bytes in, operations out; completions in, bytes out. The
//! owner of the connections moves the bytes, and the owner of the devices does the operations.
//!
//! NBD has no authentication, so anyone who connects is a client, and clients are isolated from each other: each has
//! reserved memory, a limit of requests, and a time limit for its greeting, its data and its answers. Who is let in, and who is
//! dropped for that, is up to the owner of the connections.

mod answers;
mod memory;
mod offer;
mod request;
mod session;

pub use session::{PATIENCE, STALL};

use crate::plan::is_change;
use crate::service::Export;
use linerate_block::{Completion, Operation, Tag};
use memory::Memory;
use request::Asked;
use session::{DEPTH, Session};
use std::io::IoSlice;
use std::time::Instant;
use thiserror::Error;

/// Most clients at once.
pub const CLIENTS: usize = 64;
/// Most slices of bytes sent at once: answers of the negotiation, replies, and the data of each.
pub const SERVER_SLICES: usize = 1 + 2 * answers::BATCH;
/// Most operations under way of departed clients with which a new client is still admitted.
const LEFT_BEHIND: usize = 8 * DEPTH;

/// The client has gone, or broke the protocol: close the connection, and [remove](Server::leave) the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the client has gone, or violated the protocol")]
pub struct Gone;

/// A server of exports. Clients have places, 0 to [`CLIENTS`] - 1.
///
/// To receive from a client: [`next`](Self::next) until there is no operation, then, if
/// [`wants_input`](Self::wants_input) is true, fill [`room`](Self::room), report the bytes to
/// [`received`](Self::received), and repeat. To send: [`output`](Self::output) and [`sent`](Self::sent) until there is
/// no more.
#[derive(Debug)]
pub struct Server {
    clients: Vec<Option<Client>>,
    /// Number of the last client; numbers are never reused.
    number: u64,
    /// Operations under way by tag: place and number of the client, and the request.
    asked: Vec<Option<(usize, u64, Asked)>>,
    free: Vec<u32>,
    memory: Memory,
    /// Operations under way whose clients have left.
    left_behind: usize,
}

#[derive(Debug)]
struct Client {
    number: u64,
    session: Session,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
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

    /// Number of clients.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.iter().flatten().count()
    }

    /// Operations under way whose clients have left.
    #[must_use]
    pub fn left_behind(&self) -> usize {
        self.left_behind
    }

    /// True if there is no client and no operation is under way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.clients() == 0 && self.free.len() == self.asked.len()
    }

    /// True if there is memory for one more client, and not too much under way of those that have left.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.memory.has_room() && self.left_behind <= LEFT_BEHIND
    }

    /// Puts a client at a free place.
    pub fn enter(&mut self, place: usize, now: Instant) {
        self.leave(place);
        self.number += 1;
        self.clients[place] = Some(Client { number: self.number, session: Session::new(now) });
    }

    /// Time at which a client last proved that it is one: it sent a request or data of one, took bytes of an answer, or has an
    /// operation under way now. None if it has never sent a request.
    #[must_use]
    pub fn proved(&self, place: usize, now: Instant) -> Option<Instant> {
        self.session(place)?.proved(now)
    }

    /// Removes the client at a place. Its operations under way go on. Its changes among them must have ended before a
    /// client that enters later changes the same export: that may be the same one, which repeats them.
    pub fn leave(&mut self, place: usize) {
        if let Some(Client { number, session }) = self.clients[place].take() {
            let its = self.asked.iter_mut().flatten().filter(|(_, of, _)| *of == number);
            its.for_each(|(.., asked)| asked.left = Some(self.number));
            self.left_behind += session.under_way();
            session.end(&mut self.memory);
        }
    }

    /// Takes no more requests: each client is over when all its requests are answered.
    pub fn close(&mut self) {
        self.clients.iter_mut().flatten().for_each(|client| client.session.close());
    }

    /// The next operation of a client, preceded by the place of its export; None if more bytes must arrive first.
    ///
    /// # Errors
    /// The client broke the protocol.
    pub fn next(
        &mut self,
        place: usize,
        now: Instant,
        exports: &[Export],
    ) -> Result<Option<(usize, Tag, Operation)>, Gone> {
        let (Some(Client { number, session }), Some(tag)) = (&mut self.clients[place], self.free.last().copied())
        else {
            return Ok(None);
        };
        let (left_behind, under_way, number) = (self.left_behind, &self.asked, *number);
        let unsettled = |export| {
            let precedes = |asked: &Asked| asked.left.is_some_and(|left| left < number) && is_change(asked.kind);
            left_behind > 0 && under_way.iter().flatten().any(|(.., asked)| asked.export == export && precedes(asked))
        };
        let Some((asked, operation)) = session.next(now, exports, &mut self.memory, unsettled)? else {
            return Ok(None);
        };
        self.free.pop();
        self.asked[tag as usize] = Some((place, number, asked));
        Ok(Some((asked.export, Tag(tag), operation)))
    }

    /// Takes the answer to a client that asked for the default export since the last call: the place of the only export, or
    /// None if it was refused.
    pub fn take_default(&mut self, place: usize) -> Option<Option<usize>> {
        self.clients[place].as_mut()?.session.take_default()
    }

    /// True if bytes of a client are to be received.
    #[must_use]
    pub fn wants_input(&self, place: usize) -> bool {
        !self.free.is_empty() && self.session(place).is_some_and(Session::wants_input)
    }

    /// Place for the next bytes received from a client: a WRITE's data in its buffer, all else in a buffer of the
    /// server's. There is room if [`Server::wants_input`] is true after [`Server::next`].
    pub fn room(&mut self, place: usize) -> &mut [u8] {
        self.clients[place].as_mut().map_or(&mut [], |client| client.session.room())
    }

    /// Takes the first `count` bytes of [`Server::room`], which have been received.
    pub fn received(&mut self, place: usize, now: Instant, count: usize) {
        if let Some(client) = &mut self.clients[place] {
            client.session.received(now, count);
        }
    }

    /// Takes the completion of an operation and answers its client, unless that has left. Returns the place of an
    /// export that must first be flushed under the same tag.
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

    /// True if there are bytes to send to a client.
    #[must_use]
    pub fn has_output(&self, place: usize) -> bool {
        self.session(place).is_some_and(Session::has_output)
    }

    /// Shows the bytes to send to a client next, a READ's data in its own buffer; returns the number of slices.
    pub fn output<'a>(&'a mut self, place: usize, now: Instant, slices: &mut [IoSlice<'a>; SERVER_SLICES]) -> usize {
        self.clients[place].as_mut().map_or(0, |client| client.session.output(now, slices))
    }

    /// Takes note that so many of the bytes that [`Server::output`] showed have been sent.
    pub fn sent(&mut self, place: usize, now: Instant, count: usize) {
        if let Some(client) = &mut self.clients[place] {
            client.session.sent(now, count, &mut self.memory);
        }
    }

    /// True if a client has disconnected and has all its answers, or its time is over: close the connection, and
    /// [remove](Server::leave) the client.
    #[must_use]
    pub fn is_over(&self, place: usize, now: Instant) -> bool {
        self.session(place).is_some_and(|session| session.is_over(now))
    }

    /// Deadline for a client to choose an export, to send the rest of a WRITE's data, or to receive an answer.
    #[must_use]
    pub fn deadline(&self, place: usize) -> Option<Instant> {
        self.session(place)?.deadline()
    }

    fn session(&self, place: usize) -> Option<&Session> {
        self.clients[place].as_ref().map(|client| &client.session)
    }
}
