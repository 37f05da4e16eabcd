//! Expected bytes of a stream's next frame, in the form that is compared fastest.

use super::view::View;
use crate::frame::{Head, Template, pattern};

/// Number of bytes that are compared by masks: all headers, mark and stamp are within.
const COMPARED: usize = 128;
const HALF: usize = 32;

/// Frames of one length and flow. They differ only in mark and stamp.
pub(super) struct ExpectedFrame {
    /// Length of a frame, bytes.
    len: usize,
    /// True if the frames carry a mark; a frame without a mark matches nothing.
    marked: bool,
    vnet: usize,
    /// Beginning of the frame, in pieces of [`HALF`]; the last piece ends with the frame or the expected, and may overlap
    /// the one before.
    pieces: [Piece; COMPARED / HALF],
    n: usize,
}

#[derive(Clone, Copy)]
struct Piece {
    at: usize,
    expected: [u8; HALF],
    mask: [u8; HALF],
}

impl ExpectedFrame {
    /// Makes the expected of the frames that have this head.
    pub(super) fn new(template: &Template, head: &Head) -> Self {
        let (len, vnet) = (head.frame_len(), template.layout.vnet);
        let (mut expected, mut mask) = ([0; COMPARED], [0; COMPARED]);
        let covered = len.min(COMPARED);
        let (n, begin) = (head.bytes().len(), template.body(len));
        expected[..n].copy_from_slice(head.bytes());
        mask[..n].fill(0xff);
        if begin < covered {
            expected[begin..covered].copy_from_slice(&pattern()[begin - vnet..covered - vnet]);
            mask[begin..covered].fill(0xff);
        }
        let piece = |i: usize| {
            let at = (HALF * i).min(covered.saturating_sub(HALF));
            let part = |of: &[u8; COMPARED]| of[at..at + HALF].try_into().unwrap_or([0; HALF]);
            Piece { at, expected: part(&expected), mask: part(&mask) }
        };
        Self { len, marked: template.marks(len), vnet, pieces: std::array::from_fn(piece), n: covered.div_ceil(HALF) }
    }

    /// True if all of a frame except its mark and stamp is as expected.
    #[inline]
    pub(super) fn is<V: View + ?Sized>(&self, frame: &V) -> bool {
        frame.size() == self.len
            && self.marked
            && self.pieces[..self.n].iter().all(|p| frame.matches(p.at, &p.expected, &p.mask))
            && (self.len <= COMPARED || frame.holds(COMPARED, &pattern()[COMPARED - self.vnet..self.len - self.vnet]))
    }
}
