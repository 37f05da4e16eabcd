//! Where segments are written: each octet once, and summed or divided on the way.

use linerate_ring::Frame;
use linerate_sum::{Sum, copy_and_crc32, copy_and_sum, crc32_update};

/// Where a segment is written: a buffer, a slot's frame, or whatever a chain of slots is to its owner.
///
/// The caller of [`Frames::write_next`] makes it at least [`Frames::next_len`] octets long; what does
/// not fit is not written.
pub trait Sink {
    /// Octets there are.
    fn room(&self) -> usize;

    /// Writes `bytes` at `at`.
    fn put(&mut self, at: usize, bytes: &[u8]);

    /// Writes the octets of `value` at `at`, in network order: a number that was just computed, and is nowhere in memory.
    #[inline]
    fn put_u64(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_be_bytes());
    }

    /// Writes `bytes` at `at`; returns their sum.
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum;

    /// Writes `bytes` at `at`; returns the CRC-32 of what `crc` is of, followed by them.
    fn put_and_crc(&mut self, at: usize, bytes: &[u8], crc: u32) -> u32;
}

/// Frames that are written one behind the other: what segmentation makes of one request.
pub trait Frames {
    /// Octets of the next frame; `None` when all are written. No later frame is longer than the first.
    fn next_len(&self) -> Option<usize>;

    /// Writes the next frame to the front of `to`; returns its length. `None`, and nothing done, when all are written or
    /// `to` is shorter than [`next_len`](Self::next_len).
    fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize>;
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

    #[inline]
    fn put_and_crc(&mut self, at: usize, bytes: &[u8], crc: u32) -> u32 {
        match self.get_mut(at..).and_then(|to| to.get_mut(..bytes.len())) {
            Some(to) => copy_and_crc32(to, bytes, crc),
            None => crc,
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
    fn put_u64(&mut self, at: usize, value: u64) {
        let _ = self.write_u64(at, value);
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

    #[inline]
    fn put_and_crc(&mut self, at: usize, bytes: &[u8], crc: u32) -> u32 {
        if let Some(own) = self.bytes_mut() {
            return own.put_and_crc(at, bytes, crc);
        }
        // As above.
        let _ = self.write(at, bytes);
        crc32_update(crc, bytes)
    }
}
