//! Small writes that follow one another closely, which go out together.
//!
//! To send costs about as much for 2 KB as for 16: locks, a look at the timers, and a ring's index that the other core has to
//! fetch. So a write that comes right after others is kept in the connection's buffer, until enough of them have come; or the
//! user reads, has to wait, or closes; or a turn of the connection's queue is taken, at the latest by its thread, which looks
//! every 200 us while users write. Linux does so while the adapter has frames to send (`tcp_autocorking`). Without Nagle's
//! algorithm, and for users who do not wait, each write is sent at once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Longest time between writes that go out together, ns, on average.
const CLOSE: u64 = 5_000;
/// Most bytes that wait.
const MOST: usize = 16 << 10;

/// Estimates of how a connection's writes come; several writers may disturb one another's.
#[derive(Default)]
pub(super) struct Autocork {
    /// Bytes and number of the writes since something was last sent.
    held: AtomicUsize,
    writes: AtomicU64,
    /// Time of that, ns.
    since: AtomicU64,
    /// They come closely.
    close: AtomicBool,
}

/// Answer to a write: held back, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// It may be held back.
    May,
    /// It may not; so many bytes go out with it, its own among them.
    Not(usize),
}

impl Autocork {
    /// Says of a write of so many bytes if it may be held back.
    #[inline]
    pub(super) fn holds(&self, bytes: usize) -> Hold {
        let held = self.held.load(Relaxed).saturating_add(bytes);
        if self.close.load(Relaxed) && held < MOST {
            self.held.store(held, Relaxed);
            self.writes.store(self.writes.load(Relaxed) + 1, Relaxed);
            return Hold::May;
        }
        self.held.store(0, Relaxed);
        Hold::Not(held)
    }

    /// A write that was not held back has ended.
    #[inline]
    pub(super) fn ended(&self, now: u64) {
        let writes = 1 + self.writes.swap(0, Relaxed);
        let time = now.saturating_sub(self.since.swap(now, Relaxed));
        self.close.store(time < CLOSE.saturating_mul(writes), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_come_closely_go_out_together() {
        let autocork = Autocork::default();
        assert_eq!(autocork.holds(100), Hold::Not(100), "nothing came before");
        autocork.ended(1_000_000);
        assert_eq!(autocork.holds(100), Hold::Not(100), "the first one came from nowhere");
        autocork.ended(1_000_000 + CLOSE - 1);
        for n in 1..=3 {
            assert_eq!((autocork.holds(4096), n), (Hold::May, n));
        }
        assert_eq!(autocork.holds(4096), Hold::Not(MOST), "with those before it");
        // Four writes in the time for four.
        autocork.ended(1_000_000 + CLOSE - 1 + 4 * CLOSE - 1);
        assert_eq!(autocork.holds(MOST - 1), Hold::May);
        assert_eq!(autocork.holds(usize::MAX), Hold::Not(usize::MAX));
        // Two in more than that for two.
        autocork.ended(1_000_000 + 7 * CLOSE);
        assert_eq!(autocork.holds(1), Hold::Not(1));
        autocork.ended(0);
        assert_eq!(autocork.holds(MOST), Hold::Not(MOST), "a large one never waits");
    }
}
