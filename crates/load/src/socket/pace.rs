//! Rate of a sender: each block has a time before which it is not sent. What could not be sent in time is made up for, so
//! that the rate holds over the whole test.

use super::sys::fine_sleep;
use linerate_rt::monotonic_ns;
use linerate_text::saturating_u64;
use std::time::Duration;

/// Longest sleep in one piece, ns: an end that is requested waits so long at most.
const NAP_NS: u64 = 20_000_000;

pub(crate) struct Pace {
    /// Units per second, of those in which the caller counts; 0 for no limit.
    rate: u64,
    /// Blocks that are sent without a look at the time.
    burst: u64,
    begin: u64,
    blocks: u64,
}

impl Pace {
    /// Begins now.
    pub(crate) fn new(rate: u64, burst: u64) -> Self {
        if rate > 0 {
            fine_sleep();
        }
        Self { rate, burst: burst.max(1), begin: monotonic_ns(), blocks: 0 }
    }

    /// Waits until the next block is due, so much having been sent; false if the test is over.
    #[inline]
    pub(crate) fn wait(&mut self, sent: u128, over: impl Fn() -> bool) -> bool {
        if self.rate == 0 {
            return true;
        }
        self.blocks += 1;
        if self.burst > 1 && self.blocks % self.burst != 1 {
            return true;
        }
        let due = self.due(sent);
        loop {
            let now = monotonic_ns();
            if now >= due {
                return true;
            }
            if over() {
                return false;
            }
            std::thread::sleep(Duration::from_nanos((due - now).min(NAP_NS)));
        }
    }

    /// Time at which so much may have been sent.
    fn due(&self, sent: u128) -> u64 {
        let ns = sent.saturating_mul(1_000_000_000) / u128::from(self.rate);
        self.begin.saturating_add(saturating_u64(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn blocks_are_due_at_their_rate() {
        let pace = Pace { rate: 8_000_000, burst: 1, begin: 7, blocks: 0 };
        assert_eq!((pace.due(0), pace.due(8_000_000)), (7, 1_000_000_007));
        let slowest = Pace { rate: 1, ..pace };
        assert_eq!((slowest.due(8 * u128::from(u64::MAX)), slowest.due(u128::MAX)), (u64::MAX, u64::MAX));
    }

    #[test]
    fn it_waits_as_long_as_it_must_and_no_longer_than_the_test() {
        let over = Cell::new(false);
        let mut pace = Pace::new(100, 0);
        assert!(pace.wait(3, || over.get()));
        assert!(monotonic_ns() >= pace.begin + 30_000_000);
        over.set(true);
        assert!(!pace.wait(u128::MAX, || over.get()));
        let mut bursts = Pace::new(1, 3);
        let sent: Vec<bool> = (0..4).map(|block| bursts.wait(block, || over.get())).collect();
        assert_eq!(sent, [true, true, true, false], "the fourth is due in the fourth second");
        assert!(Pace::new(0, 0).wait(u128::MAX, || over.get()), "without a limit");
    }
}
