//! Who is where on the link: one bounded cache for ARP (RFC 826) and neighbour discovery (RFC 4861, section 7.3).
//!
//! A neighbour goes through the states of RFC 4861, section 7.3.2, whichever protocol found it; ARP's messages are told
//! in that RFC's terms (see [`Heard`]). What makes it fit for a fast path: [`Neighbours::generation`] is one number that
//! changes when a mapping that was handed out must be looked up again, because it is wrong or because its time is up.
//! Who keeps finished headers compares that number, calls [`Neighbours::lookup`] when it differs, and owes the state
//! machine nothing else: a neighbour whose time is up becomes STALE, those who use it come back once, and that is the
//! use that RFC 4861 wants to see before it probes. A neighbour that stays STALE is one that nobody uses.
//!
//! Memory is taken at the start, but for the packets held, which are bounded in number and octets. When the table is
//! full, a new neighbour takes the place of one that never answered or, while those are few, of the longest unused one;
//! a neighbour that answered and is in use keeps its place, whatever is sent to us.
//!
//! What this module refuses to do: it parses nothing and sends nothing. Checks on messages (hop limit 255, checksums,
//! whether a request is for us) come before it.

mod index;
mod lists;

use std::net::IpAddr;

use linerate_wire::MacAddr;

use index::{Index, split_mix};
use lists::Lists;

const SECOND: u64 = 1_000_000_000;

/// Sizes and times of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Neighbours at a time; at least one.
    pub capacity: usize,
    /// Packets held for each neighbour that is being resolved; at least one.
    pub queue: usize,
    /// Octets held in all.
    pub queue_bytes: usize,
    /// How long an answer is believed, before a random factor of 0.5 to 1.5 (BaseReachableTime), in nanoseconds.
    pub reachable_ns: u64,
    /// How long a used neighbour may be confirmed by its answers before it is asked (DELAY_FIRST_PROBE_TIME).
    pub delay_ns: u64,
    /// Between two requests to one neighbour (RetransTimer).
    pub retrans_ns: u64,
    /// Requests before a neighbour counts as gone (MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT); at least one.
    pub probes: u32,
    /// What hashes and the random factor are made from; keep it secret from the link.
    pub seed: u64,
}

impl Default for Config {
    /// RFC 4861, section 10, and 1024 neighbours, 16 packets each, 1 MB in all.
    fn default() -> Self {
        Self {
            capacity: 1024,
            queue: 16,
            queue_bytes: 1_000_000,
            reachable_ns: 30 * SECOND,
            delay_ns: 5 * SECOND,
            retrans_ns: SECOND,
            probes: 3,
            seed: 0,
        }
    }
}

/// What a look-up found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The neighbour's address on the link.
    Found {
        /// Where to send.
        mac: MacAddr,
        /// Differs from every earlier one of this neighbour if the MAC address could: a header made under the same
        /// number still is right.
        generation: u64,
    },
    /// Not known yet; [`Neighbours::poll`] asks. Give the packet to [`Neighbours::hold`].
    Unresolved,
}

/// How an address on the link was heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// From one who asks for an address of ours: an ARP request, or a neighbour solicitation's source link-layer address
    /// (RFC 4861, section 7.2.3). Likewise a router's solicitation or advertisement. May make a new entry.
    Solicitation,
    /// From a neighbour advertisement (RFC 4861, section 7.2.5). An ARP reply to our address is `solicited` and
    /// `overrides`; a gratuitous ARP or another's request is not `solicited`. Never makes an entry.
    Advertisement {
        /// The S flag: an answer to us, which proves that the neighbour hears us.
        solicited: bool,
        /// The O flag: the address replaces a different one.
        overrides: bool,
        /// The R flag: the neighbour is a router.
        router: bool,
    },
}

impl Heard {
    /// An ARP reply that was sent to us.
    pub const ARP_REPLY: Self = Self::Advertisement { solicited: true, overrides: true, router: false };
    /// A gratuitous ARP, or a request that is not for us: updates what is known, proves nothing.
    pub const ARP_GRATUITOUS: Self = Self::Advertisement { solicited: false, overrides: true, router: false };
}

/// What [`Neighbours::poll`] wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send an ARP request or a neighbour solicitation for `ip`.
    SendRequest {
        /// Whom to ask for.
        ip: IpAddr,
        /// Where to send it; to all (broadcast, or the solicited-node group) when absent.
        unicast: Option<MacAddr>,
    },
    /// The neighbour did not answer and is forgotten: for each packet, ICMP host (address) unreachable is due.
    Failed {
        /// Who did not answer.
        ip: IpAddr,
        /// What was held for it, oldest first.
        packets: Vec<Vec<u8>>,
    },
}

/// A packet that was not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The neighbour is not being resolved: look it up first; if it was, the table is full of neighbours in use.
    #[error("neighbour: nobody is being asked for this address: look it up first, or give the table more capacity")]
    NotResolving,
    /// The packet alone exceeds what may be held in all.
    #[error("neighbour: packet larger than all that may be held: raise queue_bytes")]
    TooLarge,
}

/// There is no place for a static neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neighbour: the table is full of neighbours in use: give it more capacity")]
pub struct TableFull;

/// The states of RFC 4861, section 7.3.2, and one for what was configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Asked for, no answer yet.
    Incomplete,
    /// Answered of late.
    Reachable,
    /// Not heard of for a while, and not used since.
    Stale,
    /// Used since; will be asked soon.
    Delay,
    /// Being asked again.
    Probe,
    /// Configured.
    Permanent,
}

/// One row of the table, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Its IP address.
    pub ip: IpAddr,
    /// Its address on the link, when known.
    pub mac: Option<MacAddr>,
    /// Its state.
    pub state: State,
    /// Whether it said that it is a router.
    pub router: bool,
    /// Of its mapping; see [`Lookup::Found`].
    pub generation: u64,
    /// Packets held for it.
    pub held: usize,
}

/// What happened since the start; each counts events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests asked for.
    pub requests: u64,
    /// Neighbours that did not answer.
    pub failed: u64,
    /// Neighbours that lost their place to another.
    pub evicted: u64,
    /// Look-ups and requests that found no place in the table.
    pub table_full: u64,
    /// MAC addresses that changed.
    pub moved: u64,
    /// Claims not followed: a group's MAC address, or an address that was not asked for or is not to be replaced.
    pub ignored: u64,
    /// Packets held.
    pub held: u64,
    /// Packets held that were dropped for newer ones, or with their neighbour's place. Those of [`Action::Failed`] are
    /// not among them.
    pub held_dropped: u64,
}

/// The neighbours on one link.
///
/// Times are nanoseconds of one clock that does not go back.
#[derive(Debug)]
pub struct Neighbours {
    config: Config,
    entries: Box<[Entry]>,
    index: Index,
    timers: Lists<TIMERS>,
    ranks: Lists<RANKS>,
    holders: Lists<1>,
    held_bytes: usize,
    /// The last mapping's generation.
    stamp: u64,
    generation: u64,
    counters: Counters,
}

// Timer lists: a list's entries wait equally long, so that the first is due first.
const TIMERS: usize = 4;
/// To be asked at once.
const DUE: usize = 0;
/// Asked, waiting for the answer: INCOMPLETE and PROBE.
const ASKED: usize = 1;
const DELAY: usize = 2;
const REACHABLE: usize = 3;

// Ranks: who may lose its place. Not in a list: answered and in use, or permanent.
const RANKS: usize = 3;
const FREE: usize = 0;
/// Never answered, in whatever state; the oldest first.
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
    /// When the timer of its list ends.
    deadline: u64,
    /// Requests sent in this state.
    asked: u32,
    /// Whether it ever answered us.
    proven: bool,
    /// Whether somebody may keep the mapping under the present generation.
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

impl Neighbours {
    /// An empty table; takes all its memory now, but for packets held.
    pub fn new(config: Config) -> Self {
        let capacity = config.capacity.max(1);
        let mut state = config.seed;
        // RFC 4861, section 6.3.2: ReachableTime is uniform between MIN_RANDOM_FACTOR (0.5) and MAX_RANDOM_FACTOR (1.5)
        // times BaseReachableTime. It is drawn once for a table.
        let base = config.reachable_ns;
        let reachable_ns = (base / 2).saturating_add(split_mix(&mut state) % base.max(1));
        let (queue, probes) = (config.queue.max(1), config.probes.max(1));
        let mut ranks = Lists::new(capacity);
        (0..capacity).for_each(|place| ranks.append(FREE, place));
        Self {
            config: Config { capacity, queue, probes, reachable_ns, ..config },
            entries: (0..capacity).map(|_| Entry::EMPTY).collect(),
            index: Index::new(capacity, state),
            timers: Lists::new(capacity),
            ranks,
            holders: Lists::new(capacity),
            held_bytes: 0,
            stamp: 0,
            generation: 0,
            counters: Counters::default(),
        }
    }

    /// A number that changes whenever a mapping that was handed out must be looked up again: its MAC address changed, it
    /// was removed, or it was not confirmed in time.
    #[inline]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Where `ip` is, for a packet that is about to be sent there. Asks for it when it is not known (RFC 4861, section
    /// 7.2.2), and notes the use of what is not known for certain (section 7.3.3). Allocates nothing.
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

    /// Keeps `packet` until `ip`, which was just looked up, answers. Returns how many older packets were dropped for it:
    /// this neighbour's first (RFC 4861, section 7.2.2), then those of the neighbour asked for longest.
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

    /// Takes in what was heard of `ip`; `mac` is absent in an advertisement without target link-layer address. Returns
    /// the packets that were held for it and can be sent to `mac` now, oldest first.
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
            // entries of requests for us only.
            (None, ..) | (_, Heard::Solicitation, None) => {
                self.counters.ignored += 1;
                Vec::new()
            }
        }
    }

    /// Notes that `ip` answers, as a protocol above sees from acknowledgements of its own (RFC 4861, section 7.3.1).
    pub fn confirm(&mut self, now: u64, ip: IpAddr) {
        let Some(place) = self.find(ip) else { return };
        if !matches!(self.entries[place].state, State::Incomplete | State::Permanent) {
            self.reachable(now, place);
        }
    }

    /// Sets `ip` to `mac` until it is removed: it is never asked for and never loses its place.
    ///
    /// # Errors
    ///
    /// [`TableFull`] when all places are taken by neighbours in use.
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

    /// Forgets `ip`, permanent or not; what was held for it is dropped. Returns whether it was there.
    pub fn remove(&mut self, ip: IpAddr) -> bool {
        let place = self.find(ip);
        if let Some(place) = place {
            self.clear(place);
        }
        place.is_some()
    }

    /// Forgets all but the permanent ones, as when the link went down.
    pub fn flush(&mut self) {
        for place in 0..self.entries.len() {
            if self.is_used(place) && self.entries[place].state != State::Permanent {
                self.clear(place);
            }
        }
    }

    /// Does what is due and tells `out` what to send and who did not answer.
    pub fn poll(&mut self, now: u64, mut out: impl FnMut(Action)) {
        while let Some(place) = self.due(REACHABLE, now) {
            // RFC 4861, section 7.3.3: more than ReachableTime since the last confirmation.
            self.invalidate(place);
            self.stale(place);
        }
        while let Some(place) = self.due(DELAY, now) {
            self.entries[place].asked = 0;
            self.enter(place, State::Probe, DUE, now);
        }
        while let Some(place) = self.due(ASKED, now) {
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
            self.enter(place, state, ASKED, now.saturating_add(self.config.retrans_ns));
            self.counters.requests += 1;
            out(Action::SendRequest { ip, unicast: (state == State::Probe).then_some(mac) });
        }
    }

    /// When [`poll`](Self::poll) is wanted next.
    pub fn poll_timeout(&self) -> Option<u64> {
        let firsts = (0..TIMERS).filter_map(|list| self.timers.first(list));
        firsts.map(|place| self.entries[place].deadline).min()
    }

    /// All neighbours, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Neighbour> {
        (0..self.entries.len()).filter(|&place| self.is_used(place)).map(|place| self.row(place))
    }

    /// Neighbours in the table.
    pub fn len(&self) -> usize {
        self.entries.len() - self.ranks.len(FREE)
    }

    /// Whether the table holds nobody.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Octets of the packets held.
    pub const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// What happened since the start.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// RFC 4861, section 7.2.3: the source link-layer address of a message to us.
    fn solicited_by(&mut self, now: u64, place: usize, mac: MacAddr) -> Vec<Vec<u8>> {
        let entry = &self.entries[place];
        if entry.state == State::Incomplete || entry.mac != mac {
            self.assign(place, mac);
            self.stale(place);
        }
        self.release(now, place)
    }

    /// RFC 4861, section 7.2.5: a neighbour advertisement, or ARP's equal.
    fn advertised(
        &mut self,
        now: u64,
        place: usize,
        mac: Option<MacAddr>,
        (solicited, overrides, router): (bool, bool, bool),
    ) -> Vec<Vec<u8>> {
        let entry = &self.entries[place];
        let incomplete = entry.state == State::Incomplete;
        if incomplete && mac.is_none() {
            self.counters.ignored += 1;
            return Vec::new();
        }
        let moved = mac.filter(|&mac| incomplete || mac != entry.mac);
        if let Some(mac) = moved {
            if !incomplete && !overrides {
                // I: it contradicts and must not replace; what was certain no longer is.
                self.counters.ignored += 1;
                if entry.state == State::Reachable {
                    self.invalidate(place);
                    self.stale(place);
                }
                return Vec::new();
            }
            self.assign(place, mac);
        }
        self.entries[place].router = router;
        if solicited {
            self.reachable(now, place);
        } else if moved.is_some() {
            self.stale(place);
        }
        self.release(now, place)
    }

    /// Hands out what was held; sending it is a use of the neighbour.
    fn release(&mut self, now: u64, place: usize) -> Vec<Vec<u8>> {
        let packets = self.take_held(place);
        if !packets.is_empty() && self.entries[place].state == State::Stale {
            self.delay(now, place);
        }
        packets
    }

    /// Gives `place` the address `mac`, under a new generation when it is another.
    fn assign(&mut self, place: usize, mac: MacAddr) {
        let entry = &mut self.entries[place];
        let known = entry.generation != 0;
        if known && entry.mac == mac {
            return;
        }
        self.stamp += 1;
        entry.generation = self.stamp;
        entry.mac = mac;
        if known {
            self.counters.moved += 1;
            self.invalidate(place);
        }
    }

    fn reachable(&mut self, now: u64, place: usize) {
        self.entries[place].proven = true;
        self.enter(place, State::Reachable, REACHABLE, now.saturating_add(self.config.reachable_ns));
    }

    fn delay(&mut self, now: u64, place: usize) {
        self.enter(place, State::Delay, DELAY, now.saturating_add(self.config.delay_ns));
    }

    /// A STALE neighbour has no timer: it waits for use or for somebody who needs its place.
    fn stale(&mut self, place: usize) {
        self.entries[place].state = State::Stale;
        self.timers.remove(place);
        self.rank(place);
    }

    fn enter(&mut self, place: usize, state: State, timer: usize, deadline: u64) {
        self.entries[place].state = state;
        self.entries[place].deadline = deadline;
        self.timers.append(timer, place);
        self.rank(place);
    }

    /// Puts `place` among those that may lose it, or not.
    fn rank(&mut self, place: usize) {
        let entry = &self.entries[place];
        let rank = match entry.state {
            State::Permanent => None,
            _ if !entry.proven => Some(UNPROVEN),
            State::Stale => Some(IDLE),
            _ => None,
        };
        match rank {
            // Its age among its like stays.
            Some(rank) if self.ranks.list_of(place) == Some(rank) => {}
            Some(rank) => self.ranks.append(rank, place),
            None => self.ranks.remove(place),
        }
    }

    /// Makes who keeps this mapping look it up again.
    fn invalidate(&mut self, place: usize) {
        if std::mem::take(&mut self.entries[place].handed_out) {
            self.generation += 1;
        }
    }

    /// A place for `ip`, which has none; no timer and no address yet.
    fn create(&mut self, ip: IpAddr) -> Option<usize> {
        let place = self.ranks.first(FREE).or_else(|| self.evict());
        let Some(place) = place else {
            self.counters.table_full += 1;
            return None;
        };
        self.entries[place].ip = ip;
        self.index.insert(ip, place);
        self.ranks.append(UNPROVEN, place);
        Some(place)
    }

    /// Takes a place from one that never answered or, while these hold less than a quarter of the table, from the
    /// longest unused one: so neither do floods of made-up addresses push out real ones, nor real ones all new ones.
    fn evict(&mut self) -> Option<usize> {
        let unproven = self.ranks.first(UNPROVEN);
        let many = self.ranks.len(UNPROVEN) > self.entries.len() / 4;
        let place = if many { unproven } else { self.ranks.first(IDLE).or(unproven) }?;
        self.counters.evicted += 1;
        self.clear(place);
        Some(place)
    }

    /// Empties `place`.
    fn clear(&mut self, place: usize) {
        self.counters.held_dropped += self.entries[place].queue.len() as u64;
        drop(self.take_held(place));
        self.invalidate(place);
        self.index.remove(self.entries[place].ip, place);
        self.timers.remove(place);
        self.ranks.append(FREE, place);
        self.entries[place] = Entry::EMPTY;
    }

    fn take_held(&mut self, place: usize) -> Vec<Vec<u8>> {
        self.holders.remove(place);
        let packets = std::mem::take(&mut self.entries[place].queue);
        self.held_bytes -= packets.iter().map(Vec::len).sum::<usize>();
        packets
    }

    fn drop_oldest(&mut self, place: usize) {
        let queue = &mut self.entries[place].queue;
        self.held_bytes -= queue.remove(0).len();
        self.counters.held_dropped += 1;
        if queue.is_empty() {
            self.holders.remove(place);
        }
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
