//! The rate of a wire: the time at which the next frame may be sent.
//!
//! A frame of n bytes keeps an Ethernet wire busy for n + 24 byte times: 7 of preamble, 1 of start delimiter, 4 of FCS,
//! 12 of gap (IEEE 802.3 clauses 3.1.1 and 4.4.2), and never for less than 60 + 24. Time is kept as nanoseconds times
//! rate, so nothing is rounded and a long run is exact.

use super::flight::Flight;
use linerate_text::saturating_u64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes on the wire around each frame (FCS, preamble, start delimiter, gap).
const FRAMING: usize = 24;
/// Shortest frame without FCS.
const SHORTEST: usize = 60;

/// One direction of a link, shared by all queues that send in it.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    rate: u64,
    origin: Instant,
    /// Metres of the cable; None for one that a frame has passed when it departs.
    length: Option<u32>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Time at which the wire becomes free, in ns · bit/s.
    free: u128,
    /// Frames were held back at the last look, so the wire has been busy ever since.
    backlog: bool,
}

impl Wire {
    /// Wire that is free from `now` on.
    pub(super) fn new(rate: u64, now: Instant) -> Self {
        Self { rate, origin: now, length: None, state: Arc::default() }
    }

    /// The same on a cable of so many metres.
    pub(super) fn of_length(self, length: Option<u32>) -> Self {
        Self { length, ..self }
    }

    /// Flights of a queue's frames, if the cable has a length.
    pub(super) fn flight(&self) -> Option<Flight> {
        self.length.map(Flight::new)
    }

    fn scaled(&self, now: Instant) -> u128 {
        now.saturating_duration_since(self.origin).as_nanos() * u128::from(self.rate)
    }

    /// Runs `send` with a function: the time at which a frame of the given length has left, for [`Wire::at`], if it may be sent
    /// now.
    pub(super) fn pass<R>(&self, now: Instant, send: impl FnOnce(&mut dyn FnMut(usize) -> Option<u128>) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.scaled(now);
        if !state.backlog {
            state.free = state.free.max(now);
        }
        state.backlog = false;
        send(&mut |bytes| {
            let go = state.free <= now;
            if go {
                let bits = (bytes.max(SHORTEST) + FRAMING) as u128 * 8;
                state.free += bits * 1_000_000_000;
            } else {
                state.backlog = true;
            }
            go.then_some(state.free)
        })
    }

    /// Takes note that the frames that wait for it are held back: it is idle, and owes nothing.
    pub(super) fn rest(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).backlog = false;
    }

    /// Time in ns · bit/s as a time of its clock, rounded up to nanoseconds.
    pub(super) fn at(&self, scaled: u128) -> Instant {
        self.origin + Duration::from_nanos(saturating_u64(scaled.div_ceil(u128::from(self.rate))))
    }

    /// Time at which the next frame may be sent.
    pub(super) fn free(&self) -> Instant {
        self.at(self.state.lock().unwrap_or_else(PoisonError::into_inner).free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that always has more to send, called at odd times, gets exactly the wire's rate.
    #[test]
    fn a_backlogged_sender_gets_the_exact_rate() {
        for (rate, bytes, frames_per_second) in
            [(10_000_000_000, 60, 14_880_952), (40_000_000_000, 1514, 3_250_975), (3_000_000, 60, 4_464)]
        {
            let wire = Wire::new(rate, Instant::now());
            let (mut at, mut sent, mut step) = (wire.origin, 0u64, 1u64);
            while at < wire.origin + Duration::from_secs(1) {
                wire.pass(at, |admit| {
                    while admit(bytes).is_some() {
                        sent += 1;
                    }
                });
                step = step * 48271 % 2_147_483_647;
                at += Duration::from_nanos(step % 20_000_000);
            }
            let end = at - wire.origin;
            wire.pass(at, |admit| {
                while admit(bytes).is_some() {
                    sent += 1
                }
            });
            let ideal = frames_per_second as f64 * end.as_secs_f64();
            assert!((sent as f64 - ideal).abs() <= ideal / 1e6 + 2.0, "{rate}: {sent} of {ideal}");
        }
    }

    #[test]
    fn an_idle_wire_saves_nothing_up() {
        let wire = Wire::new(10_000_000_000, Instant::now());
        let mut sent = 0;
        wire.pass(wire.origin + Duration::from_secs(5), |admit| {
            while admit(60).is_some() {
                sent += 1
            }
        });
        assert_eq!(sent, 1, "the wire was idle, not owing");
        assert_eq!(wire.free(), wire.origin + Duration::from_secs(5) + Duration::from_nanos(68));
    }
}
