//! The clock that requests are timed with.

use super::tally::float;
use linerate_rt::Clock;

const READINGS: u64 = 100_000;

/// Line about the clock, measured now: the time of a reading, and the smallest step between two of them.
pub(super) fn line() -> String {
    let mut clock = Clock::new();
    let begun = clock.now();
    let (mut last, mut step) = (begun, u64::MAX);
    for _ in 0..READINGS {
        let now = clock.now();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    let each = float(last.saturating_sub(begun)) / float(READINGS);
    format!("Timer, {each:.1} ns a reading, smallest step {step} ns, over {READINGS} readings")
}
