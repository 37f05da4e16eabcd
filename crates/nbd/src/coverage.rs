//! Which bytes of a read have come, when they come in pieces.

use std::ops::Range;

/// Pieces at most that wait for one before them; a server that makes more of one read is not worth it.
const PIECES: usize = 256;

/// Bytes that have come, from 0 on.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// All before this have come.
    whole: usize,
    /// Those beyond, which neither overlap nor touch `whole`.
    pieces: Vec<Range<usize>>,
}

impl Coverage {
    /// Nothing has come.
    pub(crate) fn clear(&mut self) {
        self.whole = 0;
        self.pieces.clear();
    }

    /// Adds a piece; false if some of it had come, or there are too many pieces.
    #[must_use]
    pub(crate) fn add(&mut self, piece: Range<usize>) -> bool {
        let overlaps = |other: &Range<usize>| piece.start < other.end && other.start < piece.end;
        if piece.start < self.whole || self.pieces.iter().any(overlaps) || self.pieces.len() >= PIECES {
            return false;
        }
        self.pieces.push(piece);
        while let Some(next) = self.pieces.iter().position(|piece| piece.start == self.whole) {
            self.whole = self.pieces.swap_remove(next).end;
        }
        true
    }

    /// True if all of `len` bytes have come.
    pub(crate) fn is_whole(&self, len: usize) -> bool {
        self.whole == len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_any_order_make_a_whole_and_none_comes_twice() {
        let mut coverage = Coverage::default();
        for piece in [512..1024, 2048..4096, 0..512] {
            assert!(coverage.add(piece));
        }
        assert!(!coverage.is_whole(4096), "a gap");
        for twice in [0..1, 1000..1100, 4095..4096, 1024..2049] {
            assert!(!coverage.add(twice));
        }
        assert!(coverage.add(1024..2048) && coverage.is_whole(4096));
        coverage.clear();
        assert!((0..PIECES).all(|i| coverage.add(2 * i + 1..2 * i + 2)));
        assert!(!coverage.add(9999..10000), "not without bound");
    }
}
