//! Round-trip time and retransmission time-out (RFC 6298).

use super::{MICROSECOND, MILLISECOND, SECOND};

/// Time-out before the first measurement (section 2.1).
const INITIAL: u64 = SECOND;
/// Least time-out. Section 2.4 says a second; as the usual systems it is 200 ms here, which is more than any delay of an
/// acknowledgement.
const LEAST: u64 = 200 * MILLISECOND;
/// Greatest time-out (section 2.5).
const GREATEST: u64 = 60 * SECOND;
/// Time for which the least round trip is remembered.
const MEMORY: u64 = 10 * SECOND;

/// Estimate of the round-trip time, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    /// Smoothed time, and its variation; None before the first measurement.
    smoothed: Option<(u64, u64)>,
    /// The least of the last time, and when it was measured.
    least: (u64, u64),
    /// The least ever.
    floor: u64,
    timeout: u64,
    /// Number of time-outs in a row.
    backoff: u8,
}

impl Default for Rtt {
    fn default() -> Self {
        Self { smoothed: None, least: (u64::MAX, 0), floor: u64::MAX, timeout: INITIAL, backoff: 0 }
    }
}

impl Rtt {
    /// Takes a measurement: sections 2.2 and 2.3. The time-out is no longer doubled then.
    pub(super) fn measured(&mut self, now: u64, time: u64) {
        let time = time.max(MICROSECOND);
        let (smoothed, variation) = match self.smoothed {
            None => (time, time / 2),
            Some((smoothed, variation)) => {
                let off = smoothed.abs_diff(time);
                ((7 * smoothed + time) / 8, (3 * variation + off) / 4)
            }
        };
        if time <= self.least.0 || now.saturating_sub(self.least.1) > MEMORY {
            self.least = (time, now);
        }
        self.floor = self.floor.min(time);
        self.smoothed = Some((smoothed, variation));
        self.timeout = smoothed.saturating_add(4 * variation).clamp(LEAST, GREATEST);
        self.backoff = 0;
    }

    /// The smoothed time; None before the first measurement.
    pub(super) fn smoothed(&self) -> Option<u64> {
        self.smoothed.map(|(smoothed, _)| smoothed)
    }

    /// Its variation.
    pub(super) fn variation(&self) -> u64 {
        self.smoothed.map_or(0, |(_, variation)| variation)
    }

    /// The least time that was measured lately; None before the first measurement.
    pub(super) fn least(&self) -> Option<u64> {
        self.smoothed.map(|_| self.least.0)
    }

    /// The least time that was ever measured.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Retransmission time-out, doubled for each one in a row (section 5.5).
    pub(super) fn timeout(&self) -> u64 {
        self.timeout.saturating_mul(1 << self.backoff.min(16)).min(GREATEST)
    }

    /// There was a time-out.
    pub(super) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Acknowledgements come again, though none that was measured.
    pub(super) fn restore(&mut self) {
        self.backoff = 0;
    }

    /// The SYN had to be sent again: without timestamps its time is not known, and section 5.7 wants three seconds then.
    pub(super) fn after_lost_syn(&mut self) {
        if self.smoothed.is_none() {
            self.timeout = self.timeout.max(3 * SECOND);
        }
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_that_of_rfc_6298() {
        let mut rtt = Rtt::default();
        assert_eq!((rtt.timeout(), rtt.smoothed(), rtt.least()), (SECOND, None, None), "section 2.1");
        rtt.measured(0, 800 * MILLISECOND);
        // 2.2: SRTT is R, RTTVAR R / 2, RTO R + 4 R / 2.
        assert_eq!((rtt.smoothed(), rtt.variation()), (Some(800 * MILLISECOND), 400 * MILLISECOND));
        assert_eq!(rtt.timeout(), 2400 * MILLISECOND);
        rtt.measured(1, 1200 * MILLISECOND);
        // 2.3: RTTVAR 3/4 400 + 1/4 400, SRTT 7/8 800 + 1/8 1200.
        assert_eq!((rtt.smoothed(), rtt.variation()), (Some(850 * MILLISECOND), 400 * MILLISECOND));
        assert_eq!(rtt.least(), Some(800 * MILLISECOND));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), 4 * 2450 * MILLISECOND, "section 5.5");
        (0..100).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), GREATEST, "section 2.5");
        rtt.measured(2, 850 * MILLISECOND);
        assert!(rtt.timeout() < 3 * SECOND);
    }

    #[test]
    fn a_short_trip_has_the_least_time_out() {
        let mut rtt = Rtt::default();
        (0..100).for_each(|now| rtt.measured(now, 20 * MICROSECOND));
        assert_eq!(rtt.timeout(), LEAST);
        rtt.measured(11 * SECOND, 50 * MICROSECOND);
        assert_eq!(rtt.least(), Some(50 * MICROSECOND), "the path may have become longer");
    }

    #[test]
    fn after_a_lost_syn_three_seconds_are_waited() {
        let mut rtt = Rtt::default();
        rtt.back_off();
        rtt.after_lost_syn();
        assert_eq!(rtt.timeout(), 3 * SECOND, "section 5.7");
    }
}
