//! Messages: building a request, and parsing an answer without trusting any length in it.

use std::iter::from_fn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;
/// Flags of a request that wants an answer, and of one that creates an object.
const ACKED: u16 = 0x1 | 0x4;
const DUMP: u16 = 0x1 | 0x300;
pub(crate) const MAKES: u16 = 0x200 | 0x400;

/// A request under construction.
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Begins a request; `header` is the structure with which such requests begin.
    pub(crate) fn about(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend([0; 4]);
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((ACKED | flags).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(header);
        Self { bytes }
    }

    /// Appends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |message| message.raw(value));
    }

    /// Appends a text attribute, with its terminating zero.
    pub(crate) fn text(&mut self, kind: u16, text: &str) {
        self.nest(kind, |message| {
            message.raw(text.as_bytes());
            message.raw(&[0]);
        });
    }

    /// Appends an attribute whose value consists of attributes.
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let at = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let len = u16::try_from(self.bytes.len() - at).expect("requests are short");
        self.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Takes the bytes after the header.
    pub(crate) fn into_body(mut self) -> Vec<u8> {
        self.bytes.split_off(HEADER)
    }

    /// Bytes after the header.
    #[cfg(test)]
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }

    /// Asks for all objects of a kind (NLM_F_DUMP), not for one; the end of the list is the acknowledgement.
    pub(super) fn of_all(&mut self) {
        self.bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    }

    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = u32::try_from(self.bytes.len()).expect("requests are short");
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A message of the kernel.
pub(super) struct Heard<'a> {
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) sequence: u32,
    pub(super) body: &'a [u8],
}

/// Messages of a datagram. A truncated message ends the iterator.
pub(super) fn messages(mut rest: &[u8]) -> impl Iterator<Item = Heard<'_>> {
    from_fn(move || {
        let len = usize::try_from(word(rest, 0)).ok()?;
        let message = rest.get(..len)?;
        let body = message.get(HEADER..)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(Heard { kind: half(message, 4), flags: half(message, 6), sequence: word(message, 8), body })
    })
}

/// Type and value of every attribute. A truncated attribute ends the iterator.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    from_fn(move || {
        let len = usize::from(half(rest, 0));
        let (kind, value) = (half(rest, 2), rest.get(4..len)?);
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        // The two high bits mark nesting and byte order.
        Some((kind & 0x3fff, value))
    })
}

/// Next hops of a route over several (`struct rtnexthop`: length, flags, weight, interface): the interface and the attributes of
/// each.
pub(crate) fn next_hops(mut rest: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    from_fn(move || {
        let len = usize::from(half(rest, 0));
        let (index, attributes) = (word(rest, 4), rest.get(8..len)?);
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((index, attributes))
    })
}

/// Value of the first attribute of a type.
pub(crate) fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

/// Reads a 16-bit number; 0 if there are too few bytes.
pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_ne_bytes(*b))
}

/// Reads a 32-bit number; 0 if there are too few bytes.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_ne_bytes(*b))
}

/// Reads a 32-bit number as a count; 0 if there are too few bytes.
pub(crate) fn count(bytes: &[u8], at: usize) -> usize {
    usize::try_from(word(bytes, at)).unwrap_or(0)
}

/// Reads a 64-bit number; 0 if there are too few bytes.
pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_ne_bytes(*b))
}

/// An IP address of 4 or 16 bytes.
pub(crate) fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => bytes.first_chunk().map(|v4| Ipv4Addr::from(*v4).into()),
        16 => bytes.first_chunk().map(|v6| Ipv6Addr::from(*v6).into()),
        _ => None,
    }
}

/// Text up to its terminating zero.
pub(crate) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Message {
        let mut message = Message::about(7, 0, &[]);
        message.attribute(1, &5u32.to_ne_bytes());
        message.nest(2 | 0x8000, |inner| inner.text(3, "name"));
        message.attribute(4, &[]);
        message
    }

    #[test]
    fn what_is_built_is_found() {
        let message = sample();
        let found: Vec<_> = attributes(message.body()).map(|(kind, value)| (kind, value.len())).collect();
        assert_eq!(found, [(1, 4), (2, 12), (4, 0)]);
        assert_eq!(attribute(message.body(), 1).map(|value| word(value, 0)), Some(5));
        assert_eq!(
            attribute(message.body(), 2).and_then(|inner| attribute(inner, 3)).map(text).as_deref(),
            Some("name")
        );
        assert_eq!(attribute(message.body(), 9), None);
        let bytes = message.finish(11);
        let all: Vec<_> =
            messages(&bytes).map(|heard| (heard.kind, heard.flags, heard.sequence, heard.body.len())).collect();
        assert_eq!(all, [(7, ACKED, 11, bytes.len() - HEADER)]);
    }

    /// Whatever the lengths are, nothing beyond the bytes is read and every iterator ends.
    #[test]
    fn invalid_lengths_end_the_walk() {
        let bytes = sample().finish(1);
        for end in 0..bytes.len() {
            assert_eq!(messages(&bytes[..end]).count(), 0, "a message cut at {end}");
            let seen: usize = attributes(&bytes[HEADER.min(end)..end]).map(|(_, value)| value.len()).sum();
            assert!(seen < end.max(1));
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 3, 4, 5, 0x7f, 0xff] {
                let mut bent = bytes.clone();
                bent[at] = value;
                assert!(messages(&bent).map(|heard| attributes(heard.body).count()).sum::<usize>() <= bytes.len() / 4);
            }
        }
        assert_eq!((half(&[1], 0), word(&[1; 3], 0), word(&[1; 8], 6), long(&[], 9)), (0, 0, 0, 0));
    }
}
