//! One frame gathered from its slots, and what has to be changed before it leaves: its tag, a checksum left open.

use super::vlan::{Leave, TPID};
use linerate_ring::{Frame, Meta};

/// Where a tag stands.
const TAG: usize = 12;
/// Bytes of a tag.
const TAG_LEN: usize = 4;

/// A frame gathered from its slots.
#[derive(Default)]
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    /// What its first slot said.
    pub(super) meta: Option<Meta>,
    /// It is longer than any frame; the rest of it was not kept.
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

    /// One more part, unless the frame then has more bytes than `most`.
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

    /// The first 16 bytes as two numbers; None if it is shorter than an Ethernet header.
    pub(super) fn head(&self) -> Option<(u64, u64)> {
        if self.bytes.len() < 14 {
            return None;
        }
        let mut head = [0; 16];
        let n = self.bytes.len().min(16);
        head[..n].copy_from_slice(&self.bytes[..n]);
        let head = u128::from_be_bytes(head);
        Some((u64::try_from(head >> 64).unwrap_or(0), u64::try_from(head & u128::from(u64::MAX)).unwrap_or(0)))
    }

    /// A tag that came beside the frame stands in it from now on.
    pub(super) fn tag_inside(&mut self) {
        let Some(meta) = &mut self.meta else { return };
        let tci = std::mem::take(&mut meta.vlan_tci);
        if tci != 0 && self.bytes.len() >= TAG {
            insert(&mut self.bytes, tci);
            shift(meta, true);
        }
        if *meta == Meta::default() {
            self.meta = None;
        }
    }
}

fn insert(bytes: &mut Vec<u8>, tci: u16) {
    let [t0, t1] = TPID.to_be_bytes();
    let [c0, c1] = tci.to_be_bytes();
    bytes.splice(TAG..TAG, [t0, t1, c0, c1]);
}

/// Offsets count from the frame's start, and the headers have become longer or shorter.
fn shift(meta: &mut Meta, longer: bool) {
    const BY: u16 = 4;
    let moved = |at: u16| if longer { at.saturating_add(BY) } else { at.saturating_sub(BY) };
    if meta.flags & Meta::NEEDS_CSUM != 0 {
        meta.csum_start = moved(meta.csum_start);
    }
    if meta.gso_type != 0 {
        meta.hdr_len = moved(meta.hdr_len);
    }
}

/// Writes a frame as it has to leave. `tagged`: it has a tag.
pub(super) fn retag(into: &mut Vec<u8>, bytes: &[u8], meta: &mut Option<Meta>, leave: Leave, tagged: bool) {
    into.clear();
    into.extend_from_slice(bytes);
    match leave {
        Leave::Bare if tagged && bytes.len() >= TAG + TAG_LEN => {
            into.drain(TAG..TAG + TAG_LEN);
            meta.iter_mut().for_each(|meta| shift(meta, false));
        }
        Leave::Tagged(tci) if tagged && bytes.len() >= TAG + TAG_LEN => {
            into[TAG + 2..TAG + 4].copy_from_slice(&tci.to_be_bytes());
        }
        Leave::Tagged(tci) => {
            insert(into, tci);
            meta.iter_mut().for_each(|meta| shift(meta, true));
        }
        Leave::Bare | Leave::AsItCame | Leave::Not => {}
    }
}

/// Fills in the Internet checksum (RFC 1071) that the metadata leaves open, as virtio says it: from `csum_start` to the
/// end, the pseudo header's sum being there already. What lies outside the frame is left alone.
pub(super) fn fill_checksum(bytes: &mut [u8], meta: Meta) {
    let from = usize::from(meta.csum_start);
    let at = from + usize::from(meta.csum_offset);
    if at + 2 > bytes.len() {
        return;
    }
    let words = bytes[from..].chunks(2);
    let sum: u64 = words.map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum();
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    let folded = !u16::try_from(sum).unwrap_or(0);
    // UDP's "no checksum" is 0, so a sum of 0 is written as its other form, which is right for TCP as well.
    let folded = if folded == 0 { 0xffff } else { folded };
    bytes[at..at + 2].copy_from_slice(&folded.to_be_bytes());
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

    /// RFC 1071's example sums to ddf2; its complement is 220d.
    #[test]
    fn an_open_checksum_is_filled_in() {
        let mut bytes = vec![0xaa, 0xaa, 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0, 0];
        let meta = Meta { flags: Meta::NEEDS_CSUM, csum_start: 2, csum_offset: 8, ..Meta::default() };
        fill_checksum(&mut bytes, meta);
        assert_eq!(bytes[10..], [0x22, 0x0d]);
        let before = bytes.clone();
        fill_checksum(&mut bytes, Meta { csum_start: u16::MAX, ..meta });
        assert_eq!(bytes, before, "what lies outside is left alone");
    }
}
