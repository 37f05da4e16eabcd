//! Random numbers, for names, seeds and secrets.

use std::hash::{BuildHasher, RandomState};

/// Draws a random number: the standard library keys its hashers with the system's random numbers. Who has seen some knows
/// nothing of others: each is a hash (SipHash) with a key of its own.
#[must_use]
pub fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

#[cfg(test)]
mod tests {
    use super::random;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_numbers_are_the_same() {
        assert_eq!((0..1000).map(|_| random()).collect::<BTreeSet<_>>().len(), 1000);
    }
}
