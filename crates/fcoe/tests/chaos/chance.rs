//! Numbers of chance.

use linerate_sum::SplitMix64;

/// Numbers of chance from a seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Chance(SplitMix64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Less than `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }

    /// So often in a thousand.
    pub(crate) fn often(&mut self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}
