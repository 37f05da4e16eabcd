//! Pacing: a window leaves over the round trip rather than at once, so that a slow link's queue is not given all of it.
//!
//! Bytes that are sent take their time of a clock that runs at somewhat more than the congestion window in a round trip; new data wait
//! when that clock is ahead. What is lost is sent again without waiting: recovery has a rate of its own.

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
        let (more, of) = if self.congestion.is_slow_start() { DOUBLES } else { GROWS };
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
