//! Emission of IP headers.

use super::ident::is_atomic;
use linerate_wire::IpProtocol;
use std::net::IpAddr;

/// Bytes of a header without options or extensions, by the family of an address.
#[inline]
pub(crate) fn header_len(addr: IpAddr) -> usize {
    if addr.is_ipv4() { 20 } else { 40 }
}

/// Length of a packet's payload, checked to fit the packet's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PayloadLen(u16);

impl PayloadLen {
    /// Length of a payload to this address; None if no packet can carry so much: IPv4's total length includes the
    /// header (RFC 791, section 3.1), IPv6's payload length does not (RFC 8200, section 3).
    #[inline]
    pub(crate) fn new(len: usize, to: IpAddr) -> Option<Self> {
        let most = if to.is_ipv4() { u16::MAX - IPV4_HEADER } else { u16::MAX };
        u16::try_from(len).ok().filter(|len| *len <= most).map(Self)
    }

    /// Length in bytes.
    #[inline]
    pub(crate) const fn bytes(self) -> u16 {
        self.0
    }
}

/// Bytes of an IPv4 header without options.
const IPV4_HEADER: u16 = 20;

/// Traffic class and flow label, by which routers may treat packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic(u32);

impl Traffic {
    /// A type of service, or traffic class (RFC 2474), whose lower two bits are those of ECN (RFC 3168), and a flow label (RFC 6437)
    /// of 20 bits, which IPv4 has not.
    #[must_use]
    pub fn new(class: u8, flow_label: u32) -> Self {
        Self(u32::from(class) << 20 | flow_label & 0xf_ffff)
    }

    /// Type of service, or traffic class.
    #[must_use]
    #[inline]
    pub fn class(self) -> u8 {
        self.v6()[0] << 4 | self.v6()[1] >> 4
    }

    /// The same with other bits of ECN.
    #[must_use]
    #[inline]
    pub(crate) fn with_ecn(self, bits: u8) -> Self {
        Self(self.0 & !(3 << 20) | u32::from(bits) << 20)
    }

    /// First word of an IPv6 header.
    #[inline]
    pub(crate) fn v6(self) -> [u8; 4] {
        (6 << 28 | self.0).to_be_bytes()
    }
}

/// Writes an IP header to the start of the buffer, which is longer. For unfragmented packets only.
pub(crate) fn emit_ip(
    buffer: &mut [u8],
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    payload_len: PayloadLen,
    (ident, traffic): (u16, Traffic),
    hops: u8,
) {
    let mut header = [0; 40];
    let len = match ends {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            // The header's representation expects the payload in the same buffer, but it is elsewhere.
            let total = IPV4_HEADER + payload_len.bytes();
            (header[0], header[1]) = (0x45, traffic.class());
            header[2..4].copy_from_slice(&total.to_be_bytes());
            header[4..6].copy_from_slice(&ident.to_be_bytes());
            header[6] = if is_atomic(protocol) { 0x40 } else { 0 };
            header[8] = hops;
            header[9] = protocol.0;
            header[12..16].copy_from_slice(&src.octets());
            header[16..20].copy_from_slice(&dst.octets());
            let sum = linerate_sum::checksum(&header[..20]);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            20
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            header[..4].copy_from_slice(&traffic.v6());
            header[4..6].copy_from_slice(&payload_len.bytes().to_be_bytes());
            header[6] = protocol.0;
            header[7] = hops;
            header[8..24].copy_from_slice(&src.octets());
            header[24..40].copy_from_slice(&dst.octets());
            40
        }
        _ => 0,
    };
    buffer[..len].copy_from_slice(&header[..len]);
}

/// Builds a packet that is not fragmented.
pub(crate) fn whole_packet(
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    (payload, len): (&[u8], PayloadLen),
    ident: (u16, Traffic),
    hops: u8,
) -> Vec<u8> {
    let header = header_len(ends.1);
    let mut packet = vec![0; header + payload.len()];
    emit_ip(&mut packet, ends, protocol, len, ident, hops);
    packet[header..].copy_from_slice(payload);
    packet
}
