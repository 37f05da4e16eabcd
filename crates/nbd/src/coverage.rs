//! Bytes of a read that have arrived, when its data comes in several chunks.

use std::ops::Range;

/// Most pieces that may wait for an earlier one; a server that splits a read further is dropped.
const PIECES: usize = 256;

/// Ranges of bytes that have arrived, counted from 0.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// All bytes before this offset have arrived.
    whole: usize,
    /// Ranges beyond `whole` that have arrived; they neither overlap nor touch `whole`.
    pieces: Vec<Range<usize>>,
}

impl Coverage {
    /// Forgets all bytes that have arrived.
    pub(crate) fn clear(&mut self) {
        self.whole = 0;
        self.pieces.clear();
    }

    /// Adds a piece; false if it overlaps an earlier one, or there are too many pieces.
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

    /// True if all of `len` bytes have arrived.
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
