//! Packets from the host to itself, queued for the receive path.

use std::collections::VecDeque;

/// Most packets in the queue.
const MOST: usize = 256;

/// A bounded queue of whole packets.
#[derive(Debug, Default)]
pub(crate) struct Looped(VecDeque<Vec<u8>>);

impl Looped {
    /// Queues the packet built by `make`; false, with `make` not called, if the queue is full.
    pub(crate) fn push(&mut self, make: impl FnOnce() -> Vec<u8>) -> bool {
        let room = self.has_room();
        if room {
            self.0.push_back(make());
        }
        room
    }

    pub(crate) fn has_room(&self) -> bool {
        self.0.len() < MOST
    }

    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        self.0.pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
