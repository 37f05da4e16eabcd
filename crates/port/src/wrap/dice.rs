//! Random numbers that depend only on a seed and a position.
//!
//! splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) is a hash of a
//! counter, so its nth number is had without the ones before: what befalls a frame does not depend on time, batches or
//! on what befell others.

use linerate_sum::{SplitMix64, mix};

#[derive(Clone, Copy, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// A sequence for each seed and queue.
    pub(super) fn new(seed: u64, queue: u64) -> Self {
        Self(mix(mix(seed).wrapping_add(queue)))
    }

    /// The sequence's `n`th number, counted from 0.
    pub(super) fn at(self, n: u64) -> u64 {
        SplitMix64::nth(self.0, n)
    }

    /// The `n`th number, even over `0..below`.
    pub(super) fn below(self, n: u64, below: u64) -> u64 {
        let product = u128::from(self.at(n)) * u128::from(below);
        u64::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_splitmix64() {
        // The reference implementation's first numbers for seed 1234567 (Vigna, prng.di.unimi.it/splitmix64.c).
        let dice = Dice(1_234_567);
        assert_eq!(
            [dice.at(0), dice.at(1), dice.at(2)],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,]
        );
    }

    #[test]
    fn seeds_and_queues_differ_and_numbers_are_even() {
        assert_ne!(Dice::new(1, 0).at(0), Dice::new(1, 1).at(0));
        assert_ne!(Dice::new(1, 0).at(0), Dice::new(2, 0).at(0));
        let dice = Dice::new(7, 0);
        let hits = (0..100_000).filter(|n| dice.below(*n, 1_000_000_000) < 10_000_000).count();
        assert!((900..1_100).contains(&hits), "{hits} of 1000 expected");
    }
}
