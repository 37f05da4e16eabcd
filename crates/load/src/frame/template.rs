//! Common part of all frames of a stream, and the headers for each length.

use super::flow::Flow;
use super::mark::Mark;
use linerate_wire::{
    EtherType, EthernetRepr, IpProtocol, Ipv4Repr, Ipv6Repr, MacAddr, UdpDatagram, UdpRepr, pseudo_header_v4,
    pseudo_header_v6,
};
use std::net::IpAddr;
use std::sync::LazyLock;

/// Longest frame, virtio-net header included.
const LONGEST: usize = 65536 + 12;
/// Space for the longest headers and the stream's number: 12 + 14 + 40 + 8 + 2, rounded up to whole cache lines.
const HEAD: usize = 128;
/// TOS "low delay", as netmap sets it.
const TOS: u8 = 0x10;

/// Byte at each position behind the mark, counted from the Ethernet header. Neighbours differ, and so do positions a
/// power of two apart, so that shifted and swapped pieces are found.
static PATTERN: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let byte = |i: usize| u8::try_from((i * 167 + (i >> 6) * 29 + (i >> 11) * 71 + 13) & 0xff).unwrap_or(0);
    (0..LONGEST).map(byte).collect()
});

/// The pattern, as long as the longest frame.
#[must_use]
pub fn pattern() -> &'static [u8] {
    &PATTERN
}

/// Offsets of the parts of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Bytes of virtio-net header before the Ethernet header.
    pub vnet: usize,
    pub v6: bool,
}

impl Layout {
    #[must_use]
    pub const fn ip(self) -> usize {
        self.vnet + 14
    }

    #[must_use]
    pub const fn udp(self) -> usize {
        self.ip() + if self.v6 { 40 } else { 20 }
    }

    /// Offset of the mark, which begins with the stream's number.
    #[must_use]
    pub const fn mark(self) -> usize {
        self.udp() + 8
    }

    /// Offset of the mark's two words.
    #[must_use]
    pub const fn words(self) -> usize {
        self.mark() + 2
    }

    /// Offset behind the mark; a shorter frame has none.
    #[must_use]
    pub const fn end(self) -> usize {
        self.words() + 16
    }

    /// Offset behind the time-stamp; a shorter frame has none.
    #[must_use]
    pub const fn stamp_end(self) -> usize {
        self.end() + 16
    }

    /// Offset of the addresses in the IP header, and length of one address.
    pub(super) const fn addresses(self) -> (usize, usize) {
        if self.v6 { (self.ip() + 8, 16) } else { (self.ip() + 12, 4) }
    }
}

/// Contents behind the UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The mark, and the pattern.
    Marked,
    /// The mark, a time-stamp, and the pattern.
    Stamped,
    /// A sequence of 32 bits, as netmap's `txseq` writes it, over the beginning of the pattern.
    Numbered,
}

/// Common part of all frames of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub layout: Layout,
    pub src_mac: [u8; 6],
    pub dst_mac: [u8; 6],
    pub stream: u16,
    /// Contents behind the UDP header, as far as there is room.
    pub payload: Payload,
}

impl Template {
    /// True if frames of this length carry the mark.
    #[must_use]
    pub fn marks(&self, len: usize) -> bool {
        self.payload != Payload::Numbered && len >= self.layout.end()
    }

    /// True if frames of this length carry a time-stamp.
    #[must_use]
    pub fn stamps(&self, len: usize) -> bool {
        self.payload == Payload::Stamped && len >= self.layout.stamp_end()
    }

    /// Offset of the pattern in frames of this length.
    #[must_use]
    pub fn body(&self, len: usize) -> usize {
        let begin = match (self.stamps(len), self.marks(len)) {
            (true, _) => self.layout.stamp_end(),
            (_, true) => self.layout.end(),
            _ => self.layout.mark(),
        };
        begin.min(len)
    }

    /// A whole frame of `len` bytes; if that is too short for the headers, their beginning.
    #[must_use]
    pub fn frame(&self, len: usize, flow: &Flow, run: u16, sequence: u64, stamp: u64) -> Vec<u8> {
        let layout = self.layout;
        let whole = len.max(layout.mark());
        let mut bytes = vec![0; layout.vnet];
        bytes.extend_from_slice(&pattern()[..whole - layout.vnet]);
        if self.marks(len) {
            bytes[layout.mark()..layout.words()].copy_from_slice(&self.stream.to_be_bytes());
            bytes[layout.words()..layout.end()].copy_from_slice(&Mark::bytes(Mark::word(run, sequence)));
        }
        if self.stamps(len) {
            bytes[layout.end()..layout.stamp_end()].copy_from_slice(&Mark::bytes(stamp));
        }
        self.emit(&mut bytes[layout.vnet..], flow).expect("the buffer holds the headers and IP's longest payload");
        bytes.truncate(len);
        bytes
    }

    /// Writes netmap's sequence into a whole frame, and updates the checksum (RFC 1624).
    pub(crate) fn number(&self, frame: &mut [u8], sequence: u64) {
        let (at, csum) = (self.layout.mark(), self.layout.udp() + 6);
        if self.payload != Payload::Numbered || frame.len() < at + 4 {
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "netmap's sequence has 32 bits and wraps")]
        let number = (sequence as u32).to_be_bytes();
        let u16_at = |b: &[u8], at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
        let mut sum = u16_at(frame, csum);
        for k in [0, 2] {
            sum = linerate_sum::update(sum, u16_at(frame, at + k), u16_at(&number, k));
        }
        frame[at..at + 4].copy_from_slice(&number);
        frame[csum..csum + 2].copy_from_slice(&(if sum == 0 { 0xffff } else { sum }).to_be_bytes());
    }

    /// Writes the headers before a payload that is already there.
    fn emit(&self, bytes: &mut [u8], flow: &Flow) -> Result<(), linerate_wire::Error> {
        let udp = |payload_len| UdpRepr { src_port: flow.src_port, dst_port: flow.dst_port, payload_len };
        let ethertype = if self.layout.v6 { EtherType::IPV6 } else { EtherType::IPV4 };
        let ethernet = EthernetRepr { dst: MacAddr(self.dst_mac), src: MacAddr(self.src_mac), ethertype };
        let packet = ethernet.emit(bytes)?;
        // UDP and IP lengths have 16 bits: bytes beyond that belong to the frame, but not to the packet.
        let longest = usize::from(u16::MAX);
        match (flow.src, flow.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let payload_len = (packet.len() - 20).min(longest - 20);
                let ip = Ipv4Repr { payload_len, tos: TOS, ..Ipv4Repr::new(src, dst, IpProtocol::UDP) };
                let datagram = ip.emit(packet)?;
                udp(datagram.len() - 8).emit(datagram)?;
                UdpDatagram::new_checked(datagram)?.fill_checksum_v4(src, dst);
            }
            (src, dst) => {
                let (src, dst) = (v6(src), v6(dst));
                let payload_len = (packet.len() - 40).min(longest);
                let datagram = Ipv6Repr { payload_len, ..Ipv6Repr::new(src, dst, IpProtocol::UDP) }.emit(packet)?;
                udp(datagram.len() - 8).emit(datagram)?;
                UdpDatagram::new_checked(datagram)?.fill_checksum_v6(src, dst);
            }
        }
        Ok(())
    }

    /// Headers of frames of this length, without a flow.
    #[must_use]
    pub fn head(&self, len: usize) -> Head {
        let flow = Flow::none(self.layout.v6);
        let whole = self.frame(len, &flow, 0, 0, 0);
        let layout = self.layout;
        let mut bytes = [0; HEAD];
        let n = len.min(if self.marks(len) { layout.words() } else { layout.mark() });
        bytes[..n].copy_from_slice(&whole[..n]);
        let rest = |at: usize| !u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let (ip_rest, udp_rest) = (rest(layout.ip() + 10), rest(layout.udp() + 6));
        Head { bytes, n, len, layout, ip_rest, udp_rest }
    }

    /// Template that a frame was made from, and its flow, if the frame is one of ours and whole. Fields that neither
    /// checksums nor the pattern cover (the MAC addresses) are taken unchecked.
    #[must_use]
    pub fn learn(frame: &[u8], layout: Layout) -> Option<(Self, Flow)> {
        let mark = Mark::of(frame, layout)?;
        let flow = Flow::of(frame, layout)?;
        let mac = |at: usize| frame[layout.vnet + at..layout.vnet + at + 6].try_into().unwrap_or([0; 6]);
        let (src_mac, dst_mac) = (mac(6), mac(0));
        [Payload::Marked, Payload::Stamped].into_iter().find_map(|payload| {
            let template = Self { layout, src_mac, dst_mac, stream: mark.stream, payload };
            let stamp = if template.stamps(frame.len()) { Mark::word_at(frame, layout.end())? } else { 0 };
            let same = template.frame(frame.len(), &flow, mark.run, mark.sequence, stamp) == frame;
            same.then_some((template, flow))
        })
    }
}

fn v6(addr: IpAddr) -> std::net::Ipv6Addr {
    match addr {
        IpAddr::V4(addr) => addr.to_ipv6_mapped(),
        IpAddr::V6(addr) => addr,
    }
}

/// Headers of frames of one length: all before the mark's words. [`Head::with`] inserts addresses and ports, and
/// updates the checksums without reading the payload (RFC 1624).
#[derive(Clone, Debug)]
pub struct Head {
    bytes: [u8; HEAD],
    n: usize,
    len: usize,
    layout: Layout,
    /// Sums of all that the checksums cover except the flow.
    ip_rest: u16,
    udp_rest: u16,
}

impl Head {
    /// Length of the frames that this is the head of.
    #[inline]
    #[must_use]
    pub fn frame_len(&self) -> usize {
        self.len
    }

    /// The header bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.n]
    }

    /// Copy of the head with a flow.
    #[must_use]
    pub fn with(&self, flow: &Flow) -> Self {
        let mut head = self.clone();
        head.set(flow);
        head
    }

    /// Inserts a flow. The checksums are those of this flow, whichever flow was there before.
    pub fn set(&mut self, flow: &Flow) {
        let layout = self.layout;
        let (addresses, each) = layout.addresses();
        let mut sum = match (flow.src, flow.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                self.bytes[addresses..addresses + 4].copy_from_slice(&src.octets());
                self.bytes[addresses + each..addresses + 2 * each].copy_from_slice(&dst.octets());
                pseudo_header_v4(src, dst, IpProtocol(0), 0)
            }
            (src, dst) => {
                let (src, dst) = (v6(src), v6(dst));
                self.bytes[addresses..addresses + 16].copy_from_slice(&src.octets());
                self.bytes[addresses + each..addresses + 2 * each].copy_from_slice(&dst.octets());
                pseudo_header_v6(src, dst, IpProtocol(0), 0)
            }
        };
        let mut put = |at: usize, value: u16| self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        if !layout.v6 {
            let mut ip = sum;
            put(layout.ip() + 10, ip.add_u16(self.ip_rest).finish());
        }
        put(layout.udp(), flow.src_port);
        put(layout.udp() + 2, flow.dst_port);
        let udp = sum.add_u16(flow.src_port).add_u16(flow.dst_port).add_u16(self.udp_rest).finish();
        // A sum of zero is sent as its equal, all ones: zero means no checksum (RFC 768).
        put(layout.udp() + 6, if udp == 0 { 0xffff } else { udp });
    }
}

/// Number of lengths that [`Heads`] keeps at a time.
const KEPT: usize = 2048;

/// Heads of a template by length, made when they are first needed.
#[derive(Clone, Debug)]
pub struct Heads {
    template: Template,
    kept: Vec<Option<Box<Head>>>,
}

impl Heads {
    #[must_use]
    pub fn new(template: Template) -> Self {
        Self { template, kept: vec![None; KEPT] }
    }

    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Head of frames of this length.
    #[inline]
    pub fn of(&mut self, len: usize) -> &mut Head {
        let entry = &mut self.kept[len % KEPT];
        if entry.as_ref().is_none_or(|head| head.len != len) {
            *entry = Some(Box::new(self.template.head(len)));
        }
        entry.as_mut().expect("it was just put there")
    }
}
