//! Polling less often under load, as NICs moderate interrupts.
//!
//! Each read of the kernel's cursors takes their cache lines from the core that is about to write them. A receiver that
//! polls without a pause so finds one frame at a time, and slows the sender down by a quarter. At high frame rates, a
//! read that found few frames is followed by a pause; a ping's answer is never delayed.

use std::time::{Duration, Instant};

/// Time over which the rate is measured.
const WINDOW: Duration = Duration::from_micros(200);
/// Mean gap, in ns, up to which the rate counts as high.
const FAST: u32 = 2500;
/// Length of the pause after a read. At high rates a few frames gather meanwhile.
const PAUSE: Duration = Duration::from_micros(6);
/// Number of frames in one read from which on there is no pause after it.
const MANY: u32 = 32;

#[derive(Debug)]
pub(super) struct Moderation {
    since: Instant,
    frames: u32,
    fast: bool,
    next: Instant,
}

impl Moderation {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, frames: 0, fast: false, next: now }
    }

    /// True if it is time to read the cursors.
    #[inline]
    pub(super) fn may_look(&self, now: Instant) -> bool {
        !self.fast || now >= self.next
    }

    /// Records the number of frames that a read found.
    #[inline]
    pub(super) fn found(&mut self, now: Instant, frames: u32) {
        self.frames = self.frames.saturating_add(frames);
        let took = now.saturating_duration_since(self.since);
        if took >= WINDOW {
            self.fast = took.as_nanos() <= u128::from(self.frames) * u128::from(FAST);
            (self.since, self.frames) = (now, 0);
        }
        if frames < MANY {
            self.next = now + PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls each microsecond for a millisecond, with a frame every `gap` microseconds; returns the number of reads.
    fn looks(gap: u64) -> u32 {
        let start = Instant::now();
        let mut moderation = Moderation::new(start);
        let (mut made, mut waiting) = (0, 0);
        for us in 0..1000 {
            let now = start + Duration::from_micros(us);
            waiting += u32::from(us % gap == 0);
            if moderation.may_look(now) {
                moderation.found(now, std::mem::take(&mut waiting));
                made += 1;
            }
        }
        made
    }

    #[test]
    fn looks_are_put_off_while_frames_come_fast() {
        assert!((300..400).contains(&looks(1)), "{}", looks(1));
        assert_eq!(looks(10), 1000, "a frame each ten microseconds is taken as it comes");
    }

    #[test]
    fn when_frames_stop_every_look_is_made_again() {
        let start = Instant::now();
        let mut moderation = Moderation::new(start);
        let at = |us| start + Duration::from_micros(us);
        (0..400).for_each(|us| moderation.found(at(us), 1));
        assert!(!moderation.may_look(at(400)));
        moderation.found(at(700), 0);
        assert!(moderation.may_look(at(700)));
    }
}
