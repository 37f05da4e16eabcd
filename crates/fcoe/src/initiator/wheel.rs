//! When which exchange is looked at next.

/// Log2 of a tick's nanoseconds: 17 ms.
const TICK: u32 = 24;
/// Ticks ahead that are told apart: 4.3 s. What is due later is looked at once in between.
const BUCKETS: usize = 256;
const NONE: u32 = u32::MAX;

/// One time for each of a fixed number of things: set, taken away and found in constant time.
#[derive(Debug)]
pub(super) struct Wheel {
    heads: [u32; BUCKETS],
    /// Which buckets hold something.
    occupied: [u64; BUCKETS / 64],
    links: Vec<Link>,
    /// Ticks up to this one have passed.
    tick: u64,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    next: u32,
    prev: u32,
    /// [`NONE`]: in no bucket.
    bucket: u32,
}

impl Wheel {
    /// For things from 0 to `count - 1`.
    pub(super) fn new(count: usize) -> Self {
        let link = Link { next: NONE, prev: NONE, bucket: NONE };
        Self { heads: [NONE; BUCKETS], occupied: [0; BUCKETS / 64], links: vec![link; count], tick: 0 }
    }

    /// Sets the thing's time: [`Wheel::pop`] hands it out after `due`, or earlier when that is far away.
    pub(super) fn set(&mut self, thing: usize, due: u64) {
        let tick = ((due >> TICK) + 1).clamp(self.tick + 1, self.tick + BUCKETS as u64 - 1);
        let bucket = Self::bucket(tick);
        if self.links[thing].bucket as usize == bucket {
            return;
        }
        self.cancel(thing);
        let next = self.heads[bucket];
        let (Ok(thing32), Ok(bucket32)) = (u32::try_from(thing), u32::try_from(bucket)) else { return };
        if let Some(link) = self.links.get_mut(next as usize) {
            link.prev = thing32;
        }
        self.links[thing] = Link { next, prev: NONE, bucket: bucket32 };
        self.heads[bucket] = thing32;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Takes the thing's time away.
    pub(super) fn cancel(&mut self, thing: usize) {
        let Link { next, prev, bucket } = self.links[thing];
        if bucket == NONE {
            return;
        }
        let bucket = bucket as usize;
        match self.links.get_mut(prev as usize) {
            Some(link) => link.next = next,
            None => self.heads[bucket] = next,
        }
        if let Some(link) = self.links.get_mut(next as usize) {
            link.prev = prev;
        }
        if self.heads[bucket] == NONE {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
        self.links[thing] = Link { next: NONE, prev: NONE, bucket: NONE };
    }

    /// Takes a thing whose time has come.
    pub(super) fn pop(&mut self, now: u64) -> Option<usize> {
        loop {
            let head = self.heads[Self::bucket(self.tick)];
            if head != NONE {
                self.cancel(head as usize);
                return Some(head as usize);
            }
            let target = now >> TICK;
            if self.tick >= target {
                return None;
            }
            self.tick = self.next_tick().map_or(target, |tick| tick.min(target));
        }
    }

    /// When [`Wheel::pop`] will have something.
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
        usize::from(tick.to_be_bytes()[7])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_list_of_times(steps in prop::collection::vec((0_usize..8, 0_u64..8_000_000_000, any::<u8>()), 1..200)) {
            let (mut wheel, mut times, mut now) = (Wheel::new(8), [None; 8], 1 << 40);
            for (thing, after, what) in steps {
                match what % 4 {
                    0 => {
                        wheel.cancel(thing);
                        times[thing] = None;
                    }
                    1 => now += after / 8,
                    _ => {
                        wheel.set(thing, now + after);
                        times[thing] = Some(now + after);
                    }
                }
                while let Some(thing) = wheel.pop(now) {
                    let due = times[thing].expect("what was taken away does not come");
                    if due > now {
                        wheel.set(thing, due);
                    } else {
                        times[thing] = None;
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
