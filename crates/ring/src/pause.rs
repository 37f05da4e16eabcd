//! Pause requests of a consumer to its producer: a word beside the consumer's counter, on the cache line that the
//! producer reads in each sync anyway.
//!
//! Orderings: the word hands nothing over, so it is stored and loaded relaxed. A sleeping producer sees a new request
//! by the doorbell's argument ([`crate::bell`]): the consumer stores the word, fences, and looks whether the producer
//! sleeps; the producer announces that it sleeps, fences, and reads the word once more.

use crate::cursor::Counter;
use std::sync::atomic::Ordering::Relaxed;

/// Pause request: eight priorities, one bit for each, and a number that changes with each request, so that the same
/// priorities can be requested anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause(u32);

impl Pause {
    /// Priorities to be held back, one bit for each.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the low 8 bits are wanted")]
    pub const fn priorities(self) -> u8 {
        self.0 as u8
    }

    /// The next request, for these priorities.
    const fn next(self, priorities: u8) -> Self {
        Self((self.0 & !0xff).wrapping_add(0x100) | priorities as u32)
    }

    /// Requests these priorities, as the request after this one.
    pub(crate) fn ask(&mut self, shared: &impl Counter, priorities: u8) {
        *self = self.next(priorities);
        shared.store(self.0, Relaxed);
    }

    /// Reads the shared word; another process may have written any value.
    #[inline]
    pub(crate) fn look(shared: &impl Counter) -> Self {
        Self(shared.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn each_asking_differs_from_the_last() {
        let (shared, mut pause) = (AtomicU32::new(0), Pause(u32::MAX - 0xff));
        for priorities in [0x08, 0x08, 0xff, 0] {
            let before = pause;
            pause.ask(&shared, priorities);
            assert_eq!((Pause::look(&shared), pause.priorities()), (pause, priorities));
            assert_ne!(pause, before);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::bell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;

    /// A producer that goes to sleep while paused either sees that the pause has ended, or its bell is rung.
    #[test]
    fn the_end_of_a_pause_is_not_slept_through() {
        loom::model(|| {
            let mut asked = Pause::default();
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            asked.ask(&shared.0, 1);
            let (theirs, seen) = (shared.clone(), asked);
            let consumer = loom::thread::spawn(move || {
                asked.ask(&theirs.0, 0);
                bell::must_ring(&theirs.1)
            });
            bell::fall_asleep(&shared.1);
            let stays = Pause::look(&shared.0) == seen;
            assert!(consumer.join().unwrap() || !stays);
        });
    }
}
