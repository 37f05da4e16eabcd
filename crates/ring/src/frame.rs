//! A frame, or a part of one, in a buffer.

use crate::copy::{copy, equal, matches, put_u64, take_u64};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The bytes of one slot's buffer, borrowed by the slot's owner.
///
/// In a private region they can be borrowed as a slice; in a shared one only copied, because another process may write
/// them meanwhile.
#[derive(Debug)]
pub struct Frame<'a> {
    at: NonNull<u8>,
    len: usize,
    shared: bool,
    life: PhantomData<&'a mut [u8]>,
}

// SAFETY: in a private region a frame is the sole safe access to its bytes, like `&mut [u8]`; in a shared one it only
// copies, which bears others.
unsafe impl Send for Frame<'_> {}

impl<'a> Frame<'a> {
    /// # Safety
    /// `len` bytes at `at` must stay mapped for `'a`, and in a private region nobody else may touch them during `'a`.
    #[inline]
    pub(crate) unsafe fn new(at: NonNull<u8>, len: usize, shared: bool) -> Self {
        Self { at, len, shared, life: PhantomData }
    }

    /// Frame over memory of no region that others may be writing: it is copied from and into, never borrowed.
    ///
    /// # Safety
    /// `len` bytes at `at` must stay mapped, readable and writable for `'a`.
    #[inline]
    #[must_use]
    pub unsafe fn foreign(at: NonNull<u8>, len: usize) -> Self {
        // SAFETY: the caller's promise; a shared frame bears others.
        unsafe { Self::new(at, len, true) }
    }

    /// Length in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the frame has no bytes.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies bytes into the frame at an offset; false, with nothing done, if they do not fit.
    #[inline]
    #[must_use = "false means that nothing was written"]
    pub fn write(&mut self, at: usize, bytes: &[u8]) -> bool {
        if at > self.len || bytes.len() > self.len - at {
            return false;
        }
        // SAFETY: checked to lie inside the buffer; `bytes` is private memory and cannot overlap a buffer that we own.
        unsafe { copy::<false>(self.at.as_ptr().add(at), bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Writes eight bytes in network byte order at an offset; false, with nothing done, if they do not fit. Faster than
    /// [`Frame::write`] for a number that was just computed.
    #[inline]
    #[must_use = "false means that nothing was written"]
    pub fn write_u64(&mut self, at: usize, value: u64) -> bool {
        if at > self.len || 8 > self.len - at {
            return false;
        }
        // SAFETY: checked to lie inside the buffer, which is ours to write.
        unsafe { put_u64(self.at.as_ptr().add(at), value.to_be()) };
        true
    }

    /// Copies bytes out of the frame from an offset; false, with nothing done, if the frame is too short.
    #[inline]
    #[must_use = "false means that nothing was read"]
    pub fn read(&self, at: usize, bytes: &mut [u8]) -> bool {
        if at > self.len || bytes.len() > self.len - at {
            return false;
        }
        // SAFETY: as in `write`, the other way round.
        unsafe { copy::<true>(bytes.as_mut_ptr(), self.at.as_ptr().add(at), bytes.len()) };
        true
    }

    /// Reads eight bytes in network byte order at an offset; None if the frame is too short.
    #[inline]
    #[must_use]
    pub fn read_u64(&self, at: usize) -> Option<u64> {
        if at > self.len || 8 > self.len - at {
            return None;
        }
        // SAFETY: checked to lie inside the buffer.
        Some(u64::from_be(unsafe { take_u64(self.at.as_ptr().add(at)) }))
    }

    /// True if the 32 bytes at an offset equal `expected` in the bits set in `mask`; false if the frame is too short.
    #[inline]
    #[must_use]
    pub fn matches(&self, at: usize, expected: &[u8; 32], mask: &[u8; 32]) -> bool {
        if at > self.len || 32 > self.len - at {
            return false;
        }
        // SAFETY: checked to lie inside the buffer.
        unsafe { matches(self.at.as_ptr().add(at), expected, mask) }
    }

    /// True if the frame holds `expected` at an offset, compared in place: faster than copying out and comparing.
    #[inline]
    #[must_use]
    pub fn holds(&self, at: usize, expected: &[u8]) -> bool {
        if at > self.len || expected.len() > self.len - at {
            return false;
        }
        if let Some(bytes) = self.bytes() {
            return bytes[at..at + expected.len()] == *expected;
        }
        // SAFETY: checked to lie inside the buffer; `expected` is private memory.
        unsafe { equal(self.at.as_ptr().add(at), expected.as_ptr(), expected.len()) }
    }

    /// Borrows the bytes, if no other process can write them.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: private, so nobody else touches the bytes while we own the slot.
        (!self.shared).then(|| unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) })
    }

    /// Borrows the bytes to be changed in place, if no other process can read or write them.
    #[inline]
    #[must_use]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: private, so nobody else touches the bytes while we own the slot.
        (!self.shared).then(|| unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) })
    }

    /// Copies the bytes to the heap; for code that need not be fast.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append_to(&mut bytes);
        bytes
    }

    /// Appends the bytes to `bytes`.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        match self.bytes() {
            Some(slice) => bytes.extend_from_slice(slice),
            None => {
                bytes.reserve(self.len);
                let at = bytes.len();
                // SAFETY: the frame has `self.len` bytes, and the vector room for as many, private memory; all of it is
                // written before it counts as its bytes.
                unsafe {
                    copy::<true>(bytes.as_mut_ptr().add(at), self.at.as_ptr(), self.len);
                    bytes.set_len(at + self.len);
                }
            }
        }
    }

    /// Address of the bytes, for system calls that fill or send them.
    #[inline]
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.at
    }

    /// Copies another frame's bytes to the start of this one; false, with nothing done, if they do not fit.
    #[inline]
    #[must_use = "false means that nothing was written"]
    pub fn copy_from(&mut self, from: &Frame<'_>) -> bool {
        if from.len > self.len {
            return false;
        }
        // SAFETY: both frames hold `from.len` bytes. In a private region no two slots hold one buffer; in a shared one
        // another process may have named ours, and then both may be the same bytes, which `copy` allows.
        unsafe { copy::<true>(self.at.as_ptr(), from.at.as_ptr(), from.len) };
        true
    }
}
