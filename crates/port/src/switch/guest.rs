//! A program that has taken a port at a [`Listener`](super::Listener), as whoever serves it without a [`Switch`](super::Switch)
//! gets it.

use super::Plug;
use crate::cable::Side;
use crate::counters::Drops;
use crate::info::Link;
use crate::queue::{RxQueue, TxQueue};
use std::sync::Arc;

/// A program at the far end of a port's queues. Its memory is its own: frames to it and from it are copied.
pub struct Guest {
    /// Name of the port.
    pub name: String,
    /// Longest frame, without FCS.
    pub largest: usize,
    /// Queues of what it sends.
    pub rx: Vec<RxQueue>,
    /// Queues of what it gets.
    pub tx: Vec<TxQueue>,
    side: Arc<Side>,
}

impl Guest {
    pub(super) fn new(plug: Plug) -> Option<Self> {
        let Plug { name, largest, rx, tx, life, .. } = plug;
        Some(Self { name, largest, rx, tx, side: life? })
    }

    /// State of the link: down once the program has gone.
    #[must_use]
    pub fn link(&self) -> Link {
        self.side.link()
    }

    /// Takes the link down.
    pub fn part(&self) {
        self.side.down();
    }

    /// Tells the program of frames that were for it and found no way into its queues.
    pub fn tell_dropped(&mut self, dropped: &Drops) {
        if let Some(tx) = self.tx.first_mut() {
            tx.tell_dropped(dropped);
        }
    }
}
