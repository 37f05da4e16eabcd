//! Where segments are written: each octet once, and summed on the way.

use linerate_ring::{Frame, TxBatch, flags};
use linerate_sum::{Sum, copy_and_sum};

/// Where a segment is written: a buffer, a slot's frame, or a [`Chain`] of slots.
///
/// The caller of [`Segments::write_next`](super::Segments::write_next) makes it at least [`Segments::next_len`](super::Segments::next_len) octets long; what does not fit is not
/// written.
pub trait Sink {
    /// Octets there are.
    fn room(&self) -> usize;

    /// Writes `bytes` at `at`.
    fn put(&mut self, at: usize, bytes: &[u8]);

    /// Writes `bytes` at `at`; returns their sum.
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum;
}

impl Sink for [u8] {
    #[inline]
    fn room(&self) -> usize {
        self.len()
    }

    #[inline]
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(to) = self.get_mut(at..).and_then(|to| to.get_mut(..bytes.len())) {
            to.copy_from_slice(bytes);
        }
    }

    #[inline]
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        match self.get_mut(at..).and_then(|to| to.get_mut(..bytes.len())) {
            Some(to) => copy_and_sum(to, bytes),
            None => Sum::new(),
        }
    }
}

impl Sink for Frame<'_> {
    #[inline]
    fn room(&self) -> usize {
        self.len()
    }

    #[inline]
    fn put(&mut self, at: usize, bytes: &[u8]) {
        // What does not fit is not written.
        let _ = self.write(at, bytes);
    }

    #[inline]
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        if let Some(own) = self.bytes_mut() {
            return own.put_and_sum(at, bytes);
        }
        // Another process may write the buffer meanwhile: what was given is summed, not what stands there.
        let _ = self.write(at, bytes);
        *Sum::new().add_bytes(bytes)
    }
}

/// Reserved slots from one on, as one run of octets: for frames longer than a buffer.
pub struct Chain<'c, 'r> {
    batch: &'c mut TxBatch<'r>,
    first: u32,
    /// Octets that a slot holds.
    usable: usize,
}

impl<'c, 'r> Chain<'c, 'r> {
    /// The slots of `batch` from `first` on.
    pub fn new(batch: &'c mut TxBatch<'r>, first: u32) -> Self {
        let usable = if first < batch.len() { batch.frame(first).len() } else { 0 };
        Self { batch, first, usable }
    }

    /// Sets lengths and flags of the slots that hold the first `len` octets, and returns how many slots those are.
    pub fn close(self, len: usize) -> u32 {
        let mut left = len.min(self.room());
        let mut slot = self.first;
        while left > 0 {
            let part = left.min(self.usable);
            left -= part;
            self.batch.set(slot, part, if left > 0 { flags::MOREFRAG } else { 0 });
            slot += 1;
        }
        slot - self.first
    }

    /// Hands `bytes`, which belong at `at`, to the slots' frames.
    fn each_part(&mut self, at: usize, bytes: &[u8], mut write: impl FnMut(&mut Frame<'_>, usize, &[u8])) {
        if at > self.room() || bytes.len() > self.room() - at {
            return;
        }
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let slot = u32::try_from(at / self.usable).unwrap_or(u32::MAX);
            let within = at % self.usable;
            let (part, others) = bytes.split_at(bytes.len().min(self.usable - within));
            write(&mut self.batch.frame(self.first + slot), within, part);
            at += part.len();
            bytes = others;
        }
    }
}

impl Sink for Chain<'_, '_> {
    #[inline]
    fn room(&self) -> usize {
        self.usable * self.batch.len().saturating_sub(self.first) as usize
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.each_part(at, bytes, |frame, at, part| frame.put(at, part));
    }

    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        let mut sum = Sum::new();
        self.each_part(at, bytes, |frame, at, part| {
            sum.add_sum(frame.put_and_sum(at, part));
        });
        sum
    }
}
