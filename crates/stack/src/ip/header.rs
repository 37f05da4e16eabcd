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

/// Writes an IP header to the start of the buffer, which is longer. For unfragmented packets only.
pub(crate) fn emit_ip(
    buffer: &mut [u8],
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    payload_len: PayloadLen,
    (ident, class): (u16, u8),
    hops: u8,
) {
    let mut header = [0; 40];
    let len = match ends {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            // The header's representation expects the payload in the same buffer, but it is elsewhere.
            let total = IPV4_HEADER + payload_len.bytes();
            (header[0], header[1]) = (0x45, class);
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
            (header[0], header[1]) = (0x60 | class >> 4, class << 4);
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
    ident: u16,
    hops: u8,
) -> Vec<u8> {
    let header = header_len(ends.1);
    let mut packet = vec![0; header + payload.len()];
    emit_ip(&mut packet, ends, protocol, len, (ident, 0), hops);
    packet[header..].copy_from_slice(payload);
    packet
}
