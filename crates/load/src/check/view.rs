//! A frame's bytes, wherever they are: in private memory, or where another process may be writing them.

use crate::frame::Mark;
use linerate_ring::Frame;

/// What checking a frame that is as expected asks of its bytes.
pub(super) trait View {
    /// Bytes.
    fn size(&self) -> usize;
    /// Whether 32 bytes at a place are as expected in the bits that the mask has.
    fn matches(&self, at: usize, expected: &[u8; 32], mask: &[u8; 32]) -> bool;
    /// Whether these bytes stand at a place.
    fn holds(&self, at: usize, expected: &[u8]) -> bool;
    /// The word with its complement at a place, if that is what stands there.
    fn mark(&self, at: usize) -> Option<u64>;
}

impl View for [u8] {
    #[inline]
    fn size(&self) -> usize {
        self.len()
    }

    #[inline]
    fn matches(&self, at: usize, expected: &[u8; 32], mask: &[u8; 32]) -> bool {
        let Some(bytes) = self.get(at..at + 32) else { return false };
        bytes.iter().zip(expected).zip(mask).fold(0, |all, ((a, b), m)| all | ((a ^ b) & m)) == 0
    }

    #[inline]
    fn holds(&self, at: usize, expected: &[u8]) -> bool {
        self.get(at..at + expected.len()) == Some(expected)
    }

    #[inline]
    fn mark(&self, at: usize) -> Option<u64> {
        Mark::word_at(self, at)
    }
}

impl View for Frame<'_> {
    #[inline]
    fn size(&self) -> usize {
        self.len()
    }

    #[inline]
    fn matches(&self, at: usize, expected: &[u8; 32], mask: &[u8; 32]) -> bool {
        Frame::matches(self, at, expected, mask)
    }

    #[inline]
    fn holds(&self, at: usize, expected: &[u8]) -> bool {
        Frame::holds(self, at, expected)
    }

    #[inline]
    fn mark(&self, at: usize) -> Option<u64> {
        let word = self.read_u64(at)?;
        (word == !self.read_u64(at + 8)?).then_some(word)
    }
}
