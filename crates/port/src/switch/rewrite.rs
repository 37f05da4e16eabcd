//! One frame gathered from its slots, and the changes for its output: its tag, a checksum left open.

use super::vlan::Leave;
use crate::finish::tag_inside;
use linerate_offload::{TAG_LEN, insert_tag, tag_inserted, tag_stripped};
use linerate_ring::{Frame, Meta};
use linerate_wire::{EtherType, VlanTag};

/// Offset of a tag in a frame.
const TAG: usize = 12;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// A frame gathered from its slots.
#[derive(Default)]
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    /// Metadata of its first slot.
    pub(super) meta: Option<Meta>,
    /// The frame is longer than any frame may be; its rest was not kept.
    pub(super) too_long: bool,
}

impl Whole {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.meta, self.too_long) = (None, false);
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends one part, unless the frame then has more bytes than `most`.
    pub(super) fn add(&mut self, part: &Frame<'_>, most: usize) {
        let at = self.bytes.len();
        if at + part.len() > most {
            self.too_long = true;
            return;
        }
        self.bytes.resize(at + part.len(), 0);
        let whole = part.read(0, &mut self.bytes[at..]);
        debug_assert!(whole, "its own length");
    }

    /// The first 16 bytes as two numbers; None if the frame is shorter than an Ethernet header.
    pub(super) fn head(&self) -> Option<(u64, u64)> {
        if self.bytes.len() < ETHERNET {
            return None;
        }
        let mut head = [0; 16];
        let n = self.bytes.len().min(16);
        head[..n].copy_from_slice(&self.bytes[..n]);
        let head = u128::from_be_bytes(head);
        Some((u64::try_from(head >> 64).unwrap_or(0), u64::try_from(head & u128::from(u64::MAX)).unwrap_or(0)))
    }

    /// Inserts a tag that came in the metadata into the frame.
    pub(super) fn tag_inside(&mut self) {
        tag_inside(&mut self.bytes, &mut self.meta);
    }
}

/// Inserts a tag. The caller has checked the Ethernet header, so the offset is valid.
fn insert(bytes: &mut Vec<u8>, tci: u16) {
    let len = bytes.len();
    bytes.resize(len + TAG_LEN, 0);
    let inserted = insert_tag(bytes, len, EtherType::VLAN, VlanTag(tci));
    debug_assert_eq!(inserted, Ok(len + TAG_LEN));
}

/// Writes a frame in its outgoing form. `tagged`: it has a tag.
pub fn retag(into: &mut Vec<u8>, bytes: &[u8], meta: &mut Option<Meta>, leave: Leave, tagged: bool) {
    into.clear();
    into.extend_from_slice(bytes);
    match leave {
        Leave::Bare if tagged && bytes.len() >= TAG + TAG_LEN => {
            into.drain(TAG..TAG + TAG_LEN);
            *meta = meta.map(tag_stripped);
        }
        Leave::Tagged(tci) if tagged && bytes.len() >= TAG + TAG_LEN => {
            into[TAG + 2..TAG + 4].copy_from_slice(&tci.to_be_bytes());
        }
        Leave::Tagged(tci) => {
            insert(into, tci);
            *meta = meta.map(tag_inserted);
        }
        Leave::Bare | Leave::AsItCame | Leave::Not => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Vec<u8> {
        (0..60).collect()
    }

    #[test]
    fn tags_come_and_go_without_a_trace() {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let open = Meta { flags: Meta::NEEDS_CSUM, csum_start: 34, csum_offset: 6, ..Meta::default() };
        let mut meta = Some(open);
        retag(&mut there, &frame(), &mut meta, Leave::Tagged(0x600a), false);
        assert_eq!((there.len(), &there[12..16]), (64, &[0x81, 0, 0x60, 0x0a][..]));
        assert_eq!(meta.unwrap().csum_start, 38);
        retag(&mut back, &there, &mut meta, Leave::Bare, true);
        assert_eq!((back, meta), (frame(), Some(open)));
        let mut other = Vec::new();
        retag(&mut other, &there, &mut None, Leave::Tagged(7), true);
        assert_eq!((other.len(), &other[12..16]), (64, &[0x81, 0, 0, 7][..]));
    }

    #[test]
    fn a_tag_beside_the_frame_goes_inside() {
        let meta = Some(Meta { vlan_tci: 0x600a, ..Meta::default() });
        let mut whole = Whole { bytes: frame(), meta, too_long: false };
        whole.tag_inside();
        assert_eq!((&whole.bytes[12..16], whole.meta), (&[0x81, 0, 0x60, 0x0a][..], None));
    }
}
