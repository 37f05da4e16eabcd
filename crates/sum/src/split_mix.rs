//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a 64-bit mixing
//! function, and a generator that applies it to a counter. Not for secrets.

/// Increment of the counter: the golden ratio's fraction, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixing function: bijective, and each bit of `number` affects each bit of the result.
#[inline]
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Generator: its numbers depend on the seed only.
///
/// ```
/// use linerate_sum::SplitMix64;
///
/// let mut random = SplitMix64::new(1_234_567);
/// assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
/// assert_eq!(random.next_u64(), SplitMix64::nth(1_234_567, 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitMix64 {
    counter: u64,
}

impl SplitMix64 {
    /// Makes a generator that begins with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// Returns the next number.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(GAMMA);
        mix(self.counter)
    }

    /// Number `n`, counted from 0, of the generator that begins with `seed`, computed directly.
    #[inline]
    #[must_use]
    pub const fn nth(seed: u64, n: u64) -> u64 {
        mix(seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GAMMA)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_authors_program() {
        // From 0, and from 1234567 (Vigna, prng.di.unimi.it/splitmix64.c).
        for (seed, numbers) in [
            (0, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]),
            (1_234_567, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]),
        ] {
            let mut random = SplitMix64::new(seed);
            assert_eq!([(); 3].map(|()| random.next_u64()), numbers);
            assert_eq!([0, 1, 2].map(|n| SplitMix64::nth(seed, n)), numbers);
        }
        assert_eq!(mix(0), 0);
    }
}
