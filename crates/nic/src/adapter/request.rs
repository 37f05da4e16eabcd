//! Requests of frames that are to be sent: a checksum, a tag, segmentation. Each is checked, and done or handed down.

use super::cap::on_the_wire;
use super::count::Count;
use super::settings::ViSettings;
use crate::flags::Flags;
use linerate_offload::{
    Frames, GSO_ECN, Headers, MAX_HEADER, Prepared, Segments, Sink, TAG_LEN, Version, closed, requested, tag_inserted,
};
use linerate_port::SlotWriter;
use linerate_ring::{Meta, TxRing};
use linerate_sum::{Sum, copy_and_sum};

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: usize = 14;
/// Bytes of the two addresses, behind which a tag stands.
const ADDRESSES: usize = 12;
/// The longest headers, and a tag.
const TEMPLATE: usize = MAX_HEADER + TAG_LEN;

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

/// Super-frame to be sent: its headers are prepared, its tag among them.
pub(super) struct SuperFrame<'a> {
    headers: &'a Prepared,
    segments: Segments<'a>,
    /// Bytes of the payload, and of each segment's but the last one's.
    payload: usize,
    gso_size: u16,
    /// The adapter puts its tag in.
    tag_inserted: bool,
}

/// Segments of a super-frame.
pub(super) struct Cut {
    pub(super) slots: u32,
    pub(super) frames: u64,
    pub(super) bytes: u64,
    /// Bytes on the wire, framing included.
    pub(super) wire: u64,
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

    /// The kind of segmentation that is asked for; 0 if none.
    pub(super) fn gso_type(&self) -> u8 {
        self.meta.gso_type
    }

    /// Checks that the request names bytes of the frame.
    pub(super) fn check(&self) -> Result<(), Count> {
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
        Ok(())
    }

    /// Checks a frame that is not to be segmented; `largest`: bytes of the longest frame of the port. Gives its slots,
    /// and the request that goes with it to a port that completes checksums.
    pub(super) fn single(
        &self,
        vi: &ViSettings,
        ring: &TxRing,
        largest: usize,
        down: bool,
    ) -> Result<(u32, Option<Meta>), Count> {
        let tagged = self.tag.is_some() || self.tagged_inside();
        self.allowed(vi, tagged)?;
        if self.len > longest(vi, tagged, largest) {
            return Err(Count::TxTooLong);
        }
        let slots = self.slots(ring)?;
        Ok((slots, (self.needs_sum() && down).then(|| self.handed_down())))
    }

    /// Slots of the frame as one.
    pub(super) fn slots(&self, ring: &TxRing) -> Result<u32, Count> {
        SlotWriter::slots(ring, self.len).ok_or(Count::TxTooLong)
    }

    fn tagged_inside(&self) -> bool {
        matches!(self.head.get(ADDRESSES..ADDRESSES + 2), Some([0x81, 0x00] | [0x88, 0xa8]))
    }

    /// Checks that the flags allow what is asked for.
    fn allowed(&self, vi: &ViSettings, tagged: bool) -> Result<(), Count> {
        let on = |flag| vi.flags.enabled().contains(flag);
        let mut fine = self.tag.is_none() || on(Flags::VLAN_HWTAGGING);
        if self.needs_sum() {
            let headers = Headers::parse(self.head, usize::MAX);
            let version = headers.and_then(|headers| headers.ip).map_or(Version::V4, |ip| ip.version);
            fine &= sums(vi, version) && (!tagged || on(Flags::VLAN_HWCSUM));
        }
        if fine { Ok(()) } else { Err(Count::TxOffloadOff) }
    }

    /// The request as the port gets it, with the tag in the frame.
    pub(super) fn handed_down(&self) -> Meta {
        let asked = if self.tag.is_some() { tag_inserted(self.meta) } else { self.meta };
        Meta { vlan_tci: 0, hash: 0, ..asked }
    }

    /// The headers of a super-frame, with the tag that is put in. They are of the kind that the request says.
    pub(super) fn prepare(&self) -> Result<Prepared, Count> {
        let (front, n, rest) = self.front();
        let rest = &rest[..rest.len().min(TEMPLATE - n)];
        let mut frame = [0; TEMPLATE];
        frame[..n].copy_from_slice(&front[..n]);
        frame[n..n + rest.len()].copy_from_slice(rest);
        let headers = Prepared::of_frame(&frame[..n + rest.len()]).map_err(|_| Count::TxBadRequest)?;
        // That the first segment alone has CWR, its headers say themselves.
        if headers.gso_type() == self.meta.gso_type & !GSO_ECN { Ok(headers) } else { Err(Count::TxBadRequest) }
    }

    /// Calls `send` with the super-frame that this is, of which the headers are prepared.
    pub(super) fn with_super_frame<T>(&self, headers: &Prepared, send: impl FnOnce(Option<SuperFrame<'_>>) -> T) -> T {
        let inside = headers.header_len() - if self.tag.is_some() { TAG_LEN } else { 0 };
        let frame = |payload| SuperFrame::new(headers, payload, self.meta.gso_size, self.tag.is_some());
        if self.head.len() == inside {
            return send(frame(self.body));
        }
        let payload: Vec<&[u8]> = std::iter::once(&self.head[inside..]).chain(self.body.iter().copied()).collect();
        send(frame(&payload))
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
            to[field..field + 2].copy_from_slice(&closed(sum, self.meta.csum_offset));
        });
        written.is_some()
    }
}

impl<'a> SuperFrame<'a> {
    /// None if there is nothing to send, or too much for a request, or if segments of that size cannot be.
    pub(super) fn new(
        headers: &'a Prepared,
        payload: &'a [&'a [u8]],
        gso_size: u16,
        tag_inserted: bool,
    ) -> Option<Self> {
        let segments = Segments::over(headers, payload, gso_size).ok()?;
        let payload = payload.iter().map(|piece| piece.len()).sum();
        Some(Self { headers, segments, payload, gso_size, tag_inserted })
    }

    /// Checks that the interface may send it; `largest`: bytes of the longest frame of the port.
    pub(super) fn check(&self, vi: &ViSettings, largest: usize) -> Result<(), Count> {
        self.allowed(vi)?;
        let first = self.headers.header_len() + usize::from(self.gso_size).min(self.payload);
        if first > longest(vi, self.headers.is_tagged(), largest) { Err(Count::TxTooLong) } else { Ok(()) }
    }

    /// Headers and request for a port that segments it; None if no IP packet holds it as it is.
    pub(super) fn whole(&self) -> Option<([u8; MAX_HEADER], Meta)> {
        self.headers.super_frame(self.payload, self.gso_size)
    }

    /// The segments that it becomes, in the slots of a ring.
    pub(super) fn cut(&self, ring: &TxRing) -> Result<Cut, Count> {
        let (headers, size) = (self.headers.header_len(), usize::from(self.gso_size));
        let full = (self.payload - 1) / size;
        let last = self.payload - full * size;
        let of = |len: usize| SlotWriter::slots(ring, headers + len).ok_or(Count::TxTooLong);
        let n = u32::try_from(full).map_err(|_| Count::TxTooLong)?;
        let slots = n.saturating_mul(of(size.min(self.payload))?).saturating_add(of(last)?);
        if slots >= ring.slots() {
            return Err(Count::TxTooLong);
        }
        let frames = full as u64 + 1;
        let wire = full as u64 * on_the_wire(headers + size) + on_the_wire(headers + last);
        Ok(Cut { slots, frames, bytes: frames * headers as u64 + self.payload as u64, wire })
    }

    /// Checks that the flags allow it.
    fn allowed(&self, vi: &ViSettings) -> Result<(), Count> {
        let on = |flag| vi.flags.enabled().contains(flag);
        let segments = match self.headers.gso_type() {
            TCP_V4 => on(Flags::TSO4),
            TCP_V6 => on(Flags::TSO6),
            _ => true,
        };
        let tag = !self.headers.is_tagged() || (on(Flags::VLAN_HWCSUM) && on(Flags::VLAN_HWTSO));
        let insertion = !self.tag_inserted || on(Flags::VLAN_HWTAGGING);
        if segments && tag && insertion && sums(vi, self.headers.version()) { Ok(()) } else { Err(Count::TxOffloadOff) }
    }

    /// Writes it as segments into so many slots.
    pub(super) fn write(mut self, ring: &mut TxRing, slots: u32) {
        let mut writer = SlotWriter::new(ring, slots);
        while let Some(len) = self.segments.write_next(&mut writer) {
            writer.end(len, None);
        }
        debug_assert_eq!(self.segments.remaining(), 0);
        writer.commit();
    }
}

/// True if an interface's flags let checksums be left to it, above this version of IP.
fn sums(vi: &ViSettings, version: Version) -> bool {
    match version {
        Version::V4 => vi.flags.enabled().contains(Flags::TXCSUM),
        Version::V6 => vi.on_v6(Flags::TXCSUM, Flags::TXCSUM_IPV6),
    }
}

/// Bytes of the longest frame of an interface. A tagged one may be a tag longer.
fn longest(vi: &ViSettings, tagged: bool, largest: usize) -> usize {
    let tag = if tagged && vi.flags.enabled().contains(Flags::VLAN_MTU) { TAG_LEN } else { 0 };
    largest.min(vi.mtu + ETHERNET + tag)
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
            let headers = request.prepare().unwrap();
            let cut = request.with_super_frame(&headers, |frame| {
                let frame = frame.unwrap();
                frame.check(&interface(), 1518).and_then(|()| frame.cut(&ring(buf_size)))
            });
            let Ok(Cut { slots: took, frames, bytes, wire: sent }) = cut else { panic!("{payload}") };
            let n = payload.div_ceil(size.into()) as u64;
            let headers = if tag == 0 { 54 } else { 58 };
            assert_eq!((took, frames, bytes, sent), (slots, n, n * headers + payload as u64, wire), "{payload} {size}");
        }
    }
}
