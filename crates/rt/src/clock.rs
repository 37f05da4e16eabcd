//! Time in nanoseconds of CLOCK_MONOTONIC, fast enough to be read once a batch, or a frame.

use crate::sys::{time, tsc};
use linerate_text::saturating_u64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time in ns for which the counter is trusted before the kernel's clock is read again.
const TRUST_NS: u64 = 10_000_000;
/// Shortest time over which the counter's rate is measured, in ns.
const SHORTEST_NS: u64 = 1_000_000;
/// Longest time of a measurement, in ns: then it begins anew, so that the rate follows the kernel's slewing.
const LONGEST_NS: u64 = 1_000_000_000;

/// CLOCK_MONOTONIC, in nanoseconds. It is the same for all processes of a machine.
#[must_use]
pub fn monotonic_ns() -> u64 {
    time::monotonic()
}

/// Ticks of the CPU's own counter, for very short times, read after all earlier instructions are done; 0 if there is no
/// counter. The caller has to determine the length of a tick.
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    tsc::ticks_after()
}

/// Calendar time since 1970, UTC.
#[must_use]
pub fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Clock of one thread: counts the CPU's ticks where they can be trusted, and corrects itself by the kernel's clock a
/// hundred times a second, so that it differs from [`monotonic_ns`] by some microseconds at most.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Start of the rate's measurement: ticks, ns.
    origin: (u64, u64),
    /// Last reading of both clocks: ticks, ns.
    base: (u64, u64),
    /// ns per tick, times 2^32; 0 until measured.
    rate: u64,
    /// Ticks after `base` for which the rate is trusted.
    trust: u64,
    last: u64,
    usable: bool,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// Makes a clock. In its first millisecond it reads the kernel's clock each time, and measures the counter's rate
    /// meanwhile.
    #[must_use]
    pub fn new() -> Self {
        let start = both();
        Self { origin: start, base: start, rate: 0, trust: 0, last: start.1, usable: tsc::usable() }
    }

    /// Returns the time in nanoseconds; never less than before.
    #[inline]
    pub fn now(&mut self) -> u64 {
        let ticks = tsc::ticks();
        let passed = ticks.wrapping_sub(self.base.0);
        let now = if passed < self.trust { self.base.1 + scale(passed, self.rate) } else { self.correct() };
        self.last = self.last.max(now);
        self.last
    }

    #[cold]
    fn correct(&mut self) -> u64 {
        if !self.usable {
            return time::monotonic();
        }
        let (ticks, now) = both();
        let (ticks0, ns0) = self.origin;
        let (passed, ns) = (ticks.wrapping_sub(ticks0), now.saturating_sub(ns0));
        if ns >= SHORTEST_NS && passed > 0 {
            self.rate = u64::try_from((u128::from(ns) << 32) / u128::from(passed)).unwrap_or(0);
            // Ticks per TRUST_NS at that rate; a counter slower than one tick in 2^32 ns is not trusted at all.
            self.trust = u64::try_from((u128::from(TRUST_NS) << 32) / u128::from(self.rate.max(1))).unwrap_or(0);
            if ns >= LONGEST_NS {
                self.origin = (ticks, now);
            }
        }
        self.base = (ticks, now);
        now
    }
}

/// Reads both clocks at one moment: of several tries the one with the least time in between, so that a thread that is
/// descheduled between the two readings does not take that time for drift.
fn both() -> (u64, u64) {
    let mut best = (u64::MAX, (0, 0));
    for _ in 0..4 {
        let before = tsc::ticks();
        let now = time::monotonic();
        let apart = tsc::ticks().wrapping_sub(before);
        if apart < best.0 {
            best = (apart, (before.wrapping_add(apart / 2), now));
        }
    }
    best.1
}

#[inline]
fn scale(ticks: u64, rate: u64) -> u64 {
    saturating_u64((u128::from(ticks) * u128::from(rate)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reading lies between two of the kernel's clock, within the error of a measured rate.
    #[test]
    fn it_follows_the_kernels_clock_and_never_goes_back() {
        const SLACK: u64 = 200_000;
        let mut clock = Clock::new();
        let (start, mut last) = (monotonic_ns(), 0);
        while monotonic_ns() < start + 60_000_000 {
            let before = monotonic_ns();
            let now = clock.now();
            let after = monotonic_ns();
            assert!(now >= last, "{now} after {last}");
            assert!(now + SLACK >= before && now <= after + SLACK, "{before} {now} {after}");
            last = now;
        }
    }

    #[test]
    fn ticks_are_scaled_without_overflow() {
        assert_eq!(scale(u64::MAX, 1 << 32), u64::MAX);
        assert_eq!(scale(3_000_000_000, (1 << 32) / 3), 999_999_999);
        assert_eq!(scale(0, u64::MAX), 0);
    }
}
