//! The machine's roof: the greatest rate at which one core can pass frames to another.
//!
//! A single-producer single-consumer ring of 16-byte slots, published by batch, over buffers a fixed stride apart. The
//! producer writes every byte of each frame, the consumer reads every byte; nothing is allocated, no protocol is spoken
//! and no frame needs to be valid. The rate depends on the variant, and the fastest variant depends on the processor:
//! the roof is the best of its variants, measured in the same round as the cable.

use super::sys::roof::{Shared, consume, produce};
use super::{Missing, Setting, Variant, failed};
use linerate_rt::spawn;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Parameters of a variant.
#[derive(Clone, Copy, Debug)]
pub struct Roof {
    /// Distance from one buffer to the next, bytes.
    pub stride: usize,
    /// Size of a frame, bytes; a multiple of 64.
    pub size: usize,
    /// Number of slots in the ring, a power of two.
    pub slots: usize,
    /// Number of slots published at a time.
    pub batch: usize,
    /// Threads that prefetch lines ahead of their use.
    pub prefetch: Prefetch,
    /// True if lines are moved by the widest registers of the processor.
    pub wide: bool,
}

/// Threads that prefetch the lines of frames to come, and the number of frames ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    None,
    /// The consumer.
    Reader(usize),
    /// The consumer, and the producer those that it will write.
    Both(usize),
}

impl Default for Roof {
    fn default() -> Self {
        Self { stride: 2112, size: 64, slots: 1024, batch: 256, prefetch: Prefetch::None, wide: false }
    }
}

impl Roof {
    /// Name as shown beside a figure: `stride 2112, batch 256, reader prefetches 8, wide`.
    #[must_use]
    pub fn name(&self) -> String {
        let prefetch = match self.prefetch {
            Prefetch::None => "no prefetch".to_owned(),
            Prefetch::Reader(ahead) => format!("reader prefetches {ahead}"),
            Prefetch::Both(ahead) => format!("both prefetch {ahead}"),
        };
        let wide = if self.wide { ", wide" } else { "" };
        format!("stride {}, batch {}, {prefetch}{wide}", self.stride, self.batch)
    }
}

/// All variants that are tried: frames of 64 bytes in buffers that hold a full frame, as in a cable.
pub(super) fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for stride in [2048, 2112] {
        for batch in [64, 256] {
            for prefetch in [Prefetch::None, Prefetch::Reader(8), Prefetch::Both(8)] {
                let wide: &[bool] = if super::sys::roof::has_wide() { &[false, true] } else { &[false] };
                all.extend(wide.iter().map(|&wide| Roof { stride, batch, prefetch, wide, ..Roof::default() }));
            }
        }
    }
    let variant = |roof: Roof| Variant::new(roof.name(), move |setting: &Setting| once(roof, setting));
    all.into_iter().map(variant).collect()
}

fn once(roof: Roof, setting: &Setting) -> Result<f64, Missing> {
    measure(roof, setting.cores, setting.time)
        .ok_or_else(|| failed("the roof's frames came out wrong, or there is no memory"))
}

/// Time limit for the threads to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// Frames per second that the consumer counted; `None` if `roof` is not valid, if the cores or the memory are not
/// available, or if the consumer read other bytes than the producer wrote.
#[must_use]
pub fn measure(roof: Roof, cores: [usize; 2], time: Duration) -> Option<f64> {
    let shared = Arc::new(Shared::new(roof)?);
    let (theirs, mine) = (shared.clone(), shared.clone());
    let consumer = spawn("roof-consumer", &[cores[1]], move || consume(&mine)).ok()?;
    let producer = spawn("roof-producer", &[cores[0]], move || produce(&theirs));
    // The time begins when both threads run, which takes a while on a busy machine.
    let limit = Instant::now() + PATIENCE;
    while !shared.has_begun() && !consumer.is_finished() && Instant::now() < limit {
        std::thread::sleep(Duration::from_micros(50));
    }
    std::thread::sleep(time);
    shared.stop();
    let seen = consumer.join().ok()?;
    producer.ok()?.join().ok()?;
    // Frame n holds n in every word, so the sum shows that every frame was read whole.
    let words = u64::try_from(roof.size / 8).ok()?;
    let expected = sum_below(seen.frames).wrapping_mul(words);
    (seen.sum == expected).then_some(seen.frames as f64 / seen.time.as_secs_f64().max(1e-9))
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
    fn every_byte_is_checked_in_every_variant() {
        let cpus = linerate_rt::cpus();
        let Some(pair) = cpus.first_chunk::<2>() else {
            linerate_skip::skip!("one core only");
            return;
        };
        let setting = Setting { cores: *pair, time: Duration::from_millis(20), rounds: 1, peers: None };
        let all = variants();
        for variant in &all {
            assert!(variant.measure(&setting).unwrap() > 0.0, "{}", variant.name);
        }
        for way in ["stride 2048", "stride 2112", "batch 64", "batch 256", "no prefetch", "reader prefetches 8", "both"]
        {
            assert!(all.iter().any(|variant| variant.name.contains(way)), "{way}");
        }
        let names: std::collections::BTreeSet<_> = all.iter().map(|variant| &variant.name).collect();
        assert_eq!(names.len(), all.len(), "each has a name of its own");
        assert!(measure(Roof { slots: 100, ..Roof::default() }, *pair, Duration::ZERO).is_none());
    }

    /// Regression: the memory's length wrapped around, and the producer wrote beyond it.
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
