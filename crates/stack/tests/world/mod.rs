//! A host without a port, and frames built by hand: nothing here is made or read by the code under test.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use linerate_ring::{Meta, Region, RegionConfig, Sharing, TxRing};
use linerate_stack::{Config, Discard, Host, UdpId};
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(crate) const US: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub(crate) const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
pub(crate) const ALL: MacAddr = MacAddr::BROADCAST;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMP: u8 = 1;
pub(crate) const ICMPV6: u8 = 58;

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn us4() -> IpAddr {
    ip("10.0.0.1")
}

pub(crate) fn us6() -> IpAddr {
    ip("fd00::1")
}

pub(crate) fn peer4() -> IpAddr {
    ip("10.0.0.2")
}

pub(crate) fn peer6() -> IpAddr {
    ip("fd00::2")
}

/// Addresses of both families: the peer's, and ours.
pub(crate) fn families() -> [(IpAddr, IpAddr); 2] {
    [(peer4(), us4()), (peer6(), us6())]
}

pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) ring: TxRing,
    pub(crate) now: u64,
}

impl World {
    /// A host at 10.0.0.1/24 and fd00::1/64 that knows its peer's MAC address.
    pub(crate) fn new() -> Self {
        let mut world = Self::alone();
        for (peer, _) in families() {
            world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        }
        world
    }

    /// A host that knows no neighbours.
    pub(crate) fn alone() -> Self {
        Self::with(&Config::new(US, 7))
    }

    pub(crate) fn with(config: &Config) -> Self {
        let mut host = Host::new(config).unwrap();
        host.add_address("10.0.0.1/24".parse().unwrap()).unwrap();
        host.add_address("fd00::1/64".parse().unwrap()).unwrap();
        let region =
            RegionConfig { buf_size: 2048, buffers: 600, ring_bytes: 65536, sharing: Sharing::Private, huge: false };
        let ring = TxRing::new(&Region::new(&region).unwrap(), 0, 512).unwrap();
        Self { host, ring, now: 1000 * SECOND }
    }

    /// Frames sent since the last call, each with its request to the adapter.
    pub(crate) fn sent_with(&mut self) -> Vec<(Vec<u8>, Option<Meta>)> {
        let n = self.ring.pending();
        let frames = (0..n).map(|i| (self.ring.pending_frame(i).to_vec(), self.ring.pending_meta(i))).collect();
        self.ring.own().unwrap().take(n);
        self.ring.own().unwrap().complete(n);
        frames
    }

    /// Frames sent since the last call; each is parsed by etherparse, its lengths and checksums verified.
    pub(crate) fn sent(&mut self) -> Vec<Vec<u8>> {
        let frames: Vec<_> = self.sent_with().into_iter().map(|(frame, _)| frame).collect();
        frames.iter().for_each(|frame| right(frame));
        frames
    }

    /// Answers to a frame.
    pub(crate) fn take(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        self.host.handle(self.now, frame, None, &mut self.ring);
        assert_eq!(self.host.counters().unexplained(), 0);
        self.sent()
    }

    /// The only answer to a frame.
    pub(crate) fn answer(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut sent = self.take(frame);
        assert_eq!(sent.len(), 1, "{:?} {frame:x?}", self.host.counters());
        sent.remove(0)
    }

    /// Checks that a frame is not answered, and is discarded for this reason.
    pub(crate) fn drops(&mut self, why: Discard, frame: &[u8]) {
        let before = self.host.counters().discarded(why);
        assert_eq!(self.take(frame), Vec::<Vec<u8>>::new());
        assert_eq!(self.host.counters().discarded(why), before + 1, "{why:?}: {:?}", self.host.counters());
    }

    /// Frames sent after some time has passed.
    pub(crate) fn later(&mut self, ns: u64) -> Vec<Vec<u8>> {
        self.now += ns;
        self.host.poll(self.now, &mut self.ring);
        assert_eq!(self.host.counters().unexplained(), 0);
        self.sent()
    }

    pub(crate) fn bind(&mut self, local: IpAddr, port: u16) -> UdpId {
        self.host.udp_bind(SocketAddr::new(local, port)).unwrap()
    }

    pub(crate) fn send(&mut self, id: UdpId, to: (IpAddr, u16), body: &[u8]) -> Vec<Vec<u8>> {
        self.host.udp_send(self.now, id, Some(to.into()), body, &mut self.ring).unwrap();
        self.sent()
    }

    pub(crate) fn recv(&mut self, id: UdpId) -> Option<(Vec<u8>, SocketAddr)> {
        let mut buffer = vec![0; 65536];
        self.host.udp_recv(id, &mut buffer).map(|(n, _, from)| (buffer[..n].to_vec(), from))
    }
}

/// Checks a frame of ours with etherparse; a fragment's payload is not parsed.
pub(crate) fn right(frame: &[u8]) {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap_or_else(|e| panic!("{e}: {frame:x?}"));
    let (src, dst) = match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert!(ip.header().ttl() > 0);
            (IpAddr::from(header.source), IpAddr::from(header.destination))
        }
        Some(NetSlice::Ipv6(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        Some(NetSlice::Arp(_)) => return,
        other => panic!("{other:?}"),
    };
    match (sliced.transport, src, dst) {
        (Some(TransportSlice::Udp(udp)), IpAddr::V4(src), IpAddr::V4(dst)) => {
            let sum = udp.to_header().calc_checksum_ipv4_raw(src.octets(), dst.octets(), udp.payload());
            assert_eq!(sum.unwrap(), udp.checksum());
        }
        (Some(TransportSlice::Udp(udp)), IpAddr::V6(src), IpAddr::V6(dst)) => {
            let sum = udp.to_header().calc_checksum_ipv6_raw(src.octets(), dst.octets(), udp.payload());
            assert_eq!(sum.unwrap(), udp.checksum());
        }
        (Some(TransportSlice::Tcp(tcp)), IpAddr::V4(src), IpAddr::V4(dst)) => {
            let sum = tcp.to_header().calc_checksum_ipv4_raw(src.octets(), dst.octets(), tcp.payload());
            assert_eq!(sum.unwrap(), tcp.checksum());
        }
        (Some(TransportSlice::Tcp(tcp)), IpAddr::V6(src), IpAddr::V6(dst)) => {
            let sum = tcp.to_header().calc_checksum_ipv6_raw(src.octets(), dst.octets(), tcp.payload());
            assert_eq!(sum.unwrap(), tcp.checksum());
        }
        (Some(TransportSlice::Icmpv4(icmp)), ..) => assert_eq!(checksum(&[icmp.slice()]), 0),
        (Some(TransportSlice::Icmpv6(icmp)), IpAddr::V6(src), IpAddr::V6(dst)) => {
            assert!(icmp.is_checksum_valid(src.octets(), dst.octets()));
        }
        (None, ..) => assert!(sliced.net.unwrap().ip_payload_ref().unwrap().fragmented),
        other => panic!("{other:?}"),
    }
}

/// RFC 1071 checksum, computed naively. All pieces but the last have an even length.
pub(crate) fn checksum(pieces: &[&[u8]]) -> u16 {
    let words = pieces.iter().flat_map(|piece| piece.chunks(2));
    let mut sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

fn pseudo(src: IpAddr, dst: IpAddr, protocol: u8, len: usize) -> Vec<u8> {
    let mut header = bytes(src);
    header.extend(bytes(dst));
    header.extend(u32::try_from(len).unwrap().to_be_bytes());
    header.extend([0, 0, 0, protocol]);
    header
}

pub(crate) fn bytes(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

pub(crate) fn ethernet(src: MacAddr, dst: MacAddr, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&dst.0[..], &src.0, &ethertype.to_be_bytes(), payload].concat()
}

/// An IP packet in a frame from the peer to us.
pub(crate) fn framed(packet: &[u8]) -> Vec<u8> {
    ethernet(PEER, US, if packet[0] >> 4 == 4 { 0x0800 } else { 0x86dd }, packet)
}

/// The same frame to another station.
pub(crate) fn to(station: MacAddr, mut frame: Vec<u8>) -> Vec<u8> {
    frame[..6].copy_from_slice(&station.0);
    frame
}

/// The same frame with a tag.
pub(crate) fn tagged(frame: &[u8], tci: u16) -> Vec<u8> {
    [&frame[..12], &[0x81, 0], &tci.to_be_bytes(), &frame[12..]].concat()
}

pub(crate) fn v4(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    v4_with(src, dst, protocol, &[], payload, |_| {})
}

/// An IPv4 packet with options, and with the header changed by `edit` before it is summed.
pub(crate) fn v4_with(
    src: Ipv4Addr,
    dst: Ipv4Addr,
    protocol: u8,
    options: &[u8],
    payload: &[u8],
    edit: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut header =
        vec![0x45 + u8::try_from(options.len() / 4).unwrap(), 0, 0, 0, 0x12, 0x34, 0, 0, 64, protocol, 0, 0];
    header.extend(src.octets());
    header.extend(dst.octets());
    header.extend(options);
    let total = u16::try_from(header.len() + payload.len()).unwrap();
    header[2..4].copy_from_slice(&total.to_be_bytes());
    edit(&mut header);
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header[..], payload].concat()
}

pub(crate) fn v6(src: Ipv6Addr, dst: Ipv6Addr, next: u8, hops: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, hops];
    packet[4..6].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
    packet.extend(src.octets());
    packet.extend(dst.octets());
    packet.extend(payload);
    packet
}

/// A packet of either version.
pub(crate) fn packet(src: IpAddr, dst: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => v4(src, dst, protocol, payload),
        (IpAddr::V6(src), IpAddr::V6(dst)) => v6(src, dst, protocol, 64, payload),
        _ => panic!("{src} to {dst}"),
    }
}

pub(crate) fn udp(src: (IpAddr, u16), dst: (IpAddr, u16), body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + body.len()).unwrap();
    let mut datagram: Vec<u8> = [src.1, dst.1, len, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
    datagram.extend(body);
    let sum = checksum(&[&pseudo(src.0, dst.0, UDP, datagram.len()), &datagram]);
    datagram[6..8].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
    datagram
}

/// A datagram from the peer's port 4000 to a port of ours, in a frame.
pub(crate) fn datagram(peer: IpAddr, us: IpAddr, port: u16, body: &[u8]) -> Vec<u8> {
    framed(&packet(peer, us, UDP, &udp((peer, 4000), (us, port), body)))
}

/// An ICMP message of either version.
pub(crate) fn icmp(src: IpAddr, dst: IpAddr, kind: u8, code: u8, rest: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend(rest);
    message.extend(body);
    let sum = match src {
        IpAddr::V4(_) => checksum(&[&message]),
        IpAddr::V6(_) => checksum(&[&pseudo(src, dst, ICMPV6, message.len()), &message]),
    };
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// A packet with an ICMP message, in a frame from the peer.
pub(crate) fn icmp_frame(src: IpAddr, dst: IpAddr, kind: u8, code: u8, rest: [u8; 4], body: &[u8]) -> Vec<u8> {
    let protocol = if src.is_ipv4() { ICMP } else { ICMPV6 };
    framed(&packet(src, dst, protocol, &icmp(src, dst, kind, code, rest, body)))
}

/// An echo request.
pub(crate) fn ping(src: IpAddr, dst: IpAddr, body: &[u8]) -> Vec<u8> {
    icmp_frame(src, dst, if src.is_ipv4() { 8 } else { 128 }, 0, [0x12, 0x34, 0, 1], body)
}

/// An ARP packet in a frame.
pub(crate) fn arp(
    operation: u8,
    sender: (MacAddr, Ipv4Addr),
    target: (MacAddr, Ipv4Addr),
    station: MacAddr,
) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
    for (mac, ip) in [sender, target] {
        packet.extend(mac.0);
        packet.extend(ip.octets());
    }
    ethernet(sender.0, station, 0x0806, &packet)
}

/// "Who has `target`? Tell the peer."
pub(crate) fn who_has(target: Ipv4Addr) -> Vec<u8> {
    arp(1, (PEER, "10.0.0.2".parse().unwrap()), (MacAddr::UNSPECIFIED, target), ALL)
}

/// A neighbour discovery message with hop limit 255 in a frame to a multicast MAC address.
pub(crate) fn discovery(
    src: IpAddr,
    dst: IpAddr,
    kind: u8,
    flags: u8,
    target: IpAddr,
    option: Option<(u8, MacAddr)>,
) -> Vec<u8> {
    let (IpAddr::V6(src6), IpAddr::V6(dst6)) = (src, dst) else { panic!("{src} to {dst}") };
    let mut body = bytes(target);
    if let Some((kind, mac)) = option {
        body.extend([kind, 1]);
        body.extend(mac.0);
    }
    let message = icmp(src, dst, kind, 0, [flags, 0, 0, 0], &body);
    let [.., a, b, c, d] = dst6.octets();
    let station = if dst6.is_multicast() { MacAddr([0x33, 0x33, a, b, c, d]) } else { US };
    to(station, framed(&v6(src6, dst6, ICMPV6, 255, &message)))
}

/// The solicited-node group of fd00::1 and of the link-local address.
pub(crate) fn group() -> IpAddr {
    ip("ff02::1:ff00:1")
}

/// A solicitation for one of our addresses, from a peer that wants to send.
pub(crate) fn solicitation() -> Vec<u8> {
    discovery(peer6(), group(), 135, 0, us6(), Some((1, PEER)))
}

/// A packet of either version in two or more fragments of `room` payload bytes, each in a frame.
pub(crate) fn fragments(src: IpAddr, dst: IpAddr, protocol: u8, payload: &[u8], room: usize) -> Vec<Vec<u8>> {
    let last = payload.len().div_ceil(room) - 1;
    let cut = payload.chunks(room).enumerate().map(|(i, piece)| {
        let (offset, more) = (u16::try_from(i * room).unwrap(), i < last);
        fragment(src, dst, protocol, (0x77, offset, more), piece)
    });
    cut.collect()
}

/// One fragment: identification, offset in bytes, and true if others follow.
pub(crate) fn fragment(
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    (ident, offset, more): (u16, u16, bool),
    piece: &[u8],
) -> Vec<u8> {
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => framed(&v4_with(src, dst, protocol, &[], piece, |header| {
            header[4..6].copy_from_slice(&ident.to_be_bytes());
            header[6..8].copy_from_slice(&((offset / 8) | if more { 0x2000 } else { 0 }).to_be_bytes());
        })),
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut header = vec![protocol, 0];
            header.extend((offset | u16::from(more)).to_be_bytes());
            header.extend(u32::from(ident).to_be_bytes());
            framed(&v6(src, dst, 44, 64, &[&header[..], piece].concat()))
        }
        _ => panic!("{src} to {dst}"),
    }
}

/// Type, code, the four bytes after the checksum, and the rest of the ICMP message in a frame without options or tags.
pub(crate) fn message(frame: &[u8]) -> (u8, u8, [u8; 4], &[u8]) {
    let at = if frame[12..14] == [8, 0] {
        assert_eq!(frame[23], ICMP);
        34
    } else {
        assert_eq!((&frame[12..14], frame[20]), (&[0x86, 0xdd][..], ICMPV6));
        54
    };
    (frame[at], frame[at + 1], frame[at + 4..at + 8].try_into().unwrap(), &frame[at + 8..])
}

/// Source and destination address in a frame without tags.
pub(crate) fn ends(frame: &[u8]) -> (IpAddr, IpAddr) {
    let v4 = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&frame[at..at + 4]).unwrap());
    let v6 = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&frame[at..at + 16]).unwrap());
    if frame[12..14] == [8, 0] { (v4(26), v4(30)) } else { (v6(22), v6(38)) }
}

pub(crate) fn stations(frame: &[u8]) -> (MacAddr, MacAddr) {
    (MacAddr(frame[6..12].try_into().unwrap()), MacAddr(frame[..6].try_into().unwrap()))
}

/// Bytes that are not all equal.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from(i * 7 % 251).unwrap()).collect()
}
