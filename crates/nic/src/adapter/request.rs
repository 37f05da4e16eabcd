//! What a frame that is to be sent asks for, whether it may, and doing it.

use super::count::Count;
use super::settings::ViSettings;
use crate::flags::Flags;
use linerate_offload::{
    Frames, Headers, SegmentError, Segments, Sink, TAG_LEN, Version, closed, header_len, requested, tag_inserted,
};
use linerate_port::SlotWriter;
use linerate_ring::{Meta, TxRing};
use linerate_sum::{Sum, copy_and_sum};

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: usize = 14;
/// Bytes of the two addresses, behind which a tag stands.
const ADDRESSES: usize = 12;
/// The longest template of headers, and a tag.
const TEMPLATE: usize = linerate_offload::MAX_HEADER + TAG_LEN;

/// virtio's kinds of segmentation.
pub(super) const TCP_V4: u8 = 1;
pub(super) const TCP_V6: u8 = 4;
pub(super) const UDP_L4: u8 = 5;

/// A frame to be sent: its bytes, and what it asks for.
pub(super) struct Request<'a> {
    head: &'a [u8],
    body: &'a [&'a [u8]],
    /// Bytes of the body.
    body_len: usize,
    meta: Meta,
    tag: Option<u16>,
    /// Bytes of the frame, its tag included.
    pub(super) len: usize,
}

/// How it is to be done.
pub(super) enum Plan {
    /// As one frame, which carries this for the port to do.
    Frame { slots: u32, hand_down: Option<Meta> },
    /// As segments.
    Segments { slots: u32, frames: u64, bytes: u64, wire: u64 },
}

impl<'a> Request<'a> {
    pub(super) fn new(head: &'a [u8], body: &'a [&'a [u8]], meta: Meta) -> Self {
        let tag = (meta.vlan_tci != 0).then_some(meta.vlan_tci);
        let body_len = body.iter().map(|piece| piece.len()).sum::<usize>();
        let len = head.len() + body_len + if tag.is_some() { TAG_LEN } else { 0 };
        Self { head, body, body_len, meta, tag, len }
    }

    fn needs_sum(&self) -> bool {
        self.meta.flags & Meta::NEEDS_CSUM != 0
    }

    /// What is to be done, or why it never will. `largest`: of the frames that the port carries. `down`: whether it
    /// completes checksums, and whether it segments this kind.
    pub(super) fn plan(&self, vi: &ViSettings, ring: &TxRing, largest: usize, down: [bool; 2]) -> Result<Plan, Count> {
        if !vi.up {
            return Err(Count::TxDown);
        }
        if self.len < ETHERNET || (self.tag.is_some() && self.head.len() < ADDRESSES) {
            return Err(Count::TxTooShort);
        }
        if self.needs_sum() {
            let start = usize::from(self.meta.csum_start);
            let field = start + usize::from(self.meta.csum_offset);
            // A tag goes in between the Ethernet header's bytes: no checksum covers those.
            if start < ETHERNET || field + 2 > self.head.len() + self.body_len {
                return Err(Count::TxBadRequest);
            }
        }
        self.allowed(vi)?;
        if self.meta.gso_type != 0 {
            return self.plan_segments(vi, ring, largest, down[1]);
        }
        if self.len > largest.min(vi.mtu + ETHERNET + self.tag_room(vi)) {
            return Err(Count::TxTooLong);
        }
        let slots = SlotWriter::slots(ring, self.len).ok_or(Count::TxTooLong)?;
        Ok(Plan::Frame { slots, hand_down: (self.needs_sum() && down[0]).then(|| self.handed_down()) })
    }

    /// Bytes that a tagged frame may have beyond the MTU.
    fn tag_room(&self, vi: &ViSettings) -> usize {
        let tagged = self.tag.is_some() || self.tagged_inside();
        if tagged && vi.flags.enabled().contains(Flags::VLAN_MTU) { TAG_LEN } else { 0 }
    }

    fn tagged_inside(&self) -> bool {
        matches!(self.head.get(ADDRESSES..ADDRESSES + 2), Some([0x81, 0x00] | [0x88, 0xa8]))
    }

    /// True if the flags allow it.
    fn allowed(&self, vi: &ViSettings) -> Result<(), Count> {
        let on = |flag| vi.flags.enabled().contains(flag);
        let tagged = self.tag.is_some() || self.tagged_inside();
        let mut fine = self.tag.is_none() || on(Flags::VLAN_HWTAGGING);
        if self.needs_sum() || self.meta.gso_type == UDP_L4 {
            let headers = Headers::parse(self.head, usize::MAX);
            let v6 = headers.and_then(|headers| headers.ip).is_some_and(|ip| ip.version == Version::V6);
            fine &= if v6 { vi.on_v6(Flags::TXCSUM, Flags::TXCSUM_IPV6) } else { on(Flags::TXCSUM) };
            fine &= !tagged || on(Flags::VLAN_HWCSUM);
        }
        match self.meta.gso_type {
            0 => {}
            TCP_V4 => fine &= on(Flags::TSO4),
            TCP_V6 => fine &= on(Flags::TSO6),
            UDP_L4 => {}
            _ => return Err(Count::TxBadRequest),
        }
        fine &= self.meta.gso_type == 0 || !tagged || on(Flags::VLAN_HWTSO);
        if fine { Ok(()) } else { Err(Count::TxOffloadOff) }
    }

    /// The request as the port gets it, with the tag in the frame.
    fn handed_down(&self) -> Meta {
        let asked = if self.tag.is_some() { tag_inserted(self.meta) } else { self.meta };
        Meta { vlan_tci: 0, hash: 0, ..asked }
    }

    fn plan_segments(&self, vi: &ViSettings, ring: &TxRing, largest: usize, down: bool) -> Result<Plan, Count> {
        let headers = header_len(self.head).map_err(|_| Count::TxBadRequest)?;
        let mss = usize::from(self.meta.gso_size);
        let payload = (self.head.len() + self.body_len).saturating_sub(headers);
        let headers = headers + self.len - self.head.len() - self.body_len;
        if mss == 0 || payload == 0 {
            return Err(Count::TxBadRequest);
        }
        if headers + mss.min(payload) > largest.min(vi.mtu + ETHERNET + self.tag_room(vi)) {
            return Err(Count::TxTooLong);
        }
        if down {
            let slots = SlotWriter::slots(ring, self.len).ok_or(Count::TxTooLong)?;
            return Ok(Plan::Frame { slots, hand_down: Some(self.handed_down()) });
        }
        let full = (payload - 1) / mss;
        let last = payload - full * mss;
        let of = |len: usize| SlotWriter::slots(ring, headers + len).ok_or(Count::TxTooLong);
        let n = u32::try_from(full).map_err(|_| Count::TxTooLong)?;
        let slots = n.saturating_mul(of(mss.min(payload))?).saturating_add(of(last)?);
        if slots >= ring.slots() {
            return Err(Count::TxTooLong);
        }
        let frames = full as u64 + 1;
        let wire = full as u64 * super::cap::on_the_wire(headers + mss) + super::cap::on_the_wire(headers + last);
        Ok(Plan::Segments { slots, frames, bytes: frames * headers as u64 + payload as u64, wire })
    }

    /// The bytes before the rest of `head`: with a tag, the addresses and it.
    fn front(&self) -> ([u8; ADDRESSES + TAG_LEN], usize, &'a [u8]) {
        let mut front = [0; ADDRESSES + TAG_LEN];
        let Some(tag) = self.tag else { return (front, 0, self.head) };
        let (addresses, rest) = self.head.split_at(ADDRESSES.min(self.head.len()));
        front[..addresses.len()].copy_from_slice(addresses);
        front[12..14].copy_from_slice(&[0x81, 0x00]);
        front[14..].copy_from_slice(&tag.to_be_bytes());
        (front, ADDRESSES + TAG_LEN, rest)
    }

    /// Writes it as one frame; gives whether a checksum was filled in.
    pub(super) fn write(&self, ring: &mut TxRing, slots: u32, hand_down: Option<Meta>) -> bool {
        let mut writer = SlotWriter::new(ring, slots);
        let (front, n, rest) = self.front();
        let fill = self.needs_sum() && hand_down.is_none();
        if !(fill && slots == 1 && self.write_summed(&mut writer, &front[..n], rest)) {
            writer.put(0, &front[..n]);
            writer.put(n, rest);
            let mut at = n + rest.len();
            for piece in self.body {
                writer.put(at, piece);
                at += piece.len();
            }
            if fill {
                writer.put(self.field(), &requested(self.head, self.body, &self.meta));
            }
        }
        writer.end(self.len, hand_down);
        writer.commit();
        fill
    }

    /// Where the checksum stands in the frame as it is sent.
    fn field(&self) -> usize {
        let tag = self.len - self.head.len() - self.body_len;
        usize::from(self.meta.csum_start) + usize::from(self.meta.csum_offset) + tag
    }

    /// Writes the frame into one slot, reading the payload once; false, and nothing done, if it cannot be so.
    fn write_summed(&self, writer: &mut SlotWriter<'_>, front: &[u8], rest: &[u8]) -> bool {
        let Some(covered) = self.head.get(usize::from(self.meta.csum_start)..) else { return false };
        let written = writer.with_first(|to| {
            let mut at = front.len() + rest.len();
            to[..front.len()].copy_from_slice(front);
            to[front.len()..at].copy_from_slice(rest);
            let mut sum = Sum::new();
            sum.add_bytes(covered);
            for piece in self.body {
                sum.add_sum(copy_and_sum(&mut to[at..at + piece.len()], piece));
                at += piece.len();
            }
            let field = self.field();
            to[field..field + 2].copy_from_slice(&closed(sum));
        });
        written.is_some()
    }

    /// Writes it as segments.
    pub(super) fn write_segments(&self, ring: &mut TxRing, slots: u32) -> Result<(), SegmentError> {
        let (front, n, rest) = self.front();
        let headers = header_len(self.head)?;
        if headers + TAG_LEN > TEMPLATE {
            return Err(SegmentError::Header(headers));
        }
        let mut template = [0; TEMPLATE];
        let rest_headers = headers - (self.head.len() - rest.len());
        template[..n].copy_from_slice(&front[..n]);
        template[n..n + rest_headers].copy_from_slice(&rest[..rest_headers]);
        let payload: Vec<&[u8]>;
        let payload = if self.head.len() == headers {
            self.body
        } else {
            payload = std::iter::once(&self.head[headers..]).chain(self.body.iter().copied()).collect();
            &payload
        };
        let mut segments = Segments::from_meta(&template[..n + rest_headers], payload, &self.meta)?;
        let mut writer = SlotWriter::new(ring, slots);
        while let Some(len) = segments.write_next(&mut writer) {
            writer.end(len, None);
        }
        debug_assert_eq!(segments.remaining(), 0);
        writer.commit();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::AdapterFlags;
    use linerate_ring::{Region, RegionConfig, Sharing};
    use linerate_wire::Priority;

    fn interface() -> ViSettings {
        ViSettings {
            up: true,
            mac: [2; 6],
            ethertypes: Vec::new(),
            addresses: Vec::new(),
            promiscuous: false,
            all_multicast: false,
            vlans: Vec::new(),
            mtu: 1500,
            flags: AdapterFlags::new(Flags(u32::MAX)),
            rate: None,
            priority: Priority::default(),
            weight: 1,
            rss: None,
            steering: None,
        }
    }

    fn ring(buf_size: u32) -> TxRing {
        let ring_bytes = Region::ring_room(256);
        let config = RegionConfig { buf_size, buffers: 256, ring_bytes, sharing: Sharing::Private, huge: false };
        TxRing::new(&Region::new(&config).unwrap(), 0, 256).unwrap()
    }

    /// Ethernet, IPv4 and TCP without options.
    fn tcp() -> [u8; 54] {
        let mut head = [0; 54];
        head[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        head[23] = 6;
        head[46] = 0x50;
        head
    }

    /// The tag is in the frame by then, and what was said of places behind it counts it.
    #[test]
    fn what_is_handed_down_is_of_the_frame_as_it_leaves() {
        let asked = Meta { flags: Meta::NEEDS_CSUM, csum_start: 34, csum_offset: 16, hash: 7, ..Meta::default() };
        let asked = Meta { gso_type: TCP_V4, gso_size: 1000, hdr_len: 54, ..asked };
        let down = |vlan_tci| Request::new(&tcp(), &[], Meta { vlan_tci, ..asked }).handed_down();
        assert_eq!(down(0), Meta { hash: 0, ..asked });
        assert_eq!(down(5), Meta { hash: 0, csum_start: 38, hdr_len: 58, ..asked });
    }

    /// Slots, frames, bytes, and bytes on the wire with 24 of framing a frame and at least 84 of each.
    #[test]
    fn segments_are_counted_as_they_will_leave() {
        let (head, body) = (tcp(), [7; 64_000]);
        for (buf_size, payload, size, tag, slots, wire) in [
            (2048, 2500, 1000, 0, 3, 2 * 1078 + 578),
            (2048, 2000, 1000, 0, 2, 2 * 1078),
            (2048, 1001, 1000, 5, 2, 1082 + 84),
            (512, 2500, 1000, 0, 5 + 5 + 3, 2 * 1078 + 578),
            (2048, 1, 1000, 0, 1, 84),
        ] {
            let asked =
                Meta { flags: Meta::NEEDS_CSUM, csum_start: 34, csum_offset: 16, gso_type: TCP_V4, ..Meta::default() };
            let asked = Meta { gso_size: size, vlan_tci: tag, ..asked };
            let pieces = [&body[..payload]];
            let request = Request::new(&head, &pieces, asked);
            let plan = request.plan(&interface(), &ring(buf_size), 1518, [false; 2]);
            let Ok(Plan::Segments { slots: took, frames, bytes, wire: sent }) = plan else { panic!("{payload}") };
            let n = payload.div_ceil(size.into()) as u64;
            let headers = if tag == 0 { 54 } else { 58 };
            assert_eq!((took, frames, bytes, sent), (slots, n, n * headers + payload as u64, wire), "{payload} {size}");
        }
    }
}
