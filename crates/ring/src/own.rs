//! The engine's half of rings that no pipe serves: a port's backend takes and completes slots, or fills and delivers
//! them.
//!
//! A pipe's ring gives out none of this, and neither half gives out its ring by `&mut`: exchanging rings would let the
//! engine of one move the cursors of a pipe's ring, and the pipe would publish slots that it has not written.

use crate::cell::{Meta, SlotWord};
use crate::frame::Frame;
use crate::layout::{MAX_FRAGS, flags};
use crate::region::{BUFFERS_RESERVED, Buffer};
use crate::{RxRing, TxRing};
use std::ops::Deref;

/// The engine's half of a transmit ring ([`TxRing::own`]): takes committed slots, and completes them.
pub struct OwnTx<'a>(pub(crate) &'a mut TxRing);

/// The engine's half of a receive ring ([`RxRing::own`]): fills free slots, and delivers them.
pub struct OwnRx<'a>(pub(crate) &'a mut RxRing);

impl TxRing {
    /// The engine's half of a ring without a pipe. None for a pipe's ring: only the pipe moves its cursors.
    #[inline]
    #[must_use]
    pub fn own(&mut self) -> Option<OwnTx<'_>> {
        (self.raw.pipe == 0).then_some(OwnTx(self))
    }
}

impl RxRing {
    /// The engine's half of a ring without a pipe. None for a pipe's ring: only the pipe moves its cursors.
    #[inline]
    #[must_use]
    pub fn own(&mut self) -> Option<OwnRx<'_>> {
        (self.raw.pipe == 0).then_some(OwnRx(self))
    }
}

impl Deref for OwnTx<'_> {
    type Target = TxRing;

    #[inline]
    fn deref(&self) -> &TxRing {
        self.0
    }
}

impl Deref for OwnRx<'_> {
    type Target = RxRing;

    #[inline]
    fn deref(&self) -> &RxRing {
        self.0
    }
}

impl OwnTx<'_> {
    /// The `i`th pending slot's frame. `i` must be below [`TxRing::pending`].
    #[inline]
    #[must_use]
    pub fn pending_frame(&mut self, i: u32) -> Frame<'_> {
        self.0.pending_frame(i)
    }

    /// The `i`th pending slot's frame and flags, the slot read once; None if it is void. `i` must be below
    /// [`TxRing::pending`].
    #[inline]
    #[must_use]
    pub fn pending_look(&mut self, i: u32) -> Option<(Frame<'_>, u16)> {
        assert!(i < self.pending(), "slot {i} of {} pending ones", self.pending());
        let word = self.pending_word(i);
        if word.is_empty() && !word.has(flags::MOREFRAG) {
            return None;
        }
        // SAFETY: committed and not taken, so the slot is this thread's; the length was cut.
        Some((unsafe { self.0.raw.frame(word.buf_idx(), word.len().into()) }, word.flags()))
    }

    /// Takes the next `n` pending slots.
    #[inline]
    pub fn take(&mut self, n: u32) {
        self.0.advance(n);
    }

    /// Gives the oldest `n` taken slots back to the user.
    #[inline]
    pub fn complete(&mut self, n: u32) {
        self.0.give_back(n);
    }
}

impl OwnRx<'_> {
    /// Slots that can be delivered into now, provided that they have buffers (copying engines never take buffers).
    #[inline]
    #[must_use]
    pub fn room(&self) -> u32 {
        self.0.raw.mask - self.available()
    }

    /// The `i`th free slot's whole buffer, to be filled. None if the slot has no buffer, or `i` is not below
    /// [`OwnRx::room`].
    #[inline]
    #[must_use]
    pub fn free_frame(&mut self, i: u32) -> Option<Frame<'_>> {
        if i >= self.room() {
            return None;
        }
        let buf = self.0.raw.buf(self.0.tail.wrapping_add(i));
        // SAFETY: not delivered, so the slot is the engine's, on the same thread; a slot without a buffer is refused.
        (buf >= BUFFERS_RESERVED).then(|| unsafe { self.0.raw.frame(buf, self.0.raw.usable.into()) })
    }

    /// Sets length, flags and metadata of the `i`th free slot, for its delivery; does nothing if there is no such slot.
    #[inline]
    pub fn set_free(&mut self, i: u32, len: usize, flags: u16, meta: Option<Meta>) {
        if i >= self.room() {
            return;
        }
        let cursor = self.0.tail.wrapping_add(i);
        let len = self.0.raw.limited(len);
        let flags = flags | if meta.is_some() { flags::META } else { 0 };
        self.0.raw.slot(cursor).set(SlotWord::new(self.0.raw.buf(cursor), len, flags));
        if let Some(meta) = meta {
            self.0.raw.set_meta(cursor, meta);
        }
    }

    /// Delivers the next `n` free slots, which must have been set before.
    #[inline]
    pub fn deliver(&mut self, n: u32) {
        debug_assert!(n <= self.room());
        self.0.tail = self.0.tail.wrapping_add(n.min(self.room()));
        self.0.raw.show(self.0.head, self.0.tail);
    }

    /// Copies one whole frame into the next free slot, or as many as it needs; false, with nothing done, if there is no
    /// room or it needs more than 64 slots.
    pub fn deliver_copy(&mut self, bytes: &[u8], meta: Option<Meta>) -> bool {
        let per = usize::from(self.0.raw.usable);
        let slots = bytes.len().div_ceil(per).max(1);
        if slots > MAX_FRAGS || slots > self.room() as usize {
            return false;
        }
        let mut at = 0;
        let mut i = 0;
        loop {
            let n = (bytes.len() - at).min(per);
            let Some(mut frame) = self.free_frame(i) else { return false };
            let whole = frame.write(0, &bytes[at..at + n]);
            debug_assert!(whole);
            at += n;
            let more = at < bytes.len();
            self.set_free(i, n, if more { flags::MOREFRAG } else { 0 }, if i == 0 { meta } else { None });
            i += 1;
            if !more {
                break;
            }
        }
        self.deliver(i);
        true
    }

    /// Takes the buffer out of the first free slot that still has one. On a new ring all slots have one.
    pub fn take_buffer(&mut self) -> Option<Buffer> {
        // Free slots are [tail, head + slots), and [tail, back) of them have no buffer; deliveries by copying leave
        // `back` behind `tail`.
        let free = self.0.raw.mask + 1 - self.available();
        let empty = self.0.back.wrapping_sub(self.0.tail);
        let empty = if empty > free { 0 } else { empty };
        if empty == free {
            return None;
        }
        let cursor = self.0.tail.wrapping_add(empty);
        let buf = self.0.raw.buf(cursor);
        self.0.back = cursor.wrapping_add(1);
        self.0.raw.set_buf(cursor, 0);
        // SAFETY: the slot gave its buffer up, so the index has one holder.
        (buf >= BUFFERS_RESERVED).then(|| unsafe { Buffer::from_index(buf, &self.0.raw.region) })
    }

    /// Delivers a buffer that was taken before, in the next slot; returns it as error if there is no room, the slot
    /// still has a buffer, or the buffer is of another region.
    pub fn deliver_buffer(&mut self, buffer: Buffer, len: usize, flags: u16, meta: Option<Meta>) -> Result<(), Buffer> {
        let cursor = self.0.tail;
        if self.room() == 0
            || self.0.raw.buf(cursor) != 0
            || !buffer.is_of(&self.0.raw.region)
            || len > usize::from(self.0.raw.usable)
        {
            return Err(buffer);
        }
        self.0.raw.set_buf(cursor, buffer.index());
        self.set_free(0, len, flags, meta);
        self.deliver(1);
        Ok(())
    }
}
