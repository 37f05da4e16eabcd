//! The rings between an AF_XDP socket and the kernel: single producer, single consumer, free-running 32-bit indices.
//!
//! Orderings: each side stores its index with release after it has read or written the entries, and the other loads it
//! with acquire before it touches them (the kernel's `xskq_prod_submit` and `xskq_cons_release` are the partners).

use std::io;
use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Descriptor of a frame or of a part of one (`struct xdp_desc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Desc {
    /// Offset of the data from the start of the memory.
    pub(crate) addr: u64,
    /// Bytes of data.
    pub(crate) len: u32,
    /// [`Desc::MORE`] and [`Desc::REQUEST`].
    pub(crate) options: u32,
}

impl Desc {
    /// The frame continues in the next descriptor.
    pub(crate) const MORE: u32 = libc::XDP_PKT_CONTD;
    /// A request precedes the data.
    pub(crate) const REQUEST: u32 = libc::XDP_TX_METADATA;

    pub(crate) fn has_more(self) -> bool {
        self.options & Self::MORE != 0
    }
}

/// A ring's mapping; unmapped when dropped.
pub(crate) struct Mapped<T> {
    base: NonNull<u8>,
    len: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
    kind: PhantomData<T>,
}

// SAFETY: the mapping is reached through this value alone, from whichever thread has it; the kernel is synchronised with
// by the indices.
unsafe impl<T: Send> Send for Mapped<T> {}

impl<T: Copy> Mapped<T> {
    /// # Safety
    /// `at` must be where the kernel says that the parts lie of a ring of `size` entries of type `T`, all bit patterns of
    /// which must be valid. Parts that would lie outside the mapping, or not as they must, are refused.
    pub(super) unsafe fn new(
        fd: BorrowedFd<'_>,
        pgoff: i64,
        at: &libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        let odd = || io::Error::from(io::ErrorKind::InvalidData);
        let end = |offset: u64, bytes: usize| usize::try_from(offset).ok().and_then(|at| at.checked_add(bytes));
        let len = (size as usize).checked_mul(size_of::<T>()).and_then(|bytes| end(at.desc, bytes)).ok_or_else(odd)?;
        let inside = |offset: u64| end(offset, size_of::<u32>()).is_some_and(|end| end <= len && end.is_multiple_of(4));
        let entries = usize::try_from(at.desc).map_err(|_| odd())?;
        let fits = size.is_power_of_two() && entries.is_multiple_of(align_of::<T>());
        if !fits || ![at.producer, at.consumer, at.flags].into_iter().all(inside) {
            return Err(odd());
        }
        let place = |offset: u64| usize::try_from(offset).map_err(|_| odd());
        let (producer, consumer, word) = (place(at.producer)?, place(at.consumer)?, place(at.flags)?);
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, fd.as_raw_fd(), pgoff) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: all of them were checked to lie inside the mapping, which begins with a page.
        unsafe {
            Ok(Self {
                base,
                len,
                producer: base.add(producer).cast(),
                consumer: base.add(consumer).cast(),
                flags: base.add(word).cast(),
                entries: base.add(entries).cast(),
                size,
                kind: PhantomData,
            })
        }
    }

    #[inline]
    fn index(&self, index: NonNull<AtomicU32>) -> &AtomicU32 {
        // SAFETY: inside the mapping, which lives as long as `self`; aligned by the kernel.
        unsafe { index.as_ref() }
    }

    #[inline]
    fn entry(&self, index: u32) -> NonNull<T> {
        // SAFETY: masked, so inside the ring's entries.
        unsafe { self.entries.add((index & (self.size - 1)) as usize) }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, and nothing that points into it outlives this value.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The side of a ring that fills it: transmit and fill.
pub(crate) struct Producer<T> {
    ring: Mapped<T>,
    /// Index of the next entry, published with the next [`Producer::publish`].
    next: u32,
    published: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn over(ring: Mapped<T>) -> Self {
        let next = ring.index(ring.producer).load(Relaxed);
        Self { ring, next, published: next }
    }

    /// Published entries that the kernel has not consumed. An impossible index counts as nothing consumed.
    #[inline]
    pub(crate) fn unread(&self) -> u32 {
        // Acquire: what the kernel has consumed it has read before, so it may be overwritten.
        let consumed = self.ring.index(self.ring.consumer).load(Acquire);
        self.published.wrapping_sub(consumed).min(self.ring.size)
    }

    /// Entries that the kernel has reported as read. It may have read more: see [`Producer::put`].
    #[cfg(test)]
    fn free(&self) -> u32 {
        let consumed = self.ring.index(self.ring.consumer).load(Acquire);
        self.ring.size.saturating_sub(self.next.wrapping_sub(consumed))
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.ring.size
    }

    /// Writes the next entry. There must be a free one: the callers have at most as many buffers as the ring entries.
    ///
    /// The consumer index does not show it: the kernel delivers a frame before it publishes which entries of the fill
    /// ring it has read (`xsk_flush`), and the frame's buffer may come back in between. It had read that buffer's entry
    /// before it published the frame, so the entry is free all the same.
    #[inline]
    pub(crate) fn put(&mut self, entry: T) {
        // SAFETY: inside the entries; the kernel does not read it before it is published.
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Publishes the written entries.
    #[inline]
    pub(crate) fn publish(&mut self) {
        if self.next != self.published {
            self.published = self.next;
            self.ring.index(self.ring.producer).store(self.next, Release);
        }
    }

    /// True if the kernel asks to be woken for new entries.
    #[inline]
    pub(crate) fn wants_kick(&self) -> bool {
        self.ring.index(self.ring.flags).load(Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The side of a ring that empties it: receive and completion.
pub(crate) struct Consumer<T> {
    ring: Mapped<T>,
    next: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn over(ring: Mapped<T>) -> Self {
        let next = ring.index(ring.consumer).load(Relaxed);
        Self { ring, next }
    }

    /// Number of entries to read. More than the ring holds is impossible, and counts as none.
    #[inline]
    pub(crate) fn available(&self) -> u32 {
        // Acquire: the entries were written before the index.
        let n = self.ring.index(self.ring.producer).load(Acquire).wrapping_sub(self.next);
        if n > self.ring.size { 0 } else { n }
    }

    /// The `i`th entry; `i` must be below [`Consumer::available`].
    #[inline]
    pub(crate) fn peek(&self, i: u32) -> T {
        // SAFETY: inside the entries; written by the kernel before it published, and not again before it is released.
        unsafe { self.ring.entry(self.next.wrapping_add(i)).read() }
    }

    /// Gives the oldest `n` entries back.
    #[inline]
    pub(crate) fn release(&mut self, n: u32) {
        if n > 0 {
            self.next = self.next.wrapping_add(n);
            self.ring.index(self.ring.consumer).store(self.next, Release);
        }
    }
}

/// A ring in plain memory, with the test in the kernel's place.
#[cfg(test)]
pub(crate) fn ring<T: Copy>(size: u32) -> (Producer<T>, Consumer<T>) {
    use std::os::fd::AsFd;
    let file = linerate_ring::sys::memory_file(192 + size as usize * size_of::<T>()).unwrap();
    let at = libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };
    // SAFETY: the file is as long as this layout is, and tests use numbers only.
    unsafe {
        let one = Mapped::new(file.as_fd(), 0, &at, size).unwrap();
        (Producer::over(one), Consumer::over(Mapped::new(file.as_fd(), 0, &at, size).unwrap()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_pass_in_order_and_room_is_known() {
        let (mut producer, mut consumer) = ring::<u64>(4);
        assert_eq!((producer.free(), consumer.available()), (4, 0));
        for n in 0..1000 {
            producer.put(n * 2);
            producer.put(n * 2 + 1);
            assert_eq!((consumer.available(), producer.unread(), producer.free()), (0, 0, 2), "not published");
            producer.publish();
            assert_eq!((consumer.available(), producer.unread(), producer.free()), (2, 2, 2));
            assert_eq!((consumer.peek(0), consumer.peek(1)), (n * 2, n * 2 + 1));
            consumer.release(2);
            assert_eq!(producer.free(), 4);
        }
    }

    /// Old kernels return a shorter struct (`struct xdp_mmap_offsets_v1`), whose words would be misread.
    #[test]
    fn a_ring_whose_parts_lie_outside_is_refused() {
        use std::os::fd::AsFd;
        let file = linerate_ring::sys::memory_file(4096).unwrap();
        let good = || libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };
        let all = [
            (good(), 3),
            (good(), 0),
            (libc::xdp_ring_offset { producer: 192 + 32, ..good() }, 4),
            (libc::xdp_ring_offset { consumer: u64::MAX, ..good() }, 4),
            (libc::xdp_ring_offset { flags: 2, ..good() }, 4),
            (libc::xdp_ring_offset { desc: 196, ..good() }, 4),
            (libc::xdp_ring_offset { desc: u64::MAX - 8, ..good() }, 4),
        ];
        for (at, size) in all {
            // SAFETY: numbers only, and what is refused is not looked at.
            let ring = unsafe { Mapped::<u64>::new(file.as_fd(), 0, &at, size) };
            assert!(ring.is_err(), "{} {} {} {} of {size}", at.producer, at.consumer, at.flags, at.desc);
        }
        // SAFETY: numbers only, in a file that is longer than this layout.
        assert!(unsafe { Mapped::<u64>::new(file.as_fd(), 0, &good(), 4) }.is_ok());
    }

    #[test]
    fn an_index_out_of_range_is_ignored() {
        let (producer, mut consumer) = ring::<u64>(4);
        for invalid in [5, u32::MAX, 1 << 31] {
            consumer.ring.index(consumer.ring.producer).store(invalid, Release);
            assert_eq!(consumer.available(), 0);
        }
        consumer.release(0);
        producer.ring.index(producer.ring.consumer).store(77, Release);
        assert_eq!(producer.unread(), 4);
        assert_eq!(producer.free(), 0);
    }
}
