//! Packets to groups, told apart: the one place that knows IGMP, MLD and PIM (RFC 4541).
//!
//! A message counts only if hosts would take it for one: a bridge that believed a query that no host answers would
//! forget their groups. All other packets to a group are data for it, damaged messages and fragments too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::membership::{GroupPacket, GroupQuery};
use crate::{EtherType, IpProtocol, Ipv4Packet, Ipv6Chain, Ipv6Packet};
use crate::{igmp, mld};

/// Protocol Independent Multicast (RFC 7761).
const PIM: IpProtocol = IpProtocol(103);
/// First byte of a PIM hello: version 2, type 0 (RFC 7761, section 4.9).
const PIM_HELLO: u8 = 0x20;
/// All PIM routers (RFC 7761, section 4.3.1).
const PIM_ROUTERS_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 13);
const PIM_ROUTERS_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xd);

impl<'a> GroupPacket<'a> {
    /// Parses what follows an EtherType. None if that is no packet of IP, is cut short, or goes to no group.
    pub fn parse(ethertype: EtherType, packet: &'a [u8]) -> Option<Self> {
        match ethertype {
            EtherType::IPV4 => Self::parse_v4(&Ipv4Packet::new_checked(packet).ok()?),
            EtherType::IPV6 => Self::parse_v6(&Ipv6Packet::new_checked(packet).ok()?),
            _ => None,
        }
    }

    fn parse_v4(ip: &Ipv4Packet<&'a [u8]>) -> Option<Self> {
        let dst = ip.dst();
        if !dst.is_multicast() {
            return None;
        }
        let message = match ip.protocol() {
            _ if ip.is_fragment() => None,
            igmp::PROTOCOL => igmp::parse(ip),
            PIM if dst == PIM_ROUTERS_V4 && ip.payload().first() == Some(&PIM_HELLO) => Some(Self::Hello),
            _ => None,
        };
        Some(message.unwrap_or(Self::Data(dst.into())))
    }

    fn parse_v6(ip: &Ipv6Packet<&'a [u8]>) -> Option<Self> {
        let dst = ip.dst();
        if !dst.is_multicast() {
            return None;
        }
        let chain = Ipv6Chain::walk(ip).ok().filter(|chain| chain.fragment.is_none());
        let message = chain.and_then(|chain| {
            let payload = ip.payload().get(chain.offset..)?;
            match chain.protocol {
                IpProtocol::ICMPV6 => mld::parse(ip, payload),
                PIM if dst == PIM_ROUTERS_V6 && payload.first() == Some(&PIM_HELLO) => Some(Self::Hello),
                _ => None,
            }
        });
        Some(message.unwrap_or(Self::Data(dst.into())))
    }
}

impl GroupQuery {
    /// The IP packet of this query, in the newest version of its protocol, of a querier that asks every `interval_s`
    /// seconds. None if an address is of the other IP version, or it asks about sources.
    pub fn packet(&self, interval_s: u8) -> Option<Vec<u8>> {
        if self.sources {
            return None;
        }
        match (self.from, self.group) {
            (IpAddr::V4(from), None) => Some(igmp::query(from, None, self.within_ms, interval_s)),
            (IpAddr::V4(from), Some(IpAddr::V4(group))) => {
                Some(igmp::query(from, Some(group), self.within_ms, interval_s))
            }
            (IpAddr::V6(from), None) => Some(mld::query(from, None, self.within_ms, interval_s)),
            (IpAddr::V6(from), Some(IpAddr::V6(group))) => {
                Some(mld::query(from, Some(group), self.within_ms, interval_s))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
