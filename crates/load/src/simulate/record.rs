//! Hash of a run: of each frame that a station gets, with its time, its place and all its bytes, in the order of arrival.

use linerate_port::{Clock, Eye};
use linerate_sum::mix;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Multipliers of the four lanes: odd, so that nothing is lost by them.
const LANES: [u64; 4] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];

/// Record of a run so far. All stations are of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Arc<AtomicU64>);

impl Record {
    /// Eye that records what comes to a station, and counts it.
    pub(super) fn eye(&self, place: u64, clock: &Clock, count: &Arc<AtomicU64>) -> Eye {
        let (hash, clock, count) = (self.0.clone(), clock.clone(), count.clone());
        Box::new(move |bytes| {
            hash.store(after(hash.load(Relaxed), [place, clock.ns()], bytes), Relaxed);
            count.fetch_add(1, Relaxed);
        })
    }

    pub(super) fn hash(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Hash of all before and of one frame more, in four lanes of eight bytes, which a core works on at once.
fn after(before: u64, [place, at]: [u64; 2], bytes: &[u8]) -> u64 {
    let mut lanes = LANES.map(|odd| before ^ odd);
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    for block in blocks.iter().chain([&last]) {
        for ((lane, odd), word) in lanes.iter_mut().zip(LANES).zip(block.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(odd).rotate_left(29);
        }
    }
    [place, at, bytes.len() as u64].into_iter().chain(lanes).fold(before, |hash, word| mix(hash ^ mix(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_a_time_a_place_and_the_order_change_the_hash() {
        let bytes: Vec<u8> = (0..100).collect();
        let hash = after(7, [1, 2], &bytes);
        assert_eq!(hash, after(7, [1, 2], &bytes));
        for other in [after(8, [1, 2], &bytes), after(7, [2, 2], &bytes), after(7, [1, 3], &bytes)] {
            assert_ne!(other, hash);
        }
        for bit in 0..800 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(after(7, [1, 2], &other), hash, "bit {bit}");
        }
        assert_ne!(after(7, [1, 2], &[&bytes[..], &[0]].concat()), hash, "a byte of zero behind it");
        let both = |first: &[u8], second: &[u8]| after(after(0, [0, 0], first), [0, 0], second);
        assert_ne!(both(b"a", b"b"), both(b"b", b"a"));
    }
}
