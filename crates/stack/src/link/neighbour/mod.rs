//! Neighbours on the link: one bounded cache for ARP (RFC 826) and neighbour discovery (RFC 4861, section 7.3).
//!
//! A neighbour goes through the states of RFC 4861, section 7.3.2, whichever protocol resolved it; ARP's messages are
//! expressed in that RFC's terms (see [`Heard`]). For fast paths there is [`Neighbours::generation`], one number that
//! changes when a returned mapping must be looked up again, because it is wrong or because its time is up. A user that
//! caches headers compares that number, and calls [`Neighbours::lookup`] when it differs; the state machine needs
//! nothing else: a neighbour whose time is up becomes STALE, its users look it up once more, and that is the use that
//! RFC 4861 wants to see before it probes. A neighbour that stays STALE is unused.
//!
//! Memory is allocated at the start, except for held packets, which are bounded in number and bytes. When the table is
//! full, a new neighbour takes the place of one that never answered or, while those are few, of the longest unused one;
//! a neighbour that answered and is in use keeps its place, whatever others send.
//!
//! Out of scope: it parses nothing and sends nothing. Messages are checked before (hop limit 255, checksums, the target
//! of a request).

mod index;
mod lists;
mod places;
mod states;
mod terms;

use std::net::IpAddr;

use linerate_wire::MacAddr;

use index::Index;
use linerate_sum::SplitMix64;
use lists::Lists;
pub use terms::{Action, Config, Counters, Heard, HoldError, Lookup, Neighbour, State, TableFull};

/// The neighbours on one link.
///
/// Times are nanoseconds of one clock that does not go back.
#[derive(Debug)]
pub struct Neighbours {
    config: Config,
    /// Times of neighbours of IPv6.
    v6: Times,
    /// Number that random factors are made of.
    draw: u64,
    entries: Box<[Entry]>,
    index: Index,
    timers: Lists<TIMERS>,
    ranks: Lists<RANKS>,
    holders: Lists<1>,
    held_bytes: usize,
    /// Generation of the latest mapping.
    stamp: u64,
    generation: u64,
    counters: Counters,
}

// Timer lists: the entries of a list have the same delay, so that the first is due first. When a router advises of a shorter one,
// those that enter then may wait for those before them.
const TIMERS: usize = 6;
/// Request due now.
const DUE: usize = 0;
/// Requested, waiting for the answer: INCOMPLETE and PROBE.
const ASKED: usize = 1;
const DELAY: usize = 2;
const REACHABLE: usize = 3;
/// The same for neighbours of IPv6, whose times routers advise of.
const ASKED_V6: usize = 4;
const REACHABLE_V6: usize = 5;

// Ranks: entries that may be evicted. Not in a list: answered and in use, or permanent.
const RANKS: usize = 3;
const FREE: usize = 0;
/// Never answered, in any state; the oldest first.
const UNPROVEN: usize = 1;
/// Answered once, STALE since; the longest unused first.
const IDLE: usize = 2;

const HOLDERS: usize = 0;

#[derive(Debug)]
struct Entry {
    ip: IpAddr,
    mac: MacAddr,
    state: State,
    generation: u64,
    /// Time at which the timer of its list expires.
    deadline: u64,
    /// Requests sent in this state.
    asked: u32,
    /// True if the neighbour ever answered us.
    proven: bool,
    /// True if the mapping may be cached under the present generation.
    handed_out: bool,
    router: bool,
    /// Held packets, oldest first.
    queue: Vec<Vec<u8>>,
}

impl Entry {
    const EMPTY: Self = Self {
        ip: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        mac: MacAddr::UNSPECIFIED,
        state: State::Incomplete,
        generation: 0,
        deadline: 0,
        asked: 0,
        proven: false,
        handed_out: false,
        router: false,
        queue: Vec::new(),
    };
}

/// Times that differ between the families.
#[derive(Clone, Copy, Debug)]
struct Times {
    reachable_ns: u64,
    retrans_ns: u64,
}

impl Neighbours {
    /// Makes an empty table; allocates all its memory now, except for held packets.
    pub fn new(config: Config) -> Self {
        let capacity = config.capacity.max(1);
        let mut random = SplitMix64::new(config.seed);
        let draw = random.next_u64();
        let reachable_ns = reachable_time(config.reachable_ns, draw);
        let (queue, probes) = (config.queue.max(1), config.probes.max(1));
        let mut ranks = Lists::new(capacity);
        (0..capacity).for_each(|place| ranks.append(FREE, place));
        Self {
            config: Config { capacity, queue, probes, reachable_ns, ..config },
            v6: Times { reachable_ns, retrans_ns: config.retrans_ns },
            draw,
            entries: (0..capacity).map(|_| Entry::EMPTY).collect(),
            index: Index::new(capacity, random),
            timers: Lists::new(capacity),
            ranks,
            holders: Lists::new(capacity),
            held_bytes: 0,
            stamp: 0,
            generation: 0,
            counters: Counters::default(),
        }
    }

    /// Generation that changes whenever a returned mapping must be looked up again: its MAC address changed, it was
    /// removed, or it was not confirmed in time.
    #[inline]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Looks up the MAC address of `ip`, for a packet that is about to be sent there. If it is unknown, a request
    /// becomes due (RFC 4861, section 7.2.2); if it is STALE, the use is recorded (section 7.3.3). Allocates nothing.
    pub fn lookup(&mut self, now: u64, ip: IpAddr) -> Lookup {
        let Some(place) = self.find(ip) else {
            if let Some(place) = self.create(ip) {
                self.enter(place, State::Incomplete, DUE, now);
            }
            return Lookup::Unresolved;
        };
        let entry = &mut self.entries[place];
        let Entry { mac, generation, state, deadline, .. } = *entry;
        if state == State::Incomplete {
            return Lookup::Unresolved;
        }
        entry.handed_out = true;
        if state == State::Stale || state == State::Reachable && deadline <= now {
            self.delay(now, place);
        }
        Lookup::Found { mac, generation }
    }

    /// The row of `ip`, without any effect.
    pub fn peek(&self, ip: IpAddr) -> Option<Neighbour> {
        self.find(ip).map(|place| self.row(place))
    }

    /// Holds `packet` until `ip`, which was just looked up, answers. Returns the number of older packets dropped for
    /// it: this neighbour's first (RFC 4861, section 7.2.2), then those of the neighbour that has been resolving for
    /// longest.
    ///
    /// # Errors
    ///
    /// [`HoldError`]; the packet is dropped then.
    pub fn hold(&mut self, ip: IpAddr, packet: Vec<u8>) -> Result<usize, HoldError> {
        let place = self.find(ip).ok_or(HoldError::NotResolving)?;
        if self.entries[place].state != State::Incomplete {
            return Err(HoldError::NotResolving);
        }
        if packet.len() > self.config.queue_bytes {
            return Err(HoldError::TooLarge);
        }
        let mut dropped = 0;
        if self.entries[place].queue.len() == self.config.queue {
            self.drop_oldest(place);
            dropped += 1;
        }
        while self.config.queue_bytes - self.held_bytes < packet.len() {
            let Some(oldest) = self.holders.first(HOLDERS) else { break };
            self.drop_oldest(oldest);
            dropped += 1;
        }
        if self.holders.list_of(place).is_none() {
            self.holders.append(HOLDERS, place);
        }
        self.held_bytes += packet.len();
        self.entries[place].queue.push(packet);
        self.counters.held += 1;
        Ok(dropped)
    }

    /// Processes a message heard from `ip`; `mac` is None in an advertisement without target link-layer address.
    /// Returns the packets held for it that can be sent to `mac` now, oldest first.
    pub fn learn(&mut self, now: u64, ip: IpAddr, mac: Option<MacAddr>, heard: Heard) -> Vec<Vec<u8>> {
        if mac.is_some_and(|mac| mac.is_multicast() || mac == MacAddr::UNSPECIFIED) {
            self.counters.ignored += 1;
            return Vec::new();
        }
        match (self.find(ip), heard, mac) {
            (Some(place), _, _) if self.entries[place].state == State::Permanent => Vec::new(),
            (Some(place), Heard::Solicitation, Some(mac)) => self.solicited_by(now, place, mac),
            (None, Heard::Solicitation, Some(mac)) => {
                if let Some(place) = self.create(ip) {
                    self.assign(place, mac);
                    self.stale(place);
                }
                Vec::new()
            }
            (Some(place), Heard::Advertisement { solicited, overrides, router }, mac) => {
                self.advertised(now, place, mac, (solicited, overrides, router))
            }
            // RFC 4861, section 7.2.5: without an entry an advertisement is dropped silently. RFC 826 likewise makes
            // entries only for requests to us.
            (None, ..) | (_, Heard::Solicitation, None) => {
                self.counters.ignored += 1;
                Vec::new()
            }
        }
    }

    /// Takes the times that a router advises of for neighbours of IPv6 (BaseReachableTime and RetransTimer, RFC 4861, section
    /// 6.3.4). They are not shorter than Linux has them, so that nobody makes us flood the link, and not longer than an hour, which
    /// is the most that a router may advise of for the former (section 6.2.1).
    pub fn advise(&mut self, reachable_ns: Option<u64>, retrans_ns: Option<u64>) {
        const HOUR: u64 = 3_600_000_000_000;
        if let Some(base) = reachable_ns.filter(|base| *base <= HOUR) {
            self.v6.reachable_ns = reachable_time(base.max(100_000_000), self.draw);
        }
        if let Some(time) = retrans_ns.filter(|time| *time <= HOUR) {
            self.v6.retrans_ns = time.max(10_000_000);
        }
    }

    /// Confirms that `ip` is reachable, as a protocol above knows from its acknowledgements (RFC 4861, section 7.3.1).
    pub fn confirm(&mut self, now: u64, ip: IpAddr) {
        let Some(place) = self.find(ip) else { return };
        if !matches!(self.entries[place].state, State::Incomplete | State::Permanent) {
            self.reachable(now, place);
        }
    }

    /// Sets `ip` to `mac` until it is removed: no requests are sent for it and it is never evicted.
    ///
    /// # Errors
    ///
    /// [`TableFull`] if all places are taken by neighbours in use.
    pub fn insert_permanent(&mut self, ip: IpAddr, mac: MacAddr) -> Result<Vec<Vec<u8>>, TableFull> {
        let place = match self.find(ip) {
            Some(place) => place,
            None => self.create(ip).ok_or(TableFull)?,
        };
        self.assign(place, mac);
        self.entries[place].state = State::Permanent;
        self.timers.remove(place);
        self.ranks.remove(place);
        Ok(self.take_held(place))
    }

    /// Removes `ip`, permanent or not, and drops the packets held for it. False if it was not there.
    pub fn remove(&mut self, ip: IpAddr) -> bool {
        let place = self.find(ip);
        if let Some(place) = place {
            self.clear(place);
        }
        place.is_some()
    }

    /// Removes all but the permanent entries, as when the link went down.
    pub fn flush(&mut self) {
        for place in 0..self.entries.len() {
            if self.is_used(place) && self.entries[place].state != State::Permanent {
                self.clear(place);
            }
        }
    }

    /// Does the work that is due and passes requests to send and failed neighbours to `out`.
    pub fn poll(&mut self, now: u64, mut out: impl FnMut(Action)) {
        while let Some(place) = self.due(REACHABLE, now).or_else(|| self.due(REACHABLE_V6, now)) {
            // RFC 4861, section 7.3.3: more than ReachableTime since the last confirmation.
            self.invalidate(place);
            self.stale(place);
        }
        while let Some(place) = self.due(DELAY, now) {
            self.entries[place].asked = 0;
            self.enter(place, State::Probe, DUE, now);
        }
        while let Some(place) = self.due(ASKED, now).or_else(|| self.due(ASKED_V6, now)) {
            let Entry { ip, asked, state, .. } = self.entries[place];
            if asked < self.config.probes {
                self.enter(place, state, DUE, now);
                continue;
            }
            self.counters.failed += 1;
            let packets = self.take_held(place);
            self.clear(place);
            out(Action::Failed { ip, packets });
        }
        while let Some(place) = self.timers.first(DUE) {
            let Entry { ip, mac, state, .. } = self.entries[place];
            self.entries[place].asked += 1;
            let (list, time) =
                if ip.is_ipv6() { (ASKED_V6, self.v6.retrans_ns) } else { (ASKED, self.config.retrans_ns) };
            self.enter(place, state, list, now.saturating_add(time));
            self.counters.requests += 1;
            out(Action::SendRequest { ip, unicast: (state == State::Probe).then_some(mac) });
        }
    }

    /// Time of the next call of [`poll`](Self::poll).
    pub fn poll_timeout(&self) -> Option<u64> {
        let firsts = (0..TIMERS).filter_map(|list| self.timers.first(list));
        firsts.map(|place| self.entries[place].deadline).min()
    }

    /// All neighbours, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Neighbour> {
        (0..self.entries.len()).filter(|&place| self.is_used(place)).map(|place| self.row(place))
    }

    /// Number of neighbours in the table.
    pub fn len(&self) -> usize {
        self.entries.len() - self.ranks.len(FREE)
    }

    /// True if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Total bytes of the held packets.
    pub const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Counts of events since the start.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    fn due(&self, list: usize, now: u64) -> Option<usize> {
        self.timers.first(list).filter(|&place| self.entries[place].deadline <= now)
    }

    fn find(&self, ip: IpAddr) -> Option<usize> {
        self.index.find(ip, |place| self.entries[place].ip)
    }

    fn is_used(&self, place: usize) -> bool {
        self.ranks.list_of(place) != Some(FREE)
    }

    fn row(&self, place: usize) -> Neighbour {
        let entry = &self.entries[place];
        let Entry { ip, state, router, generation, .. } = *entry;
        let mac = (state != State::Incomplete).then_some(entry.mac);
        Neighbour { ip, mac, state, router, generation, held: entry.queue.len() }
    }
}

/// ReachableTime (RFC 4861, section 6.3.2): uniform between MIN_RANDOM_FACTOR (0.5) and MAX_RANDOM_FACTOR (1.5) times
/// BaseReachableTime. The number is drawn once for a table.
fn reachable_time(base: u64, draw: u64) -> u64 {
    (base / 2).saturating_add(draw % base.max(1))
}

#[cfg(test)]
mod tests;
