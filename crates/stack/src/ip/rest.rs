//! Rest of a packet whose first fragments were sent when the ring had no more room: without it they would have been sent in
//! vain, and would fill the memory of who is to join them.

use crate::Transmit;
use std::collections::VecDeque;

/// Frames with the fragments of one packet that wait for room. No other packet is cut meanwhile, so that there are never
/// more.
#[derive(Debug, Default)]
pub(crate) struct Rest(VecDeque<Vec<u8>>);

impl Rest {
    /// Appends a frame.
    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.0.push_back(frame);
    }

    /// True if nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends what there is room for; true if nothing is left.
    pub(super) fn send<T: Transmit>(&mut self, tx: &mut T) -> bool {
        while let Some(frame) = self.0.front() {
            if !tx.send(frame, &[], None) {
                return false;
            }
            self.0.pop_front();
        }
        true
    }
}
