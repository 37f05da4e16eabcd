//! The machine's roof: what one core can hand to another at all.
//!
//! A single-producer single-consumer ring of 16-byte slots, published by batch, over buffers a fixed stride apart. The
//! producer writes every byte of each frame, the consumer reads every byte; nothing is allocated, no protocol is spoken
//! and no frame has to be right. No cable between the same cores can be faster at the same work.

use super::sys::roof::{Shared, consume, produce};
use linerate_rt::spawn;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Roof {
    /// Bytes from one buffer to the next.
    pub stride: usize,
    /// Bytes of a frame, a multiple of 64.
    pub size: usize,
    /// Slots of the ring, a power of two.
    pub slots: usize,
    /// Slots published at a time.
    pub batch: usize,
}

impl Default for Roof {
    fn default() -> Self {
        Self { stride: 2112, size: 64, slots: 1024, batch: 256 }
    }
}

/// Frames per second that the consumer counted; None if that is no such ring, if the cores or the memory are not to be had, or if the consumer
/// read other bytes than the producer wrote.
#[must_use]
pub fn measure(roof: Roof, cores: [usize; 2], time: Duration) -> Option<f64> {
    let shared = Arc::new(Shared::new(roof)?);
    let (theirs, mine) = (shared.clone(), shared.clone());
    let start = Instant::now();
    let consumer = spawn("roof-consumer", &[cores[1]], move || consume(&mine)).ok()?;
    let producer = spawn("roof-producer", &[cores[0]], move || produce(&theirs));
    std::thread::sleep(time);
    shared.stop();
    let seen = consumer.join().ok()?;
    producer.ok()?.join().ok()?;
    let took = start.elapsed().as_secs_f64();
    // Frame n holds n in every word, so the sum tells whether every frame was seen whole.
    let words = u64::try_from(roof.size / 8).ok()?;
    let expected = sum_below(seen.frames).wrapping_mul(words);
    (seen.sum == expected).then_some(seen.frames as f64 / took)
}

/// 0 + 1 + … + (n - 1), modulo 2^64.
fn sum_below(n: u64) -> u64 {
    if n.is_multiple_of(2) { (n / 2).wrapping_mul(n.wrapping_sub(1)) } else { (n / 2).wrapping_mul(n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_gausss() {
        for n in 0..100u64 {
            assert_eq!(sum_below(n), (0..n).sum::<u64>());
        }
    }

    #[test]
    fn every_byte_is_checked_at_both_strides() {
        let cpus = linerate_rt::cpus();
        let Some(pair) = cpus.first_chunk::<2>() else {
            linerate_skip::skip!("one core only");
            return;
        };
        for stride in [2048, 2112] {
            let roof = Roof { stride, ..Roof::default() };
            assert!(measure(roof, *pair, Duration::from_millis(50)).unwrap() > 0.0);
        }
        assert!(measure(Roof { slots: 100, ..Roof::default() }, *pair, Duration::ZERO).is_none());
    }

    /// Regression: the memory's length wrapped around, and the producer wrote behind it.
    #[test]
    fn a_ring_that_no_memory_holds_is_refused() {
        let half = 1 << (usize::BITS / 2);
        for roof in [
            Roof { slots: half, stride: half, ..Roof::default() },
            Roof { slots: half, stride: half / 2 * 3, ..Roof::default() },
            Roof { slots: 1 << (usize::BITS - 4), ..Roof::default() },
            Roof { stride: 2048, size: 4096, ..Roof::default() },
            Roof { batch: 2048, ..Roof::default() },
        ] {
            assert!(Shared::new(roof).is_none(), "{roof:?}");
        }
    }

    #[test]
    #[should_panic(expected = "one producer and one consumer")]
    fn two_producers_are_one_too_many() {
        let shared = Shared::new(Roof::default()).unwrap();
        shared.stop();
        produce(&shared);
        produce(&shared);
    }
}
