//! Frames made byte by byte, right ones and wrong ones. They owe nothing to the code under test: lengths and checksums
//! are computed here, and each can be given another value.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) type Mac = [u8; 6];

pub(crate) const BROADCAST: Mac = [0xff; 6];
pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const ARP: u16 = 0x0806;
pub(crate) const VLAN: u16 = 0x8100;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const ICMP: u8 = 1;
pub(crate) const UDP: u8 = 17;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const ICMPV6: u8 = 58;
pub(crate) const NO_NEXT: u8 = 59;
pub(crate) const OPTIONS: u8 = 60;

/// Length as it stands in a field of 16 bits; longer ones lose their upper bits, as they would on the wire.
pub(crate) fn len16(len: usize) -> [u8; 2] {
    let [.., a, b] = len.to_be_bytes();
    [a, b]
}

fn len8(len: usize) -> u8 {
    len16(len)[1]
}

/// The Internet checksum (RFC 1071) over parts of which all but the last have an even length.
pub(crate) fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    let [.., a, b] = (!sum).to_be_bytes();
    [a, b]
}

/// The pseudo-header of a payload's checksum (RFC 768; RFC 8200, section 8.1).
pub(crate) fn pseudo(from: IpAddr, to: IpAddr, protocol: u8, len: usize) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => [&from.octets()[..], &to.octets(), &[0, protocol], &len16(len)].concat(),
        (from, to) => [&octets(from)[..], &octets(to), &[0, 0], &len16(len), &[0, 0, 0, protocol]].concat(),
    }
}

pub(crate) fn octets(addr: IpAddr) -> Vec<u8> {
    match addr {
        IpAddr::V4(addr) => addr.octets().to_vec(),
        IpAddr::V6(addr) => addr.octets().to_vec(),
    }
}

// ---- Ethernet ----

pub(crate) fn ethernet(to: Mac, from: Mac, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&to[..], &from, &ethertype.to_be_bytes(), payload].concat()
}

/// The frame with a VLAN tag of this type and value before its Ethertype.
pub(crate) fn tagged(frame: &[u8], tpid: u16, tci: u16) -> Vec<u8> {
    [&frame[..12], &tpid.to_be_bytes(), &tci.to_be_bytes(), &frame[12..]].concat()
}

/// The frame with bytes behind its end.
pub(crate) fn padded(mut frame: Vec<u8>, len: usize, with: u8) -> Vec<u8> {
    frame.resize(len.max(frame.len()), with);
    frame
}

/// The frame cut short.
pub(crate) fn cut(mut frame: Vec<u8>, len: usize) -> Vec<u8> {
    assert!(len < frame.len(), "nothing is cut off");
    frame.truncate(len);
    frame
}

// ---- IPv4 ----

/// Header of an IPv4 packet (RFC 791, section 3.1).
#[derive(Clone, Debug)]
pub(crate) struct V4 {
    pub(crate) from: Ipv4Addr,
    pub(crate) to: Ipv4Addr,
    pub(crate) protocol: u8,
    pub(crate) tos: u8,
    pub(crate) ttl: u8,
    pub(crate) ident: u16,
    /// Flags and offset: DF is 0x4000, MF 0x2000, the rest in units of 8.
    pub(crate) place: u16,
    pub(crate) options: Vec<u8>,
    /// Version and header length, total length, checksum: others than the right ones.
    pub(crate) version: Option<u8>,
    pub(crate) total: Option<u16>,
    pub(crate) checksum: Option<u16>,
}

impl V4 {
    pub(crate) fn new(from: Ipv4Addr, to: Ipv4Addr, protocol: u8) -> Self {
        let (tos, ttl, ident, place, options) = (0, 64, 0x4242, 0, Vec::new());
        Self { from, to, protocol, tos, ttl, ident, place, options, version: None, total: None, checksum: None }
    }

    /// The packet with a payload.
    pub(crate) fn with(&self, payload: &[u8]) -> Vec<u8> {
        let header = 20 + self.options.len();
        assert!(header.is_multiple_of(4), "options are padded by who gives them");
        let total = self.total.map_or(len16(header + payload.len()), u16::to_be_bytes);
        let mut packet = vec![self.version.unwrap_or(0x40 | len8(header / 4)), self.tos, total[0], total[1]];
        packet.extend(self.ident.to_be_bytes());
        packet.extend(self.place.to_be_bytes());
        packet.extend([self.ttl, self.protocol, 0, 0]);
        packet.extend(self.from.octets());
        packet.extend(self.to.octets());
        packet.extend(&self.options);
        let sum = self.checksum.map_or(checksum(&[&packet]), u16::to_be_bytes);
        packet[10..12].copy_from_slice(&sum);
        packet.extend(payload);
        packet
    }

    /// A fragment: `piece` at `offset`, with others behind it if `more`.
    pub(crate) fn fragment(&self, offset: usize, piece: &[u8], more: bool) -> Vec<u8> {
        assert!(offset.is_multiple_of(8) && offset < 65536);
        let place = u16::from_be_bytes(len16(offset / 8)) | if more { 0x2000 } else { 0 };
        Self { place, ..self.clone() }.with(piece)
    }

    /// Fragments of `size` bytes each.
    pub(crate) fn fragments(&self, payload: &[u8], size: usize) -> Vec<Vec<u8>> {
        let last = payload.len().div_ceil(size) - 1;
        let pieces = payload.chunks(size).enumerate();
        pieces.map(|(i, piece)| self.fragment(i * size, piece, i < last)).collect()
    }
}

// ---- IPv6 ----

/// Header of an IPv6 packet (RFC 8200, section 3), and its extension headers.
#[derive(Clone, Debug)]
pub(crate) struct V6 {
    pub(crate) from: Ipv6Addr,
    pub(crate) to: Ipv6Addr,
    pub(crate) hops: u8,
    /// Traffic class and flow label.
    pub(crate) class: u32,
    /// Extension headers: the kind of each, and its bytes, in which the first is replaced by the next one's kind.
    pub(crate) chain: Vec<(u8, Vec<u8>)>,
    pub(crate) protocol: u8,
    /// Version and payload length: others than the right ones.
    pub(crate) version: Option<u8>,
    pub(crate) len: Option<u16>,
}

impl V6 {
    pub(crate) fn new(from: Ipv6Addr, to: Ipv6Addr, protocol: u8) -> Self {
        Self { from, to, hops: 64, class: 0, chain: Vec::new(), protocol, version: None, len: None }
    }

    /// The packet with a payload.
    pub(crate) fn with(&self, payload: &[u8]) -> Vec<u8> {
        let kinds: Vec<u8> = self.chain.iter().map(|(kind, _)| *kind).chain([self.protocol]).collect();
        let mut body = Vec::new();
        for ((_, bytes), next) in self.chain.iter().zip(&kinds[1..]) {
            body.push(*next);
            body.extend(&bytes[1..]);
        }
        body.extend(payload);
        let first = u32::from(self.version.unwrap_or(6)) << 28 | self.class;
        let len = self.len.map_or(len16(body.len()), u16::to_be_bytes);
        let mut packet = [&first.to_be_bytes()[..], &len, &[kinds[0], self.hops]].concat();
        packet.extend(self.from.octets());
        packet.extend(self.to.octets());
        packet.extend(body);
        packet
    }

    /// A fragment: `piece` at `offset`, with others behind it if `more`.
    pub(crate) fn fragment(&self, ident: u32, offset: usize, piece: &[u8], more: bool) -> Vec<u8> {
        assert!(offset.is_multiple_of(8) && offset < 65536);
        let mut whole = self.clone();
        let field = u16::from_be_bytes(len16(offset)) | u16::from(more);
        whole.chain.push((FRAGMENT, [&[0, 0], &field.to_be_bytes()[..], &ident.to_be_bytes()].concat()));
        whole.with(piece)
    }

    /// Fragments of `size` bytes each.
    pub(crate) fn fragments(&self, ident: u32, payload: &[u8], size: usize) -> Vec<Vec<u8>> {
        let last = payload.len().div_ceil(size) - 1;
        let pieces = payload.chunks(size).enumerate();
        pieces.map(|(i, piece)| self.fragment(ident, i * size, piece, i < last)).collect()
    }
}

/// Options header (hop-by-hop or destination) with these options, which fill it up to a multiple of 8.
pub(crate) fn options(bytes: &[u8]) -> Vec<u8> {
    let len = 2 + bytes.len();
    assert!(len.is_multiple_of(8), "options are padded by who gives them");
    [&[0, len8(len / 8 - 1)], bytes].concat()
}

// ---- above IP ----

/// An ICMP message: type, code, the four bytes after the checksum, and the rest.
pub(crate) fn icmp(kind: u8, code: u8, rest: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0], &rest[..], body].concat();
    let sum = checksum(&[&message]);
    message[2..4].copy_from_slice(&sum);
    message
}

pub(crate) fn icmp6(from: Ipv6Addr, to: Ipv6Addr, kind: u8, code: u8, rest: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0], &rest[..], body].concat();
    let sum = checksum(&[&pseudo(from.into(), to.into(), ICMPV6, message.len()), &message]);
    message[2..4].copy_from_slice(&sum);
    message
}

pub(crate) fn udp(from: (IpAddr, u16), to: (IpAddr, u16), body: &[u8]) -> Vec<u8> {
    let len = len16(8 + body.len());
    let mut datagram = [&from.1.to_be_bytes()[..], &to.1.to_be_bytes(), &len, &[0, 0], body].concat();
    let sum = checksum(&[&pseudo(from.0, to.0, UDP, datagram.len()), &datagram]);
    // RFC 768: zero stands for no checksum.
    datagram[6..8].copy_from_slice(if sum == [0, 0] { &[0xff, 0xff] } else { &sum });
    datagram
}

/// An ARP packet for Ethernet and IPv4 (RFC 826).
pub(crate) fn arp(operation: u16, sender: (Mac, Ipv4Addr), target: (Mac, Ipv4Addr)) -> Vec<u8> {
    let head = [0, 1, 8, 0, 6, 4];
    let ends = [&sender.0[..], &sender.1.octets(), &target.0, &target.1.octets()].concat();
    [&head[..], &operation.to_be_bytes(), &ends].concat()
}

/// Option of neighbour discovery with a MAC address: 1 is the sender's, 2 the target's (RFC 4861, section 4.6.1).
pub(crate) fn link_option(kind: u8, mac: Mac) -> Vec<u8> {
    [&[kind, 1], &mac[..]].concat()
}

/// Bytes that are easy to tell from each other.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| len8(i * 7 % 251)).collect()
}

/// MAC address of a group (RFC 1112, section 6.4; RFC 2464, section 7).
pub(crate) fn group_mac(group: IpAddr) -> Mac {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [1, 0, 0x5e, b & 0x7f, c, d]
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }
}

/// Solicited-node group of an address (RFC 4291, section 2.7.1).
pub(crate) fn solicited_node(addr: Ipv6Addr) -> Ipv6Addr {
    let [.., b, c, d] = addr.octets();
    Ipv6Addr::from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, b, c, d])
}
