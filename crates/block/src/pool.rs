//! Pool of buffers for reuse.

use crate::Buffer;

/// Free buffers, by size in powers of two; the total size of all buffers is bounded.
#[derive(Debug)]
pub struct Pool {
    free: [Vec<Buffer>; CLASSES],
    /// Bytes that may still be allocated.
    left: usize,
    /// Bytes of the buffers that were taken and not yet given back.
    lent: usize,
}

/// Number of size classes: 4 KiB to 16 MiB.
const CLASSES: usize = 13;
const SMALLEST: usize = 4096;

impl Pool {
    /// Pool that allocates at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { free: [const { Vec::new() }; CLASSES], left: limit, lent: 0 }
    }

    /// A buffer of `len` bytes with arbitrary content; None when the limit is reached or `len` is more than 16 MiB.
    pub fn take(&mut self, len: usize) -> Option<Buffer> {
        let class = Self::class(len)?;
        let mut buffer = match self.free[class].pop() {
            Some(buffer) => buffer,
            None => {
                let size = SMALLEST << class;
                self.make_room(size);
                self.left = self.left.checked_sub(size)?;
                Buffer::new(size)
            }
        };
        self.lent += buffer.capacity();
        buffer.resize(len);
        Some(buffer)
    }

    /// Bytes of the buffers that were taken and not yet given back.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.lent
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        self.lent = self.lent.saturating_sub(buffer.capacity());
        if let Some(class) = Self::class(buffer.capacity()).filter(|class| SMALLEST << class == buffer.capacity()) {
            self.free[class].push(buffer);
        }
    }

    /// Frees buffers of other sizes if that leaves `size` bytes: otherwise the first user of one size would starve
    /// the users of all others for ever.
    fn make_room(&mut self, size: usize) {
        let free: usize = self.free.iter().enumerate().map(|(class, free)| free.len() * (SMALLEST << class)).sum();
        if self.left.saturating_add(free) < size {
            return;
        }
        for (class, free) in self.free.iter_mut().enumerate().rev() {
            while self.left < size && free.pop().is_some() {
                self.left += SMALLEST << class;
            }
        }
    }

    fn class(len: usize) -> Option<usize> {
        (0..CLASSES).find(|class| len <= SMALLEST << class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_used_again() {
        let mut pool = Pool::new(8192);
        let mut first = pool.take(512).unwrap();
        assert_eq!((first.len(), first.capacity(), first.bytes().as_ptr() as usize % 4096), (512, 4096, 0));
        first.bytes_mut().fill(7);
        assert_eq!(pool.lent(), 4096);
        let second = pool.take(4096).unwrap();
        assert_eq!(pool.lent(), 8192);
        assert!(pool.take(1).is_none(), "the limit is reached");
        pool.give(first);
        let again = pool.take(100).unwrap();
        assert_eq!((again.len(), again.bytes()[0]), (100, 7));
        pool.give(second);
        assert_eq!(pool.lent(), 4096);
        assert!(pool.take(5000).is_none(), "what is free is too little");
        pool.give(again);
        assert!(pool.take(5000).is_some(), "what is free of another size makes room");
        assert!(pool.take(1).is_none(), "the limit holds");
        assert!(Pool::new(usize::MAX).take((16 << 20) + 1).is_none());
    }
}
