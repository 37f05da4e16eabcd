//! Hashes that nobody outside can predict.

use std::hash::{BuildHasher, Hasher};

/// Hasher with a key: who chooses ports does not choose places (SipHash, of the standard library).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed(pub(crate) u64);

impl BuildHasher for Keyed {
    type Hasher = std::hash::DefaultHasher;

    fn build_hasher(&self) -> Self::Hasher {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}
