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
use std::collections::{BTreeMap, HashMap};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// The clients that were let in at a door.
#[derive(Debug)]
pub struct Admission {
    limits: Limits,
    last: u64,
    /// Those that have not left, the oldest first.
    held: BTreeMap<Ticket, Held>,
}

impl Admission {
    /// A door without clients.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, last: 0, held: BTreeMap::new() }
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
        let (mut all, mut own) = (0, 0);
        for held in self.held.values().filter(|held| !held.leaves) {
            (all, own) = (all + 1, own + usize::from(held.origin == from));
        }
        let (all, own) = (all >= places, own >= share);
        let mut gone = None;
        if all || own {
            gone = self.first(now, own.then_some(from), |_| 1);
            let gone = gone.ok_or(if own { Crowded::Share(share) } else { Crowded::Full(places) })?;
            self.dismiss(gone);
        }
        self.last += 1;
        self.held.insert(Ticket(self.last), Held { origin: from, weight: 0, proved: None, leaves: false });
        Ok((Ticket(self.last), gone))
    }

    /// A client has proved itself at this time.
    #[inline]
    pub fn proved(&mut self, of: Ticket, at: u64) {
        if let Some(held) = self.held.get_mut(&of) {
            held.proved = held.proved.max(Some(at));
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
        let first = self.first(now, None, |_| 1)?;
        self.dismiss(first);
        Some(first)
    }

    /// A client has left.
    pub fn leave(&mut self, of: Ticket) {
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
        if let Some(held) = self.held.get_mut(&of) {
            held.leaves = true;
        }
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
