//! The learning table: the port at which an address was last seen, by VLAN (IEEE 802.1Q-2018 clause 8.8).
//!
//! Its memory is fixed when it is made. A bucket of four entries fills one cache line; the bucket of an address is
//! chosen by a hash with a secret, so that nobody can aim at a bucket. When a bucket is full, the entry to evict
//! depends on the ports' shares: a port may evict others' idle entries as long as it holds less than its fair share,
//! and only its own once it holds more. So a flood of invented addresses ends up evicting itself, and addresses that
//! are in use stay.
//!
//! An address that turns up at another port moves there with that frame. If addresses are held ([`Table::hold`]), it
//! moves only when the port that it was learned at has sent nothing from it for that long, or is gone: one frame with
//! another station's address does not divert the traffic of a station that sends.

use linerate_wire::MacAddr;
use std::ops::RangeInclusive;

/// Entries of a bucket.
const WAYS: usize = 4;
/// Ticks after which an address that is not seen again is forgotten (802.1Q's default is 300 s).
const AGE: u32 = 280;
/// Ticks within which an entry that was seen again is in use.
const ACTIVE: u32 = 15;
/// Ticks in which all buckets are swept.
const SWEEP: usize = 32;

/// Least and greatest number of addresses that a table can be made for.
pub const TABLE_SIZES: RangeInclusive<u32> = 4..=262_144;

/// Most ports of one switch, as in netmap's VALE.
pub const MOST_PORTS: usize = 254;

/// A port of the switch, by number.
pub(super) type PortId = u16;

/// An address and its VLAN in one word; never 0, because no VLAN is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Key {
    /// The low 48 bits of `mac` are the address, first byte uppermost.
    #[inline]
    pub(super) fn new(mac: u64, vid: u16) -> Self {
        Self((mac & 0xffff_ffff_ffff) << 12 | u64::from(vid & 0xfff))
    }

    fn parts(self) -> (MacAddr, u16) {
        let [_, _, a, b, c, d, e, f] = (self.0 >> 12).to_be_bytes();
        (MacAddr([a, b, c, d, e, f]), u16::try_from(self.0 & 0xfff).unwrap_or(0))
    }
}

#[derive(Clone, Copy, Default)]
struct Entry {
    /// Key of the entry; 0: empty.
    key: u64,
    /// Tick at which it was last seen.
    seen: u32,
    port: PortId,
    /// The address was seen at two different ticks, or frames were sent to it, so a station uses it.
    used: bool,
}

/// One cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket([Entry; WAYS]);

/// Counters of the learning table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounters {
    /// Addresses that the table has room for.
    pub size: u64,
    /// Addresses in the table now.
    pub known: u64,
    /// Addresses that were entered.
    pub learned: u64,
    /// Addresses that moved to another port.
    pub moved: u64,
    /// Addresses evicted to make room.
    pub evicted: u64,
    /// Frames whose source was not entered because its bucket had no entry to evict.
    pub refused: u64,
}

/// See the module's text.
pub(super) struct Table {
    buckets: Box<[Bucket]>,
    secret: [u64; 2],
    held: Box<[u32]>,
    ports: usize,
    swept: usize,
    tick: u32,
    /// Ticks for which an address stays after its port has sent from it; 0: it moves with the first frame.
    hold: u32,
    count: TableCounters,
}

impl Table {
    /// Table of this number of entries, rounded up to a power of two.
    pub(super) fn new(entries: usize, secret: [u64; 2]) -> Self {
        let buckets = entries.div_ceil(WAYS).next_power_of_two();
        Self {
            buckets: vec![Bucket::default(); buckets].into(),
            secret: [secret[0], secret[1] | 1],
            held: vec![0; MOST_PORTS].into(),
            ports: 0,
            swept: 0,
            tick: 0,
            hold: 0,
            count: TableCounters::default(),
        }
    }

    pub(super) fn counters(&self) -> TableCounters {
        let (size, known) = (self.buckets.len() * WAYS, self.held.iter().map(|n| u64::from(*n)).sum());
        TableCounters { size: size as u64, known, ..self.count }
    }

    /// Holds addresses at their port for this number of ticks after they were seen there.
    pub(super) fn hold(&mut self, ticks: u32) {
        self.hold = ticks.min(AGE);
    }

    /// Sets the number of ports that share the table.
    pub(super) fn shared_by(&mut self, ports: usize) {
        self.ports = ports;
    }

    /// Index of a key's bucket. Multiplication by a secret odd number: the upper bits depend on all lower ones.
    #[inline]
    fn bucket(&self, key: Key) -> usize {
        let hash = (key.0 ^ self.secret[0]).wrapping_mul(self.secret[1]);
        let hash = hash ^ hash >> 32;
        usize::try_from(hash.wrapping_mul(self.secret[1]) >> 32).unwrap_or(0) & (self.buckets.len() - 1)
    }

    /// Port of an address.
    #[inline]
    pub(super) fn find(&mut self, key: Key) -> Option<PortId> {
        let (bucket, tick) = (self.bucket(key), self.tick);
        let entry = self.buckets[bucket].0.iter_mut().find(|entry| entry.key == key.0)?;
        entry.used = true;
        (tick.wrapping_sub(entry.seen) <= AGE).then_some(entry.port)
    }

    /// Learns that an address was seen at a port; false if it is held at another one.
    #[inline]
    pub(super) fn learn(&mut self, key: Key, port: PortId) -> bool {
        let (bucket, tick) = (self.bucket(key), self.tick);
        let Some(entry) = self.buckets[bucket].0.iter_mut().find(|entry| entry.key == key.0) else {
            self.enter(bucket, key, port);
            return true;
        };
        if entry.port != port && tick.wrapping_sub(entry.seen) < self.hold {
            return false;
        }
        if entry.seen != tick {
            entry.used = true;
            entry.seen = tick;
        }
        if entry.port != port {
            self.held[usize::from(entry.port)] -= 1;
            self.held[usize::from(port)] += 1;
            entry.port = port;
            self.count.moved += 1;
        }
        true
    }

    #[cold]
    fn enter(&mut self, bucket: usize, key: Key, port: PortId) {
        let place = match self.place(bucket, port) {
            Some(place) => place,
            None => {
                self.count.refused += 1;
                return;
            }
        };
        let entry = &mut self.buckets[bucket].0[place];
        if entry.key != 0 {
            self.held[usize::from(entry.port)] -= 1;
            self.count.evicted += u64::from(self.tick.wrapping_sub(entry.seen) <= AGE);
        }
        *entry = Entry { key: key.0, seen: self.tick, port, used: false };
        self.held[usize::from(port)] += 1;
        self.count.learned += 1;
    }

    /// Index of the entry of a bucket that a new address may take.
    fn place(&self, bucket: usize, port: PortId) -> Option<usize> {
        let ways = &self.buckets[bucket].0;
        let age = |entry: &Entry| self.tick.wrapping_sub(entry.seen);
        if let Some(free) = ways.iter().position(|entry| entry.key == 0 || age(entry) > AGE) {
            return Some(free);
        }
        let fair = self.buckets.len() * WAYS / self.ports.max(1);
        let held = |port: PortId| self.held[usize::from(port)] as usize;
        let gives_way = |entry: &Entry| {
            let idle = !entry.used || age(entry) > ACTIVE.max(self.hold);
            (idle || held(entry.port) > fair) && (entry.port == port || held(port) < fair)
        };
        let candidates = (0..WAYS).filter(|way| gives_way(&ways[*way]));
        candidates.max_by_key(|way| (held(ways[*way].port), age(&ways[*way])))
    }

    /// Advances the time; forgets, a few buckets at a time, addresses that have not been seen for long.
    pub(super) fn tick(&mut self, tick: u32) {
        if tick == self.tick {
            return;
        }
        self.tick = tick;
        for _ in 0..self.buckets.len().div_ceil(SWEEP) {
            self.swept = (self.swept + 1) & (self.buckets.len() - 1);
            let held = &mut self.held;
            for entry in &mut self.buckets[self.swept].0 {
                if entry.key != 0 && tick.wrapping_sub(entry.seen) > AGE {
                    held[usize::from(entry.port)] -= 1;
                    *entry = Entry::default();
                }
            }
        }
    }

    /// The addresses: address, VLAN, port, ticks since it was seen.
    pub(super) fn entries(&self) -> impl Iterator<Item = (MacAddr, u16, PortId, u32)> + '_ {
        let entries = self.buckets.iter().flat_map(|bucket| &bucket.0);
        let entries = entries.map(|entry| (entry, self.tick.wrapping_sub(entry.seen)));
        entries.filter(|(entry, age)| entry.key != 0 && *age <= AGE).map(|(entry, age)| {
            let (mac, vid) = Key(entry.key).parts();
            (mac, vid, entry.port, age)
        })
    }

    /// Forgets all addresses of a port.
    pub(super) fn flush(&mut self, port: PortId) {
        let entries = self.buckets.iter_mut().flat_map(|bucket| &mut bucket.0);
        entries.filter(|entry| entry.key != 0 && entry.port == port).for_each(|entry| *entry = Entry::default());
        self.held[usize::from(port)] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: usize) -> Table {
        let mut table = Table::new(entries, [0x1234_5678_9abc_def0, 0x9e37_79b9_7f4a_7c15]);
        table.shared_by(4);
        table
    }

    fn key(mac: u64) -> Key {
        Key::new(mac, 1)
    }

    #[test]
    fn addresses_are_learned_move_age_and_are_flushed() {
        let mut t = table(1024);
        t.learn(key(7), 1);
        assert_eq!(t.find(key(7)), Some(1));
        assert_eq!(t.find(Key::new(7, 2)), None, "another VLAN is another place");
        t.learn(key(7), 2);
        assert_eq!((t.find(key(7)), t.counters().moved), (Some(2), 1));
        t.tick(AGE);
        assert_eq!(t.find(key(7)), Some(2));
        t.tick(AGE + 1);
        assert_eq!(t.find(key(7)), None, "not seen for too long");
        t.learn(key(8), 3);
        t.learn(key(9), 1);
        t.flush(3);
        assert_eq!((t.find(key(8)), t.find(key(9))), (None, Some(1)));
        for tick in 0..1024 {
            t.tick(2 * AGE + tick);
        }
        assert_eq!(t.counters().known, 0, "all was swept");
    }

    #[test]
    fn an_address_that_is_held_moves_when_its_port_is_silent_or_gone() {
        let mut t = table(1024);
        t.hold(30);
        for tick in [1, 20, 45] {
            t.tick(tick);
            t.learn(key(7), 1);
        }
        t.tick(74);
        assert!((0..5).all(|_| !t.learn(key(7), 2)));
        assert_eq!((t.find(key(7)), t.counters().moved), (Some(1), 0), "29 ticks of silence");
        t.tick(75);
        assert!(t.learn(key(7), 2));
        assert_eq!((t.find(key(7)), t.counters().moved), (Some(2), 1), "30 ticks: trying for it has not renewed it");
        assert!(!t.learn(key(7), 1), "now it is held there");
        t.flush(2);
        assert!(t.learn(key(7), 1), "its port is gone");
        assert!(t.learn(Key::new(7, 2), 3));
        assert_eq!(t.find(Key::new(7, 2)), Some(3), "another VLAN is another place");
    }

    /// A sender that fills a bucket must not be able to evict a held address.
    #[test]
    fn an_address_that_is_held_is_not_evicted_either() {
        let mut t = table(WAYS);
        t.hold(100);
        for tick in [1, 2] {
            t.tick(tick);
            (0..4).for_each(|n| assert!(t.learn(key(n + 1), 1)));
        }
        t.shared_by(1);
        t.tick(2 + ACTIVE + 1);
        t.learn(key(99), 0);
        assert_eq!((t.find(key(99)), t.counters().refused), (None, 1));
        t.tick(2 + 100 + 1);
        t.learn(key(99), 0);
        assert_eq!((t.find(key(99)), t.counters().evicted), (Some(0), 1));
    }

    #[test]
    fn an_address_that_is_heard_stays() {
        let mut t = table(64);
        for tick in (0..10 * AGE).step_by(100) {
            t.tick(tick);
            t.learn(key(7), 1);
            assert_eq!(t.find(key(7)), Some(1));
        }
    }

    /// Ten million invented addresses from one port: nothing grows, no address in use is lost, new ones are still
    /// learned.
    #[test]
    fn a_flood_of_invented_addresses_evicts_itself() {
        let mut t = table(1024);
        let size = t.buckets.len();
        let live = |n: u64| (key(0x0200_0000_0000 + n), PortId::try_from(1 + n % 2).unwrap());
        for tick in 1..=2 {
            t.tick(tick);
            (0..100).map(live).for_each(|(key, port)| assert!(t.learn(key, port)));
        }
        let known: Vec<_> = (0..100).map(live).filter(|(key, port)| t.find(*key) == Some(*port)).collect();
        assert!(known.len() >= 95, "{} of 100 fit, bucket by bucket", known.len());
        for n in 0..10_000_000u64 {
            t.learn(key(0x0600_0000_0000 + n * 0x1_0001), 0);
            if n % 1_000_000 == 0 {
                t.tick(3 + u32::try_from(n / 1_000_000).unwrap());
            }
        }
        for (key, port) in known {
            assert_eq!(t.find(key), Some(port), "it was in use");
        }
        let newcomers: Vec<_> = (0..100).map(|n| key(0x0a00_0000_0000 + n)).collect();
        newcomers.iter().for_each(|key| assert!(t.learn(*key, 3)));
        let learned = newcomers.iter().filter(|key| t.find(**key) == Some(3)).count();
        assert!(learned >= 95, "{learned} of 100 newcomers");
        assert_eq!(t.buckets.len(), size);
        assert!(t.counters().known <= 1024 && t.counters().evicted > 9_000_000);
        let sum: u32 = t.held.iter().sum();
        let entries = t.buckets.iter().flat_map(|bucket| &bucket.0).filter(|entry| entry.key != 0).count();
        assert_eq!(sum as usize, entries, "who holds what is known exactly");
    }
}
