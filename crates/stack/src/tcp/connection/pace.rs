//! Pacing: a window leaves over the round trip rather than at once, so that a slow link's queue is not given all of it.
//!
//! Bytes that are sent take their time of a clock that runs at somewhat more than the congestion window in a round trip; new data wait
//! when that clock is ahead. What is lost is sent again without waiting: recovery has a rate of its own.
//!
//! Nothing waits where a queue stands on the path (round trips are longer than they once were, and the window does not double any
//! more): acknowledgements come at the link's rate then, and each lets out as much as it tells of. A connection that spreads its window
//! evenly meets every overflow of a drop-tail queue that it shares with others, whose windows come in bursts, and loses its share.

use super::super::congestion::INITIAL;
use super::super::{MILLISECOND, SECOND, low};
use super::Connection;
use crate::due::Due;

/// Shortest round trip that data are spread over: in less, timers are as coarse as the trip.
const LEAST_TRIP: u64 = 2 * MILLISECOND;
/// Time whose worth may leave at once.
const QUANTUM: u64 = MILLISECOND;

/// Windows in a round trip that may leave, as a ratio: what doubles needs two, what grows a little more than one (as Linux).
const DOUBLES: (u64, u64) = (2, 1);
const GROWS: (u64, u64) = (6, 5);

/// A queue stands on the path when a round trip is longer by this part of the least one.
const QUEUED: u64 = 4;

impl Connection {
    /// Bytes a second that new data are held to; None if they are not.
    #[must_use]
    pub fn pacing(&self) -> Option<u64> {
        let (window, trip) = self.pace()?;
        Some(window.saturating_mul(SECOND) / trip)
    }

    /// So many bytes in so many nanoseconds.
    #[inline]
    fn pace(&self) -> Option<(u64, u64)> {
        let trip = self.rtt.smoothed().filter(|trip| self.config.pacing && *trip >= LEAST_TRIP)?;
        let doubles = self.congestion.is_slow_start();
        if !doubles && trip > self.rtt.floor().saturating_add(self.rtt.floor() / QUEUED) {
            return None;
        }
        let (more, of) = if doubles { DOUBLES } else { GROWS };
        Some((u64::from(self.congestion.window()) * more / of, trip))
    }

    /// Bytes of new data that may leave now.
    #[inline]
    pub(super) fn allowance(&mut self, now: u64) -> u32 {
        let Some((window, trip)) = self.pace() else { return u32::MAX };
        self.paced = self.paced.max(now);
        let ahead = now.saturating_add(self.head_start(window, trip)).saturating_sub(self.paced);
        low((ahead.saturating_mul(window) / trip).min(u32::MAX.into()))
    }

    /// Time by which the clock of what was sent may be ahead: a first window's worth always leaves at once (RFC 6928).
    #[inline]
    fn head_start(&self, window: u64, trip: u64) -> u64 {
        QUANTUM.max(u64::from(INITIAL * self.segment()) * trip / window.max(1))
    }

    /// Has the rest sent when two segments may leave, or a quantum's worth.
    pub(super) fn wait_for_pace(&mut self) {
        let Some((window, trip)) = self.pace() else { return };
        let some = QUANTUM.max(u64::from(2 * self.segment()) * trip / window.max(1));
        self.timers.pace = Due::at((self.paced + some).saturating_sub(self.head_start(window, trip)));
    }

    /// Counts bytes that are sent now.
    #[inline]
    pub(super) fn take_pace(&mut self, now: u64, bytes: u32) {
        if let Some((window, trip)) = self.pace() {
            self.paced = self.paced.max(now).saturating_add(u64::from(bytes) * trip / window.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::seq::Seq;
    use super::super::Config;
    use super::*;

    /// In slow start always; in congestion avoidance only where no queue stands on the path.
    #[test]
    fn nothing_waits_where_a_queue_stands_on_the_path() {
        let mut connection = Connection::new(0, &Config::default(), 1000, Seq(1), 0);
        let trips = |connection: &mut Connection, milliseconds: u64| {
            (0..50).for_each(|_| connection.rtt.measured(0, milliseconds * MILLISECOND));
        };
        trips(&mut connection, 20);
        assert_eq!(connection.pacing(), Some(2 * 10_000 * 50), "two windows in a round trip");
        trips(&mut connection, 40);
        assert!(connection.congestion.is_slow_start() && connection.pacing().is_some());
        connection.congestion.set_window(20_000);
        connection.congestion.congested(20_000);
        connection.congestion.set_window(connection.congestion.threshold());
        assert!(!connection.congestion.is_slow_start());
        assert_eq!((connection.pacing(), connection.allowance(0)), (None, u32::MAX));
        for (milliseconds, paced) in [(26, false), (24, true), (20, true), (2, true), (20, false)] {
            trips(&mut connection, milliseconds);
            assert_eq!(connection.pacing().is_some(), paced, "{milliseconds} ms");
        }
    }
}
