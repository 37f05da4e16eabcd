//! Rate of a stream: each block has a time before which it is not sent.

use super::Shared;
use crate::socket::sys::fine_sleep;
use linerate_rt::monotonic_ns;
use linerate_text::saturating_u64;
use std::time::Duration;

/// Longest sleep in one piece, ns: an end that is requested waits so long at most.
const NAP_NS: u64 = 20_000_000;

/// Pace of a stream. What could not be sent in time is made up for: the rate holds over the whole test.
pub(super) struct Pace {
    /// Bit/s; 0 for no limit.
    rate: u64,
    /// Blocks that are sent without a look at the time.
    burst: u64,
    begin: u64,
    blocks: u64,
}

impl Pace {
    /// Begins now.
    pub(super) fn new(rate: u64, burst: u64) -> Self {
        if rate > 0 {
            fine_sleep();
        }
        Self { rate, burst: burst.max(1), begin: monotonic_ns(), blocks: 0 }
    }

    /// Waits until the next block is due, `bytes` having been sent; false if the test is over.
    #[inline]
    pub(super) fn wait(&mut self, bytes: u64, shared: &Shared) -> bool {
        if self.rate == 0 {
            return true;
        }
        self.blocks += 1;
        if self.burst > 1 && self.blocks % self.burst != 1 {
            return true;
        }
        let due = self.due(bytes);
        loop {
            let now = monotonic_ns();
            if now >= due {
                return true;
            }
            if shared.is_done(true) {
                return false;
            }
            std::thread::sleep(Duration::from_nanos((due - now).min(NAP_NS)));
        }
    }

    /// Time at which so many bytes may have been sent.
    fn due(&self, bytes: u64) -> u64 {
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(self.rate);
        self.begin.saturating_add(saturating_u64(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;

    #[test]
    fn blocks_are_due_at_their_rate() {
        let pace = Pace { rate: 8_000_000, burst: 1, begin: 7, blocks: 0 };
        assert_eq!((pace.due(0), pace.due(1_000_000)), (7, 1_000_000_007));
        let slowest = Pace { rate: 1, ..pace };
        assert_eq!(slowest.due(u64::MAX), u64::MAX);
    }

    #[test]
    fn it_waits_as_long_as_it_must_and_no_longer_than_the_test() {
        let shared = Shared::new(Limit::None, None, false, 1).unwrap();
        let mut pace = Pace::new(8_000_000, 0);
        assert!(pace.wait(30_000, &shared));
        assert!(monotonic_ns() >= pace.begin + 30_000_000);
        shared.end(true);
        assert!(!pace.wait(u64::MAX, &shared));
        let mut bursts = Pace::new(8, 3);
        let sent: Vec<bool> = (0..4).map(|block| bursts.wait(block, &shared)).collect();
        assert_eq!(sent, [true, true, true, false], "the third byte is due in the fourth second");
    }
}
