//! The transmit ring.
//!
//! ```text
//!   done ≤ taken ≤ head ≤ tail = done + slots - 1        (free-running cursors)
//!   [done, taken)  in the engine's hands      [taken, head)  committed, not yet taken
//!   [head, tail)   the user's, to be filled
//! ```

use crate::cell::{Meta, SlotCell, SlotWord};
use crate::error::RegionError;
use crate::frame::Frame;
use crate::layout::flags;
use crate::region::Buffer;
use crate::region::{Region, RingSpot};
use crate::ring::Raw;
use std::sync::Arc;

/// Prefetch distance, in slots: the buffer this far after the slot that is filled is fetched.
const AHEAD: u32 = 16;

/// A transmit ring used by one thread: the user fills and commits; a pipe, or the engine by [`OwnTx`](crate::OwnTx),
/// takes and completes.
pub struct TxRing {
    pub(crate) raw: Raw,
    pub(crate) head: u32,
    pub(crate) taken: u32,
    pub(crate) done: u32,
    /// This side may put other buffers into slots.
    pub(crate) may_swap: bool,
}

impl TxRing {
    /// A ring without a pipe, with a buffer in each slot.
    pub fn new(region: &Arc<Region>, id: u16, slots: u32) -> Result<Self, RegionError> {
        let (spot, first) = region.ring_with_buffers(0, id, slots)?;
        let ring = Self::over(region.clone(), spot, first);
        ring.reset_slots();
        Ok(ring)
    }

    pub(crate) fn over(region: Arc<Region>, spot: RingSpot, first_buf: u32) -> Self {
        let mut raw = Raw::new(region, spot, first_buf);
        raw.keep_words();
        Self { raw, head: 0, taken: 0, done: 0, may_swap: true }
    }

    /// Writes each slot anew: the buffer from the private record, no length, no flags.
    pub(crate) fn reset_slots(&self) {
        for k in 0..=self.raw.mask {
            self.raw.set_word(k, SlotWord::new(self.raw.buf(k), 0, 0));
            self.raw.slot(k).set_ptr(0);
        }
        self.raw.show(self.head, self.tail());
    }

    #[inline]
    fn tail(&self) -> u32 {
        self.done.wrapping_add(self.raw.mask)
    }

    /// Slots of the ring; one fewer can be in use at a time.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.raw.mask + 1
    }

    /// The region that holds the ring.
    #[must_use]
    pub fn region(&self) -> &Arc<Region> {
        &self.raw.region
    }

    /// Offsets of the ring in its region.
    #[must_use]
    pub fn spot(&self) -> RingSpot {
        self.raw.spot
    }

    /// Bytes that one slot can carry.
    #[inline]
    #[must_use]
    pub fn usable(&self) -> usize {
        self.raw.usable.into()
    }

    /// Slots that the user can fill now.
    #[inline]
    #[must_use]
    pub fn free(&self) -> u32 {
        self.tail().wrapping_sub(self.head)
    }

    /// Slots committed and not yet completed.
    #[inline]
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.head.wrapping_sub(self.done)
    }

    /// Up to `n` slots to fill.
    #[inline]
    pub fn reserve(&mut self, n: u32) -> TxBatch<'_> {
        let n = n.min(self.free());
        TxBatch { ring: self, n }
    }

    /// Slot `k`'s word, its buffer included.
    #[must_use]
    #[inline]
    pub fn slot_word(&self, k: u32) -> SlotWord {
        self.word(k)
    }

    /// Copies the slots that are committed and not yet taken in another ring into this one. Frames that do not fit this
    /// ring's free slots or its buffers stay behind whole. Returns the number of frames left behind, and true if the
    /// last of them is a chain whose end is not yet committed. Nothing is taken from a ring that serves a pipe in a
    /// private region.
    pub fn carry_over(&mut self, from: &mut Self) -> (u32, bool) {
        // In a private region only the pipe may move its ring's cursors: moved from elsewhere, it would publish slots
        // that it has not written.
        if from.raw.pipe != 0 && !from.raw.shared {
            return (0, false);
        }
        let (mut left, mut at, mut open) = (0, 0, false);
        while at < from.pending() {
            let chain = (at..from.pending()).position(|i| !from.pending_word(i).has(flags::MOREFRAG));
            // An unfinished chain reaches to the end of the pending slots.
            let n = chain.and_then(|i| u32::try_from(i + 1).ok()).unwrap_or(from.pending() - at);
            let fits =
                n <= self.free() && (at..at + n).all(|i| usize::from(from.pending_word(i).len()) <= self.usable());
            if fits {
                self.carry(from, at, n);
            } else {
                (left, open) = (left + 1, chain.is_none());
            }
            at += n;
        }
        from.advance(from.pending());
        (left, open)
    }

    /// Copies `n` pending slots of another ring, which must fit.
    fn carry(&mut self, from: &mut Self, at: u32, n: u32) {
        for i in at..at + n {
            let (word, meta) = (from.pending_word(i), from.pending_meta(i));
            let mut batch = self.reserve(1);
            let frame = from.pending_frame(i);
            let len = frame.len();
            if !batch.frame(0).copy_from(&frame) {
                continue;
            }
            batch.set(0, len, word.flags() & !flags::BUF_CHANGED);
            if let Some(meta) = meta {
                batch.set_meta(0, meta);
            }
            batch.commit(1);
        }
    }

    /// Slots committed and not yet taken.
    #[inline]
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.head.wrapping_sub(self.taken)
    }

    /// The `i`th pending slot: length and flags as the user wrote them, the length limited to a buffer's capacity.
    #[inline]
    #[must_use]
    pub fn pending_word(&self, i: u32) -> SlotWord {
        debug_assert!(i < self.pending());
        self.word(self.taken.wrapping_add(i))
    }

    /// All pending slots' words in order.
    #[inline]
    pub fn pending_words(&self) -> impl Iterator<Item = SlotWord> + '_ {
        let usable = self.raw.usable;
        let (slots, own) = self.raw.run(self.taken, self.pending());
        let rest = u32::try_from(slots.len()).unwrap_or(0);
        let (more, theirs) = self.raw.run(self.taken.wrapping_add(rest), self.pending() - rest);
        let (kept, mut cursor) = (self.raw.keeps_words(), self.taken);
        slots.iter().zip(own).chain(more.iter().zip(theirs)).map(move |(slot, buf)| {
            let word = if kept { self.raw.word(cursor) } else { slot.word() };
            cursor = cursor.wrapping_add(1);
            SlotWord::new(*buf, word.len().min(usable), word.flags())
        })
    }

    /// A slot's word: the buffer from the private record; length and flags as this side wrote them.
    #[inline]
    pub(crate) fn word(&self, cursor: u32) -> SlotWord {
        let word = self.raw.word(cursor);
        let len = word.len().min(self.raw.usable);
        SlotWord::new(word.buf_idx(), len, word.flags())
    }

    /// The `i`th pending slot's frame. `i` must be below [`TxRing::pending`].
    #[inline]
    #[must_use]
    pub fn pending_frame(&mut self, i: u32) -> Frame<'_> {
        assert!(i < self.pending(), "slot {i} of {} pending ones", self.pending());
        let word = self.pending_word(i);
        // SAFETY: committed and not taken, so the slot is this thread's; the length was limited.
        unsafe { self.raw.frame(word.buf_idx(), word.len().into()) }
    }

    /// Appends the bytes of `slots` pending slots from the `from`th on.
    pub fn append_pending(&self, from: u32, slots: u32, bytes: &mut Vec<u8>) {
        for i in from..from + slots {
            assert!(i < self.pending(), "slot {i} of {} pending ones", self.pending());
            let word = self.pending_word(i);
            // SAFETY: committed and not taken, so the slot is this thread's, and no frame of it is borrowed while the
            // ring is: this one is read only. The length was limited.
            unsafe { self.raw.frame(word.buf_idx(), word.len().into()) }.append_to(bytes);
        }
    }

    /// The `i`th pending slot's metadata, if it carries any.
    #[must_use]
    #[inline]
    pub fn pending_meta(&self, i: u32) -> Option<Meta> {
        self.pending_word(i).has(flags::META).then(|| self.raw.meta(self.taken.wrapping_add(i)))
    }

    #[inline]
    pub(crate) fn advance(&mut self, n: u32) {
        debug_assert!(n <= self.pending());
        self.taken = self.taken.wrapping_add(n.min(self.pending()));
    }

    /// Slots taken and not yet completed.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.taken.wrapping_sub(self.done)
    }

    #[inline]
    pub(crate) fn give_back(&mut self, n: u32) {
        debug_assert!(n <= self.in_flight());
        self.done = self.done.wrapping_add(n.min(self.in_flight()));
        self.raw.show(self.head, self.tail());
    }
}

/// Slots to be filled: write frames, then commit as many as were filled. Slots not committed stay with the user.
pub struct TxBatch<'a> {
    pub(crate) ring: &'a mut TxRing,
    n: u32,
}

impl TxBatch<'_> {
    /// Number of slots.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.n
    }

    /// Bytes that one slot can carry.
    #[inline]
    #[must_use]
    pub fn single(&self) -> usize {
        self.ring.raw.usable.into()
    }

    /// True if the ring was full.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The slots in memory order, in two runs.
    #[must_use]
    pub fn slots(&self) -> (&[SlotCell], &[SlotCell]) {
        self.ring.raw.slots(self.ring.head, self.n)
    }

    #[inline]
    fn cursor(&self, i: u32) -> u32 {
        assert!(i < self.n, "slot {i} of a batch of {}", self.n);
        self.ring.head.wrapping_add(i)
    }

    /// The `i`th slot's whole buffer, to be written.
    #[inline]
    #[must_use]
    pub fn frame(&mut self, i: u32) -> Frame<'_> {
        self.ring.raw.prefetch::<true>(self.ring.head.wrapping_add(i + AHEAD));
        let buf = self.ring.raw.buf(self.cursor(i));
        // SAFETY: reserved, so the slot is the user's as long as the batch is borrowed.
        unsafe { self.ring.raw.frame(buf, self.ring.raw.usable.into()) }
    }

    /// Prefetches the lines of the `i`th slot's buffer that `len` bytes occupy, to be written soon, so that they
    /// leave the other core's cache meanwhile. A slot beyond the batch is ignored.
    #[inline]
    pub fn fetch(&self, i: u32, len: usize) {
        if i < self.n {
            let lines = usize::from(self.ring.raw.limited(len)).div_ceil(64);
            self.ring.raw.fetch_lines(self.ring.head.wrapping_add(i), lines);
        }
    }

    /// Sets the `i`th slot's flags and its length, limited to a buffer's capacity.
    #[inline]
    pub fn set(&mut self, i: u32, len: usize, flags: u16) {
        let cursor = self.cursor(i);
        let len = self.ring.raw.limited(len);
        self.ring.raw.set_word(cursor, SlotWord::new(self.ring.raw.buf(cursor), len, flags));
    }

    /// Copies a frame into the `i`th slot; false, with nothing done, if the frame is longer than a buffer.
    #[inline]
    #[must_use = "false means that nothing was written"]
    pub fn put(&mut self, i: u32, bytes: &[u8]) -> bool {
        let fits = self.frame(i).write(0, bytes);
        if fits {
            self.set(i, bytes.len(), 0);
        }
        fits
    }

    /// Sets the `i`th slot's metadata. Call it after [`TxBatch::set`].
    #[inline]
    pub fn set_meta(&mut self, i: u32, meta: Meta) {
        let cursor = self.cursor(i);
        self.ring.raw.set_meta(cursor, meta);
        let word = self.ring.raw.word(cursor);
        self.ring.raw.set_word(cursor, word.with_flags(word.flags() | flags::META));
    }

    /// Puts another buffer of the same region into the `i`th slot and returns the buffer that was there in `buffer`.
    /// False, with nothing changed, if the buffer is of another region, or this side may not swap.
    pub fn swap(&mut self, i: u32, buffer: &mut Buffer) -> bool {
        let cursor = self.cursor(i);
        if !buffer.is_of(&self.ring.raw.region) || !self.ring.may_swap {
            return false;
        }
        let mine = buffer.replace(self.ring.raw.buf(cursor));
        self.put_buf(cursor, mine);
        true
    }

    #[inline]
    pub(crate) fn put_buf(&mut self, cursor: u32, buf: u32) {
        self.ring.raw.set_buf(cursor, buf);
        let word = self.ring.raw.word(cursor);
        self.ring.raw.set_word(cursor, word.with_flags(word.flags() | flags::BUF_CHANGED));
    }

    /// Hands the first `n` slots to the engine. They leave with the next sync.
    #[inline]
    pub fn commit(self, n: u32) {
        debug_assert!(n <= self.n);
        self.ring.head = self.ring.head.wrapping_add(n.min(self.n));
        self.ring.raw.show(self.ring.head, self.ring.tail());
    }
}
