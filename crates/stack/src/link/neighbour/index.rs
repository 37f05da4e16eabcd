//! Hash table of fixed size from address to place in the neighbour table, keyed by a seed so that nobody outside can
//! choose colliding addresses.

use linerate_sum::SplitMix64;
use std::net::IpAddr;

const NONE: usize = usize::MAX;

/// Chains of places by hash.
#[derive(Debug)]
pub(super) struct Index {
    keys: [u64; 4],
    /// First place of each chain; their number is a power of two.
    buckets: Box<[usize]>,
    /// Next place in the chain, for each place.
    next: Box<[usize]>,
}

impl Index {
    /// An empty index of `capacity` places.
    pub(super) fn new(capacity: usize, mut random: SplitMix64) -> Self {
        let keys = std::array::from_fn(|_| random.next_u64());
        let buckets = vec![NONE; capacity.next_power_of_two()].into();
        Self { keys, buckets, next: vec![NONE; capacity].into() }
    }

    /// Finds the place of `ip`; `ip_at` returns the address of a place.
    pub(super) fn find(&self, ip: IpAddr, ip_at: impl Fn(usize) -> IpAddr) -> Option<usize> {
        let mut place = self.buckets[self.bucket(ip)];
        while place != NONE && ip_at(place) != ip {
            place = self.next[place];
        }
        Some(place).filter(|&place| place != NONE)
    }

    /// Adds `ip` at `place`; no other place has this address.
    pub(super) fn insert(&mut self, ip: IpAddr, place: usize) {
        let bucket = self.bucket(ip);
        self.next[place] = self.buckets[bucket];
        self.buckets[bucket] = place;
    }

    /// Removes `ip` at `place`.
    pub(super) fn remove(&mut self, ip: IpAddr, place: usize) {
        let bucket = self.bucket(ip);
        if self.buckets[bucket] == place {
            self.buckets[bucket] = self.next[place];
            return;
        }
        let mut before = self.buckets[bucket];
        while before != NONE {
            if self.next[before] == place {
                self.next[before] = self.next[place];
                return;
            }
            before = self.next[before];
        }
    }

    fn bucket(&self, ip: IpAddr) -> usize {
        let bits = match ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let [high, low] = halves(bits);
        let [a, b, c, d] = self.keys;
        let hash = fold(fold(low ^ a, high ^ b) ^ c, d | 1);
        // The mask keeps the index in range; the number of buckets is a power of two.
        usize::try_from(hash & (self.buckets.len() as u64 - 1)).unwrap_or(0)
    }
}

fn halves(bits: u128) -> [u64; 2] {
    let (high, low) = (bits >> 64, bits & u128::from(u64::MAX));
    [high, low].map(|half| u64::try_from(half).unwrap_or(0))
}

/// XOR of the halves of the 128-bit product: each bit of either factor affects all of the result.
fn fold(a: u64, b: u64) -> u64 {
    let [high, low] = halves(u128::from(a) * u128::from(b));
    high ^ low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_short_and_depend_on_the_seed() {
        let buckets = |seed| {
            let index = Index::new(1000, SplitMix64::new(seed));
            (0..1000_u32).map(|number| index.bucket(IpAddr::V4(number.into()))).collect::<Vec<_>>()
        };
        assert_eq!(buckets(1), buckets(1));
        assert_ne!(buckets(1), buckets(2));
        for seed in 0..20 {
            let buckets = buckets(seed);
            let longest = (0..1024).map(|at| buckets.iter().filter(|&&bucket| bucket == at).count()).max();
            assert!(longest < Some(12), "{longest:?} of 1000 in one of 1024 chains");
        }
    }

    #[test]
    fn every_place_is_found_until_it_is_removed() {
        let ip = |place: usize| IpAddr::V4(u32::try_from(place).unwrap().into());
        let mut index = Index::new(64, SplitMix64::new(3));
        (0..64).for_each(|place| index.insert(ip(place), place));
        for gone in 0..64 {
            index.remove(ip(gone), gone);
            (0..64).for_each(|place| assert_eq!(index.find(ip(place), ip), Some(place).filter(|_| place > gone)));
        }
    }
}
