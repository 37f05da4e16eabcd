//! Destinations of segments: each byte is written once, and added to a sum or CRC on the way.

use linerate_ring::Frame;
use linerate_sum::{Sum, copy_and_crc32, copy_and_sum, crc32_update};

/// Destination of a segment: a buffer, a slot's frame, or its owner's form of a chain of slots.
///
/// The caller of [`Frames::write_next`] makes it at least [`Frames::next_len`] bytes long; bytes that do not fit are
/// not written.
pub trait Sink {
    /// Capacity in bytes.
    fn room(&self) -> usize;

    /// Writes `bytes` at `at`.
    fn put(&mut self, at: usize, bytes: &[u8]);

    /// Writes the eight bytes of `value` at `at`, in network order: for a number just computed that is in a register.
    #[inline]
    fn put_u64(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_be_bytes());
    }

    /// Writes `bytes` at `at`; returns their sum.
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum;

    /// Writes `bytes` at `at`; returns `crc` continued over them.
    fn put_and_crc(&mut self, at: usize, bytes: &[u8], crc: u32) -> u32;
}

/// Frames written one after the other: the segments of one request.
pub trait Frames {
    /// Bytes of the next frame; `None` if all are written. No later frame is longer than the first.
    fn next_len(&self) -> Option<usize>;

    /// Writes the next frame to the front of `to`; returns its length. `None`, with nothing done, if all are written or
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
        // Bytes that do not fit are not written.
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
        // Another process may write the buffer meanwhile: the source is summed, not the buffer.
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
