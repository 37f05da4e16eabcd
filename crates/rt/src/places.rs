//! Places of a server for the sessions of clients who need no permission to come: how many there are, how many of them one
//! origin has, and who gives way when there is none left.
//!
//! A session *moves* as long as data come or go ([`Moves`]). When a client comes and no place is free, a session is told to end
//! that has never moved: the oldest of the origin that has the most of them. Where all have moved, it is the one that has not
//! for the longest time, [`QUIET`] at least. Sessions that move are not ended for a stranger, and an origin has three quarters of the
//! places at most, so that there are some for others.
//!
//! Sessions may weigh something besides, by what they announce ([`Place::weigh`]). The same holds for the weight of all, except
//! that of the silent ones of an origin the heaviest gives way first.
//!
//! Out of scope: time limits of a session that nobody else needs the place of; they are its protocol's.

use crate::Stop;
use std::cmp::Reverse;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time without data after which a session that has moved may be ended for another one.
const QUIET: Duration = Duration::from_secs(10);
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
    /// All places are those of sessions that move.
    #[error("{0} sessions go on")]
    Full(usize),
    /// The same of the places of one origin.
    #[error("{0} sessions of its address go on")]
    Share(usize),
    #[error("no descriptors are left: {0}")]
    System(#[from] io::Error),
}

/// Origin of clients: an address of IPv4, or the network of an address of IPv6, of which a host has all.
fn origin(of: IpAddr) -> IpAddr {
    match of.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[derive(Debug)]
pub struct Places {
    most: usize,
    /// Most places of one origin.
    share: usize,
    held: Arc<Registry>,
}

/// Three quarters, which one origin may have.
fn share(most: usize) -> usize {
    most - most / 4
}

/// All that have a place, and the call that one of them has left.
#[derive(Debug, Default)]
struct Registry {
    held: Mutex<Vec<Held>>,
    left: Condvar,
    /// Most that all sessions may weigh.
    weight: usize,
}

/// A place that a session has.
#[derive(Debug)]
struct Held {
    stop: Stop,
    origin: IpAddr,
    weight: usize,
    moves: Moves,
    since: Instant,
    /// Time of the last look that found that it had moved.
    moved: Option<Instant>,
    /// It is to end.
    leaves: Arc<AtomicBool>,
}

impl Held {
    fn stays(&self) -> bool {
        !self.leaves.load(Relaxed)
    }

    /// True if it may be ended for another one.
    fn is_idle(&self, now: Instant) -> bool {
        self.stays() && self.moved.is_none_or(|at| now.duration_since(at) >= QUIET)
    }

    fn is_of(&self, origin: Option<IpAddr>) -> bool {
        origin.is_none_or(|origin| self.origin == origin)
    }

    /// Tells it to end for another one.
    fn leave(&self) {
        self.leaves.store(true, Relaxed);
        self.stop.ask(0);
    }
}

/// The place of a session, given back when this is dropped.
#[derive(Debug)]
pub struct Place {
    held: Arc<Registry>,
    stop: Stop,
    moves: Moves,
    leaves: Arc<AtomicBool>,
}

/// Notes who has moved by now.
fn look(held: &mut [Held], now: Instant) {
    for one in held.iter_mut().filter(|one| one.moves.0.swap(false, Relaxed)) {
        one.moved = Some(now);
    }
}

/// The session that gives way first, of one origin or of all; it has something of what `has` counts.
fn first(held: &[Held], now: Instant, origin: Option<IpAddr>, has: fn(&Held) -> usize) -> Option<&Held> {
    let idle = || held.iter().filter(|one| one.is_idle(now) && one.is_of(origin) && has(one) > 0);
    let as_silent =
        |of: &Held| idle().filter(|one| one.moved.is_none() && one.origin == of.origin).map(has).sum::<usize>();
    let last = |of: &Held| Reverse(of.moved.unwrap_or(of.since));
    idle().rev().max_by_key(|one| (one.moved.is_none(), as_silent(one), has(one), last(one)))
}

fn lock(registry: &Registry) -> MutexGuard<'_, Vec<Held>> {
    registry.held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    /// So many places, of which one origin has three quarters at most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, share: share(most), held: Arc::default() }
    }

    /// So many places for sessions that weigh so much at most.
    #[must_use]
    pub fn with_weight(most: usize, weight: usize) -> Self {
        Self { held: Arc::new(Registry { weight, ..Registry::default() }), ..Self::new(most) }
    }

    /// So many places for clients of one origin only.
    #[must_use]
    pub fn of_one_origin(most: usize) -> Self {
        Self { share: most, ..Self::new(most) }
    }

    /// Gives a place to a session of a client from this address. Waits for a second at most, if that many are about to end: of
    /// a crowd that comes at once, an honest client comes last.
    ///
    /// # Errors
    /// There is none that another session has to give up, or there are no descriptors.
    pub fn admit(&self, from: IpAddr) -> Result<Place, NoPlace> {
        let leaving = |held: &mut Vec<Held>| held.len() >= 2 * self.most;
        drop(self.held.left.wait_timeout_while(lock(&self.held), LEAVING, leaving));
        self.admit_at(Instant::now(), from)
    }

    fn admit_at(&self, now: Instant, from: IpAddr) -> Result<Place, NoPlace> {
        let origin = origin(from);
        let mut held = lock(&self.held);
        look(&mut held, now);
        // Who has been told to end takes a moment; there are no more of them than there are places.
        if held.len() >= 2 * self.most {
            return Err(NoPlace::Full(self.most));
        }
        let of = |origin| held.iter().filter(|one| one.stays() && one.origin == origin).count();
        let (own, all) = (of(origin) >= self.share, held.iter().filter(|one| one.stays()).count() >= self.most);
        if own || all {
            let Some(one) = first(&held, now, own.then_some(origin), |_| 1) else {
                return Err(if own { NoPlace::Share(self.share) } else { NoPlace::Full(self.most) });
            };
            one.leave();
        }
        let (stop, moves, leaves) = (Stop::new()?, Moves::default(), Arc::default());
        let place = Place { held: self.held.clone(), stop, moves, leaves };
        let (stop, moves, leaves) = (place.stop.clone(), place.moves.clone(), place.leaves.clone());
        held.push(Held { stop, origin, weight: 0, moves, since: now, moved: None, leaves });
        Ok(place)
    }

    /// Number of sessions that go on.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.held).len()
    }

    /// Tells all sessions to end.
    pub fn end(&self) {
        lock(&self.held).iter().for_each(|one| one.stop.ask(0));
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
        let registry = &*self.held;
        let leaving = |held: &mut Vec<Held>| held.iter().map(|one| one.weight).sum::<usize>() >= 2 * registry.weight;
        drop(registry.left.wait_timeout_while(lock(registry), LEAVING, leaving));
        self.weigh_at(Instant::now(), weight)
    }

    fn weigh_at(&self, now: Instant, weight: usize) -> bool {
        let mut held = lock(&self.held);
        look(&mut held, now);
        let Some(at) = held.iter().position(|one| Arc::ptr_eq(&one.leaves, &self.leaves)) else { return false };
        let (origin, most) = (held[at].origin, self.held.weight);
        let sum = |counts: &dyn Fn(&Held) -> bool| {
            held.iter().filter(|one| counts(one)).map(|one| one.weight).sum::<usize>() + weight
        };
        let fits = |goes_on: fn(&Held, Instant) -> bool| {
            let of = |origin| sum(&|one| one.is_of(origin) && goes_on(one, now));
            (of(Some(origin)) <= share(most), of(None) <= most)
        };
        // Nobody ends for one that would not fit then either, or before who is to end is gone.
        if fits(|one, now| one.stays() && !one.is_idle(now)) != (true, true) || sum(&|_| true) > 2 * most + weight {
            return false;
        }
        loop {
            let (own, all) = fits(|one, _| one.stays());
            let Some(one) = (!own || !all).then(|| first(&held, now, (!own).then_some(origin), |one| one.weight))
            else {
                break;
            };
            let Some(one) = one else { return false };
            one.leave();
        }
        held[at].weight = weight;
        true
    }

    /// True if the session is to end because another client needs its place.
    #[must_use]
    pub fn gives_way(&self) -> bool {
        self.leaves.load(Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.held).retain(|one| !Arc::ptr_eq(&one.leaves, &self.leaves));
        self.held.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn strangers(places: &Places, now: Instant, many: u32) -> Vec<Place> {
        (0..many).map(|n| places.admit_at(now, IpAddr::from(n.to_be_bytes())).unwrap()).collect()
    }

    #[test]
    fn the_oldest_that_has_never_moved_gives_way() {
        let (places, now) = (Places::new(4), Instant::now());
        let held = strangers(&places, now, 4);
        held[0].moves().mark();
        let late = places.admit_at(now, ip("9.9.9.9")).unwrap();
        let gone: Vec<bool> = held.iter().map(Place::gives_way).collect();
        assert_eq!(gone, [false, true, false, false]);
        assert!(held[1].stop().asked() && !held[0].stop().asked() && !late.gives_way());
        drop(held);
        assert_eq!(places.count(), 1);
    }

    #[test]
    fn who_moves_is_not_ended_for_a_stranger_and_who_has_stopped_is() {
        let (places, now) = (Places::new(3), Instant::now());
        let held = strangers(&places, now, 3);
        held.iter().for_each(|place| place.moves().mark());
        assert!(matches!(places.admit_at(now, ip("9.9.9.9")), Err(NoPlace::Full(3))));
        let later = now + QUIET;
        held[0].moves().mark();
        let new = places.admit_at(later, ip("9.9.9.9")).unwrap();
        assert_eq!(held.iter().map(Place::gives_way).collect::<Vec<_>>(), [false, true, false]);
        // The newcomer has not moved, and so goes before the one that has.
        let _newer = places.admit_at(later, ip("9.9.9.8")).unwrap();
        assert!(new.gives_way() && !held[2].gives_way());
    }

    #[test]
    fn an_origin_has_three_quarters_of_the_places_and_who_has_most_silent_sessions_loses_one() {
        let (places, now) = (Places::new(8), Instant::now());
        let here: Vec<Place> = (0..6).map(|_| places.admit_at(now, ip("10.0.0.1")).unwrap()).collect();
        here.iter().for_each(|place| place.moves().mark());
        assert!(matches!(places.admit_at(now, ip("::ffff:10.0.0.1")), Err(NoPlace::Share(6))));
        // A host of IPv6 has all addresses of its network.
        let there: Vec<Place> =
            ["2001:db8::1", "2001:db8::2:3"].iter().map(|at| places.admit_at(now, ip(at)).unwrap()).collect();
        drop(here);
        let honest = places.admit_at(now, ip("10.0.0.2")).unwrap();
        let more: Vec<Place> = (0..5).map(|_| places.admit_at(now, ip("2001:db8::4")).unwrap()).collect();
        let _new = places.admit_at(now, ip("10.0.0.3")).unwrap();
        assert!(there[0].gives_way() && !there[1].gives_way() && !honest.gives_way());
        assert!(more.iter().all(|place| !place.gives_way()));
    }

    #[test]
    fn what_silent_sessions_have_announced_gives_way_to_newcomers_of_any_origin() {
        let (places, now) = (Places::with_weight(64, 1024), Instant::now());
        let of = |ip| places.admit_at(now, ip).unwrap();
        let heavy: Vec<Place> =
            ["10.0.0.1", "10.0.0.2"].into_iter().flat_map(|at| (0..4).map(move |_| ip(at))).map(of).collect();
        assert!(heavy.iter().all(|place| place.weigh_at(now, 128)));
        let gone = || heavy.iter().map(Place::gives_way).collect::<Vec<_>>();
        // One that does not fit, whoever ends for it, ends nobody.
        let (other, same) = (of(ip("10.0.0.3")), of(ip("10.0.0.1")));
        assert!(!other.weigh_at(now, 1025) && gone() == [false; 8]);
        assert!(other.weigh_at(now, 1) && gone() == [true, false, false, false, false, false, false, false]);
        // A light one of the same origin stays when a heavy one comes for which another one has to go.
        assert!(same.weigh_at(now, 1) && of(ip("10.0.0.1")).weigh_at(now, 128));
        assert!(!same.gives_way() && !other.gives_way());
    }

    #[test]
    fn sessions_of_an_origin_weigh_three_quarters_and_those_that_move_stay() {
        let (places, now) = (Places::with_weight(64, 8), Instant::now());
        let of = |at: &str| places.admit_at(now, ip(at)).unwrap();
        let here = of("10.0.0.1");
        assert!(here.weigh_at(now, 6));
        here.moves().mark();
        assert!(!of("10.0.0.1").weigh_at(now, 1) && !here.gives_way());
        let there = of("10.0.0.2");
        assert!(there.weigh_at(now, 2));
        there.moves().mark();
        assert!(!of("10.0.0.3").weigh_at(now, 1) && !there.gives_way());
        // What it weighed is free when it has left.
        drop(there);
        assert!(of("10.0.0.3").weigh_at(now, 1));
    }

    #[test]
    fn those_that_are_to_end_are_no_more_than_there_are_places() {
        let (places, now) = (Places::new(2), Instant::now());
        let held = strangers(&places, now, 4);
        assert!(held[0].gives_way() && held[1].gives_way() && !held[3].gives_way());
        assert!(matches!(places.admit_at(now, ip("9.9.9.9")), Err(NoPlace::Full(2))));
        // It is let in as soon as one of them has left.
        let mut held = held;
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| places.admit(ip("9.9.9.9")));
            drop(held.remove(0));
            assert!(waits.join().unwrap().is_ok());
        });
        places.end();
        assert!(held.iter().all(|place| place.stop().asked()));
    }
}
