//! A slot as two atomic words, so that reading a slot while another process writes it is defined, and is done once.

use crate::layout::flags;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A slot's first word, `buf_idx | len | flags`, as a value: read once, then examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotWord(u64);

impl SlotWord {
    /// Packs a word from its parts.
    #[inline]
    #[must_use]
    pub const fn new(buf_idx: u32, len: u16, flags: u16) -> Self {
        Self(buf_idx as u64 | (len as u64) << 32 | (flags as u64) << 48)
    }

    /// Packs a word from a buffer and the value of [`SlotWord::len_and_flags`].
    #[inline]
    pub(crate) const fn kept(buf_idx: u32, len_and_flags: u32) -> Self {
        Self(buf_idx as u64 | (len_and_flags as u64) << 32)
    }

    /// Length (low 16 bits) and flags (high 16 bits), without the buffer.
    #[inline]
    pub(crate) const fn len_and_flags(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Index of the buffer; 0 for none.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are wanted")]
    pub const fn buf_idx(self) -> u32 {
        self.0 as u32
    }

    /// Bytes of the frame, or of its part, in the buffer.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "16 of the bits are wanted")]
    pub const fn len(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// True if the slot holds no bytes.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Flags of the slot ([`crate::flags`]).
    #[inline]
    #[must_use]
    pub const fn flags(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// True if any of these flags is set.
    #[inline]
    #[must_use]
    pub const fn has(self, flags: u16) -> bool {
        self.flags() & flags != 0
    }

    /// True for a whole frame of 1 to `usable` bytes without metadata, as nearly all slots hold.
    #[inline]
    pub(crate) const fn is_plain(self, usable: u16) -> bool {
        const UNUSUAL: u64 = ((flags::MOREFRAG | flags::META) as u64) << 48;
        self.len().wrapping_sub(1) < usable && self.0 & UNUSUAL == 0
    }

    /// The same word with other flags.
    #[inline]
    #[must_use]
    pub const fn with_flags(self, flags: u16) -> Self {
        Self(self.0 & 0x0000_ffff_ffff_ffff | (flags as u64) << 48)
    }

    /// The same word without these flags.
    #[inline]
    #[must_use]
    pub const fn without(self, flags: u16) -> Self {
        Self(self.0 & !((flags as u64) << 48))
    }

    /// The same word with another buffer.
    #[inline]
    #[must_use]
    pub const fn with_buf(self, buf_idx: u32) -> Self {
        Self(self.0 & 0xffff_ffff_0000_0000 | buf_idx as u64)
    }
}

/// A slot in memory (`struct netmap_slot`): on little-endian hosts the two words are netmap's fields.
#[repr(C, align(16))]
pub struct SlotCell {
    word: AtomicU64,
    ptr: AtomicU64,
}

#[cfg(target_endian = "big")]
compile_error!("slots are written as little-endian words");

impl SlotCell {
    /// The first word, read once.
    #[inline]
    #[must_use]
    pub fn word(&self) -> SlotWord {
        SlotWord(self.word.load(Relaxed))
    }

    /// The `ptr` field.
    #[inline]
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.ptr.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, word: SlotWord) {
        self.word.store(word.0, Relaxed);
    }

    #[inline]
    pub(crate) fn set_ptr(&self, ptr: u64) {
        self.ptr.store(ptr, Relaxed);
    }
}

/// A slot's metadata record, 16 bytes beside the ring, valid when the slot carries [`crate::flags::META`].
///
/// On transmit: an offload request with the fields of virtio-net's header. On receive: the port's findings about the
/// frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Meta {
    /// virtio `flags`: 1 NEEDS_CSUM, 2 DATA_VALID.
    pub flags: u8,
    /// virtio `gso_type`: 0 none, 1 TCPv4, 3 UDP, 4 TCPv6, 5 UDP_L4.
    pub gso_type: u8,
    /// Bytes of headers before the payload.
    pub hdr_len: u16,
    /// Payload bytes of each segment.
    pub gso_size: u16,
    /// Offset of the first byte that the checksum covers.
    pub csum_start: u16,
    /// Offset of the checksum field, in bytes from `csum_start`.
    pub csum_offset: u16,
    /// VLAN tag control information; 0 is none.
    pub vlan_tci: u16,
    /// RSS hash, or the low 32 bits of a time-stamp in ns, as the port's capabilities say.
    pub hash: u32,
}

impl Meta {
    /// The checksum at `csum_start + csum_offset` is not filled in.
    pub const NEEDS_CSUM: u8 = 1;
    /// The port has verified the checksum.
    pub const DATA_VALID: u8 = 2;
    /// VIRTIO_NET_HDR_GSO_TCPV4: a super-frame of TCP over IPv4.
    pub const GSO_TCPV4: u8 = 1;
    /// VIRTIO_NET_HDR_GSO_ECN, in addition to TCP's: the first segment alone has CWR.
    pub const GSO_ECN: u8 = 0x80;
    /// VIRTIO_NET_HDR_GSO_TCPV6: a super-frame of TCP over IPv6.
    pub const GSO_TCPV6: u8 = 4;

    /// Packs the record into two words.
    #[must_use]
    pub fn to_words(self) -> [u64; 2] {
        let a = u64::from(self.flags)
            | u64::from(self.gso_type) << 8
            | u64::from(self.hdr_len) << 16
            | u64::from(self.gso_size) << 32
            | u64::from(self.csum_start) << 48;
        let b = u64::from(self.csum_offset) | u64::from(self.vlan_tci) << 16 | u64::from(self.hash) << 32;
        [a, b]
    }

    /// Unpacks a record from two words.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "each field takes its bits")]
    pub fn from_words([a, b]: [u64; 2]) -> Self {
        Self {
            flags: a as u8,
            gso_type: (a >> 8) as u8,
            hdr_len: (a >> 16) as u16,
            gso_size: (a >> 32) as u16,
            csum_start: (a >> 48) as u16,
            csum_offset: b as u16,
            vlan_tci: (b >> 16) as u16,
            hash: (b >> 32) as u32,
        }
    }
}

/// A metadata record in memory.
#[repr(C, align(16))]
pub(crate) struct MetaCell([AtomicU64; 2]);

impl MetaCell {
    pub(crate) fn load(&self) -> Meta {
        Meta::from_words([self.0[0].load(Relaxed), self.0[1].load(Relaxed)])
    }

    pub(crate) fn store(&self, meta: Meta) {
        let [a, b] = meta.to_words();
        self.0[0].store(a, Relaxed);
        self.0[1].store(b, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_are_whole_frames_that_fit() {
        for (len, flags, plain) in [
            (0, 0, false),
            (1, 0, true),
            (1792, 0, true),
            (1793, 0, false),
            (u16::MAX, 0, false),
            (60, flags::MOREFRAG, false),
            (60, flags::META, false),
            (60, flags::BUF_CHANGED, true),
        ] {
            assert_eq!(SlotWord::new(7, len, flags).is_plain(1792), plain, "{len} {flags:#x}");
        }
    }

    #[test]
    fn a_word_keeps_its_parts() {
        let w = SlotWord::new(0xdead_beef, 1514, flags::MOREFRAG | flags::BUF_CHANGED);
        assert_eq!((w.buf_idx(), w.len(), w.flags()), (0xdead_beef, 1514, 0x21));
        assert_eq!(w.with_buf(7).buf_idx(), 7);
        assert_eq!(w.with_buf(7).len(), 1514);
        assert_eq!(w.with_flags(2).flags(), 2);
        assert_eq!(w.with_flags(2).buf_idx(), 0xdead_beef);
    }
    #[test]
    fn metadata_survives_its_words() {
        let m = Meta {
            flags: 1,
            gso_type: 4,
            hdr_len: 74,
            gso_size: 1448,
            csum_start: 54,
            csum_offset: 16,
            vlan_tci: 100,
            hash: 0x1234_5678,
        };
        assert_eq!(Meta::from_words(m.to_words()), m);
    }
}
