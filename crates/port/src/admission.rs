//! Admission of clients that need no permission: how many there are, how many of them one origin has, and which one gives way
//! when there is no place left. Each server and listener has one of these; times are passed in.
//!
//! A client *proves* itself by what costs it something: data that come or go, a request. Its proof holds for [`Limits::quiet`] from
//! the last one on, and as long it is not ended for another client. When one comes and no place is free, one that has never
//! proved itself gives way: the oldest of the origin that has the most of them. Where all have, it is one whose proof has lapsed, of
//! the origin with the most of these. An origin has three quarters of the places at most, so that there are some for others.
//!
//! Clients may weigh something besides, by what they announce ([`Admission::weigh`]). The same holds for the weight of all, except
//! that of an origin's the heaviest gives way first.
//!
//! A client whose own address is that of others who come again at once may have to give way before it can prove itself: they are
//! not told apart.
//!
//! Out of scope: time limits of a client whose place nobody else needs; they are its protocol's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;

/// Time in ns for which a proof holds, of doors that have no reason for another one.
const QUIET: u64 = 10_000_000_000;

/// Origin of clients: those of one origin count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// An address of IPv4, or the network of an address of IPv6, of which a host has all.
    Host(IpAddr),
    /// A process of this machine; None if the kernel does not say which.
    Process(Option<i32>),
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        Self::Host(linerate_wire::origin(address))
    }
}

/// Limits of a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most clients at a time.
    pub places: usize,
    /// Most of one origin.
    pub share: usize,
    /// Most that all clients weigh together, of which an origin has three quarters.
    pub weight: usize,
    /// Time in ns for which a proof holds.
    pub quiet: u64,
}

impl Limits {
    /// So many places, of which an origin has three quarters; nobody weighs anything, and a proof holds for ten seconds.
    #[must_use]
    pub const fn new(places: usize) -> Self {
        Self { places, share: share(places), weight: 0, quiet: QUIET }
    }

    /// The same, with another time for which a proof holds.
    #[must_use]
    pub const fn quiet(self, quiet: Duration) -> Self {
        let ns = quiet.as_nanos();
        #[expect(clippy::cast_possible_truncation, reason = "no door's time is 500 years")]
        Self { quiet: ns as u64, ..self }
    }
}

const fn share(of: usize) -> usize {
    of - of / 4
}

/// A client that was let in: numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Nobody has to give way to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Crowded {
    /// All places are those of clients whose proof holds.
    #[error("{0} sessions go on")]
    Full(usize),
    /// The same of the places of its origin.
    #[error("{0} sessions of its address go on")]
    Share(usize),
}

#[derive(Debug)]
struct Held {
    origin: Origin,
    weight: usize,
    /// Time of the last proof.
    proved: Option<u64>,
    /// It was told to leave.
    leaves: bool,
}

/// Those of one origin that have a place.
#[derive(Debug, Default)]
struct Crowd {
    count: usize,
    /// Those that have never proved themselves.
    unproved: BTreeSet<Ticket>,
    /// Time before which no proof of theirs lapses.
    hold: u64,
}

/// The clients that were let in at a door. Who gives way is found without a look at all of them, as long as that is known
/// already: who asks often must not be able to keep the door busy.
#[derive(Debug)]
pub struct Admission {
    limits: Limits,
    last: u64,
    /// Those that have not left, the oldest first.
    held: BTreeMap<Ticket, Held>,
    /// Number of them that were not told to leave.
    placed: usize,
    crowds: HashMap<Origin, Crowd>,
    /// The number of an origin's that have never proved themselves, and the oldest of these.
    unproved: BTreeSet<(usize, Reverse<Ticket>)>,
    /// Time before which nobody's proof lapses.
    hold: u64,
}

impl Admission {
    /// A door without clients.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let (held, crowds, unproved) = (BTreeMap::new(), HashMap::new(), BTreeSet::new());
        Self { limits, last: 0, held, placed: 0, crowds, unproved, hold: 0 }
    }

    /// Lets a client in, and tells who has to leave for it: that one counts until it [has](Self::leave), but has no place. `now`
    /// and all other times: ns of a clock that never goes back.
    ///
    /// # Errors
    /// There is no place that another client has to give up; or as many are about to leave as there are places.
    pub fn admit(&mut self, now: u64, from: Origin) -> Result<(Ticket, Option<Ticket>), Crowded> {
        let Limits { places, share, .. } = self.limits;
        if self.is_leaving() {
            return Err(Crowded::Full(places));
        }
        let (all, own) = (self.placed >= places, self.crowds.get(&from).is_some_and(|crowd| crowd.count >= share));
        let mut gone = None;
        if all || own {
            gone = self.next(now, own.then_some(from));
            let gone = gone.ok_or(if own { Crowded::Share(share) } else { Crowded::Full(places) })?;
            self.dismiss(gone);
        }
        self.last += 1;
        let ticket = Ticket(self.last);
        self.held.insert(ticket, Held { origin: from, weight: 0, proved: None, leaves: false });
        self.placed += 1;
        self.change(from, |crowd| {
            crowd.count += 1;
            crowd.unproved.insert(ticket);
        });
        Ok((ticket, gone))
    }

    /// A client has proved itself at this time.
    #[inline]
    pub fn proved(&mut self, of: Ticket, at: u64) {
        let Some(held) = self.held.get_mut(&of) else { return };
        let (origin, first) = (held.origin, held.proved.is_none() && !held.leaves);
        held.proved = held.proved.max(Some(at));
        if first {
            self.change(origin, |crowd| _ = crowd.unproved.remove(&of));
        }
    }

    /// Has a client weigh so much, and tells who has to leave for that; None if it may not.
    pub fn weigh(&mut self, now: u64, of: Ticket, weight: usize) -> Option<Vec<Ticket>> {
        let (origin, most) = (self.held.get(&of)?.origin, self.limits.weight);
        let sum = |held: &BTreeMap<Ticket, Held>, counts: &dyn Fn(&Held) -> bool| {
            held.values().filter(|one| counts(one)).map(|one| one.weight).sum::<usize>() + weight
        };
        let fits = |held: &BTreeMap<Ticket, Held>, goes_on: &dyn Fn(&Held) -> bool| {
            let own = sum(held, &|one| one.origin == origin && goes_on(one));
            (own <= share(most), sum(held, goes_on) <= most)
        };
        // Nobody leaves for one that would not fit then either, or before who is to leave is gone.
        let stays = |one: &Held| !one.leaves && !self.may_go(one, now);
        if fits(&self.held, &stays) != (true, true) || sum(&self.held, &|_| true) > 2 * most + weight {
            return None;
        }
        let mut gone = Vec::new();
        loop {
            let (own, all) = fits(&self.held, &|one| !one.leaves);
            if own && all {
                break;
            }
            let first = self.first(now, (!own).then_some(origin), |one| one.weight)?;
            self.dismiss(first);
            gone.push(first);
        }
        self.held.get_mut(&of)?.weight = weight;
        Some(gone)
    }

    /// Tells the one to leave that gives way first, because the system has no descriptors or memory for more.
    pub fn make_room(&mut self, now: u64) -> Option<Ticket> {
        let first = self.next(now, None)?;
        self.dismiss(first);
        Some(first)
    }

    /// A client has left.
    pub fn leave(&mut self, of: Ticket) {
        self.dismiss(of);
        self.held.remove(&of);
    }

    /// True if a client was told to leave for another one.
    #[must_use]
    pub fn leaves(&self, of: Ticket) -> bool {
        self.held.get(&of).is_some_and(|held| held.leaves)
    }

    /// Number of clients, with those that are about to leave.
    #[must_use]
    pub fn count(&self) -> usize {
        self.held.len()
    }

    /// True if as many are about to leave as there are places: nobody is let in until one of them has.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.held.len() >= 2 * self.limits.places
    }

    /// The same of their weight.
    #[must_use]
    pub fn is_overweight(&self) -> bool {
        self.held.values().map(|one| one.weight).sum::<usize>() >= 2 * self.limits.weight
    }

    fn dismiss(&mut self, of: Ticket) {
        let Some(held) = self.held.get_mut(&of).filter(|held| !held.leaves) else { return };
        held.leaves = true;
        self.placed -= 1;
        let origin = held.origin;
        self.change(origin, |crowd| {
            crowd.count -= 1;
            crowd.unproved.remove(&of);
        });
    }

    /// Changes what is known of an origin.
    fn change(&mut self, origin: Origin, change: impl FnOnce(&mut Crowd)) {
        let crowd = self.crowds.entry(origin).or_default();
        let key = |crowd: &Crowd| crowd.unproved.first().map(|oldest| (crowd.unproved.len(), Reverse(*oldest)));
        let before = key(crowd);
        change(crowd);
        let after = key(crowd);
        if crowd.count == 0 {
            self.crowds.remove(&origin);
        }
        before.map(|key| self.unproved.remove(&key));
        after.map(|key| self.unproved.insert(key));
    }

    /// The client that gives way next, of one origin or of all.
    fn next(&mut self, now: u64, origin: Option<Origin>) -> Option<Ticket> {
        let (unproved, hold) = match origin {
            Some(origin) => {
                let crowd = self.crowds.get_mut(&origin)?;
                (crowd.unproved.first().copied(), &mut crowd.hold)
            }
            None => (self.unproved.last().map(|(_, oldest)| oldest.0), &mut self.hold),
        };
        if unproved.is_some() || now < *hold {
            return unproved;
        }
        let own = |one: &&Held| !one.leaves && origin.is_none_or(|origin| one.origin == origin);
        // From then on; until then all of them hold.
        let first = self.held.values().filter(own).filter_map(|one| one.proved).min();
        *hold = first.map_or(0, |at| at.saturating_add(self.limits.quiet));
        if now < *hold { None } else { self.first(now, origin, |_| 1) }
    }

    /// True if a client may be told to leave for another one.
    fn may_go(&self, one: &Held, now: u64) -> bool {
        !one.leaves && one.proved.is_none_or(|at| now.saturating_sub(at) >= self.limits.quiet)
    }

    /// The client that gives way first, of one origin or of all; it has something of what `has` counts.
    fn first(&self, now: u64, origin: Option<Origin>, has: fn(&Held) -> usize) -> Option<Ticket> {
        let fits =
            |one: &Held| origin.is_none_or(|origin| one.origin == origin) && self.may_go(one, now) && has(one) > 0;
        let all = || self.held.iter().filter(|(_, one)| fits(one));
        // Those of each origin that have, or have not, proved themselves before.
        let mut sums: HashMap<(Origin, bool), usize> = HashMap::new();
        all().for_each(|(_, one)| *sums.entry((one.origin, one.proved.is_none())).or_default() += has(one));
        let alike = |one: &Held| sums.get(&(one.origin, one.proved.is_none())).copied();
        let first = all().max_by_key(|(ticket, one)| {
            (one.proved.is_none(), alike(one), has(one), Reverse(one.proved), Reverse(**ticket))
        });
        first.map(|(ticket, _)| *ticket)
    }
}

#[cfg(test)]
mod tests;
