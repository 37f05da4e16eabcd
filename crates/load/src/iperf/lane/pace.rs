//! Rate of a sender: each block has a time before which it is not sent. What could not be sent in time is made up for, so
//! that the rate holds over the whole test.

use crate::iperf::settings::Rate;
use crate::socket::sys::fine_sleep;
use linerate_rt::{Stop, monotonic_ns};
use linerate_text::saturating_u64;
use std::time::Duration;

/// Longest sleep in one piece, ns: an end that is requested waits so long at most.
const NAP_NS: u64 = 20_000_000;

/// Pace of a sender.
pub(super) struct Pace {
    rate: Rate,
    begin: u64,
}

impl Pace {
    /// Begins now.
    pub(super) fn new(rate: Rate) -> Self {
        if rate != Rate::Unlimited {
            fine_sleep();
        }
        Self { rate, begin: monotonic_ns() }
    }

    /// Waits until the next block is due, so much having been sent; false if the test is over.
    #[inline]
    pub(super) fn wait(&self, bytes: u64, packets: u64, over: &Stop) -> bool {
        let due = match self.rate {
            Rate::Unlimited => return true,
            Rate::Bits(rate) => self.due(u128::from(bytes) * 8, rate),
            Rate::Packets(rate) => self.due(packets.into(), rate),
        };
        loop {
            let now = monotonic_ns();
            if now >= due {
                return true;
            }
            if over.asked() {
                return false;
            }
            std::thread::sleep(Duration::from_nanos((due - now).min(NAP_NS)));
        }
    }

    /// Time at which so much may have been sent.
    fn due(&self, amount: u128, rate: u64) -> u64 {
        let ns = amount * 1_000_000_000 / u128::from(rate.max(1));
        self.begin.saturating_add(saturating_u64(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_due_at_their_rate() {
        let pace = Pace { rate: Rate::Bits(8_000_000), begin: 7 };
        assert_eq!((pace.due(0, 8), pace.due(8_000_000, 8_000_000)), (7, 1_000_000_007));
        assert_eq!(pace.due(u128::from(u64::MAX) * 8, 1), u64::MAX);
    }

    #[test]
    fn it_waits_as_long_as_it_must_and_no_longer_than_the_test() {
        let over = Stop::new().unwrap();
        let pace = Pace::new(Rate::Packets(100));
        assert!(pace.wait(0, 3, &over));
        assert!(monotonic_ns() >= pace.begin + 30_000_000);
        over.ask(0);
        assert!(!pace.wait(0, 1_000_000, &over));
        assert!(Pace::new(Rate::Unlimited).wait(u64::MAX, u64::MAX, &over));
    }
}
