//! A path between two ends: a rate, a delay, a queue, and faults by chance.

/// Random numbers (xorshift).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    /// True so many times of a thousand.
    pub(crate) fn often(&mut self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// One way of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Time that each segment takes, ns.
    pub(crate) delay: u64,
    /// Bytes a second.
    pub(crate) rate: u64,
    /// Most bytes that wait; more are lost.
    pub(crate) queue: u64,
    /// Bytes of the longest segment, header included, that it takes; longer ones are lost.
    pub(crate) most: usize,
    /// Faults, of a thousand segments: lost, doubled, late.
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
    /// Greatest additional delay of late ones, ns.
    pub(crate) lateness: u64,
}

/// State of one way.
pub(crate) struct Way {
    path: Path,
    /// Time at which the last segment has left.
    free: u64,
    pub(crate) dropped: u64,
}

impl Way {
    pub(crate) fn new(path: Path) -> Self {
        Self { path, free: 0, dropped: 0 }
    }

    /// Times at which the copies of a segment arrive.
    pub(crate) fn carry(&mut self, now: u64, bytes: usize, chance: &mut Chance) -> Vec<u64> {
        let Path { delay, rate, queue, most, lost, doubled, late, lateness } = self.path;
        let waits = self.free.saturating_sub(now);
        if waits * rate / 1_000_000_000 > queue || bytes > most || chance.often(lost) {
            self.dropped += 1;
            return Vec::new();
        }
        self.free = self.free.max(now) + (bytes as u64 + 66) * 1_000_000_000 / rate;
        let mut at = self.free + delay;
        if chance.often(late) {
            at += chance.below(lateness.max(1));
        }
        let mut all = vec![at];
        if chance.often(doubled) {
            all.push(at + chance.below(lateness.max(1)));
        }
        all
    }
}
