//! Queue of received datagrams, in one ring of bytes.

use crate::address::Key;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Header of a datagram in the queue.
#[derive(Clone, Copy, Debug)]
struct Entry {
    from: (Key, u16),
    len: usize,
}

/// A bounded queue of datagrams.
#[derive(Debug)]
pub struct Inbox {
    bytes: Box<[u8]>,
    /// Offset of the oldest datagram, and the number of bytes in use.
    begin: usize,
    used: usize,
    entries: VecDeque<Entry>,
    most: usize,
}

/// Bytes that a datagram counts for at least, so that a flood of empty ones is bounded too.
const LEAST: usize = 64;

impl Inbox {
    /// Makes a queue of at least `capacity` bytes, rounded up to a power of two, so that offsets need no division.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(LEAST, 1 << 30).next_power_of_two();
        let most = (capacity / LEAST).max(1);
        Self { bytes: vec![0; capacity].into(), begin: 0, used: 0, entries: VecDeque::with_capacity(most), most }
    }

    /// Makes an empty queue of the same size.
    #[must_use]
    #[inline]
    pub fn another(&self) -> Self {
        Self::new(self.bytes.len())
    }

    /// Adds a datagram; false if there is no room for it.
    #[inline]
    pub(crate) fn push(&mut self, from: (Key, u16), datagram: &[u8]) -> bool {
        self.push_parts(from, datagram, &[])
    }

    /// Like [`Inbox::push`], for a datagram in two parts.
    #[inline]
    fn push_parts(&mut self, from: (Key, u16), begin: &[u8], end: &[u8]) -> bool {
        let len = begin.len() + end.len();
        if len > self.bytes.len() - self.used || self.entries.len() >= self.most {
            return false;
        }
        self.write(begin);
        if !end.is_empty() {
            self.write(end);
        }
        self.entries.push_back(Entry { from, len });
        true
    }

    /// Appends bytes after those in use.
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let at = (self.begin + self.used) & (self.bytes.len() - 1);
        self.used += bytes.len();
        // Nearly always in one piece: a copy of no bytes would cost a call.
        if let Some(room) = self.bytes.get_mut(at..at + bytes.len()) {
            return room.copy_from_slice(bytes);
        }
        let (first, rest) = bytes.split_at(self.bytes.len() - at);
        self.bytes[at..].copy_from_slice(first);
        self.bytes[..rest.len()].copy_from_slice(rest);
    }

    /// Moves all datagrams of another queue to the end of this one. Returns the number of those dropped for lack of
    /// room.
    pub(crate) fn take_from(&mut self, other: &mut Self) -> usize {
        // Usually the reader is as fast as the senders; then nothing is copied.
        if self.entries.is_empty() && self.bytes.len() == other.bytes.len() {
            std::mem::swap(self, other);
            return 0;
        }
        let mut dropped = 0;
        while let Some(Entry { from, len }) = other.entries.pop_front() {
            let first = len.min(other.bytes.len() - other.begin);
            let parts = (&other.bytes[other.begin..other.begin + first], &other.bytes[..len - first]);
            dropped += usize::from(!self.push_parts(from, parts.0, parts.1));
            other.remove(len);
        }
        dropped
    }

    /// Frees the bytes of the oldest datagram.
    #[inline]
    fn remove(&mut self, len: usize) {
        self.used -= len;
        // An empty queue starts again at offset 0, where the cache is warm.
        self.begin = if self.used == 0 { 0 } else { (self.begin + len) & (self.bytes.len() - 1) };
    }

    /// True if a quarter of it is in use: it is time for its owner to take what is there.
    #[inline]
    pub(crate) fn is_filling(&self) -> bool {
        self.used > self.bytes.len() / 4 || self.entries.len() > self.most / 4
    }

    /// Copies the oldest datagram, as far as it fits, and removes it. Returns the number of bytes copied, its length,
    /// and its sender.
    #[inline]
    pub fn pop(&mut self, into: &mut [u8]) -> Option<(usize, usize, SocketAddr)> {
        let Entry { from, len } = self.entries.pop_front()?;
        let n = len.min(into.len());
        match self.bytes.get(self.begin..self.begin + n) {
            Some(bytes) => into[..n].copy_from_slice(bytes),
            None => {
                let first = &self.bytes[self.begin..];
                into[..first.len()].copy_from_slice(first);
                into[first.len()..n].copy_from_slice(&self.bytes[..n - first.len()]);
            }
        }
        self.remove(len);
        Some((n, len, SocketAddr::new(from.0.addr(), from.1)))
    }

    /// Removes the oldest datagram, which `look` is given with its sender: where it lies, or if it lies at both ends of
    /// the ring, copied to `joined`. False if there is none.
    #[inline]
    pub fn look(&mut self, joined: &mut Vec<u8>, look: impl FnOnce(&[u8], SocketAddr)) -> bool {
        let Some(Entry { from, len }) = self.entries.pop_front() else { return false };
        let sender = SocketAddr::new(from.0.addr(), from.1);
        let begin = self.begin;
        // Removed first: it is gone even if `look` panics, and nothing is written before it returns.
        self.remove(len);
        match self.bytes.get(begin..begin + len) {
            Some(bytes) => look(bytes, sender),
            None => {
                joined.clear();
                joined.extend_from_slice(&self.bytes[begin..]);
                joined.extend_from_slice(&self.bytes[..len - joined.len()]);
                look(joined, sender);
            }
        }
        true
    }

    /// Number of waiting datagrams.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no datagram waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn datagrams_come_out_as_they_went_in(lens in prop::collection::vec((0usize..300, any::<bool>()), 1..200)) {
            let mut inbox = Inbox::new(1024);
            let mut model: VecDeque<Vec<u8>> = VecDeque::new();
            for (i, (len, take)) in lens.into_iter().enumerate() {
                let datagram: Vec<u8> = (0..len).map(|k| u8::try_from((i * 31 + k) % 256).unwrap()).collect();
                let from = (Key::v4([10, 0, 0, 1].into()), u16::try_from(i).unwrap());
                let held: usize = model.iter().map(Vec::len).sum();
                let fits = held + len <= 1024 && model.len() < 16;
                prop_assert_eq!(inbox.push(from, &datagram), fits);
                if fits {
                    model.push_back(datagram);
                }
                if take {
                    let mut out = [0; 200];
                    let got = inbox.pop(&mut out).map(|(n, len, _)| (out[..n].to_vec(), len));
                    let want = model.pop_front().map(|d| (d[..d.len().min(200)].to_vec(), d.len()));
                    prop_assert_eq!(got, want);
                }
                prop_assert_eq!(inbox.len(), model.len());
            }
        }

        #[test]
        fn what_is_handed_over_is_what_one_queue_would_have_kept(
            turns in prop::collection::vec((prop::collection::vec(0usize..300, 0..4), 0usize..4), 1..60),
        ) {
            let [mut one, mut front, mut back] = [(); 3].map(|()| Inbox::new(1024));
            let mut joined = Vec::new();
            let mut next = 0u16;
            for (lens, takes) in turns {
                let mut dropped = 0;
                for len in lens {
                    next += 1;
                    let datagram = vec![u8::try_from(next % 256).unwrap(); len];
                    let from = (Key::v4([10, 0, 0, 1].into()), next);
                    dropped += usize::from(!one.push(from, &datagram));
                    prop_assert!(back.push(from, &datagram));
                }
                prop_assert_eq!(front.take_from(&mut back), dropped);
                prop_assert!(back.is_empty());
                for _ in 0..takes {
                    let mut a = [0; 300];
                    let popped = one.pop(&mut a).map(|(n, _, from)| (a[..n].to_vec(), from));
                    let mut looked = None;
                    let any = front.look(&mut joined, |bytes, from| looked = Some((bytes.to_vec(), from)));
                    prop_assert_eq!((any, &looked), (popped.is_some(), &popped));
                }
                prop_assert_eq!(one.len(), front.len());
            }
        }
    }
}
