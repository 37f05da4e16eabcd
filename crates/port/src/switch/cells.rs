//! Memory of the frames that wait in queues: cells of one length, of which a frame has a chain. All of it is taken at the
//! start, so what a switch uses does not depend on what it is sent, and nothing is allocated for a frame.

use super::buffer::{CELL, cells_for};

/// Behind a chain's last cell.
const NONE: u32 = u32::MAX;

/// The cells; see the module's text.
pub(super) struct Cells {
    memory: Box<[u8]>,
    /// Cell behind each in its chain.
    next: Box<[u32]>,
    /// The first of those given back, and the first of those never used.
    free: u32,
    fresh: u32,
}

/// A frame in cells.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chain {
    first: u32,
    len: u32,
}

impl Chain {
    /// Bytes of the frame.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Cells of the frame.
    pub(super) fn cells(&self) -> u32 {
        cells_for(self.len())
    }
}

impl Cells {
    pub(super) fn new(cells: u32) -> Self {
        let n = cells as usize;
        Self { memory: vec![0; n * CELL].into(), next: vec![NONE; n].into(), free: NONE, fresh: 0 }
    }

    /// Copies a frame into cells; None, with nothing taken, if there are too few.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Option<Chain> {
        let len = u32::try_from(bytes.len()).ok()?;
        let mut chain = Chain { first: NONE, len: 0 };
        let mut last = NONE;
        for piece in bytes.chunks(CELL) {
            let Some(cell) = self.one() else {
                self.release(chain);
                return None;
            };
            let at = cell as usize * CELL;
            self.memory[at..at + piece.len()].copy_from_slice(piece);
            let link = if last == NONE { &mut chain.first } else { &mut self.next[last as usize] };
            *link = cell;
            last = cell;
            chain.len += u32::try_from(piece.len()).unwrap_or(0);
        }
        debug_assert_eq!(chain.len, len);
        Some(chain)
    }

    fn one(&mut self) -> Option<u32> {
        let cell = self.free;
        if cell != NONE {
            self.free = std::mem::replace(&mut self.next[cell as usize], NONE);
            return Some(cell);
        }
        let fresh = self.fresh;
        self.fresh += u32::from((fresh as usize) < self.next.len());
        (self.fresh > fresh).then_some(fresh)
    }

    /// Appends a frame's bytes.
    pub(super) fn read(&self, chain: &Chain, into: &mut Vec<u8>) {
        let (mut cell, mut left) = (chain.first, chain.len());
        while left > 0 {
            let at = cell as usize * CELL;
            let n = left.min(CELL);
            into.extend_from_slice(&self.memory[at..at + n]);
            (cell, left) = (self.next[cell as usize], left - n);
        }
    }

    /// Gives a frame's cells back.
    pub(super) fn release(&mut self, chain: Chain) {
        let mut last = chain.first;
        if last == NONE {
            return;
        }
        while self.next[last as usize] != NONE {
            last = self.next[last as usize];
        }
        self.next[last as usize] = self.free;
        self.free = chain.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_sum::SplitMix64;

    #[test]
    fn frames_are_as_they_were_put_and_all_cells_come_back() {
        let mut random = SplitMix64::new(5);
        let mut below = |most: u64| usize::try_from(random.next_u64() % most).unwrap();
        let mut cells = Cells::new(64);
        let (mut kept, mut used): (Vec<(Vec<u8>, Chain)>, u32) = (Vec::new(), 0);
        for n in 0..20_000 {
            if below(2) == 0 {
                let len = [0, 1, CELL - 1, CELL, CELL + 1, 1514, 9014][below(7)];
                let bytes: Vec<u8> = (0..len).map(|i| u8::try_from((i * 7 + n) % 251).unwrap()).collect();
                match cells.put(&bytes) {
                    Some(chain) => {
                        used += chain.cells();
                        kept.push((bytes, chain));
                    }
                    None => assert!(used + cells_for(len) > 64, "{used} cells are in use"),
                }
            } else if !kept.is_empty() {
                let (bytes, chain) = kept.swap_remove(below(kept.len() as u64));
                let mut got = vec![9];
                cells.read(&chain, &mut got);
                assert!(got[0] == 9 && got[1..] == bytes, "{n}");
                used -= chain.cells();
                cells.release(chain);
            }
        }
    }
}
