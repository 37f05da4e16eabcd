//! Access to a frame's bytes: in private memory, or where another process may be writing them.

use crate::frame::Mark;
use linerate_ring::Frame;

/// Access that the check of an expected frame needs.
pub(super) trait View {
    /// Length of the frame, bytes.
    fn size(&self) -> usize;
    /// True if the 32 bytes at `at` are as expected in the bits of the mask.
    fn matches(&self, at: usize, expected: &[u8; 32], mask: &[u8; 32]) -> bool;
    /// True if `expected` is found at `at`.
    fn holds(&self, at: usize, expected: &[u8]) -> bool;
    /// Word at `at`, if its complement follows.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes with all bits wrong must not match, just as bytes with one bit wrong.
    #[test]
    fn bytes_match_when_all_bits_under_the_mask_do() {
        let expected: [u8; 32] = std::array::from_fn(|k| if k % 2 == 0 { 0x5a } else { 0xa5 });
        let mut bytes = [&[0xee; 3][..], &expected, &[0xee; 3]].concat();
        let all = [0xff; 32];
        assert!(bytes.matches(3, &expected, &all) && bytes.holds(3, &expected) && bytes.holds(4, &expected[1..]));
        assert!(!bytes.matches(2, &expected, &all) && !bytes.holds(2, &expected));
        assert!(!bytes.matches(7, &expected, &all) && !bytes.holds(7, &expected), "beyond the end");
        bytes[3] = !bytes[3];
        assert!(!bytes.matches(3, &expected, &all) && !bytes.holds(3, &expected));
        let mut but_the_first = all;
        but_the_first[0] = 0;
        assert!(bytes.matches(3, &expected, &but_the_first));
        bytes[3..35].iter_mut().zip(expected).for_each(|(byte, expected)| *byte = !expected);
        assert!(!bytes.matches(3, &expected, &all));
    }
}
