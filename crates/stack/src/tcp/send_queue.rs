//! Bytes that wait to be sent or acknowledged: copied into the connection's memory, or left in buffers that were handed over.
//!
//! A buffer is kept as it is if a whole super-frame fits into it: with shorter ones, the account of the pieces would cost more
//! than the copy, and the data of a segment could lie in any number of them.

use super::count;
use super::memory::Memory;
use bytes::{Buf, Bytes as Chunk};
use std::collections::VecDeque;

/// Pieces of memory in which the data of a segment lie at most: the end of a buffer, copied bytes up to the end of memory and
/// from its beginning, and the front of the next buffer.
pub const PIECES: usize = 4;
/// Least bytes of a buffer that is not copied: more than all that goes out at once.
pub(super) const LEAST: usize = 64 << 10;
/// Most bytes that are taken of a buffer at once: numbers of a stream are compared modulo 2^32.
const MOST: usize = 16 << 20;

/// Part of the stream.
#[derive(Debug)]
enum Run {
    /// So many bytes in memory.
    Copied(usize),
    Handed(Chunk),
}

/// Bytes of a stream from its front on.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    memory: Memory,
    len: usize,
    /// Bytes in memory.
    copied: usize,
    /// All parts, in their order; none while everything is in memory.
    runs: VecDeque<Run>,
}

impl SendQueue {
    /// Bytes.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        count(self.len)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory, buffers that were handed over among them.
    pub(super) fn memory(&self) -> usize {
        self.memory.capacity() + self.len - self.copied
    }

    /// Adds a copy of bytes.
    #[inline]
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.memory.reserve(self.copied, self.copied + bytes.len());
        self.memory.put(self.copied, bytes);
        self.copied += bytes.len();
        self.len += bytes.len();
        if !self.runs.is_empty() {
            self.follow(bytes.len());
        }
    }

    /// Notes that bytes were copied behind a buffer.
    #[cold]
    fn follow(&mut self, bytes: usize) {
        match self.runs.back_mut() {
            Some(Run::Copied(run)) => *run += bytes,
            _ => self.runs.push_back(Run::Copied(bytes)),
        }
    }

    /// Adds the front of a buffer as it is, all of it unless it is very long; the buffer must not be shorter than [`LEAST`].
    pub(super) fn hand(&mut self, chunk: &mut Chunk) -> usize {
        debug_assert!(chunk.len() >= LEAST, "shorter ones are copied");
        if self.runs.is_empty() && self.copied > 0 {
            self.runs.push_back(Run::Copied(self.copied));
        }
        let taken = chunk.split_to(chunk.len().min(MOST));
        let bytes = taken.len();
        self.len += bytes;
        self.runs.push_back(Run::Handed(taken));
        bytes
    }

    /// The `len` bytes that begin `at` so many behind the front; fewer than [`LEAST`] lie in so many pieces, of which the last
    /// ones are empty.
    #[inline]
    pub(super) fn get(&self, at: usize, len: usize) -> [&[u8]; PIECES] {
        if !self.runs.is_empty() {
            return self.pieces(at, len);
        }
        let (first, second) = self.memory.get(at, len);
        [first, second, &[], &[]]
    }

    fn pieces(&self, mut at: usize, mut len: usize) -> [&[u8]; PIECES] {
        let (mut pieces, mut next, mut in_memory) = ([&[][..]; PIECES], 0, 0);
        for run in &self.runs {
            let (all, is_copied) = match run {
                Run::Copied(bytes) => (*bytes, true),
                Run::Handed(chunk) => (chunk.len(), false),
            };
            let (from, here) = (at.min(all), len.min(all.saturating_sub(at)));
            let (first, second) = match run {
                Run::Copied(_) => self.memory.get(in_memory + from, here),
                Run::Handed(chunk) => (&chunk[from..from + here], &[][..]),
            };
            for piece in [first, second].into_iter().filter(|piece| !piece.is_empty()) {
                debug_assert!(next < PIECES, "runs that lie between others are long");
                pieces[next] = piece;
                next += 1;
            }
            (at, len) = (at - from, len - here);
            if len == 0 {
                break;
            }
            in_memory += if is_copied { all } else { 0 };
        }
        pieces
    }

    /// Drops bytes at the front.
    #[inline]
    pub(super) fn drop_front(&mut self, bytes: usize) {
        self.len -= bytes;
        if self.runs.is_empty() {
            self.memory.drop_front(bytes);
            self.copied -= bytes;
        } else {
            self.drop_runs(bytes);
        }
    }

    fn drop_runs(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let Some(run) = self.runs.front_mut() else { return };
            let (here, empty) = match run {
                Run::Copied(run) => {
                    let here = bytes.min(*run);
                    *run -= here;
                    self.memory.drop_front(here);
                    self.copied -= here;
                    (here, *run == 0)
                }
                Run::Handed(chunk) => {
                    let here = bytes.min(chunk.len());
                    chunk.advance(here);
                    (here, chunk.is_empty())
                }
            };
            bytes -= here;
            if empty {
                self.runs.pop_front();
            }
        }
        if self.copied == self.len {
            self.runs.clear();
        }
    }

    /// Gives memory back, if nothing is in it.
    pub(super) fn release(&mut self) {
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn a_buffer_stays_where_it_is_until_it_is_acknowledged() {
        let mut queue = SendQueue::default();
        let whole = Chunk::from(vec![7; LEAST]);
        let mut chunk = whole.clone();
        queue.copy(b"head");
        assert_eq!((queue.hand(&mut chunk), chunk.len()), (LEAST, 0));
        queue.copy(b"tail");
        assert_eq!((queue.len() as usize, queue.memory()), (LEAST + 8, LEAST + 4096));
        let [first, second, third, fourth] = queue.get(2, 10);
        assert_eq!((first, second, third, fourth), (&b"ad"[..], &[7; 8][..], &[][..], &[][..]));
        assert_eq!(second.as_ptr(), whole.as_ptr());
        queue.drop_front(LEAST + 3);
        assert_eq!((queue.get(0, 5).concat(), whole.is_unique()), ([&[7][..], b"tail"].concat(), false));
        queue.drop_front(2);
        assert!(whole.is_unique() && queue.runs.is_empty(), "it is given back, and all is in memory again");
        assert_eq!(queue.get(0, 3).concat(), b"ail");
        queue.release();
        assert_eq!(queue.len(), 3);
        queue.drop_front(3);
        queue.release();
        assert_eq!(queue.memory(), 0);
    }

    #[test]
    fn a_very_long_buffer_is_taken_in_parts() {
        let mut queue = SendQueue::default();
        let mut chunk = Chunk::from(vec![1; MOST + LEAST]);
        assert_eq!((queue.hand(&mut chunk), chunk.len()), (MOST, LEAST));
        assert_eq!((queue.hand(&mut chunk), chunk.len(), queue.len() as usize), (LEAST, 0, MOST + LEAST));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_is_a_queue(steps in vec((0..3_u8, 0..70_000_usize, any::<u16>()), 1..40)) {
            let (mut ours, mut model, mut next) = (SendQueue::default(), Vec::new(), 0_u8);
            for (kind, n, place) in steps {
                let mut more = |n: usize| -> Vec<u8> {
                    (0..n).map(|_| { next = next.wrapping_mul(5).wrapping_add(1); next }).collect()
                };
                match kind {
                    0 => {
                        let bytes = more(n / 8);
                        ours.copy(&bytes);
                        model.extend(bytes);
                    }
                    1 => {
                        let bytes = more(LEAST + n / 8);
                        prop_assert_eq!(ours.hand(&mut Chunk::from(bytes.clone())), bytes.len());
                        model.extend(bytes);
                    }
                    _ => {
                        let n = (2 * n).min(model.len());
                        ours.drop_front(n);
                        model.drain(..n);
                    }
                }
                prop_assert_eq!(ours.len() as usize, model.len());
                let at = model.len() * usize::from(place) / 65_536;
                let len = (model.len() - at).min(LEAST - 1);
                prop_assert_eq!(ours.get(at, len).concat(), &model[at..at + len]);
            }
        }
    }
}
