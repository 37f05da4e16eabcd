//! Neighbour discovery (RFC 4861): solicitations for IPv6 neighbours, and answers to theirs.

use super::{Conflict, Heard, Link};
use crate::Transmit;
use crate::address::{ALL_NODES, Cidr, Own, is_link_local};
use crate::counters::Discard;
use linerate_wire::{Icmpv6Packet, IpProtocol, Ipv6Repr, MacAddr, NdpRepr, multicast_mac, solicited_node};
use std::net::{IpAddr, Ipv6Addr};

/// Hop limit that no router passes on: the message came from the link itself (RFC 4861, section 11.2).
const HOPS: u8 = 255;

/// All routers on the link (RFC 4291, section 2.7.1).
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// Addresses of the packet that carried a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) from: Ipv6Addr,
    pub(crate) to: Ipv6Addr,
    pub(crate) hops: u8,
    /// MAC address of the sender; None if the message is from ourselves.
    pub(crate) station: Option<MacAddr>,
}

impl Link {
    /// Processes a message (RFC 4861, sections 7.1 and 7.2). Those of routers are not the link's.
    pub(crate) fn take_ndp<T: Transmit>(
        &mut self,
        now: u64,
        message: Message,
        said: NdpRepr,
        own: &Own,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let Message { from, to, hops, station } = message;
        if hops != HOPS {
            return Err(Discard::BadAddress);
        }
        match said {
            NdpRepr::NeighborSolicitation { target, source } => {
                let unclaimed = from.is_unspecified();
                if unclaimed && (source.is_some() || to != solicited_node(target)) {
                    return Err(Discard::Malformed);
                }
                if !own.is_ours(target.into()) {
                    return Err(Discard::NotForUs);
                }
                // Our own may come back (RFC 4862, section 5.4.3 and appendix A).
                if source.is_some_and(MacAddr::is_multicast) || station == Some(self.station.mac) {
                    return Err(Discard::BadAddress);
                }
                let checked = own.is_checked(target.into());
                if let (true, true, Some(mac)) = (unclaimed, checked, station) {
                    // RFC 4862, section 5.4.3: both want it, and neither gets it.
                    self.conflict = Some(Conflict { address: target.into(), mac });
                    return Err(Discard::BadAddress);
                }
                self.counters.neighbours += 1;
                if let (false, Some(mac)) = (unclaimed, source) {
                    self.learn(now, from.into(), Some(mac), Heard::Solicitation, tx);
                }
                let answer = NdpRepr::NeighborAdvertisement {
                    target,
                    router: false,
                    solicited: !unclaimed,
                    // RFC 4429, section 3.3.
                    overrides: !checked,
                    mac: Some(self.station.mac),
                };
                // A station without address checks whether it may use this one (DAD): all are told that it is taken.
                let (to, station) = if unclaimed { (ALL_NODES, None) } else { (from, source.or(station)) };
                self.send_ndp((target, to), station, &answer, tx)
            }
            NdpRepr::NeighborAdvertisement { target, router, solicited, overrides, mac } => {
                if solicited && to.is_multicast() {
                    return Err(Discard::Malformed);
                }
                let ours = own.is_ours(target.into());
                if let (true, Some(station)) = (ours, station.filter(|station| *station != self.station.mac)) {
                    let mac = mac.filter(|mac| !mac.is_multicast()).unwrap_or(station);
                    self.conflict = Some(Conflict { address: target.into(), mac });
                }
                if ours || mac.is_some_and(MacAddr::is_multicast) {
                    return Err(Discard::BadAddress);
                }
                self.counters.neighbours += 1;
                self.learn(now, target.into(), mac, Heard::Advertisement { solicited, overrides, router }, tx);
                Ok(())
            }
            _ => Err(Discard::NotForUs),
        }
    }

    /// Sends a solicitation: to the neighbour alone, or to the solicited-node group.
    pub(super) fn ask_v6<T: Transmit>(
        &self,
        ip: Ipv6Addr,
        unicast: Option<MacAddr>,
        own: &Own,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let v6 = |a: &Cidr| match a.addr() {
            IpAddr::V6(addr) => Some(addr),
            IpAddr::V4(_) => None,
        };
        let near = |a: &&Cidr| a.contains(ip.into()) && is_link_local(a.addr()) == is_link_local(ip.into());
        // RFC 4429, section 3.2: none that is being checked, if there is another, and that one without our MAC address, which
        // would take the place of the owner's.
        let free = |a: &&Cidr| !own.is_checked(a.addr());
        let source = own.all().iter().filter(near).filter(free).find_map(v6);
        let source = source.or_else(|| own.all().iter().filter(free).find_map(v6));
        let source = source.or_else(|| own.all().iter().filter(near).find_map(v6));
        let source = source.or_else(|| own.all().iter().find_map(v6)).ok_or(Discard::NoRoute)?;
        let mac = Some(self.station.mac).filter(|_| !own.is_checked(source.into()));
        let asked = NdpRepr::NeighborSolicitation { target: ip, source: mac };
        let to = if unicast.is_some() { ip } else { solicited_node(ip) };
        self.send_ndp((source, to), unicast, &asked, tx)
    }

    /// Asks whether another station has an address (RFC 4862, section 5.4.2).
    pub(super) fn probe_v6<T: Transmit>(&self, target: Ipv6Addr, tx: &mut T) -> Result<(), Discard> {
        let asked = NdpRepr::NeighborSolicitation { target, source: None };
        self.send_ndp((Ipv6Addr::UNSPECIFIED, solicited_node(target)), None, &asked, tx)
    }

    /// Asks for routers (RFC 4861, section 6.3.7): from the link-local address, or from none while that is being checked (RFC
    /// 4429, section 3.2).
    pub(crate) fn solicit_routers<T: Transmit>(&self, own: &Own, tx: &mut T) -> Result<(), Discard> {
        let local = own.all().iter().map(Cidr::addr).find(|addr| is_link_local(*addr) && !own.is_checked(*addr));
        let (from, source) = match local {
            Some(IpAddr::V6(addr)) => (addr, Some(self.station.mac)),
            _ => (Ipv6Addr::UNSPECIFIED, None),
        };
        self.send_ndp((from, ALL_ROUTERS), None, &NdpRepr::RouterSolicitation { source }, tx)
    }

    /// Announces an address to all on the link.
    pub(super) fn announce_v6<T: Transmit>(&self, target: Ipv6Addr, tx: &mut T) -> Result<(), Discard> {
        let said = NdpRepr::NeighborAdvertisement {
            target,
            router: false,
            solicited: false,
            overrides: true,
            mac: Some(self.station.mac),
        };
        self.send_ndp((target, ALL_NODES), None, &said, tx)
    }

    fn send_ndp<T: Transmit>(
        &self,
        (from, to): (Ipv6Addr, Ipv6Addr),
        station: Option<MacAddr>,
        said: &NdpRepr,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let payload_len = said.buffer_len();
        let ip = Ipv6Repr { payload_len, hop_limit: HOPS, ..Ipv6Repr::new(from, to, IpProtocol::ICMPV6) };
        let mut packet = vec![0; 40 + payload_len];
        let written = ip.emit(&mut packet).is_ok() && said.emit(&mut packet[40..]).is_ok();
        debug_assert!(written);
        if let Ok(mut message) = Icmpv6Packet::new_checked(&mut packet[40..]) {
            message.fill_checksum(from, to);
        }
        let station = station.or_else(|| multicast_mac(to.into())).ok_or(Discard::NoNeighbour)?;
        if self.send_frame(station, false, &packet, tx) { Ok(()) } else { Err(Discard::NoRoom) }
    }
}
