//! Publication between one producer and one consumer: two counters, each written by one side only.
//!
//! Counters run freely over 32 bits; the slot is the counter masked. The code is generic over the atomic type, so that
//! loom explores the very code that is used.
//!
//! Orderings: the producer's `Release` store of `published` pairs with the consumer's `Acquire` load of it, so that the
//! consumer sees the slots and frames written before. The consumer's `Release` store of `released` pairs with the
//! producer's `Acquire` load, so that the producer overwrites a slot only after the consumer has read it.

use std::sync::atomic::{AtomicU32, Ordering};

/// The atomic operations that publication needs.
pub(crate) trait Counter {
    fn load(&self, order: Ordering) -> u32;
    fn store(&self, value: u32, order: Ordering);
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// A sequentially consistent fence.
    fn fence();
}

impl Counter for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }
    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }
    #[inline]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::swap(self, value, order)
    }
    #[inline]
    fn fence() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(loom)]
impl Counter for loom::sync::atomic::AtomicU32 {
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }
    fn store(&self, value: u32, order: Ordering) {
        self.store(value, order);
    }
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.swap(value, order)
    }
    fn fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The counter written by the other side is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidCursor;

/// The producer's cursors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Producer {
    /// Next slot to publish.
    pub(crate) published: u32,
    /// First slot not yet given back, as last seen.
    pub(crate) released: u32,
}

impl Producer {
    /// Slots held by the other side, as last seen.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.published.wrapping_sub(self.released)
    }

    /// Hands over the next `n` slots, whose contents must have been written.
    #[inline]
    pub(crate) fn publish(&mut self, shared: &impl Counter, n: u32) {
        self.published = self.published.wrapping_add(n);
        shared.store(self.published, Ordering::Release);
    }

    /// Returns the number of slots that came back since the last call.
    #[inline]
    pub(crate) fn reclaim(&mut self, shared: &impl Counter) -> Result<u32, InvalidCursor> {
        let now = shared.load(Ordering::Acquire);
        let back = now.wrapping_sub(self.released);
        if back > self.in_flight() {
            return Err(InvalidCursor);
        }
        self.released = now;
        Ok(back)
    }
}

/// True if the consumer ever put other buffers into slots; to be asked after slots were reclaimed, and valid for those.
#[inline]
pub(crate) fn were_swapped(swaps: &impl Counter) -> bool {
    swaps.load(Ordering::Relaxed) != 0
}

/// The consumer's cursors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Consumer {
    /// First slot not yet seen.
    pub(crate) seen: u32,
    /// First slot not yet given back.
    pub(crate) released: u32,
}

impl Consumer {
    /// Returns the number of slots published since the last call; at most `most` can be unreleased at a time.
    #[inline]
    pub(crate) fn look(&mut self, shared: &impl Counter, most: u32) -> Result<u32, InvalidCursor> {
        let now = shared.load(Ordering::Acquire);
        let (out, new) = (now.wrapping_sub(self.released), now.wrapping_sub(self.seen));
        if out > most || new > out {
            return Err(InvalidCursor);
        }
        self.seen = now;
        Ok(new)
    }

    /// Announces that the slots that are given back next hold other buffers.
    #[inline]
    pub(crate) fn announce_swaps(&mut self, swaps: &impl Counter) {
        // Never reset; the release of the slots orders it, so the producer that acquires them sees it.
        swaps.store(1, Ordering::Relaxed);
    }

    /// Gives back the next `n` slots; they must not be accessed afterwards.
    #[inline]
    pub(crate) fn release(&mut self, shared: &impl Counter, n: u32) {
        debug_assert!(n <= self.seen.wrapping_sub(self.released));
        self.released = self.released.wrapping_add(n);
        shared.store(self.released, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_producer_refuses_slots_it_never_lent() {
        let shared = AtomicU32::new(0);
        let mut p = Producer::default();
        p.publish(&AtomicU32::new(0), 3);
        shared.store(4, Relaxed);
        assert_eq!(p.reclaim(&shared), Err(InvalidCursor));
        shared.store(3, Relaxed);
        assert_eq!(p.reclaim(&shared), Ok(3));
        shared.store(2, Relaxed);
        assert_eq!(p.reclaim(&shared), Err(InvalidCursor), "backwards");
    }

    #[test]
    fn a_consumer_refuses_more_than_a_ring() {
        let shared = AtomicU32::new(65);
        let mut c = Consumer::default();
        assert_eq!(c.look(&shared, 64), Err(InvalidCursor));
        shared.store(64, Relaxed);
        assert_eq!(c.look(&shared, 64), Ok(64));
        shared.store(63, Relaxed);
        assert_eq!(c.look(&shared, 64), Err(InvalidCursor), "backwards");
    }

    #[test]
    fn counters_wrap() {
        let (published, released) = (AtomicU32::new(u32::MAX - 1), AtomicU32::new(u32::MAX - 1));
        let mut p = Producer { published: u32::MAX - 1, released: u32::MAX - 1 };
        let mut c = Consumer { seen: u32::MAX - 1, released: u32::MAX - 1 };
        p.publish(&published, 5);
        assert_eq!(c.look(&published, 64), Ok(5));
        c.release(&released, 5);
        assert_eq!(p.reclaim(&released), Ok(5));
        assert_eq!(p.in_flight(), 0);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Shared {
        published: loom::sync::atomic::AtomicU32,
        released: loom::sync::atomic::AtomicU32,
        slots: [UnsafeCell<u32>; 2],
    }
    // SAFETY: the slots are handed over by the two counters, which is what the model checks.
    unsafe impl Sync for Shared {}

    /// A producer that gets a swapped slot back is told so, and sees the buffer that is in it now.
    #[test]
    fn swaps_are_known_with_the_slots() {
        loom::model(|| {
            use loom::sync::atomic::AtomicU32;
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(7)));
            let theirs = shared.clone();
            let consumer = loom::thread::spawn(move || {
                let mut c = Consumer { seen: 2, released: 0 };
                c.release(&theirs.0, 1);
                theirs.2.store(9, Ordering::Relaxed);
                c.announce_swaps(&theirs.1);
                c.release(&theirs.0, 1);
            });
            let mut p = Producer { published: 2, released: 0 };
            let mut back = 0;
            while back < 2 {
                let new = p.reclaim(&shared.0).unwrap();
                back += new;
                if back == 2 {
                    assert!(were_swapped(&shared.1));
                    assert_eq!(shared.2.load(Ordering::Relaxed), 9);
                } else if new == 0 {
                    loom::thread::yield_now();
                }
            }
            consumer.join().unwrap();
        });
    }

    /// Three values through two slots: each arrives once, in order, and no slot is written while it is read.
    #[test]
    fn slots_are_handed_over_whole() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                published: loom::sync::atomic::AtomicU32::new(0),
                released: loom::sync::atomic::AtomicU32::new(0),
                slots: [UnsafeCell::new(0), UnsafeCell::new(0)],
            });
            let theirs = shared.clone();
            let producer = loom::thread::spawn(move || {
                let mut p = Producer::default();
                for value in 1..=3u32 {
                    while p.in_flight() == 2 {
                        if p.reclaim(&theirs.released).unwrap() == 0 {
                            loom::thread::yield_now();
                        }
                    }
                    // SAFETY: fewer than two slots are in flight, so this one is ours; loom checks it.
                    theirs.slots[(p.published & 1) as usize].with_mut(|slot| unsafe { *slot = value });
                    p.publish(&theirs.published, 1);
                }
            });
            let mut c = Consumer::default();
            let mut got = Vec::new();
            while got.len() < 3 {
                let new = c.look(&shared.published, 2).unwrap();
                if new == 0 {
                    loom::thread::yield_now();
                }
                for _ in 0..new {
                    // SAFETY: published and not yet released, so this slot is ours; loom checks it.
                    got.push(shared.slots[(c.released & 1) as usize].with(|slot| unsafe { *slot }));
                    c.release(&shared.released, 1);
                }
            }
            producer.join().unwrap();
            assert_eq!(got, [1, 2, 3]);
        });
    }
}
