//! Blocks of memory that take turns, so that what is sent or received is not always the same memory: as netperf does, as
//! many as fill the socket's buffer, each at an alignment and an offset from it.

use linerate_text::cut;

/// Greatest size of a block, of an alignment and an offset, and of all blocks together, bytes.
pub(super) const BLOCK: u32 = 16 << 20;
pub(super) const ALIGN: u32 = 1 << 20;
const ALL: usize = 32 << 20;

/// Place of blocks in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Alignment, a power of two.
    pub align: u32,
    /// Offset from it.
    pub offset: u32,
    /// Number of blocks; 0 for as many as fill the socket's buffer, two at least.
    pub width: u32,
}

impl Default for Layout {
    fn default() -> Self {
        Self { align: 8, offset: 0, width: 0 }
    }
}

impl Layout {
    /// The number of blocks for a socket's buffer of this size.
    pub(super) fn width(&self, socket: u32, block: u32) -> u32 {
        if self.width > 0 { self.width } else { (socket / block.max(1) + 1).max(2) }
    }

    /// True if memory can be laid out like that.
    pub(super) fn is_possible(&self) -> bool {
        self.align.is_power_of_two() && self.align <= ALIGN && self.offset <= ALIGN
    }
}

/// Fills memory with bytes over and over, from the place `at` of their repetition on.
fn repeat(mut memory: &mut [u8], bytes: &[u8], at: usize) {
    let mut begin = at.checked_rem(bytes.len()).unwrap_or(0);
    while !memory.is_empty() && !bytes.is_empty() {
        let piece = &bytes[begin..];
        let (now, later) = memory.split_at_mut(piece.len().min(memory.len()));
        now.copy_from_slice(&piece[..now.len()]);
        (memory, begin) = (later, 0);
    }
}

/// Blocks in turn.
pub(super) struct Ring {
    memory: Vec<u8>,
    first: usize,
    stride: usize,
    block: usize,
    width: usize,
    at: usize,
}

fn size(n: u32) -> usize {
    cut(n, usize::MAX)
}

impl Ring {
    /// Bytes that a ring takes.
    pub(super) fn bytes(layout: Layout, width: u32, block: u32) -> usize {
        let align = size(layout.align.max(1));
        let stride = (size(block) + size(layout.offset)).next_multiple_of(align).max(1);
        // Fewer blocks than asked for, if they are too many, but one.
        size(width).clamp(1, (ALL / stride).max(1)) * stride + align
    }

    /// Makes a ring of blocks, filled with a pattern.
    pub(super) fn new(layout: Layout, width: u32, block: u32) -> Self {
        let align = size(layout.align.max(1));
        let stride = (size(block) + size(layout.offset)).next_multiple_of(align).max(1);
        let width = size(width).clamp(1, (ALL / stride).max(1));
        let mut memory = vec![0; width * stride + align];
        let first = memory.as_ptr().align_offset(align).min(align) + size(layout.offset);
        repeat(&mut memory, b"linerate", 0);
        Self { memory, first, stride, block: size(block), width, at: 0 }
    }

    /// Fills all blocks from bytes, over and over.
    pub(super) fn fill(&mut self, from: &[u8]) {
        for at in 0..self.width {
            let begin = self.first + at * self.stride;
            repeat(&mut self.memory[begin..begin + self.block], from, at * self.block);
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> &mut [u8] {
        let begin = self.first + self.at * self.stride;
        self.at += 1;
        if self.at == self.width {
            self.at = 0;
        }
        &mut self.memory[begin..begin + self.block]
    }

    /// Number of blocks.
    pub(super) fn width(&self) -> u32 {
        cut(self.width, u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_take_turns_at_their_alignment() {
        let layout = Layout { align: 4096, offset: 3, width: 0 };
        let width = layout.width(10_000, 3000);
        assert_eq!((width, layout.width(0, 3000), Layout { width: 7, ..layout }.width(1, 1)), (4, 2, 7));
        let mut ring = Ring::new(layout, width, 3000);
        let places: Vec<usize> = (0..5).map(|_| ring.next().as_ptr().addr()).collect();
        assert!(places.iter().all(|place| place % 4096 == 3), "{places:?}");
        assert_eq!((places[4], places[1] - places[0]), (places[0], 4096));
        ring.fill(b"abc");
        assert!(ring.next().starts_with(b"abcabc") && ring.next().len() == 3000);
        let mut memory = [0; 10];
        repeat(&mut memory, b"abc", 4);
        assert_eq!(&memory, b"bcabcabcab");
        repeat(&mut memory, b"", 4);
        assert_eq!(&memory, b"bcabcabcab");
    }

    #[test]
    fn what_a_peer_asks_for_is_bounded() {
        let layout = Layout { width: u32::MAX, ..Layout::default() };
        assert!(Ring::bytes(layout, u32::MAX, BLOCK) <= ALL + 8);
        assert_eq!(Ring::new(layout, 1 << 30, BLOCK).width(), 2);
        assert!(!Layout { align: 3, ..layout }.is_possible() && !Layout { offset: ALIGN + 1, ..layout }.is_possible());
        assert!(Ring::new(layout, 1, 0).next().is_empty());
    }
}
