//! HyStart++ (RFC 9406): slow start ends before a loss, when round trips become longer.

use super::super::MILLISECOND;
use super::Acked;

/// Constants of section 4.3.
const LEAST_THRESHOLD: u64 = 4 * MILLISECOND;
const GREATEST_THRESHOLD: u64 = 16 * MILLISECOND;
const DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: u32 = 4;
const ROUNDS: u32 = 5;

/// State of a slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hystart {
    /// The least round trip of this round and of the one before, and the number of samples of this one.
    now: Option<u64>,
    before: Option<u64>,
    samples: u32,
    /// Conservative slow start (CSS): round trip at which it began, and the rounds that it has lasted.
    careful: Option<(u64, u32)>,
    ended: bool,
}

impl Hystart {
    /// Bytes by which the window grows.
    pub(super) fn acked(&mut self, acked: &Acked) -> u32 {
        if acked.round {
            (self.before, self.now, self.samples) = (self.now.or(self.before), None, 0);
            if let Some((_, rounds)) = &mut self.careful {
                *rounds += 1;
                self.ended |= *rounds >= ROUNDS;
            }
        }
        if let Some(rtt) = acked.rtt {
            self.now = Some(self.now.map_or(rtt, |now| now.min(rtt)));
            self.samples += 1;
        }
        if let (Some(now), Some(before), true) = (self.now, self.before, self.samples >= SAMPLES) {
            match self.careful {
                None if now >= before + (before / DIVISOR).clamp(LEAST_THRESHOLD, GREATEST_THRESHOLD) => {
                    self.careful = Some((now, 0));
                }
                // It was no queue: slow start goes on.
                Some((began, _)) if now < began => self.careful = None,
                _ => {}
            }
        }
        if self.careful.is_some() { acked.bytes / GROWTH_DIVISOR } else { acked.bytes }
    }

    /// True if congestion avoidance begins.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(of: &mut Hystart, rtt: u64) -> u32 {
        let acked = |round| Acked { now: 0, bytes: 1000, rtt: Some(rtt), smoothed: rtt, round, full: true };
        of.acked(&acked(true)) + (1..20).map(|_| of.acked(&acked(false))).sum::<u32>()
    }

    #[test]
    fn longer_round_trips_end_slow_start() {
        let mut of = Hystart::default();
        assert_eq!(round(&mut of, 40 * MILLISECOND), 20_000);
        // An eighth more is 5 ms; 4 ms are not enough.
        assert_eq!(round(&mut of, 44 * MILLISECOND), 20_000);
        assert_eq!(round(&mut of, 50 * MILLISECOND), 7 * 1000 + 13 * 250, "from the eighth sample on");
        for _ in 0..4 {
            assert!(!of.has_ended());
            assert_eq!(round(&mut of, 50 * MILLISECOND), 5_000);
        }
        round(&mut of, 50 * MILLISECOND);
        assert!(of.has_ended(), "section 4.2: after five rounds");
    }

    #[test]
    fn a_queue_that_was_none_lets_it_go_on() {
        let mut of = Hystart::default();
        round(&mut of, 40 * MILLISECOND);
        round(&mut of, 60 * MILLISECOND);
        assert_eq!(round(&mut of, 41 * MILLISECOND), 7 * 250 + 13 * 1000);
        for _ in 0..10 {
            assert_eq!(round(&mut of, 41 * MILLISECOND), 20_000);
        }
        assert!(!of.has_ended());
    }
}
