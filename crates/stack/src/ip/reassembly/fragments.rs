//! Fragmentation: where a payload is cut.

use std::ops::Range;

use linerate_wire::{Ipv4Packet, Ipv6FragmentHeader, Ipv6Packet};

/// The most bytes that the fragment offset and the length fields can describe.
const LARGEST: usize = 65535;

/// Fragments of a packet's payload for an MTU: the lengths of all but the last are multiples of 8 bytes (RFC 791,
/// section 3.2; RFC 8200, section 4.5).
///
/// ```
/// use linerate_stack::{Fragment, Fragments};
///
/// let mut fragments = Fragments::v4(3000, 1500).expect("fits an IPv4 packet");
/// assert_eq!(fragments.next(), Some(Fragment { offset: 0, more: true, range: 0..1480 }));
/// assert_eq!(fragments.next(), Some(Fragment { offset: 1480, more: true, range: 1480..2960 }));
/// assert_eq!(fragments.next(), Some(Fragment { offset: 2960, more: false, range: 2960..3000 }));
/// assert_eq!(fragments.next(), None);
/// ```
#[derive(Debug, Clone)]
pub struct Fragments {
    at: u16,
    len: u16,
    /// Bytes in each fragment but the last; a multiple of 8.
    room: u16,
    done: bool,
}

/// One fragment of [`Fragments`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Fragment offset in bytes, as its header gives it.
    pub offset: u16,
    /// True if others follow.
    pub more: bool,
    /// Range of the payload that it carries.
    pub range: Range<usize>,
}

impl Fragments {
    /// Fragments for IPv4 packets of at most `mtu` bytes, with headers without options. None if the payload does not
    /// fit an IPv4 packet, or not even 8 bytes of it fit the MTU. A payload that fits unfragmented makes one fragment.
    pub fn v4(payload_len: usize, mtu: usize) -> Option<Self> {
        let header = Ipv4Packet::<&[u8]>::MIN_HEADER_LEN;
        Self::new(payload_len, LARGEST - header, mtu.checked_sub(header)?)
    }

    /// Fragments for IPv6 packets of at most `mtu` bytes, with a fragment header and no other extension header. None if
    /// the payload does not fit an IPv6 packet, or not even 8 bytes of it fit the MTU.
    ///
    /// Room for the fragment header is always left, even if the payload would fit without one: do not call it for
    /// those.
    pub fn v6(payload_len: usize, mtu: usize) -> Option<Self> {
        let headers = Ipv6Packet::<&[u8]>::HEADER_LEN + Ipv6FragmentHeader::<&[u8]>::LEN;
        Self::new(payload_len, LARGEST, mtu.checked_sub(headers)?)
    }

    pub(super) fn new(payload_len: usize, largest: usize, room: usize) -> Option<Self> {
        let len = u16::try_from(payload_len).ok().filter(|_| payload_len <= largest)?;
        // A payload that fits is not cut, so it need not end at a multiple of 8.
        let room = match u16::try_from(room) {
            Ok(room) if room < len => room & !7,
            _ => len,
        };
        (room > 0 || len == 0).then_some(Self { at: 0, len, room, done: false })
    }
}

impl Iterator for Fragments {
    type Item = Fragment;

    fn next(&mut self) -> Option<Fragment> {
        if self.done {
            return None;
        }
        let offset = self.at;
        let end = offset.saturating_add(self.room).min(self.len);
        self.at = end;
        self.done = end == self.len;
        Some(Fragment { offset, more: !self.done, range: usize::from(offset)..usize::from(end) })
    }
}
