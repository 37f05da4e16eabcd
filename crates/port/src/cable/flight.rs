//! Frames on a cable with a length: each arrives when its last bit has come to the far end, [`PER_METRE`] after it left this one.
//! Until then it stays in its sender's ring.

use super::wire::Wire;
use crate::chain::{self, Unit};
use linerate_ring::TxRing;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time of a metre in ns, in copper and in fibre alike: two thirds of the speed of light.
const PER_METRE: u64 = 5;

/// State of one transmit queue; see the module's text.
pub(super) struct Flight {
    delay: Duration,
    /// Arrivals of the frames on their way, in order.
    arrivals: VecDeque<Instant>,
    /// Pending slots of the ring that are on their way.
    slots: u32,
}

impl Flight {
    pub(super) fn new(metres: u32) -> Self {
        let delay = Duration::from_nanos(u64::from(metres) * PER_METRE);
        Self { delay, arrivals: VecDeque::new(), slots: 0 }
    }

    /// Puts the frames on the wire that it is free for by now; true if some have to wait for it.
    pub(super) fn depart(&mut self, ring: &TxRing, now: Instant, wire: &Wire) -> bool {
        let mut waits = false;
        wire.pass(now, |admit| {
            while let Some(unit) = chain::unit(ring, self.slots) {
                if let Unit::Frame { bytes, .. } = unit {
                    let Some(end) = admit(bytes) else {
                        waits = true;
                        break;
                    };
                    self.arrivals.push_back(wire.at(end) + self.delay);
                }
                self.slots += unit.slots();
            }
        });
        waits
    }

    /// Takes the next frame off the wire; false if none has arrived by now.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant) -> bool {
        self.arrivals.pop_front_if(|at| *at <= now).is_some()
    }

    /// Takes note that so many slots are at the far end.
    pub(super) fn arrived(&mut self, slots: u32) {
        self.slots = self.slots.saturating_sub(slots);
    }

    /// Pending slots that are on their way.
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Time of the next arrival.
    pub(super) fn next(&self) -> Option<Instant> {
        self.arrivals.front().copied()
    }

    /// Forgets what is on its way: the far end is gone.
    pub(super) fn end(&mut self) {
        self.arrivals.clear();
        self.slots = 0;
    }
}
