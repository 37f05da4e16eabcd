//! Groups of IP and the MAC addresses that they go to.

use std::net::{IpAddr, Ipv6Addr};

use crate::MacAddr;

/// The MAC address that packets to a group go to: 01:00:5e and the group's low 23 bits (RFC 1112, section 6.4), or 33:33
/// and its low 32 bits (RFC 2464, section 7). Nothing for an address that is not a group's.
///
/// ```
/// use linerate_wire::multicast_mac;
///
/// let mac = |ip: &str| multicast_mac(ip.parse().unwrap()).map(|mac| mac.to_string());
/// assert_eq!(mac("239.129.2.3").as_deref(), Some("01:00:5e:01:02:03"));
/// assert_eq!(mac("ff02::1:ff00:1234").as_deref(), Some("33:33:ff:00:12:34"));
/// assert_eq!(mac("10.0.0.1"), None);
/// ```
pub fn multicast_mac(group: IpAddr) -> Option<MacAddr> {
    if !group.is_multicast() {
        return None;
    }
    Some(MacAddr(match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [0x01, 0x00, 0x5e, b & 0x7f, c, d]
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }))
}

/// The group in which those who may have `ip` are asked for it: ff02::1:ff00:0 and its low 24 bits (RFC 4291, section
/// 2.7.1).
///
/// ```
/// let group = linerate_wire::solicited_node("4037::1:800:200e:8c6c".parse().unwrap());
/// assert_eq!(group.to_string(), "ff02::1:ff0e:8c6c");
/// ```
pub fn solicited_node(ip: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = ip.octets();
    [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c].into()
}
