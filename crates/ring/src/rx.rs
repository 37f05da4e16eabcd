//! The receive ring.
//!
//! ```text
//!   head ≤ tail ≤ back ≤ head + slots        (free-running cursors)
//!   [head, tail)  delivered, the user's       [tail, back)  free, and the engine has taken the buffers out
//!   [back, head + slots)  free, with a buffer each (`back` stays behind `tail` where nobody takes buffers)
//! ```

use crate::cell::{Meta, SlotCell, SlotWord};
use crate::error::{BadSlot, RegionError};
use crate::frame::Frame;
use crate::layout::flags;
use crate::region::Buffer;
use crate::region::{BUFFERS_RESERVED, Region, RingSpot};
use crate::ring::{Raw, RingStats};
use crate::tx::{TxBatch, TxRing};
use std::sync::Arc;

/// Prefetch distance, in slots: the buffer this far after the slot that is read is fetched.
const AHEAD: u32 = 16;
/// Prefetch distance, in slots, for the other lines of a frame, whose slot already says how many there are; and the longest
/// frame that is prefetched so: the hardware prefetcher handles longer ones better.
const NEAR: u32 = 2;
const LONGEST_FETCHED: u16 = 1024;

/// A receive ring used by one thread: a pipe, or the engine by [`OwnRx`](crate::OwnRx), delivers; the user reads and
/// releases.
pub struct RxRing {
    pub(crate) raw: Raw,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) back: u32,
    /// The user put other buffers into released slots since the last sync.
    pub(crate) swapped: bool,
    /// Slots may come with other buffers than they were released with.
    pub(crate) accept_swaps: bool,
    /// This side may put other buffers into slots.
    pub(crate) may_swap: bool,
    pub(crate) stats: RingStats,
}

impl RxRing {
    /// True if [`forward`] swaps buffers between this ring and another; otherwise its caller has to copy.
    #[inline]
    #[must_use]
    pub fn swaps_with(&self, tx: &TxRing) -> bool {
        self.raw.region.id() == tx.raw.region.id() && self.may_swap && tx.may_swap
    }

    /// A ring without a pipe, with a buffer in each slot.
    pub fn new(region: &Arc<Region>, id: u16, slots: u32) -> Result<Self, RegionError> {
        let (spot, first) = region.ring_with_buffers(1, id, slots)?;
        let ring = Self::over(region.clone(), spot, first);
        ring.reset_slots();
        Ok(ring)
    }

    pub(crate) fn over(region: Arc<Region>, spot: RingSpot, first_buf: u32) -> Self {
        let raw = Raw::new(region, spot, first_buf);
        Self {
            raw,
            head: 0,
            tail: 0,
            back: 0,
            swapped: false,
            accept_swaps: false,
            may_swap: true,
            stats: RingStats::default(),
        }
    }

    pub(crate) fn reset_slots(&self) {
        for k in 0..=self.raw.mask {
            let slot = self.raw.slot(k);
            slot.set(SlotWord::new(self.raw.buf(k), 0, 0));
            slot.set_ptr(0);
        }
        self.raw.show(self.head, self.tail);
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

    /// Slots refused so far.
    #[must_use]
    pub fn stats(&self) -> RingStats {
        self.stats
    }

    /// Slot `k`'s word; the buffer is that of the private record, 0 if none.
    #[must_use]
    pub fn slot_word(&self, k: u32) -> SlotWord {
        self.raw.slot(k).word().with_buf(self.raw.buf(k))
    }

    /// Delivered slots not yet released by the user.
    #[inline]
    #[must_use]
    pub fn available(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Up to `n` delivered slots. (A frame of several slots may be cut by `n`; the last slot of a whole frame lacks
    /// MOREFRAG, and engines deliver whole frames only.)
    #[inline]
    pub fn batch(&mut self, n: u32) -> RxBatch<'_> {
        let n = n.min(self.available());
        RxBatch { ring: self, n }
    }

    /// Takes over the counters of a ring that this one replaces.
    pub fn inherit(&mut self, from: &Self) {
        self.stats = from.stats;
    }
}

/// Delivered slots: read the frames, then release as many as were read.
pub struct RxBatch<'a> {
    pub(crate) ring: &'a mut RxRing,
    n: u32,
}

impl RxBatch<'_> {
    /// Number of slots.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.n
    }

    /// True if nothing has arrived.
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

    /// The `i`th slot's word, read once and checked; a bad one is counted.
    #[inline]
    fn checked(&mut self, i: u32) -> Result<SlotWord, BadSlot> {
        let cursor = self.cursor(i);
        let word = self.ring.raw.slot(cursor).word();
        let Err(bad) = self.check(cursor, word) else { return Ok(word) };
        match bad {
            BadSlot::Void => {}
            BadSlot::Length => self.ring.stats.bad_length += 1,
            BadSlot::Index | BadSlot::NotLent => self.ring.stats.bad_index += 1,
        }
        Err(bad)
    }

    #[inline]
    fn check(&mut self, cursor: u32, word: SlotWord) -> Result<(), BadSlot> {
        if word.len() > self.ring.raw.usable {
            return Err(BadSlot::Length);
        }
        let buf = word.buf_idx();
        if word.is_empty() && !word.has(flags::MOREFRAG) {
            return Err(BadSlot::Void);
        }
        if buf != self.ring.raw.buf(cursor) {
            if !self.ring.accept_swaps {
                return Err(BadSlot::NotLent);
            }
            if buf < BUFFERS_RESERVED || buf >= self.ring.raw.buffers {
                return Err(BadSlot::Index);
            }
            self.ring.raw.set_buf(cursor, buf);
        } else if buf < BUFFERS_RESERVED {
            return Err(BadSlot::Index);
        }
        Ok(())
    }

    /// The `i`th slot's frame and flags; None if the slot is void (a frame that the sender took back) or bad, and then
    /// counted.
    #[inline]
    #[must_use]
    pub fn frame(&mut self, i: u32) -> Option<(Frame<'_>, u16)> {
        self.look(i).ok()
    }

    /// Like [`RxBatch::frame`], but with the reason if there is no frame.
    ///
    /// # Errors
    /// [`BadSlot::Void`] is not an error of the peer; all others are, and are counted at each call.
    #[inline]
    pub fn look(&mut self, i: u32) -> Result<(Frame<'_>, u16), BadSlot> {
        self.ring.raw.prefetch::<false>(self.ring.head.wrapping_add(i + AHEAD));
        let word = self.checked(i)?;
        let near = i + NEAR;
        if word.len() > 64 && near < self.n {
            let cursor = self.ring.head.wrapping_add(near);
            // Only a hint, so a length that is not checked will do. Frames of mixed lengths come one after the other, such as
            // FCP commands and data: the length of the frame at hand says nothing of the next.
            let len = self.ring.raw.slot(cursor).word().len();
            if len <= LONGEST_FETCHED {
                self.ring.raw.prefetch_lines(cursor, 1, usize::from(len).div_ceil(64));
            }
        }
        // SAFETY: delivered and not released, so the slot is the user's as long as the batch is borrowed; index and
        // length were checked on the value that is used.
        Ok((unsafe { self.ring.raw.frame(word.buf_idx(), word.len().into()) }, word.flags()))
    }

    /// The `i`th slot's metadata, if it carries any.
    #[must_use]
    #[inline]
    pub fn meta(&self, i: u32) -> Option<Meta> {
        let cursor = self.cursor(i);
        self.ring.raw.slot(cursor).word().has(flags::META).then(|| self.ring.raw.meta(cursor))
    }

    /// Puts another buffer of the same region into the `i`th slot and returns the buffer that was there in `buffer`.
    /// False, with nothing changed, if the slot is bad, the buffer is of another region, or this side may not swap.
    pub fn swap(&mut self, i: u32, buffer: &mut Buffer) -> bool {
        if !buffer.is_of(&self.ring.raw.region) || !self.ring.may_swap {
            return false;
        }
        let Ok(word) = self.checked(i) else { return false };
        let mine = buffer.replace(word.buf_idx());
        self.put_buf(i, mine);
        true
    }

    #[inline]
    fn put_buf(&mut self, i: u32, buf: u32) {
        let cursor = self.cursor(i);
        self.ring.raw.set_buf(cursor, buf);
        self.ring.raw.slot(cursor).set(SlotWord::new(buf, 0, flags::BUF_CHANGED));
        self.ring.swapped = true;
    }

    /// Exchanges the buffer of the `i`th slot, whose word was checked, with that of `to`'s `at`th, which gets the word's length
    /// and flags, and the metadata. The rings must exchange buffers ([`RxRing::swaps_with`]).
    #[inline]
    pub(crate) fn exchange(&mut self, i: u32, word: SlotWord, to: &mut TxBatch<'_>, at: u32) {
        let (from, to_slot) = (self.ring.head.wrapping_add(i), to.ring.head.wrapping_add(at));
        let spare = to.ring.raw.buf(to_slot);
        to.ring.raw.set_buf(to_slot, word.buf_idx());
        to.ring.raw.set_word(to_slot, word.with_flags(word.flags() | flags::BUF_CHANGED));
        if word.has(flags::META) {
            to.ring.raw.set_meta(to_slot, self.ring.raw.meta(from));
        }
        self.ring.raw.set_buf(from, spare);
        self.ring.raw.slot(from).set(SlotWord::new(spare, 0, flags::BUF_CHANGED));
        self.ring.swapped = true;
    }

    /// Gives the first `n` slots back to the port, which gets them with the next sync.
    #[inline]
    pub fn release(self, n: u32) {
        debug_assert!(n <= self.n);
        self.ring.head = self.ring.head.wrapping_add(n.min(self.n));
        self.ring.raw.show(self.ring.head, self.ring.tail);
    }
}

/// Moves the first `n` frames from a receive batch to a transmit batch by swapping their buffers, and commits and
/// releases both. None, with nothing done, if they cannot be swapped (two regions, or another process's): then copy.
///
/// Returns the number of released slots and how many of those were committed; bad and void slots are not sent on. Ends before
/// a frame whose metadata `takes` says no to.
pub fn forward(mut rx: RxBatch<'_>, mut tx: TxBatch<'_>, n: u32, takes: impl Fn(&Meta) -> bool) -> Option<(u32, u32)> {
    if !rx.ring.swaps_with(tx.ring) {
        return None;
    }
    let n = n.min(rx.len()).min(tx.len());
    let (mut i, mut sent) = (0, 0);
    while i < n {
        let plain = exchange_plain(&mut rx, &mut tx, i, sent, n - i);
        (i, sent) = (i + plain, sent + plain);
        if i == n {
            break;
        }
        // The slot that ended the run: not a plain one, or one of the rings ended here.
        if rx.meta(i).is_some_and(|meta| !takes(&meta)) {
            break;
        }
        let word = rx.checked(i);
        i += 1;
        let Ok(word) = word else { continue };
        rx.exchange(i - 1, word, &mut tx, sent);
        sent += 1;
    }
    rx.ring.swapped |= sent > 0;
    tx.commit(sent);
    rx.release(i);
    Some((i, sent))
}

/// Exchanges buffers from the `i`th received and the `to`th free slot on, as long as slots are plain and hold the
/// buffer recorded for them, up to the end of either ring; returns the number of slots.
#[inline]
fn exchange_plain(rx: &mut RxBatch<'_>, tx: &mut TxBatch<'_>, i: u32, to: u32, n: u32) -> u32 {
    if tx.ring.raw.keeps_words() {
        return 0;
    }
    let usable = rx.ring.raw.usable;
    let (slots, own) = rx.ring.raw.run_mut(rx.ring.head.wrapping_add(i), n);
    let (free, spare) = tx.ring.raw.run_mut(tx.ring.head.wrapping_add(to), n);
    let mut done = 0;
    for (((slot, mine), free), spare) in slots.iter().zip(own).zip(free).zip(spare) {
        let word = slot.word();
        if !word.is_plain(usable) || word.buf_idx() != *mine || *mine < BUFFERS_RESERVED {
            break;
        }
        std::mem::swap(mine, spare);
        free.set(word.with_flags(word.flags() | flags::BUF_CHANGED));
        slot.set(SlotWord::new(*mine, 0, flags::BUF_CHANGED));
        done += 1;
    }
    done
}
