//! Common part of transmit and receive rings: the mapping of one `netmap_ring`, and the buffer that each slot holds.

use crate::cell::{Meta, MetaCell, SlotCell, SlotWord};
use crate::claim::Claim;
use crate::frame::Frame;
use crate::layout::NetmapRing;
use crate::prefetch;
use crate::region::{Region, RingSpot, Sharing};
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Slots refused because another process wrote invalid values into them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingStats {
    /// Buffer index outside the region, or of a buffer that was not lent.
    pub bad_index: u64,
    /// Length greater than a buffer's capacity.
    pub bad_length: u64,
}

/// One ring's memory. The buffer of each slot is recorded in process-private memory; the shared slot is a copy of it.
pub(crate) struct Raw {
    pub(crate) region: Arc<Region>,
    pub(crate) spot: RingSpot,
    slots: NonNull<SlotCell>,
    meta: NonNull<MetaCell>,
    /// The buffer of each slot; 0 if the slot has none.
    pub(crate) own: Box<[u32]>,
    /// Length and flags of each slot as this side wrote them, for a ring that only this side writes but another process
    /// could overwrite. Empty for all other rings, where the slots themselves are read.
    said: Box<[Cell<u32>]>,
    pub(crate) mask: u32,
    pub(crate) shared: bool,
    /// Capacity of a buffer.
    pub(crate) usable: u16,
    /// Data of buffer 0, and the distance from one buffer to the next: a factor costs one instruction where a variable
    /// shift costs three.
    data: NonNull<u8>,
    stride: usize,
    pub(crate) buffers: u32,
    /// Identifier of the only pipe that may be this ring's engine; 0 if the ring's holder is the engine.
    pub(crate) pipe: u64,
    /// In a private region, this ring's half of its pair.
    pub(crate) claim: Option<Claim>,
}

// SAFETY: the pointers go into the region that `region` keeps alive; slots and metadata are atomics.
unsafe impl Send for Raw {}

/// Buffers that a ring's slots hold, from one slot on, for a loop over them.
#[derive(Clone, Copy)]
pub(crate) struct Buffers<'a> {
    own: &'a [u32],
    mask: u32,
    first: u32,
    data: NonNull<u8>,
    stride: usize,
}

impl Buffers<'_> {
    /// See [`Raw::at`].
    ///
    /// # Safety
    /// `buf` must be a buffer of the ring's region.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, buf: u32) -> NonNull<u8> {
        // SAFETY: the caller's promise: it lies inside the region.
        unsafe { self.data.add(buf as usize * self.stride) }
    }

    /// See [`Raw::prefetch`]; of the `i`th slot.
    #[inline(always)]
    pub(crate) fn prefetch<const WRITE: bool>(&self, i: u32) {
        // SAFETY: `own` has mask + 1 entries.
        let buf = unsafe { *self.own.get_unchecked((self.first.wrapping_add(i) & self.mask) as usize) };
        let at = self.data.as_ptr().wrapping_add(buf as usize * self.stride);
        if WRITE { prefetch::to_write(at) } else { prefetch::to_read(at) }
    }
}

impl Raw {
    /// Slot k starts with buffer `first_buf + k`.
    pub(crate) fn new(region: Arc<Region>, spot: RingSpot, first_buf: u32) -> Self {
        let own = (first_buf..first_buf + spot.slots).collect();
        Self {
            slots: region.slots_at(&spot),
            meta: region.meta_at(&spot),
            own,
            said: Box::default(),
            mask: spot.slots - 1,
            shared: region.sharing() == Sharing::Shared,
            usable: region.usable,
            data: region.data(),
            stride: region.buf_size() as usize,
            buffers: region.buffers(),
            pipe: 0,
            claim: None,
            region,
            spot,
        }
    }

    /// Keeps lengths and flags privately from now on, if another process could change them in the slots.
    pub(crate) fn keep_words(&mut self) {
        if self.shared {
            self.said = vec![Cell::new(0); self.own.len()].into();
        }
    }

    /// A length, limited to a buffer's capacity.
    #[inline]
    pub(crate) fn limited(&self, len: usize) -> u16 {
        u16::try_from(len).unwrap_or(self.usable).min(self.usable)
    }

    /// True if lengths and flags are kept privately.
    #[inline]
    pub(crate) fn keeps_words(&self) -> bool {
        !self.said.is_empty()
    }

    /// A slot that only this side writes, as it was written: from the private copy, if one is kept.
    #[inline]
    pub(crate) fn word(&self, cursor: u32) -> SlotWord {
        match self.said.get(self.index(cursor)) {
            Some(said) => SlotWord::kept(self.buf(cursor), said.get()),
            None => self.slot(cursor).word().with_buf(self.buf(cursor)),
        }
    }

    /// Writes a slot that only this side writes, and keeps length and flags if they are kept privately.
    #[inline]
    pub(crate) fn set_word(&self, cursor: u32, word: SlotWord) {
        if let Some(said) = self.said.get(self.index(cursor)) {
            said.set(word.len_and_flags());
        }
        self.slot(cursor).set(word);
    }

    /// The kept words from `cursor` on up to the ring's end, at most `n`; empty if none are kept.
    #[inline]
    pub(crate) fn kept(&self, cursor: u32, n: u32) -> impl Iterator<Item = SlotWord> + '_ {
        let from = self.index(cursor);
        let len = (n as usize).min(self.own.len() - from);
        let said = self.said.get(from..from + len).unwrap_or_default();
        said.iter().zip(&self.own[from..from + len]).map(|(said, buf)| SlotWord::kept(*buf, said.get()))
    }

    /// True if the other half of the pair can no longer touch frames, or if frames are never borrowed (region shared
    /// between processes).
    pub(crate) fn is_alone(&self) -> bool {
        self.shared || self.claim.as_ref().is_some_and(Claim::other_is_gone)
    }

    #[inline]
    pub(crate) fn index(&self, cursor: u32) -> usize {
        (cursor & self.mask) as usize
    }

    #[inline]
    pub(crate) fn slot(&self, cursor: u32) -> &SlotCell {
        // SAFETY: masked, so inside the ring's slots; a SlotCell is atomics.
        unsafe { self.slots.add(self.index(cursor)).as_ref() }
    }

    #[inline]
    pub(crate) fn buf(&self, cursor: u32) -> u32 {
        // SAFETY: `own` has mask + 1 entries.
        unsafe { *self.own.get_unchecked(self.index(cursor)) }
    }

    #[inline]
    pub(crate) fn set_buf(&mut self, cursor: u32, buf: u32) {
        let k = self.index(cursor);
        // SAFETY: `own` has mask + 1 entries.
        unsafe { *self.own.get_unchecked_mut(k) = buf };
    }

    /// The `n` slots from `cursor` on: up to the ring's end, and the rest from its start.
    pub(crate) fn slots(&self, cursor: u32, n: u32) -> (&[SlotCell], &[SlotCell]) {
        let (from, n) = (self.index(cursor), n.min(self.mask + 1) as usize);
        let first = n.min(self.own.len() - from);
        // SAFETY: both runs lie inside the ring's slots, which are atomics.
        unsafe {
            let a = std::slice::from_raw_parts(self.slots.add(from).as_ptr(), first);
            (a, std::slice::from_raw_parts(self.slots.as_ptr(), n - first))
        }
    }

    /// The slots from `cursor` on up to the ring's end, at most `n`, and the buffers they hold.
    #[inline]
    pub(crate) fn run(&self, cursor: u32, n: u32) -> (&[SlotCell], &[u32]) {
        let from = self.index(cursor);
        let len = (n as usize).min(self.own.len() - from);
        // SAFETY: the run lies inside the ring's slots, which are atomics.
        (unsafe { std::slice::from_raw_parts(self.slots.add(from).as_ptr(), len) }, &self.own[from..from + len])
    }

    /// The buffers of the slots from `cursor` on.
    #[inline]
    pub(crate) fn buffers(&self, cursor: u32) -> Buffers<'_> {
        Buffers { own: &self.own, mask: self.mask, first: cursor, data: self.data, stride: self.stride }
    }

    /// Like [`Raw::run`], with the buffers to be exchanged.
    #[inline]
    pub(crate) fn run_mut(&mut self, cursor: u32, n: u32) -> (&[SlotCell], &mut [u32]) {
        let from = self.index(cursor);
        let len = (n as usize).min(self.own.len() - from);
        // SAFETY: the run lies inside the ring's slots, which are atomics and not part of `own`.
        (unsafe { std::slice::from_raw_parts(self.slots.add(from).as_ptr(), len) }, &mut self.own[from..from + len])
    }

    #[inline]
    pub(crate) fn meta(&self, cursor: u32) -> Meta {
        // SAFETY: masked, so inside the ring's records, which are atomics.
        unsafe { self.meta.add(self.index(cursor)).as_ref() }.load()
    }

    #[inline]
    pub(crate) fn set_meta(&self, cursor: u32, meta: Meta) {
        // SAFETY: masked, so inside the ring's records, which are atomics.
        unsafe { self.meta.add(self.index(cursor)).as_ref() }.store(meta);
    }

    /// The frame in a buffer of this region.
    ///
    /// # Safety
    /// The caller must own the slot that holds the buffer, for as long as the frame lives; `len` must be at most
    /// `usable` and `buf` below the region's count.
    #[inline]
    pub(crate) unsafe fn frame(&self, buf: u32, len: usize) -> Frame<'_> {
        debug_assert!(len <= usize::from(self.usable) && buf < self.buffers);
        // SAFETY: the caller's promise.
        unsafe { Frame::new(self.at(buf), len, self.shared) }
    }

    /// Address of a buffer's data.
    ///
    /// # Safety
    /// `buf` must be below the region's count.
    #[inline]
    pub(crate) unsafe fn at(&self, buf: u32) -> NonNull<u8> {
        debug_assert!(buf < self.buffers);
        // SAFETY: a buffer below the count lies inside the region.
        unsafe { self.data.add(buf as usize * self.stride) }
    }

    /// Prefetches lines `from` to `to` (64 bytes each) of the buffer that a slot holds, to be read.
    #[inline]
    pub(crate) fn prefetch_lines(&self, cursor: u32, from: usize, to: usize) {
        let at = self.data.as_ptr().wrapping_add(self.buf(cursor) as usize * self.stride);
        (from..to).for_each(|line| prefetch::to_read(at.wrapping_add(64 * line)));
    }

    /// Prefetches the first `lines` lines of the buffer that a slot holds, to be written.
    #[inline]
    pub(crate) fn fetch_lines(&self, cursor: u32, lines: usize) {
        let at = self.data.as_ptr().wrapping_add(self.buf(cursor) as usize * self.stride);
        (0..lines).for_each(|line| prefetch::to_write(at.wrapping_add(64 * line)));
    }

    /// Prefetches the first line of the buffer that a slot holds, to be read or to be written.
    #[inline]
    pub(crate) fn prefetch<const WRITE: bool>(&self, cursor: u32) {
        let at = self.data.as_ptr().wrapping_add(self.buf(cursor) as usize * self.stride);
        if WRITE { prefetch::to_write(at) } else { prefetch::to_read(at) }
    }

    #[inline]
    fn field(&self, offset: usize) -> &AtomicU32 {
        self.region.u32_at(Region::offset(self.spot.ring) + offset)
    }

    /// Stores the cursors in the netmap header, for other programs that look at the mapping.
    #[inline]
    pub(crate) fn show(&self, head: u32, tail: u32) {
        self.field(offset_of!(NetmapRing, head)).store(head & self.mask, Relaxed);
        self.field(offset_of!(NetmapRing, cur)).store(head & self.mask, Relaxed);
        self.field(offset_of!(NetmapRing, tail)).store(tail & self.mask, Relaxed);
    }
}
