//! Timer wheel: the time at which each exchange is looked at next.

use super::exchange::ExchangeIndex;
use crate::indexed::TableIndex;

/// Log2 of the nanoseconds of a tick: 17 ms.
const TICK: u32 = 24;
/// Ticks covered by the wheel: 4.3 s. A later time is looked at once per turn in between.
const BUCKETS: usize = 256;
const NONE: u16 = u16::MAX;

/// One time for each exchange of a table: set, cancelled and found in constant time.
#[derive(Debug)]
pub(super) struct Wheel {
    heads: [u16; BUCKETS],
    /// Bit set of the non-empty buckets.
    occupied: [u64; BUCKETS / 64],
    links: Vec<Link>,
    /// Ticks up to this one have passed.
    tick: u64,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    next: u16,
    prev: u16,
    /// [`NONE`]: in no bucket.
    bucket: u16,
}

impl Wheel {
    /// Wheel for exchanges from 0 to `count - 1`.
    pub(super) fn new(count: u16) -> Self {
        let link = Link { next: NONE, prev: NONE, bucket: NONE };
        Self { heads: [NONE; BUCKETS], occupied: [0; BUCKETS / 64], links: vec![link; usize::from(count)], tick: 0 }
    }

    /// Sets the exchange's time: [`Wheel::pop`] returns it after `due`, or earlier when that is far away.
    pub(super) fn set(&mut self, at: ExchangeIndex, due: u64) {
        let tick = ((due >> TICK) + 1).clamp(self.tick + 1, self.tick + BUCKETS as u64 - 1);
        let number = Self::bucket_number(tick);
        if self.links[at.number()].bucket == number {
            return;
        }
        self.cancel(at);
        let bucket = usize::from(number);
        let next = self.heads[bucket];
        if let Some(link) = self.links.get_mut(usize::from(next)) {
            link.prev = at.0;
        }
        self.links[at.number()] = Link { next, prev: NONE, bucket: number };
        self.heads[bucket] = at.0;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Cancels the exchange's time.
    pub(super) fn cancel(&mut self, at: ExchangeIndex) {
        let Link { next, prev, bucket } = self.links[at.number()];
        if bucket == NONE {
            return;
        }
        let bucket = usize::from(bucket);
        match self.links.get_mut(usize::from(prev)) {
            Some(link) => link.next = next,
            None => self.heads[bucket] = next,
        }
        if let Some(link) = self.links.get_mut(usize::from(next)) {
            link.prev = prev;
        }
        if self.heads[bucket] == NONE {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
        self.links[at.number()] = Link { next: NONE, prev: NONE, bucket: NONE };
    }

    /// Takes an exchange whose time has come.
    pub(super) fn pop(&mut self, now: u64) -> Option<ExchangeIndex> {
        loop {
            let head = self.heads[Self::bucket(self.tick)];
            if head != NONE {
                let at = ExchangeIndex(head);
                self.cancel(at);
                return Some(at);
            }
            let target = now >> TICK;
            if self.tick >= target {
                return None;
            }
            self.tick = self.next_tick().map_or(target, |tick| tick.min(target));
        }
    }

    /// Time at which [`Wheel::pop`] may return an exchange.
    pub(super) fn next(&self) -> Option<u64> {
        if self.heads[Self::bucket(self.tick)] != NONE {
            return Some(self.tick << TICK);
        }
        self.next_tick().map(|tick| tick << TICK)
    }

    fn next_tick(&self) -> Option<u64> {
        (1..BUCKETS as u64).map(|ahead| self.tick + ahead).find(|&tick| {
            let bucket = Self::bucket(tick);
            self.occupied[bucket / 64] >> (bucket % 64) & 1 != 0
        })
    }

    fn bucket(tick: u64) -> usize {
        usize::from(Self::bucket_number(tick))
    }

    fn bucket_number(tick: u64) -> u16 {
        u16::from(tick.to_be_bytes()[7])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_list_of_times(steps in prop::collection::vec((0_u16..8, 0_u64..8_000_000_000, any::<u8>()), 1..200)) {
            let (mut wheel, mut times, mut now) = (Wheel::new(8), [None; 8], 1 << 40);
            for (number, after, what) in steps {
                let thing = ExchangeIndex(number);
                match what % 4 {
                    0 => {
                        wheel.cancel(thing);
                        times[thing.number()] = None;
                    }
                    1 => now += after / 8,
                    _ => {
                        wheel.set(thing, now + after);
                        times[thing.number()] = Some(now + after);
                    }
                }
                while let Some(thing) = wheel.pop(now) {
                    let due = times[thing.number()].expect("what was taken away does not come");
                    if due > now {
                        wheel.set(thing, due);
                    } else {
                        times[thing.number()] = None;
                    }
                }
                for due in times.iter().flatten() {
                    prop_assert!(due + (1 << TICK) > now, "late");
                    prop_assert!(wheel.next().is_some_and(|next| next > now && next <= due + (1 << TICK)));
                }
                prop_assert_eq!(wheel.next().is_some(), times.iter().any(Option::is_some));
            }
        }
    }
}
