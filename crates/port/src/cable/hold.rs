//! A transmit queue whose far end has paused it (priority-based flow control, IEEE 802.1Q clause 36): committed frames
//! stay in the ring until the pause ends, or has held frames for [`PATIENCE`] without being renewed.

use super::side::Side;
use crate::class::PATIENCE;
use linerate_ring::Pause;
use std::time::{Duration, Instant};

/// State of the pause of one transmit queue; see the module's text.
#[derive(Default)]
pub(super) struct Hold {
    /// Priorities of the queue, one bit each.
    pub(super) priorities: u8,
    held: Option<Held>,
}

struct Held {
    asked: Pause,
    /// Time up to which the pause has been counted.
    counted: Instant,
    until: Instant,
    /// The pause has lasted too long and has no effect until it is requested anew.
    overdue: bool,
}

impl Hold {
    /// True if a pause must be looked at: one for this queue is asked for, or an earlier one may end.
    #[inline]
    pub(super) fn concerns(&self, asked: Pause) -> bool {
        asked.priorities() & self.priorities != 0 || self.held.is_some()
    }

    /// True if frames have to wait. `pending`: there are frames to send.
    #[cold]
    pub(super) fn holds(&mut self, now: Instant, asked: Pause, pending: bool, side: &Side) -> bool {
        if let Some(held) = self.held.as_mut().filter(|held| !held.overdue) {
            let end = now.min(held.until);
            side.count_pause(0, end.saturating_duration_since(held.counted));
            (held.counted, held.overdue) = (end, now >= held.until);
        }
        if asked.priorities() & self.priorities == 0 {
            self.held = None;
        } else if self.held.as_ref().map_or(pending, |held| held.asked != asked) {
            let under_way = self.held.as_ref().is_some_and(|held| !held.overdue);
            side.count_pause((!under_way).into(), Duration::ZERO);
            let until = now + Duration::from_nanos(PATIENCE);
            self.held = Some(Held { asked, counted: now, until, overdue: false });
        }
        self.held.as_ref().is_some_and(|held| !held.overdue)
    }

    /// Ends the pause, because the far end is a new one.
    pub(super) fn end(&mut self) {
        self.held = None;
    }

    /// Time at which waiting frames can be sent, unless something happens before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.as_ref().filter(|held| !held.overdue).map(|held| held.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ring::{Pipe, Region, RegionConfig, Sharing};

    /// Pauses that a far end asks for, one after the other.
    fn asked(priorities: &[u8]) -> Vec<Pause> {
        let ring_bytes = 2 * Region::ring_room(64);
        let config = RegionConfig { buf_size: 512, buffers: 64, ring_bytes, sharing: Sharing::Private, huge: false };
        let region = Region::new(&config).unwrap();
        let pair = region.ring_pair(0, 64).unwrap();
        let (_, mut near) = Pipe::Within.sender(&region, &pair, 0).unwrap();
        let (_, mut far) = Pipe::Within.receiver(&region, &pair, 0).unwrap();
        let mut ask = |priorities: &u8| {
            far.pause(*priorities);
            near.pause()
        };
        priorities.iter().map(&mut ask).collect()
    }

    #[test]
    fn a_pause_ends_when_it_is_over_or_had_its_time_and_is_counted() {
        let (side, begin) = (Side::within(1).unwrap(), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        let mut hold = Hold { priorities: 0x0c, held: None };
        let asked = asked(&[0x10, 0x08, 0, 0x04, 0x04, 0]);
        assert!(!hold.concerns(asked[0]), "another priority");
        assert!(hold.concerns(asked[1]) && !hold.holds(at(0), asked[1], false, &side), "nothing waits");
        assert!(hold.holds(at(100), asked[1], true, &side) && hold.holds(at(900), asked[1], true, &side));
        assert_eq!((hold.due(), side.pauses()), (Some(at(1100)), (1, 800_000)));
        assert!(hold.concerns(asked[2]) && !hold.holds(at(950), asked[2], true, &side), "it is over");
        assert_eq!((hold.due(), side.pauses()), (None, (1, 850_000)));
        assert!(!hold.concerns(asked[2]));
        // Overdue, and so without effect until it is requested anew.
        assert!(hold.holds(at(2000), asked[3], true, &side) && !hold.holds(at(3500), asked[3], true, &side));
        assert!(!hold.holds(at(9000), asked[3], true, &side));
        assert_eq!((hold.due(), side.pauses()), (None, (2, 1_850_000)));
        assert!(hold.holds(at(9000), asked[4], true, &side));
        assert_eq!((hold.due(), side.pauses()), (Some(at(10_000)), (3, 1_850_000)));
        assert!(!hold.holds(at(9500), asked[5], true, &side));
        assert_eq!(side.pauses(), (3, 2_350_000));
    }

    #[test]
    fn a_pause_that_is_asked_for_in_time_goes_on() {
        let (side, begin) = (Side::within(1).unwrap(), Instant::now());
        let mut hold = Hold { priorities: 0xff, held: None };
        for (n, asked) in (0..).zip(asked(&[1, 1, 1, 1])) {
            assert!(hold.holds(begin + Duration::from_millis(900 * n), asked, true, &side));
        }
        assert_eq!(side.pauses(), (1, 2_700_000));
    }
}
