//! Places of a server whose sessions have threads of their own: [`Admission`] behind a lock, with a stop for each session.
//!
//! A session *moves* as long as data come or go ([`Moves`]); that is what proves it.

use crate::{Stop, monotonic_ns};
use linerate_port::{Admission, Crowded, Limits, Ticket};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// Longest wait for sessions that are to end, when there are as many of them as places.
const LEAVING: Duration = Duration::from_secs(1);

/// Mark that data of a session have come or gone.
#[derive(Clone, Debug, Default)]
pub struct Moves(Arc<AtomicBool>);

impl Moves {
    #[inline]
    pub fn mark(&self) {
        // Written once between two looks, so that the cache line stays where it is.
        if !self.0.load(Relaxed) {
            self.0.store(true, Relaxed);
        }
    }
}

#[derive(Debug, Error)]
pub enum NoPlace {
    #[error(transparent)]
    Crowded(#[from] Crowded),
    #[error("no descriptors are left: {0}")]
    System(#[from] io::Error),
}

#[derive(Debug)]
pub struct Places(Arc<Registry>);

/// All that have a place, and the call that one of them has left.
#[derive(Debug)]
struct Registry {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug)]
struct State {
    door: Admission,
    sessions: BTreeMap<Ticket, (Stop, Moves)>,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, once nobody has to be waited for, or after a second.
    fn when(&self, waits: impl Fn(&Admission) -> bool) -> MutexGuard<'_, State> {
        let waited = self.left.wait_timeout_while(self.lock(), LEAVING, |state| waits(&state.door));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        // Who has moved by now.
        let (State { door, sessions }, now) = (&mut *state, monotonic_ns());
        let moved = sessions.iter().filter(|(_, (_, moves))| moves.0.swap(false, Relaxed));
        moved.for_each(|(ticket, _)| door.proved(*ticket, now));
        state
    }
}

impl State {
    /// Tells sessions to end for another one.
    fn dismiss(&self, gone: impl IntoIterator<Item = Ticket>) {
        gone.into_iter().filter_map(|ticket| self.sessions.get(&ticket)).for_each(|(stop, _)| stop.ask(0));
    }
}

/// The place of a session, given back when this is dropped.
#[derive(Debug)]
pub struct Place {
    registry: Arc<Registry>,
    ticket: Ticket,
    stop: Stop,
    moves: Moves,
}

impl Places {
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let state = State { door: Admission::new(limits), sessions: BTreeMap::new() };
        Self(Arc::new(Registry { state: Mutex::new(state), left: Condvar::new() }))
    }

    /// Gives a place to a session of a client from this address. Waits for a second at most, if that many are about to end: of
    /// a crowd that comes at once, an honest client comes last.
    ///
    /// # Errors
    /// There is none that another session has to give up, or there are no descriptors.
    pub fn admit(&self, from: IpAddr) -> Result<Place, NoPlace> {
        let (stop, moves) = (Stop::new()?, Moves::default());
        let mut state = self.0.when(Admission::is_leaving);
        let (ticket, gone) = state.door.admit(monotonic_ns(), from.into())?;
        state.dismiss(gone);
        state.sessions.insert(ticket, (stop.clone(), moves.clone()));
        Ok(Place { registry: self.0.clone(), ticket, stop, moves })
    }

    /// True if as many are about to leave as there are places: who comes now waits.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.0.lock().door.is_leaving()
    }

    /// Number of sessions that go on.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.lock().door.count()
    }

    /// Tells all sessions to end, and waits for them, so long at most.
    pub fn end(&self, within: Duration) {
        let state = self.0.lock();
        state.sessions.values().for_each(|(stop, _)| stop.ask(0));
        drop(self.0.left.wait_timeout_while(state, within, |state| state.door.count() > 0));
    }
}

impl Place {
    /// Stop of the session: requested when it is to end, for whatever reason.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Mark that the session has moved data.
    #[must_use]
    pub fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Has the session weigh so much, where other ones have to end for that if need be; false if it may not. Waits for a second
    /// at most, if as much is about to end as there may be.
    #[must_use]
    pub fn weigh(&self, weight: usize) -> bool {
        let mut state = self.registry.when(Admission::is_overweight);
        let gone = state.door.weigh(monotonic_ns(), self.ticket, weight);
        let fits = gone.is_some();
        state.dismiss(gone.into_iter().flatten());
        fits
    }

    /// True if the session is to end because another client needs its place.
    #[must_use]
    pub fn gives_way(&self) -> bool {
        self.registry.lock().door.leaves(self.ticket)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.registry.lock();
        state.door.leave(self.ticket);
        state.sessions.remove(&self.ticket);
        drop(state);
        self.registry.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_never_moved_is_told_to_end_and_what_comes_meanwhile_waits() {
        let places = Places::new(Limits::new(2));
        let from = |n: u8| places.admit([10, 0, 0, n].into());
        let (moves, silent) = (from(1).unwrap(), from(2).unwrap());
        moves.moves().mark();
        let late = from(3).unwrap();
        assert!(silent.gives_way() && silent.stop().asked());
        assert!(!moves.gives_way() && !moves.stop().asked() && !late.gives_way());
        late.moves().mark();
        assert!(matches!(from(4), Err(NoPlace::Crowded(Crowded::Full(2)))));
        drop((moves, late));
        let held = [5, 6, 7].map(|n| from(n).unwrap());
        assert_eq!((places.count(), held[0].gives_way()), (4, true));
        // As many are to end as there are places: the next one waits, and is let in as soon as one of them has left.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| from(8));
            drop(silent);
            assert!(waits.join().unwrap().is_ok());
        });
        places.end(Duration::ZERO);
        assert!(held.iter().all(|place| place.stop().asked()));
        std::thread::scope(|scope| {
            scope.spawn(|| drop(held));
            places.end(Duration::from_secs(60));
            assert_eq!(places.count(), 0, "they are waited for");
        });
    }
}
