//! Scopes of addresses.

use super::Cidr;
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv6Addr};

/// True for an IPv4-mapped IPv6 address: these stay inside programs (RFC 4291, section 2.5.5.2).
pub(crate) fn is_mapped(addr: IpAddr) -> bool {
    matches!(addr, IpAddr::V6(addr) if addr.to_ipv4_mapped().is_some())
}

/// True if an address is valid on its own link only.
pub(crate) fn is_link_local(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => addr.is_link_local(),
        IpAddr::V6(addr) => addr.is_unicast_link_local(),
    }
}

/// True for an IPv6 multicast address of link-local scope.
pub(crate) fn is_link_multicast(addr: IpAddr) -> bool {
    matches!(addr, IpAddr::V6(addr) if addr.octets()[0] == 0xff && addr.octets()[1] & 0x0f == 2)
}

/// The link-local address formed from a MAC address (RFC 4291, appendix A).
pub(crate) fn link_local(mac: MacAddr) -> Cidr {
    let [a, b, c, d, e, f] = mac.0;
    let addr = Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    Cidr::new(addr.into(), 64).unwrap_or(Cidr::host(addr.into()))
}
