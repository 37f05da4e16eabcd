//! Common parts of IPv4 and IPv6: protocol numbers, and the pseudo-headers of the checksums above them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use linerate_sum::Sum;

/// The protocol of an IP payload (IANA, Protocol Numbers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpProtocol(pub u8);

crate::field::newtype!(IpProtocol(u8));

impl IpProtocol {
    /// IPv6 hop-by-hop options, which hide the protocol behind them.
    pub const HOP_BY_HOP: Self = Self(0);
    /// Internet Control Message Protocol.
    pub const ICMP: Self = Self(1);
    /// Transmission Control Protocol.
    pub const TCP: Self = Self(6);
    /// User Datagram Protocol.
    pub const UDP: Self = Self(17);
    /// IPv6 fragment header.
    pub const IPV6_FRAGMENT: Self = Self(44);
    /// Internet Control Message Protocol for IPv6.
    pub const ICMPV6: Self = Self(58);
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HOP_BY_HOP => f.write_str("hop-by-hop options"),
            Self::ICMP => f.write_str("ICMP"),
            Self::TCP => f.write_str("TCP"),
            Self::UDP => f.write_str("UDP"),
            Self::IPV6_FRAGMENT => f.write_str("fragment"),
            Self::ICMPV6 => f.write_str("ICMP6"),
            Self(number) => write!(f, "protocol {number}"),
        }
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
