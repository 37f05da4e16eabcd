//! Memory for blocks on their way: owned, aligned for direct I/O, used again and again.

/// What the start of a buffer is a multiple of: enough for `O_DIRECT` on any device.
const ALIGN: usize = 4096;

/// Octets that one I/O's data lies in, from an address that is a multiple of 4096.
#[derive(Debug)]
pub struct Buffer {
    octets: Box<[u8]>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// Zeroed, of `len` octets.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let octets = vec![0; len + ALIGN].into_boxed_slice();
        let start = octets.as_ptr().align_offset(ALIGN);
        Self { octets, start, len }
    }

    /// Octets in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Octets there are.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.octets.len() - ALIGN
    }

    /// Uses the first `len` octets, or all if there are fewer.
    pub fn resize(&mut self, len: usize) {
        self.len = len.min(self.capacity());
    }

    /// The octets in use.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.octets[self.start..self.start + self.len]
    }

    /// The octets in use, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.octets[self.start..self.start + self.len]
    }
}

/// Buffers that wait for their next use, by powers of two in size; what they hold in all is bounded.
#[derive(Debug)]
pub struct Pool {
    free: [Vec<Buffer>; CLASSES],
    /// Octets that may still be allocated.
    left: usize,
    /// Octets of buffers that were taken and not given back.
    lent: usize,
}

/// From 4 KiB to 16 MiB.
const CLASSES: usize = 13;
const SMALLEST: usize = 4096;

impl Pool {
    /// One that allocates at most `limit` octets.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { free: [const { Vec::new() }; CLASSES], left: limit, lent: 0 }
    }

    /// A buffer of `len` octets whose content is whatever it was; none when the limit is reached or none can be so long
    /// (16 MiB).
    pub fn take(&mut self, len: usize) -> Option<Buffer> {
        let class = Self::class(len)?;
        let mut buffer = match self.free[class].pop() {
            Some(buffer) => buffer,
            None => {
                let octets = SMALLEST << class;
                self.make_room(octets);
                self.left = self.left.checked_sub(octets)?;
                Buffer::new(octets)
            }
        };
        self.lent += buffer.capacity();
        buffer.resize(len);
        Some(buffer)
    }

    /// Octets of the buffers that were taken and not given back.
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

    /// Frees buffers of other sizes if that leaves so many octets: else whoever comes first with one size would starve all
    /// others for ever.
    fn make_room(&mut self, octets: usize) {
        let free: usize = self.free.iter().enumerate().map(|(class, free)| free.len() * (SMALLEST << class)).sum();
        if self.left.saturating_add(free) < octets {
            return;
        }
        for (class, free) in self.free.iter_mut().enumerate().rev() {
            while self.left < octets && free.pop().is_some() {
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
        assert_eq!((first.len(), first.capacity(), first.bytes().as_ptr() as usize % ALIGN), (512, 4096, 0));
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
