//! Frames made by etherparse, and pairs of adapters over a cable.
#![allow(dead_code, reason = "each test file uses its own part")]

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use linerate_nic::{Nic, NicConfig, NicQueue};
use linerate_port::open_all;
use linerate_ring::Meta;
use std::sync::atomic::{AtomicU32, Ordering};

/// Addresses of hosts 1 and 2.
pub(crate) const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const B: [u8; 6] = [2, 0, 0, 0, 1, 0];

/// Number of bytes before the payload, and the offload request.
pub(crate) struct Shape {
    pub(crate) headers: usize,
    pub(crate) meta: Meta,
}

/// Protocols of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Udp4,
    Udp6,
    Tcp4,
    Tcp6,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Udp4, Kind::Udp6, Kind::Tcp4, Kind::Tcp6];

impl Kind {
    pub(crate) fn v6(self) -> bool {
        matches!(self, Kind::Udp6 | Kind::Tcp6)
    }

    pub(crate) fn tcp(self) -> bool {
        matches!(self, Kind::Tcp4 | Kind::Tcp6)
    }

    /// Builds a finished frame, its checksums right.
    pub(crate) fn frame(self, to: [u8; 6], payload: &[u8], seq: u32) -> Vec<u8> {
        let link = PacketBuilder::ethernet2(A, to);
        let mut frame = Vec::new();
        let (v4, v6) = (([10, 0, 0, 1], [10, 0, 0, 2]), ([0xfd; 16], [0xfe; 16]));
        match self {
            Kind::Udp4 => link.ipv4(v4.0, v4.1, 64).udp(1000, 2000).write(&mut frame, payload),
            Kind::Udp6 => link.ipv6(v6.0, v6.1, 64).udp(1000, 2000).write(&mut frame, payload),
            Kind::Tcp4 => link.ipv4(v4.0, v4.1, 64).tcp(1000, 2000, seq, 500).ack(77).write(&mut frame, payload),
            Kind::Tcp6 => link.ipv6(v6.0, v6.1, 64).tcp(1000, 2000, seq, 500).ack(77).write(&mut frame, payload),
        }
        .unwrap();
        frame
    }

    /// Length of the headers, and the request to complete the checksum.
    pub(crate) fn shape(self) -> Shape {
        let csum_start = if self.v6() { 54 } else { 34 };
        let (transport, csum_offset) = if self.tcp() { (20, 16) } else { (8, 6) };
        let meta = Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset, ..Meta::default() };
        Shape { headers: usize::from(csum_start) + transport, meta }
    }

    /// The same frame with its transport checksum partial: the pseudo-header's sum in its place.
    pub(crate) fn open(self, frame: &[u8]) -> Vec<u8> {
        let mut open = frame.to_vec();
        let Shape { meta, .. } = self.shape();
        let at = usize::from(meta.csum_start + meta.csum_offset);
        let addresses = if self.v6() { &frame[22..54] } else { &frame[26..34] };
        let len = frame.len() - usize::from(meta.csum_start);
        let protocol: u32 = if self.tcp() { 6 } else { 17 };
        let mut sum = protocol + u32::try_from(len).unwrap();
        for pair in addresses.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
        }
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        open[at..at + 2].copy_from_slice(&u16::try_from(sum).unwrap().to_be_bytes());
        open
    }
}

/// Payload of `len` bytes with a long period.
pub(crate) fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 7 + i / 251) % 256).unwrap()).collect()
}

/// Checks with etherparse that the frame is whole and its checksums right; returns its payload.
pub(crate) fn checked(frame: &[u8]) -> Vec<u8> {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let (source, destination): (Vec<u8>, Vec<u8>) = match packet.net.as_ref().unwrap() {
        etherparse::NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum(), "IPv4 header");
            (header.source().to_vec(), header.destination().to_vec())
        }
        etherparse::NetSlice::Ipv6(ip) => (ip.header().source().to_vec(), ip.header().destination().to_vec()),
        other => panic!("no IP: {other:?}"),
    };
    match packet.transport.unwrap() {
        TransportSlice::Udp(udp) => {
            let header = udp.to_header();
            let right = match (<[u8; 4]>::try_from(&source[..]), <[u8; 4]>::try_from(&destination[..])) {
                (Ok(from), Ok(to)) => header.calc_checksum_ipv4_raw(from, to, udp.payload()),
                _ => header.calc_checksum_ipv6_raw(
                    source.try_into().unwrap(),
                    destination.try_into().unwrap(),
                    udp.payload(),
                ),
            };
            assert_eq!(header.checksum, right.unwrap(), "UDP checksum");
            udp.payload().to_vec()
        }
        TransportSlice::Tcp(tcp) => {
            let header = tcp.to_header();
            let right = match (<[u8; 4]>::try_from(&source[..]), <[u8; 4]>::try_from(&destination[..])) {
                (Ok(from), Ok(to)) => header.calc_checksum_ipv4_raw(from, to, tcp.payload()),
                _ => header.calc_checksum_ipv6_raw(
                    source.try_into().unwrap(),
                    destination.try_into().unwrap(),
                    tcp.payload(),
                ),
            };
            assert_eq!(header.checksum, right.unwrap(), "TCP checksum");
            tcp.payload().to_vec()
        }
        other => panic!("neither UDP nor TCP: {other:?}"),
    }
}

/// Two adapters at the ends of a cable of this process; the left one is host [`A`], the right one [`B`].
pub(crate) fn pair(options: &str, left: &NicConfig, right: &NicConfig) -> [Nic; 2] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let id = format!("nic{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let ports = open_all(&[format!("cable:{id}{{1{options}"), format!("cable:{id}}}1{options}")]).unwrap();
    let [a, b] = <[_; 2]>::try_from(ports).ok().unwrap();
    let left = NicConfig { mac: left.mac.or(Some(A)), ..left.clone() };
    let right = NicConfig { mac: right.mac.or(Some(B)), ..right.clone() };
    [Nic::new(a, &left).unwrap(), Nic::new(b, &right).unwrap()]
}

/// First queue of each adapter.
pub(crate) fn queues(nics: &mut [Nic; 2]) -> [NicQueue; 2] {
    nics.each_mut().map(|nic| nic.take(0).unwrap())
}

/// Sends a frame, and syncs.
pub(crate) fn send(queue: &mut NicQueue, vi: usize, head: &[u8], body: &[u8], request: Option<Meta>) {
    assert!(queue.tx.send(vi, head, &[body], request), "no room");
    queue.tx.sync(0);
}

/// Receives all frames of an interface from the next batches, merged ones whole.
pub(crate) fn receive(queue: &mut NicQueue, vi: usize) -> Vec<(Vec<u8>, linerate_nic::RxMeta)> {
    let mut frames = Vec::new();
    while queue.rx.poll(0) > 0 {
        queue.rx.receive(vi, usize::MAX, |frame| {
            let meta = frame.meta();
            frames.push((frame.to_vec(), meta));
        });
    }
    frames
}
