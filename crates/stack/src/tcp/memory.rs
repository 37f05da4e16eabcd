//! A ring of bytes with places of a stream: the memory of a direction of a connection.

/// Least bytes of memory, if there are any.
const LEAST: usize = 4096;

/// Bytes of a stream from its front on, in memory that grows by doubling. It has none while nothing is in it: an idle
/// connection costs nothing here.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// A power of two of bytes, or none.
    memory: Vec<u8>,
    /// Place in the memory of the first byte.
    front: usize,
}

impl Memory {
    /// Bytes of memory.
    pub(super) fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Makes room for so many bytes from the front on; `held` of them are there.
    #[inline]
    pub(super) fn reserve(&mut self, held: usize, bytes: usize) {
        if bytes > self.memory.len() {
            self.grow(held, bytes);
        }
    }

    #[cold]
    fn grow(&mut self, held: usize, bytes: usize) {
        let mut memory = vec![0; bytes.next_power_of_two().max(LEAST)];
        let (first, second) = self.get(0, held);
        memory[..first.len()].copy_from_slice(first);
        memory[first.len()..held].copy_from_slice(second);
        (self.memory, self.front) = (memory, 0);
    }

    /// Gives the memory back, if nothing is in it.
    pub(super) fn release(&mut self) {
        *self = Self::default();
    }

    /// Writes bytes `at` so many behind the front; there must be room.
    #[inline]
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        debug_assert!(at + bytes.len() <= self.memory.len(), "room was reserved");
        let from = (self.front + at) & (self.memory.len() - 1);
        let (first, second) = bytes.split_at(bytes.len().min(self.memory.len() - from));
        self.memory[from..from + first.len()].copy_from_slice(first);
        self.memory[..second.len()].copy_from_slice(second);
    }

    /// The `len` bytes that begin `at` so many behind the front, in up to two pieces.
    #[inline]
    pub(super) fn get(&self, at: usize, len: usize) -> (&[u8], &[u8]) {
        if len == 0 {
            return (&[], &[]);
        }
        let from = (self.front + at) & (self.memory.len() - 1);
        let first = len.min(self.memory.len() - from);
        (&self.memory[from..from + first], &self.memory[..len - first])
    }

    /// Drops bytes at the front.
    #[inline]
    pub(super) fn drop_front(&mut self, bytes: usize) {
        if !self.memory.is_empty() {
            self.front = (self.front + bytes) & (self.memory.len() - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn an_empty_one_has_no_memory() {
        let mut bytes = Memory::default();
        assert_eq!((bytes.capacity(), bytes.get(0, 0)), (0, (&[][..], &[][..])));
        bytes.put(0, &[]);
        bytes.drop_front(0);
        bytes.reserve(0, 1);
        assert_eq!(bytes.capacity(), LEAST);
        bytes.release();
        assert_eq!(bytes.capacity(), 0);
    }

    proptest! {
        #[test]
        fn it_is_a_queue(steps in vec((any::<bool>(), 0..6000_usize), 1..60)) {
            let (mut ours, mut model, mut next) = (Memory::default(), VecDeque::new(), 0_u8);
            for (adds, n) in steps {
                if adds {
                    let more: Vec<u8> = (0..n)
                        .map(|_| {
                            next = next.wrapping_add(1);
                            next
                        })
                        .collect();
                    ours.reserve(model.len(), model.len() + n);
                    ours.put(model.len(), &more);
                    model.extend(more);
                } else {
                    let n = n.min(model.len());
                    ours.drop_front(n);
                    model.drain(..n);
                }
                let (first, second) = ours.get(0, model.len());
                prop_assert_eq!([first, second].concat(), Vec::from(model.clone()));
                let (at, len) = (model.len() / 3, model.len() / 2);
                let (first, second) = ours.get(at, len);
                prop_assert_eq!([first, second].concat(), model.range(at..at + len).copied().collect::<Vec<_>>());
            }
        }
    }
}
