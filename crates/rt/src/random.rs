//! Random numbers, for names and seeds.

use std::hash::{BuildHasher, RandomState};

/// Draws a random number: the standard library seeds its hashers from the system's random numbers.
#[must_use]
pub fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// Draws bytes that nobody can guess.
pub(crate) fn unguessable() -> Result<[u8; 32], getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map(|()| bytes)
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
