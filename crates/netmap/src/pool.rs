//! The memory that the program maps, given out in pages (interfaces, rings) and buffers. A program may exchange buffers
//! between slots; what a ring's slots name when it ends is given back, and what was lost on the way comes back when nothing
//! is in use any more.

pub(crate) struct Pool {
    /// Bytes of a piece, which interfaces and rings are made of.
    unit: usize,
    pages: Used,
    buffers: Used,
    /// Pieces of pages that are out.
    out: usize,
}

/// One bit of use each.
struct Used {
    bits: Vec<bool>,
    free: usize,
    /// Place to look from.
    next: usize,
}

impl Used {
    /// `n` places, the first `reserved` of which are never given.
    fn new(n: usize, reserved: usize) -> Self {
        Self { bits: (0..n).map(|at| at < reserved).collect(), free: n - reserved, next: reserved }
    }

    /// Takes `n` places in a row.
    fn row(&mut self, n: usize) -> Option<usize> {
        let mut run = 0;
        let end = self.bits.iter().position(|used| {
            run = if *used { 0 } else { run + 1 };
            run == n
        })?;
        let at = end + 1 - n;
        self.bits[at..=end].fill(true);
        self.free -= n;
        Some(at)
    }

    /// Takes one place.
    fn one(&mut self) -> Option<usize> {
        let from = self.next;
        let ahead = self.bits[from..].iter().position(|used| !used).map(|at| from + at);
        let at = ahead.or_else(|| self.bits.iter().position(|used| !used))?;
        (self.bits[at], self.next) = (true, at);
        self.free -= 1;
        Some(at)
    }

    /// Gives a place back; one that is not out is none.
    fn give(&mut self, at: usize) {
        if self.bits.get(at) == Some(&true) {
            self.bits[at] = false;
            self.free += 1;
        }
    }
}

impl Pool {
    /// So many bytes of interfaces and rings in pieces of `unit`, and so many buffers.
    pub(crate) fn new(rings: usize, unit: usize, bufs: u32) -> Self {
        Self { unit, pages: Used::new(rings / unit, 1), buffers: Used::new(bufs as usize, 2), out: 0 }
    }

    /// Offset of so many bytes, at the start of a piece.
    pub(crate) fn bytes(&mut self, bytes: usize) -> Option<usize> {
        let at = self.pages.row(bytes.div_ceil(self.unit).max(1))?;
        self.out += 1;
        Some(at * self.unit)
    }

    /// Gives back what [`Pool::bytes`] gave.
    pub(crate) fn give_bytes(&mut self, at: usize, bytes: usize) {
        let first = at / self.unit;
        (first..first + bytes.div_ceil(self.unit).max(1)).for_each(|page| self.pages.give(page));
        self.out -= 1;
        if self.out == 0 {
            self.buffers = Used::new(self.buffers.bits.len(), 2);
        }
    }

    /// So many buffers, or none.
    pub(crate) fn buffers(&mut self, n: u32) -> Option<Vec<u32>> {
        if self.buffers.free < n as usize {
            return None;
        }
        (0..n).map(|_| self.buffers.one().and_then(|at| u32::try_from(at).ok())).collect()
    }

    /// Gives a buffer back. The number may be anything: it comes from the program.
    pub(crate) fn give_buffer(&mut self, buffer: u32) {
        if buffer >= 2 {
            self.buffers.give(buffer as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{BUFS, PAGE, RINGS};

    #[test]
    fn what_is_given_back_is_given_again_and_lost_buffers_return_with_the_last_piece() {
        let mut pool = Pool::new(RINGS, PAGE, BUFS);
        let (a, b) = (pool.bytes(5000).unwrap(), pool.bytes(1).unwrap());
        assert_eq!((a, b), (PAGE, 3 * PAGE));
        let all = pool.buffers(BUFS - 2).unwrap();
        assert!(all.iter().all(|buffer| *buffer >= 2) && pool.buffers(1).is_none());
        for nonsense in [0, 1, BUFS, u32::MAX] {
            pool.give_buffer(nonsense);
        }
        assert!(pool.buffers(1).is_none());
        pool.give_buffer(7);
        pool.give_buffer(7);
        assert_eq!((pool.buffers(1), pool.buffers(1)), (Some(vec![7]), None));
        pool.give_bytes(a, 5000);
        assert_eq!((pool.bytes(8192), pool.buffers(1)), (Some(PAGE), None));
        pool.give_bytes(PAGE, 8192);
        pool.give_bytes(b, 1);
        assert!(pool.buffers(BUFS - 2).is_some());
        assert!(pool.bytes(RINGS).is_none());
    }
}
