//! Moving the data of a test: blocking calls in one thread, each of which returns now and then to look up.
//!
//! Nothing is allocated between the first call and the last. What is counted is what calls say they have moved.

mod datagrams;
mod stream;
mod transactions;

pub(super) use datagrams::end;
pub(super) use stream::Part;
pub(super) use transactions::Rings;

use super::fault::Fault;
use super::timer::Shared;
use crate::socket::plain;
use hdrhistogram::Histogram;
use linerate_rt::{Moves, monotonic_ns};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

/// Amounts moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: u64,
    pub(super) sends: u64,
    /// Datagrams that the system dropped before they left.
    pub(super) failed: u64,
    pub(super) received: u64,
    pub(super) receives: u64,
    pub(super) transactions: u64,
}

/// Reasons why a flow ended that is no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The other end has no more data, or the number that was asked for is reached.
    Done,
    /// The time was over.
    Time,
}

/// Longest time of a call that a histogram tells apart, ns.
const LONGEST: u64 = 3_600_000_000_000;

pub(super) struct Flow<'a> {
    pub(super) time: &'a Shared,
    pub(super) tally: Tally,
    /// Bytes or transactions that are left.
    pub(super) left: u64,
    /// Time of each call or transaction, ns, if it is wanted.
    pub(super) latency: Option<Histogram<u64>>,
    since: u64,
    /// Looks after the other end at each tick; an error ends the flow.
    pub(super) look: &'a dyn Fn() -> Result<(), Fault>,
    /// Ticks without data after which a flow ends that is due.
    pub(super) patience: u32,
    quiet: u32,
    /// Marked when data come or go: a session that does not move may lose its place.
    pub(super) moves: Moves,
    /// Addresses that a server takes data from; `None` for any.
    pub(super) peers: Option<[IpAddr; 2]>,
    /// Called when the first data, or the first connection, have come.
    pub(super) first: Option<&'a dyn Fn()>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(time: &'a Shared, left: u64, look: &'a dyn Fn() -> Result<(), Fault>) -> Self {
        let (tally, moves) = (Tally::default(), Moves::default());
        Self {
            time,
            tally,
            left,
            latency: None,
            since: 0,
            look,
            patience: 0,
            quiet: 0,
            moves,
            peers: None,
            first: None,
        }
    }

    /// True if data may come from there.
    #[inline]
    fn admits(&self, from: SocketAddr) -> bool {
        self.peers.is_none_or(|peers| peers.contains(&plain(from).ip()))
    }

    /// True if a datagram is the sender's: who has sent the first one that may come is.
    #[inline]
    fn is_of(&self, sender: &mut Option<SocketAddr>, from: SocketAddr) -> bool {
        self.admits(from) && *sender.get_or_insert(from) == from
    }

    #[inline]
    fn has_come(&mut self) {
        if let Some(first) = self.first.take() {
            first();
        }
    }

    /// Keeps the time of each call.
    pub(super) fn keep_latency(&mut self) {
        // The bounds are fit, so there is one.
        self.latency = Histogram::new_with_bounds(1, LONGEST, 3).ok();
    }

    #[inline]
    fn begins(&mut self) {
        if self.latency.is_some() {
            self.since = monotonic_ns();
        }
    }

    /// A call, or a transaction, has ended; the next one begins.
    #[inline]
    fn ends(&mut self) {
        if let Some(latency) = &mut self.latency {
            let now = monotonic_ns();
            latency.saturating_record(now.saturating_sub(self.since).max(1));
            self.since = now;
        }
    }

    /// A call has received so many bytes; true if these were the last.
    #[inline]
    fn received(&mut self, bytes: usize) -> bool {
        self.ends();
        self.moved();
        self.tally.received += bytes as u64;
        self.tally.receives += 1;
        self.publish(self.tally.received);
        self.left = self.left.saturating_sub(bytes as u64);
        self.left == 0
    }

    #[inline]
    fn publish(&self, units: u64) {
        self.time.units.store(units, Relaxed);
    }

    /// A call has returned without data; true if that is the end.
    fn tick(&mut self) -> Result<bool, Fault> {
        (self.look)()?;
        self.quiet += 1;
        Ok(self.time.is_over() || self.patience > 0 && self.time.is_due() && self.quiet >= self.patience)
    }

    /// Data have come.
    #[inline]
    fn moved(&mut self) {
        self.moves.mark();
        self.quiet = 0;
    }
}
