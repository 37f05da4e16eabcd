//! Writer of frames in several pieces into a ring's slots, as many as each needs.

use linerate_offload::Sink;
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{Frame, Meta, TxBatch, TxRing, flags};
use linerate_sum::Sum;

/// Writes frames one after the other into reserved slots: [`Sink`] calls for the content, then [`end`](SlotWriter::end)
/// for each frame, and [`commit`](SlotWriter::commit) for all.
pub struct SlotWriter<'a> {
    batch: TxBatch<'a>,
    /// First slot of the frame being written.
    first: u32,
    usable: usize,
}

impl<'a> SlotWriter<'a> {
    /// Number of slots for a frame of `len` bytes in a ring; None if no ring of this size can ever hold it.
    #[inline]
    #[must_use]
    pub fn slots(ring: &TxRing, len: usize) -> Option<u32> {
        // The common case, without a division.
        let n = if len <= ring.usable() { 1 } else { len.div_ceil(ring.usable()) };
        if n > MAX_FRAGS {
            return None;
        }
        u32::try_from(n).ok().filter(|n| *n < ring.slots())
    }

    /// Reserves up to `slots` free slots of a ring.
    #[inline]
    #[must_use]
    pub fn new(ring: &'a mut TxRing, slots: u32) -> Self {
        let usable = ring.usable();
        Self { batch: ring.reserve(slots), first: 0, usable }
    }

    /// Passes the whole first slot of the next frame to `write`, if no other process can read the slot.
    #[inline]
    pub fn with_first<T>(&mut self, write: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        if self.first == self.batch.len() {
            return None;
        }
        self.batch.frame(self.first).bytes_mut().map(write)
    }

    /// Prefetches `len` bytes of the slot that is `ahead` slots behind the next frame's first.
    #[inline]
    pub fn fetch(&self, ahead: u32, len: usize) {
        self.batch.fetch(self.first.saturating_add(ahead), len);
    }

    /// Calls `write` for each slot's part of `bytes`, from offset `at` of the frame on.
    #[inline(always)]
    fn parts(&mut self, at: usize, bytes: &[u8], mut write: impl FnMut(&mut Frame<'_>, usize, &[u8])) {
        if at + bytes.len() <= self.usable {
            return write(&mut self.batch.frame(self.first), at, bytes);
        }
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let inside = at % self.usable;
            let (now, later) = bytes.split_at(bytes.len().min(self.usable - inside));
            let ahead = u32::try_from(at / self.usable)
                .ok()
                .filter(|ahead| *ahead < self.batch.len().saturating_sub(self.first));
            if let Some(ahead) = ahead {
                write(&mut self.batch.frame(self.first + ahead), inside, now);
            }
            (at, bytes) = (at + now.len(), later);
        }
    }

    /// Ends the frame, which has `len` bytes.
    ///
    /// # Panics
    /// If there was no [`room`](Sink::room) for them.
    #[inline]
    pub fn end(&mut self, len: usize, meta: Option<Meta>) {
        let mut left = len;
        let first = self.first;
        while left > self.usable {
            self.batch.set(self.first, self.usable, flags::MOREFRAG);
            (left, self.first) = (left - self.usable, self.first + 1);
        }
        self.batch.set(self.first, left, 0);
        if let Some(meta) = meta {
            self.batch.set_meta(first, meta);
        }
        self.first += 1;
    }

    /// Commits all ended frames.
    #[inline]
    pub fn commit(self) {
        self.batch.commit(self.first);
    }
}

impl Sink for SlotWriter<'_> {
    #[inline]
    fn room(&self) -> usize {
        self.batch.len().saturating_sub(self.first) as usize * self.usable
    }

    #[inline]
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.parts(at, bytes, |frame, at, part| frame.put(at, part));
    }

    #[inline]
    fn put_u64(&mut self, at: usize, value: u64) {
        if at + 8 <= self.usable {
            return self.batch.frame(self.first).put_u64(at, value);
        }
        self.put(at, &value.to_be_bytes());
    }

    #[inline]
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        let mut sum = Sum::new();
        self.parts(at, bytes, |frame, at, part| {
            sum.add_sum(frame.put_and_sum(at, part));
        });
        sum
    }

    #[inline]
    fn put_and_crc(&mut self, at: usize, bytes: &[u8], mut crc: u32) -> u32 {
        self.parts(at, bytes, |frame, at, part| crc = frame.put_and_crc(at, part, crc));
        crc
    }
}
