//! Bytes of an I/O's data that have been received or requested.

/// Most pieces beyond a hole at once. A path that reorders more than this has lost a frame.
const PIECES: usize = 6;

/// Bytes from 0 on without a hole, and a few pieces beyond.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ranges {
    end: u32,
    count: u8,
    beyond: [(u32, u32); PIECES],
}

/// Relation of a new piece to the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// None of it was present.
    New,
    /// All of it was present.
    Known,
    /// A part of it was present.
    Overlap,
    /// It was not present, and there is no room to record it.
    Scattered,
}

impl Ranges {
    /// Offset of the first missing byte.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// True if nothing lies beyond a hole.
    pub(super) fn is_whole(&self) -> bool {
        self.count == 0
    }

    /// Forgets all bytes from `end` on.
    pub(super) fn truncate(&mut self, end: u32) {
        self.end = self.end.min(end);
        self.count = 0;
    }

    /// Records the bytes from `start` to before `end`, unless some were present.
    pub(super) fn insert(&mut self, start: u32, end: u32) -> Piece {
        if start == self.end && self.count == 0 {
            self.end = end.max(start);
            return Piece::New;
        }
        if end <= self.end {
            return Piece::Known;
        }
        if start < self.end {
            return Piece::Overlap;
        }
        let count = usize::from(self.count);
        for &(from, to) in &self.beyond[..count] {
            if from <= start && end <= to {
                return Piece::Known;
            }
            if start < to && from < end {
                return Piece::Overlap;
            }
        }
        if start == self.end {
            self.end = end;
        } else if let Some(piece) = self.beyond[..count].iter_mut().find(|(_, to)| *to == start) {
            piece.1 = end;
        } else if let Some(piece) = self.beyond[..count].iter_mut().find(|(from, _)| *from == end) {
            piece.0 = start;
        } else if count < PIECES {
            self.beyond[count] = (start, end);
            self.count += 1;
        } else {
            return Piece::Scattered;
        }
        self.join();
        Piece::New
    }

    /// Joins pieces that touch.
    fn join(&mut self) {
        let mut at = 0;
        while at < usize::from(self.count) {
            let (from, to) = self.beyond[at];
            let last = usize::from(self.count) - 1;
            if from == self.end {
                self.end = to;
            } else if let Some(before) = self.beyond[..=last].iter().position(|(_, end)| *end == from) {
                self.beyond[before].1 = to;
            } else {
                at += 1;
                continue;
            }
            self.beyond[at] = self.beyond[last];
            self.count -= 1;
            at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hole_is_filled() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(0, 10), Piece::New);
        assert_eq!(ranges.insert(20, 30), Piece::New);
        assert_eq!(ranges.insert(40, 50), Piece::New);
        assert_eq!(ranges.insert(30, 40), Piece::New);
        assert_eq!((ranges.end(), ranges.is_whole()), (10, false));
        assert_eq!(
            (ranges.insert(5, 15), ranges.insert(15, 25), ranges.insert(22, 48)),
            (Piece::Overlap, Piece::Overlap, Piece::Known)
        );
        assert_eq!(ranges.insert(10, 20), Piece::New);
        assert_eq!((ranges.end(), ranges.is_whole()), (50, true));
        ranges.truncate(20);
        assert_eq!((ranges.end(), ranges.insert(0, 20)), (20, Piece::Known));
    }

    proptest! {
        #[test]
        fn as_a_set_of_bytes(pieces in prop::collection::vec((0_u32..64, 1_u32..12), 0..60)) {
            let (mut ranges, mut seen) = (Ranges::default(), [false; 80]);
            for (start, len) in pieces {
                let bytes = &mut seen[start as usize..(start + len) as usize];
                let known = bytes.iter().filter(|byte| **byte).count();
                match ranges.insert(start, start + len) {
                    Piece::New => {
                        prop_assert_eq!(known, 0);
                        bytes.fill(true);
                    }
                    Piece::Known => prop_assert_eq!(known, bytes.len()),
                    Piece::Overlap => prop_assert!(known > 0),
                    Piece::Scattered => prop_assert_eq!(known, 0),
                }
                let end = seen.iter().position(|byte| !byte).unwrap();
                prop_assert_eq!(ranges.end() as usize, end);
                prop_assert_eq!(ranges.is_whole(), !seen[end..].contains(&true));
            }
        }
    }
}
