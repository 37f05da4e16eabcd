//! Frames for the tests, built by etherparse: an implementation independent of this one.

use etherparse as ep;
use proptest::collection::vec;
use proptest::prelude::*;

/// Parameters of a test frame.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) v6: bool,
    pub(super) udp: bool,
    /// VLAN tags, 0 to 2.
    pub(super) tags: u8,
    /// IPv6: hop-by-hop and destination options before the transport header. IPv4: none.
    pub(super) extensions: bool,
    pub(super) ident: u16,
    pub(super) seq: u32,
    pub(super) ack: u32,
    /// TCP flags except SYN, RST and URG.
    pub(super) flags: u8,
    /// TSval, if there is a time-stamp.
    pub(super) timestamp: Option<u32>,
    pub(super) ports: (u16, u16),
    pub(super) payload: Vec<u8>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            v6: false,
            udp: false,
            tags: 0,
            extensions: false,
            ident: 7,
            seq: 1000,
            ack: 5000,
            flags: 0x10,
            timestamp: None,
            ports: (4000, 80),
            payload: b"payload".to_vec(),
        }
    }
}

impl Shape {
    /// Builds Ethernet, tags, IP, transport and payload, all lengths and checksums right.
    pub(super) fn frame(&self) -> Vec<u8> {
        let transport = self.transport();
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        for tag in 0..self.tags {
            frame.extend(if self.tags == 2 && tag == 0 { [0x88, 0xa8] } else { [0x81, 0x00] });
            frame.extend([0x60, 100 + tag]);
        }
        let number = if self.udp { ep::IpNumber::UDP } else { ep::IpNumber::TCP };
        if self.v6 {
            frame.extend([0x86, 0xdd]);
            let mut next = number;
            let mut extensions = Vec::new();
            if self.extensions {
                // Hop-by-hop, then destination options; both PadN only.
                extensions.extend([60, 0, 1, 4, 0, 0, 0, 0]);
                extensions.extend([number.0, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                next = ep::IpNumber(0);
            }
            let header = ep::Ipv6Header {
                traffic_class: 0x28,
                flow_label: 0x12345.try_into().unwrap(),
                payload_length: u16::try_from(extensions.len() + transport.len()).unwrap(),
                next_header: next,
                hop_limit: 63,
                source: SRC6,
                destination: DST6,
            };
            frame.extend(header.to_bytes());
            frame.extend(extensions);
        } else {
            frame.extend([0x08, 0x00]);
            let len = u16::try_from(transport.len()).unwrap();
            let mut header = ep::Ipv4Header::new(len, 63, number, SRC4, DST4).unwrap();
            header.identification = self.ident;
            header.dont_fragment = true;
            header.header_checksum = header.calc_header_checksum();
            frame.extend(header.to_bytes());
        }
        frame.extend(transport);
        frame
    }

    fn transport(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.udp {
            let (src, dst) = self.ports;
            let header = if self.v6 {
                let ip = ep::Ipv6Header { source: SRC6, destination: DST6, ..ep::Ipv6Header::default() };
                ep::UdpHeader::with_ipv6_checksum(src, dst, &ip, &self.payload).unwrap()
            } else {
                let ip = ep::Ipv4Header::new(0, 63, ep::IpNumber::UDP, SRC4, DST4).unwrap();
                ep::UdpHeader::with_ipv4_checksum(src, dst, &ip, &self.payload).unwrap()
            };
            bytes.extend(header.to_bytes());
        } else {
            let mut header = ep::TcpHeader::new(self.ports.0, self.ports.1, self.seq, 0x7210);
            header.acknowledgment_number = self.ack;
            [header.fin, header.psh, header.ack, header.ece, header.cwr] =
                [0, 3, 4, 6, 7].map(|bit| self.flags >> bit & 1 == 1);
            if let Some(value) = self.timestamp {
                use ep::TcpOptionElement::{Noop, Timestamp};
                header.set_options(&[Noop, Noop, Timestamp(value, 77)]).unwrap();
            }
            header.checksum = if self.v6 {
                header.calc_checksum_ipv6_raw(SRC6, DST6, &self.payload).unwrap()
            } else {
                header.calc_checksum_ipv4_raw(SRC4, DST4, &self.payload).unwrap()
            };
            bytes.extend(header.to_bytes());
        }
        bytes.extend(&self.payload);
        bytes
    }

    /// Bytes before the payload.
    pub(super) fn header_len(&self) -> usize {
        self.transport_at() + if self.udp { 8 } else { 20 + if self.timestamp.is_some() { 12 } else { 0 } }
    }

    /// Bytes before the transport header.
    pub(super) fn transport_at(&self) -> usize {
        let ip = match (self.v6, self.extensions) {
            (false, _) => 20,
            (true, false) => 40,
            (true, true) => 64,
        };
        14 + 4 * usize::from(self.tags) + ip
    }
}

pub(super) const SRC4: [u8; 4] = [10, 0, 0, 1];
pub(super) const DST4: [u8; 4] = [10, 0, 0, 2];
pub(super) const SRC6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub(super) const DST6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// Any shape with payload lengths of this range.
pub(super) fn shapes(payload: std::ops::Range<usize>) -> impl Strategy<Value = Shape> {
    let kind = (any::<bool>(), any::<bool>(), 0..3_u8, any::<bool>());
    let numbers = (any::<u16>(), any::<u32>(), any::<u32>(), any::<u8>(), any::<Option<u32>>(), any::<(u16, u16)>());
    (kind, numbers, vec(any::<u8>(), payload)).prop_map(|((v6, udp, tags, extensions), numbers, payload)| {
        let (ident, seq, ack, flags, timestamp, ports) = numbers;
        let flags = flags & !0x26;
        Shape { v6, udp, tags, extensions, ident, seq, ack, flags, timestamp, ports, payload }
    })
}
