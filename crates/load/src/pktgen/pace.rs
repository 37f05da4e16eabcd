//! A rate in frames per second, kept exactly.
//!
//! Frame k may be sent at start + k / rate. The number of frames due is computed from the start each time, in integers,
//! so that nothing drifts: a late sender catches up.

use linerate_text::saturating_u64;

/// Lets frames pass at a rate, a burst at a time.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Frames per second; 0 for as fast as possible.
    rate: u64,
    burst: u32,
    start: Option<u64>,
    passed: u64,
}

impl Pace {
    /// Makes a pace of `rate` frames per second, or without limit when it is 0. As in netmap's pkt-gen the burst is at
    /// most a 300th of the rate.
    #[must_use]
    pub fn new(rate: u64, burst: u32) -> Self {
        Self { rate, burst: Self::burst(rate, burst), start: None, passed: 0 }
    }

    /// Frames of a burst, 1 to `burst`: at a rate, so few that there are 300 bursts a second.
    #[must_use]
    pub fn burst(rate: u64, burst: u32) -> u32 {
        if rate == 0 { burst.max(1) } else { up_to(burst, rate / 300).max(1) }
    }

    /// Number of frames that may be sent now, at most a burst. The first call sets the start.
    #[inline]
    pub fn allowance(&mut self, now: u64) -> u32 {
        if self.rate == 0 {
            return self.burst;
        }
        let start = *self.start.get_or_insert(now);
        let elapsed = u128::from(now.saturating_sub(start));
        let bursts = elapsed * u128::from(self.rate) / (1_000_000_000 * u128::from(self.burst)) + 1;
        let due = bursts * u128::from(self.burst) - u128::from(self.passed);
        up_to(self.burst, saturating_u64(due))
    }

    /// Records that frames were sent.
    #[inline]
    pub fn pass(&mut self, frames: u32) {
        self.passed += u64::from(frames);
    }

    /// Time at which the next frame may be sent; `None` if it may at once.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        if self.rate == 0 {
            return None;
        }
        let bursts = u128::from(self.passed / u64::from(self.burst));
        let ns = (bursts * u128::from(self.burst) * 1_000_000_000).div_ceil(u128::from(self.rate));
        self.start.map(|start| start.saturating_add(saturating_u64(ns)))
    }
}

/// A burst, or what is left if that is less.
#[inline]
pub(super) fn up_to(burst: u32, left: u64) -> u32 {
    u32::try_from(left).unwrap_or(burst).min(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that polls exactly at the due times, and one that polls at odd times, both send rate · time.
    #[test]
    fn the_count_is_exact_at_any_time() {
        for (rate, burst) in [(1, 512), (7, 1), (299, 512), (1_000_000, 512), (14_880_952, 256), (3_333_333, 100)] {
            let mut pace = Pace::new(rate, burst);
            let burst = u64::from(Pace::burst(rate, burst));
            let (start, mut now, mut sent, mut step) = (12_345, 12_345u64, 0u64, 1u64);
            while now < start + 3_000_000_000 {
                loop {
                    let n = pace.allowance(now);
                    if n == 0 {
                        break;
                    }
                    pace.pass(n);
                    sent += u64::from(n);
                }
                let due = u128::from(now - start) * u128::from(rate) / 1_000_000_000;
                let whole = due / u128::from(burst) * u128::from(burst) + u128::from(burst);
                assert_eq!(u128::from(sent), whole, "rate {rate} at {now}");
                step = step * 48271 % 2_147_483_647;
                now += if step % 2 == 0 { pace.next().unwrap() - now } else { step % 20_000_000 };
            }
        }
    }

    #[test]
    fn the_next_time_is_the_first_at_which_something_may_leave() {
        let mut pace = Pace::new(3_333_333, 100);
        for _ in 0..1000 {
            let now = pace.next().unwrap_or(5);
            assert!(pace.allowance(now) > 0);
            pace.pass(pace.clone().allowance(now));
            assert_eq!(pace.allowance(pace.next().unwrap() - 1), 0);
        }
    }

    #[test]
    fn bursts_are_cut_as_netmap_cuts_them() {
        assert_eq!(Pace::burst(0, 512), 512);
        assert_eq!(Pace::burst(30_000, 512), 100);
        assert_eq!(Pace::burst(299, 512), 1);
        assert_eq!(Pace::burst(1_000_000, 512), 512);
        let mut pace = Pace::new(0, 64);
        assert_eq!((pace.allowance(1), pace.next()), (64, None));
    }
}
