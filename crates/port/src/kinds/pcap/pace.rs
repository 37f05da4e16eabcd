//! Pacing of a replay: the time at which a captured frame is due.

use std::time::{Duration, Instant};

/// Gap beyond which frames count as captured over a change of the clock (or as a damaged record), as do frames out of
/// order: they follow each other without a gap.
const LONGEST_GAP_NS: u64 = 3_600_000_000_000;

/// Keeps the gaps between records, divided by the speed. Gaps are measured from an anchor, not from frame to frame, so
/// that errors do not add up.
#[derive(Debug)]
pub(super) struct Pace {
    /// Speed in millionths.
    speed: u64,
    anchor: Option<(Instant, u64)>,
    last: (Option<Instant>, u64),
}

impl Pace {
    pub(super) fn new(speed_millionths: u64) -> Self {
        Self { speed: speed_millionths.max(1), anchor: None, last: (None, 0) }
    }

    /// Time at which the next record, captured at `time_ns`, is due.
    pub(super) fn due(&mut self, time_ns: u64, now: Instant) -> Instant {
        let (last_due, last_ns) = (self.last.0.unwrap_or(now), self.last.1);
        let gap_fits = time_ns.checked_sub(last_ns).is_some_and(|gap| gap <= LONGEST_GAP_NS);
        let anchor = match self.anchor {
            Some(anchor) if gap_fits => anchor,
            _ => (last_due, time_ns),
        };
        let ns = u128::from(time_ns - anchor.1) * 1_000_000 / u128::from(self.speed);
        let due = u64::try_from(ns).ok().and_then(|ns| anchor.0.checked_add(Duration::from_nanos(ns)));
        self.anchor = Some(anchor);
        self.last = (Some(due.unwrap_or(last_due)), time_ns);
        due.unwrap_or(last_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_kept_at_each_speed_and_leaps_are_not() {
        let start = Instant::now();
        let at = |pace: &mut Pace, ns| pace.due(ns, start).duration_since(start).as_nanos();
        for (speed, half_second) in [(1_000_000, 500_000_000), (2_000_000, 250_000_000), (500_000, 1_000_000_000)] {
            let mut pace = Pace::new(speed);
            assert_eq!(at(&mut pace, 1_700_000_000_000_000_000), 0);
            assert_eq!(at(&mut pace, 1_700_000_000_500_000_000), half_second);
            assert_eq!(at(&mut pace, 1_600_000_000_000_000_000), half_second, "the clock was set back");
            assert_eq!(at(&mut pace, 1_600_000_000_500_000_000), 2 * half_second);
            assert_eq!(at(&mut pace, u64::MAX), 2 * half_second, "a damaged time");
        }
        let mut slow = Pace::new(1);
        at(&mut slow, 0);
        for i in 1..100_000 {
            at(&mut slow, i * LONGEST_GAP_NS);
        }
    }
}
