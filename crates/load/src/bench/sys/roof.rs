//! The roof's ring, in plain memory between two threads.

use crate::bench::roof::{Prefetch, Roof};
use linerate_ring::sys::Mapping;
use linerate_sum::{prefetch, prefetch_to_write};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

#[repr(align(128))]
#[derive(Default)]
struct Counter(AtomicU64);

#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    index: u32,
    length: u16,
    flags: u16,
    pointer: u64,
}

pub(crate) struct Shared {
    /// Published by the producer.
    head: Counter,
    /// Published by the consumer.
    tail: Counter,
    stop: AtomicBool,
    /// True once there is a producer, and once there is a consumer: one of each.
    taken: [AtomicBool; 2],
    slots: Mapping,
    buffers: Mapping,
    roof: Roof,
}

/// Result of the consumer.
pub(crate) struct Seen {
    pub(crate) frames: u64,
    pub(crate) sum: u64,
    /// Time from the first frame to the end.
    pub(crate) time: Duration,
}

/// True if there are wider registers than the instruction set's baseline has.
pub(crate) fn has_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

impl Shared {
    /// Makes the ring; `None` if `roof` is not valid, or there is no memory for it.
    pub(crate) fn new(roof: Roof) -> Option<Self> {
        let lines = roof.size.is_multiple_of(64) && roof.stride.is_multiple_of(64) && roof.size <= roof.stride;
        if !lines || !roof.slots.is_power_of_two() || roof.batch == 0 || roof.batch > roof.slots {
            return None;
        }
        let memory = |each: usize| roof.slots.checked_mul(each)?.checked_next_multiple_of(linerate_ring::sys::HUGE);
        let buffers = Mapping::private(memory(roof.stride)?, true).ok()?;
        buffers.advise_huge(0, buffers.len());
        let slots = Mapping::private(memory(size_of::<Slot>())?, false).ok()?;
        Some(Self {
            head: Counter::default(),
            tail: Counter::default(),
            stop: AtomicBool::new(false),
            taken: [const { AtomicBool::new(false) }; 2],
            slots,
            buffers,
            roof,
        })
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// True once frames were taken over.
    pub(crate) fn has_begun(&self) -> bool {
        // No data is read because of it, so no ordering is needed.
        self.tail.0.load(Relaxed) > 0
    }

    /// Makes the calling thread the one producer (0) or consumer (1).
    fn take(&self, half: usize) {
        assert!(!self.taken[half].swap(true, Relaxed), "a ring has one producer and one consumer");
    }

    #[inline]
    fn slot(&self, n: u64) -> *mut Slot {
        let k = usize::try_from(n).unwrap_or(0) & (self.roof.slots - 1);
        self.slots.base().as_ptr().cast::<Slot>().wrapping_add(k)
    }

    #[inline]
    fn buffer(&self, k: usize) -> *mut u64 {
        self.buffers.base().as_ptr().wrapping_add(k * self.roof.stride).cast()
    }

    /// Fetches the slot and the buffer of frame n.
    #[inline]
    fn fetch(&self, n: u64, with: impl Fn(NonNull<u8>)) {
        let k = usize::try_from(n).unwrap_or(0) & (self.roof.slots - 1);
        for line in [self.slot(n).cast::<u8>(), self.buffer(k).cast::<u8>()] {
            NonNull::new(line).map(&with);
        }
    }
}

/// Passes on frame after frame until told to stop; frame n holds n in every word.
///
/// # Panics
/// There is or was another producer.
pub(crate) fn produce(shared: &Shared) {
    shared.take(0);
    #[cfg(target_arch = "x86_64")]
    if shared.roof.wide && std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has it.
        return unsafe { produce_avx512(shared) };
    } else if shared.roof.wide && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { produce_avx2(shared) };
    }
    producing(shared);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn produce_avx512(shared: &Shared) {
    producing(shared);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn produce_avx2(shared: &Shared) {
    producing(shared);
}

#[inline(always)]
fn producing(shared: &Shared) {
    let Roof { size, slots, batch, .. } = shared.roof;
    let (mut mine, mut theirs) = (0u64, 0u64);
    let (all, batch) = (slots as u64, batch as u64);
    let length = u16::try_from(size).unwrap_or(0);
    let ahead = if let Prefetch::Both(ahead) = shared.roof.prefetch { ahead as u64 } else { 0 };
    while !shared.stop.load(Relaxed) {
        if all - (mine - theirs) < batch {
            // Pairs with the consumer's release: it has read what is overwritten below.
            theirs = shared.tail.0.load(Acquire);
            if all - (mine - theirs) < batch {
                std::hint::spin_loop();
                continue;
            }
        }
        for n in mine..mine + batch {
            let k = usize::try_from(n).unwrap_or(0) & (slots - 1);
            let buffer = shared.buffer(k);
            // Only slots that the consumer has released: it still reads the others.
            if ahead > 0 && n + ahead - theirs < all {
                shared.fetch(n + ahead, prefetch_to_write);
            }
            for line in (0..size / 8).step_by(8) {
                // SAFETY: inside buffer k, which is this thread's until it is published.
                unsafe { buffer.add(line).cast::<[u64; 8]>().write([n; 8]) };
            }
            let index = u32::try_from(k).unwrap_or(0);
            // SAFETY: slot k is this thread's until it is published.
            unsafe { shared.slot(n).write(Slot { index, length, flags: 0, pointer: 0 }) };
        }
        mine += batch;
        shared.head.0.store(mine, Release);
    }
}

/// Takes frames over and adds up all their words until told to stop.
///
/// # Panics
/// There is or was another consumer.
pub(crate) fn consume(shared: &Shared) -> Seen {
    shared.take(1);
    #[cfg(target_arch = "x86_64")]
    if shared.roof.wide && std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has it.
        return unsafe { consume_avx512(shared) };
    } else if shared.roof.wide && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { consume_avx2(shared) };
    }
    consuming(shared)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn consume_avx512(shared: &Shared) -> Seen {
    consuming(shared)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn consume_avx2(shared: &Shared) -> Seen {
    consuming(shared)
}

#[inline(always)]
fn consuming(shared: &Shared) -> Seen {
    let size = shared.roof.size;
    let batch = shared.roof.batch as u64;
    let (mut mine, mut theirs) = (0u64, 0u64);
    let mut sums = [0u64; 8];
    let ahead = match shared.roof.prefetch {
        Prefetch::Reader(ahead) | Prefetch::Both(ahead) => ahead as u64,
        Prefetch::None => 0,
    };
    let mut began = None;
    while !shared.stop.load(Relaxed) {
        if theirs == mine {
            // Pairs with the producer's release: slots and frames are written.
            theirs = shared.head.0.load(Acquire);
            if theirs == mine {
                std::hint::spin_loop();
                continue;
            }
            began.get_or_insert_with(Instant::now);
        }
        let n = (theirs - mine).min(batch);
        for i in mine..mine + n {
            // Only slots that are published: the producer still writes the others.
            if ahead > 0 && i + ahead < theirs {
                shared.fetch(i + ahead, prefetch);
            }
            // SAFETY: published and not released: slot and buffer are this thread's to read.
            let slot = unsafe { shared.slot(i).read() };
            let buffer = shared.buffer(slot.index as usize);
            for line in (0..size / 8).step_by(8) {
                // SAFETY: as above, inside the buffer.
                let words = unsafe { buffer.add(line).cast::<[u64; 8]>().read() };
                for (sum, word) in sums.iter_mut().zip(words) {
                    *sum = sum.wrapping_add(word);
                }
            }
        }
        mine += n;
        shared.tail.0.store(mine, Release);
    }
    let time = began.map_or(Duration::ZERO, |began| began.elapsed());
    Seen { frames: mine, time, sum: sums.iter().fold(0u64, |a, b| a.wrapping_add(*b)) }
}
