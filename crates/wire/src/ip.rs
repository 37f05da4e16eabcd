//! Common parts of IPv4 and IPv6: protocol numbers, and the pseudo-headers of the checksums above them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_sum::Sum;

use crate::field::values;

values! {
    /// The protocol of an IP payload (IANA, Protocol Numbers).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct IpProtocol(u8), name;
    HOP_BY_HOP = 0, "IPv6 hop-by-hop options, which hide the protocol behind them." as "hop-by-hop options";
    ICMP = 1, "Internet Control Message Protocol." as "ICMP";
    TCP = 6, "Transmission Control Protocol." as "TCP";
    UDP = 17, "User Datagram Protocol." as "UDP";
    IPV6_FRAGMENT = 44, "IPv6 fragment header." as "fragment";
    ICMPV6 = 58, "Internet Control Message Protocol for IPv6." as "ICMP6";
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "protocol {}", self.0),
        }
    }
}

/// Origin of a peer: those of one origin count together wherever peers share something. An address of IPv4, mapped into IPv6 or
/// not; of IPv6 the network of 64 bits, of which a host has all addresses (RFC 7934; RFC 8981).
#[must_use]
pub fn origin(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The sum of IPv4's pseudo-header (RFC 768; RFC 9293, section 3.1), which TCP's and UDP's checksums begin with.
/// `len` counts the bytes of the TCP or UDP header and payload; a packet with more than 65535 cannot be sent, whatever its sum.
#[inline]
pub fn pseudo_header_v4(src: Ipv4Addr, dst: Ipv4Addr, protocol: IpProtocol, len: usize) -> Sum {
    let mut sum = Sum::new();
    sum.add_u32(src.to_bits()).add_u32(dst.to_bits()).add_u16(u16::from(protocol.0)).add_bytes(&len.to_be_bytes());
    sum
}

/// The sum of IPv6's pseudo-header (RFC 8200, section 8.1), which TCP's, UDP's and ICMPv6's checksums begin with.
/// `len` counts the bytes of the upper layer's header and payload.
#[inline]
pub fn pseudo_header_v6(src: Ipv6Addr, dst: Ipv6Addr, protocol: IpProtocol, len: usize) -> Sum {
    let mut sum = Sum::new();
    sum.add_bytes(&src.octets()).add_bytes(&dst.octets()).add_bytes(&len.to_be_bytes()).add_u32(u32::from(protocol.0));
    sum
}
