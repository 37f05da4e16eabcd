//! A region's buffers as AF_XDP sees them: chunks of one memory (UMEM), named by their distance from its start.
//!
//! The kernel leaves `XDP_PACKET_HEADROOM` (256) bytes before received data, and so does linerate: a chunk's data
//! begins where a slot's does.

use super::xsk::{METADATA, Request};
use linerate_ring::{Buffer, Frame, HEADROOM, OwnTx, Region, TxRing};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// The buffers of a region.
#[derive(Clone, Debug)]
pub(crate) struct Umem {
    region: Arc<Region>,
    shift: u32,
}

impl Umem {
    pub(crate) fn new(region: &Arc<Region>) -> Self {
        Self { region: region.clone(), shift: region.buf_size().trailing_zeros() }
    }

    /// Start and length of the memory.
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        self.region.buffer_memory()
    }

    /// Bytes of a buffer with its headroom.
    pub(crate) fn chunk(&self) -> u32 {
        1 << self.shift
    }

    /// Number of buffers.
    pub(crate) fn buffers(&self) -> u32 {
        self.region.buffers()
    }

    /// Bytes of data that a buffer holds.
    pub(crate) fn usable(&self) -> usize {
        self.region.usable()
    }

    /// Address of a buffer's data.
    #[inline]
    pub(crate) fn addr(&self, buffer: u32) -> u64 {
        (u64::from(buffer) << self.shift) + HEADROOM as u64
    }

    /// The buffer that an address lies in, and the offset in the buffer; None outside the memory.
    #[inline]
    pub(crate) fn split(&self, addr: u64) -> Option<(u32, usize)> {
        let buffer = u32::try_from(addr >> self.shift).ok().filter(|b| *b < self.region.buffers())?;
        let offset = addr & (u64::from(self.chunk()) - 1);
        Some((buffer, usize::try_from(offset).ok()?))
    }

    /// Writes bytes to the start of the `i`th pending slot's data, independent of the slot's length.
    pub(crate) fn write_pending(&self, ring: &mut OwnTx<'_>, i: u32, bytes: &[u8]) {
        assert!(i < ring.pending() && ring.region().id() == self.region.id());
        // The slot is committed and not taken, and the ring is borrowed: its buffer is in nobody else's hands.
        self.write(ring.pending_word(i).buf_idx(), bytes);
    }

    /// Writes a request before the `i`th pending slot's data.
    pub(crate) fn write_request(&self, ring: &TxRing, i: u32, request: Request) {
        const { assert!(METADATA.is_multiple_of(8) && METADATA <= HEADROOM) };
        assert!(i < ring.pending() && ring.region().id() == self.region.id());
        let at = self.at(ring.pending_word(i).buf_idx(), HEADROOM - METADATA);
        for (k, word) in request.words().into_iter().enumerate() {
            // SAFETY: inside the headroom of the buffer, which is in nobody else's hands, for its slot is committed and
            // not taken; aligned, for chunks, headroom and metadata are multiples of 8. An atomic, because another process
            // may have the region mapped.
            unsafe { at.add(k * 8).cast::<AtomicU64>().as_ref() }.store(word, Relaxed);
        }
    }

    /// Moves `len` received bytes from `offset` in a buffer to the place of a slot's data.
    pub(crate) fn realign(&self, buffer: &mut Buffer, offset: usize, len: usize, scratch: &mut [u8]) {
        assert!(buffer.is_of(&self.region) && offset + len <= self.chunk() as usize);
        let at = self.at(buffer.index(), offset);
        for (k, byte) in scratch[..len].iter_mut().enumerate() {
            // SAFETY: inside the buffer, which is ours; an atomic, because another process may have the region mapped.
            *byte = unsafe { at.add(k).cast::<AtomicU8>().as_ref() }.load(Relaxed);
        }
        self.write(buffer.index(), &scratch[..len]);
    }

    /// The first `len` bytes of received data in a buffer; None if it is another region's or holds fewer.
    #[inline]
    pub(crate) fn frame<'a>(&'a self, buffer: &'a mut Buffer, len: usize) -> Option<Frame<'a>> {
        self.region.frame(buffer, len)
    }

    fn at(&self, buffer: u32, offset: usize) -> NonNull<u8> {
        assert!(buffer < self.region.buffers() && offset <= self.chunk() as usize);
        // SAFETY: inside the memory, as was just checked.
        unsafe { self.memory().0.add(((buffer as usize) << self.shift) + offset) }
    }

    /// Reads the request before the data at an address, as a kernel or NIC does.
    #[cfg(test)]
    pub(crate) fn request(&self, addr: u64) -> [u64; METADATA / 8] {
        let (buffer, offset) = self.split(addr).unwrap();
        let at = self.at(buffer, offset - METADATA);
        // SAFETY: inside the headroom, and aligned, as in `write_request`.
        std::array::from_fn(|k| unsafe { at.add(k * 8).cast::<AtomicU64>().as_ref() }.load(Relaxed))
    }

    /// Writes bytes at an arbitrary address, as a kernel or NIC does.
    #[cfg(test)]
    pub(crate) fn dma(&self, addr: u64, bytes: &[u8]) {
        let (buffer, offset) = self.split(addr).unwrap();
        for (k, byte) in bytes.iter().enumerate() {
            // SAFETY: `at` checks that it is inside the memory; the test has no reference to the bytes meanwhile.
            unsafe { self.at(buffer, offset + k).cast::<AtomicU8>().as_ref() }.store(*byte, Relaxed);
        }
    }

    /// Writes by atomics, because another process may have the region mapped. The caller owns the buffer.
    fn write(&self, buffer: u32, bytes: &[u8]) {
        assert!(bytes.len() <= self.chunk() as usize - HEADROOM);
        let at = self.at(buffer, HEADROOM);
        let (words, rest) = bytes.as_chunks::<8>();
        for (k, word) in words.iter().enumerate() {
            // SAFETY: inside the buffer, and aligned, for chunks and headroom are multiples of 8.
            unsafe { at.add(k * 8).cast::<AtomicU64>().as_ref() }.store(u64::from_ne_bytes(*word), Relaxed);
        }
        for (k, byte) in rest.iter().enumerate() {
            // SAFETY: inside the buffer.
            unsafe { at.add(words.len() * 8 + k).cast::<AtomicU8>().as_ref() }.store(*byte, Relaxed);
        }
    }
}

/// Buffers lent to the kernel to receive into: one bit each, so that each comes back once, even if the kernel errs.
pub(crate) struct Lent {
    umem: Umem,
    bits: Box<[u64]>,
    count: u32,
}

impl Lent {
    pub(crate) fn new(umem: &Umem) -> Self {
        let words = (umem.region.buffers() as usize).div_ceil(64);
        Self { umem: umem.clone(), bits: vec![0; words].into(), count: 0 }
    }

    /// Lends a buffer; the result is its address for the fill ring. A buffer of another region is returned as the
    /// error.
    #[inline]
    pub(crate) fn lend(&mut self, buffer: Buffer) -> Result<u64, Buffer> {
        if !buffer.is_of(&self.umem.region) {
            return Err(buffer);
        }
        let index = buffer.index();
        self.bits[index as usize / 64] |= 1 << (index % 64);
        self.count += 1;
        Ok(self.umem.addr(index))
    }

    /// Takes back the buffer that an address names, with the offset of the address in it; None if that buffer was not
    /// lent.
    #[inline]
    pub(crate) fn take_back(&mut self, addr: u64) -> Option<(Buffer, usize)> {
        let (index, offset) = self.umem.split(addr)?;
        let (word, bit) = (&mut self.bits[index as usize / 64], 1u64 << (index % 64));
        if *word & bit == 0 {
            return None;
        }
        *word &= !bit;
        self.count -= 1;
        // SAFETY: the bit was set by `lend`, which consumed the one `Buffer` of this index and region, and it is clear
        // now: there is one again.
        Some((unsafe { Buffer::from_index(index, &self.umem.region) }, offset))
    }

    /// Number of lent buffers.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}
