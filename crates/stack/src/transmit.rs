//! Carrier of a host's frames: an adapter's transmit queue, or a bare ring.

use linerate_ring::{Frame, Meta, TxRing, flags};

/// Takes frames to be sent.
pub trait Transmit {
    /// Sends a frame, `head` and then the slices of `body`; with a request, the adapter completes the requested fields.
    /// False if there is no room: nothing has been sent then.
    fn send(&mut self, head: &[u8], body: &[&[u8]], request: Option<Meta>) -> bool;

    /// Sends a frame of `len` bytes, all of them written by `fill`; it must fit into one slot ([`Transmit::single`]).
    /// False if there is no room: `fill` has not been called then.
    fn frame(&mut self, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool;

    /// Longest frame that one slot carries, in bytes.
    fn single(&self) -> usize;
}

/// A bare ring completes no checksums. The owner of the ring's queue calls its sync.
impl Transmit for TxRing {
    fn send(&mut self, head: &[u8], body: &[&[u8]], request: Option<Meta>) -> bool {
        let single = self.usable();
        let len = body.iter().fold(head.len(), |len, piece| len + piece.len());
        let Ok(slots) = u32::try_from(len.div_ceil(single).max(1)) else { return false };
        if self.free() < slots {
            return false;
        }
        let mut batch = self.reserve(slots);
        let (mut slot, mut at, mut written) = (0, 0, true);
        for mut piece in std::iter::once(head).chain(body.iter().copied()) {
            while !piece.is_empty() {
                if at == single {
                    batch.set(slot, at, flags::MOREFRAG);
                    (slot, at) = (slot + 1, 0);
                }
                let (now, later) = piece.split_at(piece.len().min(single - at));
                written &= batch.frame(slot).write(at, now);
                (at, piece) = (at + now.len(), later);
            }
        }
        debug_assert!(written, "pieces were cut to the slots");
        batch.set(slot, at, 0);
        if let Some(request) = request {
            batch.set_meta(0, request);
        }
        batch.commit(slots);
        true
    }

    #[inline]
    fn frame(&mut self, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool {
        let mut batch = self.reserve(1);
        if batch.is_empty() || len > batch.single() {
            return false;
        }
        fill(&mut batch.frame(0));
        batch.set(0, len, 0);
        if let Some(request) = request {
            batch.set_meta(0, request);
        }
        batch.commit(1);
        true
    }

    #[inline]
    fn single(&self) -> usize {
        self.usable()
    }
}
