//! Carrier of a host's frames: an adapter's transmit queue, or a bare ring.

use linerate_ring::{Frame, Meta, TxRing, flags};

/// Takes frames to be sent.
pub trait Transmit {
    /// Sends a frame of two pieces; with a request, the adapter fills in what it asks for. False if there is no room:
    /// nothing has been sent then.
    fn send(&mut self, head: &[u8], body: &[u8], request: Option<Meta>) -> bool;

    /// Sends a frame of `len` bytes, all of which `fill` writes; it must fit into one slot ([`Transmit::single`]). False
    /// if there is no room: `fill` has not been called then.
    fn frame(&mut self, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool;

    /// Longest frame that one slot carries, in bytes.
    fn single(&self) -> usize;
}

/// A bare ring: nobody fills in checksums. Whoever owns the ring's queue calls its sync.
impl Transmit for TxRing {
    fn send(&mut self, head: &[u8], body: &[u8], request: Option<Meta>) -> bool {
        let (len, single) = (head.len() + body.len(), self.usable());
        let slots = len.div_ceil(single).max(1);
        let Some(slots) = u32::try_from(slots).ok().filter(|slots| head.len() <= single && *slots <= self.free())
        else {
            return false;
        };
        let mut batch = self.reserve(slots);
        let (first, mut rest) = body.split_at(body.len().min(single - head.len()));
        let mut written = batch.frame(0).write(0, head) && batch.frame(0).write(head.len(), first);
        batch.set(0, head.len() + first.len(), if slots > 1 { flags::MOREFRAG } else { 0 });
        if let Some(request) = request {
            batch.set_meta(0, request);
        }
        for i in 1..slots {
            let (piece, more) = rest.split_at(rest.len().min(single));
            written &= batch.frame(i).write(0, piece);
            batch.set(i, piece.len(), if i + 1 < slots { flags::MOREFRAG } else { 0 });
            rest = more;
        }
        debug_assert!(written, "pieces were cut to the slots");
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
