//! Datagrams that wait for their reader, in one ring of bytes.

use crate::address::Key;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// What stands before a datagram's bytes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    from: (Key, u16),
    len: usize,
}

/// A bounded queue of datagrams.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Box<[u8]>,
    /// Place where the oldest datagram begins, and how many bytes are in use.
    begin: usize,
    used: usize,
    entries: VecDeque<Entry>,
    most: usize,
}

/// Bytes that a datagram counts for at least, so that a flood of empty ones is bounded too.
const LEAST: usize = 64;

impl Inbox {
    /// Holds so many bytes at least: a power of two, so that places in the ring are found without division.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(LEAST, 1 << 30).next_power_of_two();
        let most = (capacity / LEAST).max(1);
        Self { bytes: vec![0; capacity].into(), begin: 0, used: 0, entries: VecDeque::with_capacity(most), most }
    }

    /// Adds a datagram; false if there is no room for it.
    #[inline]
    pub(crate) fn push(&mut self, from: (Key, u16), datagram: &[u8]) -> bool {
        let len = datagram.len();
        if len > self.bytes.len() - self.used || self.entries.len() >= self.most {
            return false;
        }
        let at = (self.begin + self.used) & (self.bytes.len() - 1);
        let first = len.min(self.bytes.len() - at);
        self.bytes[at..at + first].copy_from_slice(&datagram[..first]);
        self.bytes[..len - first].copy_from_slice(&datagram[first..]);
        self.used += len;
        self.entries.push_back(Entry { from, len });
        true
    }

    /// Copies the oldest datagram, as far as it fits, and removes it: how many bytes were copied, how long it was, and
    /// who sent it.
    #[inline]
    pub(crate) fn pop(&mut self, into: &mut [u8]) -> Option<(usize, usize, SocketAddr)> {
        let Entry { from, len } = self.entries.pop_front()?;
        let n = len.min(into.len());
        let first = n.min(self.bytes.len() - self.begin);
        into[..first].copy_from_slice(&self.bytes[self.begin..self.begin + first]);
        into[first..n].copy_from_slice(&self.bytes[..n - first]);
        self.begin = (self.begin + len) & (self.bytes.len() - 1);
        self.used -= len;
        Some((n, len, SocketAddr::new(from.0.addr(), from.1)))
    }

    /// Datagrams that wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
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
    }
}
