//! Asking for neighbours and answering them: ARP (RFC 826) and neighbour discovery (RFC 4861).

use crate::Transmit;
use crate::counters::Discard;
use crate::host::Host;
use crate::input::Packet;
use crate::neighbour::{Action, Heard};
use crate::output::{is_link_local, whole_packet};
use linerate_wire::{ArpOperation, ArpRepr, Icmpv6Packet, IpProtocol, MacAddr, NdpRepr, multicast_mac, solicited_node};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All nodes on the link (RFC 4291, section 2.7.1).
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// What no router passes on, so it came from the link itself (RFC 4861, section 11.2).
const HOPS: u8 = 255;

impl Host {
    /// Tells all on the link where the host's addresses are: when the link came up, or an address moved here (RFC 5227,
    /// section 3; RFC 4861, section 7.2.6).
    pub fn announce<T: Transmit>(&mut self, tx: &mut T) {
        for at in 0..self.addresses.len() {
            let sent = match self.addresses[at].addr() {
                IpAddr::V4(ip) => {
                    let arp = ArpRepr {
                        operation: ArpOperation::REQUEST,
                        sender_mac: self.mac,
                        sender_ip: ip,
                        target_mac: MacAddr::UNSPECIFIED,
                        target_ip: ip,
                    };
                    self.send_arp(MacAddr::BROADCAST, &arp, tx)
                }
                IpAddr::V6(target) => {
                    let said = NdpRepr::NeighborAdvertisement {
                        target,
                        router: false,
                        solicited: false,
                        overrides: true,
                        mac: Some(self.mac),
                    };
                    self.send_ndp((target, ALL_NODES), None, &said, tx)
                }
            };
            if let Err(why) = sent {
                self.counters.discard(why);
            }
        }
    }

    /// Notes where a neighbour is, and sends what waited for it.
    pub(crate) fn learn<T: Transmit>(&mut self, now: u64, ip: IpAddr, mac: Option<MacAddr>, how: Heard, tx: &mut T) {
        let held = self.neighbours.learn(now, ip, mac, how);
        let Some(mac) = mac else { return };
        for packet in held {
            if !self.send_frame(mac, ip.is_ipv4(), &packet, tx) {
                self.counters.discard(Discard::NoRoom);
            }
        }
    }

    /// Sends the requests that are due, and tells the sockets of what waited in vain.
    pub(crate) fn ask_neighbours<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        let mut actions = Vec::new();
        self.neighbours.poll(now, |action| actions.push(action));
        for action in actions {
            let sent = match action {
                Action::SendRequest { ip: IpAddr::V4(ip), unicast } => self.ask_v4(ip, unicast, tx),
                Action::SendRequest { ip: IpAddr::V6(ip), unicast } => self.ask_v6(ip, unicast, tx),
                Action::Failed { packets, .. } => {
                    packets.iter().for_each(|packet| self.undeliverable(now, packet));
                    Ok(())
                }
            };
            if let Err(why) = sent {
                self.counters.discard(why);
            }
        }
    }

    fn ask_v4<T: Transmit>(&mut self, ip: Ipv4Addr, unicast: Option<MacAddr>, tx: &mut T) -> Result<(), Discard> {
        let v4 = |a: &crate::Cidr| match a.addr() {
            IpAddr::V4(addr) => Some(addr),
            IpAddr::V6(_) => None,
        };
        let near = self.addresses.iter().filter(|a| a.contains(ip.into())).find_map(v4);
        let sender_ip = near.or_else(|| self.addresses.iter().find_map(v4)).ok_or(Discard::NoRoute)?;
        let arp = ArpRepr {
            operation: ArpOperation::REQUEST,
            sender_mac: self.mac,
            sender_ip,
            target_mac: unicast.unwrap_or(MacAddr::UNSPECIFIED),
            target_ip: ip,
        };
        self.send_arp(unicast.unwrap_or(MacAddr::BROADCAST), &arp, tx)
    }

    fn ask_v6<T: Transmit>(&mut self, ip: Ipv6Addr, unicast: Option<MacAddr>, tx: &mut T) -> Result<(), Discard> {
        let v6 = |a: &crate::Cidr| match a.addr() {
            IpAddr::V6(addr) => Some(addr),
            IpAddr::V4(_) => None,
        };
        let near = |a: &&crate::Cidr| a.contains(ip.into()) && is_link_local(a.addr()) == is_link_local(ip.into());
        let source = self.addresses.iter().filter(near).find_map(v6);
        let source = source.or_else(|| self.addresses.iter().find_map(v6)).ok_or(Discard::NoRoute)?;
        let asked = NdpRepr::NeighborSolicitation { target: ip, source: Some(self.mac) };
        let to = if unicast.is_some() { ip } else { solicited_node(ip) };
        self.send_ndp((source, to), unicast, &asked, tx)
    }

    fn send_ndp<T: Transmit>(
        &mut self,
        (from, to): (Ipv6Addr, Ipv6Addr),
        station: Option<MacAddr>,
        said: &NdpRepr,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let mut message = vec![0; said.buffer_len()];
        let written = said.emit(&mut message).is_ok();
        debug_assert!(written);
        if let Ok(mut packet) = Icmpv6Packet::new_checked(&mut message) {
            packet.fill_checksum(from, to);
        }
        let packet = whole_packet((from.into(), to.into()), IpProtocol::ICMPV6, &message, 0, HOPS);
        let station = station.or_else(|| multicast_mac(to.into())).ok_or(Discard::NoNeighbour)?;
        if self.send_frame(station, false, &packet, tx) { Ok(()) } else { Err(Discard::NoRoom) }
    }

    /// RFC 4861, sections 7.1 and 7.2. Routers' messages are not for a host whose routes are configured.
    pub(crate) fn take_ndp<T: Transmit>(
        &mut self,
        now: u64,
        packet: Packet<'_>,
        said: NdpRepr,
        tx: &mut T,
    ) -> Result<(), Discard> {
        if packet.hops != HOPS {
            return Err(Discard::BadAddress);
        }
        let (IpAddr::V6(from), IpAddr::V6(to)) = (packet.from, packet.to) else { return Err(Discard::BadAddress) };
        match said {
            NdpRepr::NeighborSolicitation { target, source } => {
                let unclaimed = from.is_unspecified();
                if unclaimed && (source.is_some() || to != solicited_node(target)) {
                    return Err(Discard::Malformed);
                }
                if !self.is_ours(target.into()) {
                    return Err(Discard::NotForUs);
                }
                if source.is_some_and(MacAddr::is_multicast) {
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
                    overrides: true,
                    mac: Some(self.mac),
                };
                // Who has no address yet asks whether he may have this one: all are told that he may not.
                let (to, station) = if unclaimed {
                    (ALL_NODES, None)
                } else {
                    (from, source.or(packet.origin.stations.map(|(src, _)| src)))
                };
                self.send_ndp((target, to), station, &answer, tx)
            }
            NdpRepr::NeighborAdvertisement { target, router, solicited, overrides, mac } => {
                if solicited && to.is_multicast() {
                    return Err(Discard::Malformed);
                }
                if self.is_ours(target.into()) || mac.is_some_and(MacAddr::is_multicast) {
                    return Err(Discard::BadAddress);
                }
                self.counters.neighbours += 1;
                self.learn(now, target.into(), mac, Heard::Advertisement { solicited, overrides, router }, tx);
                Ok(())
            }
            _ => Err(Discard::NotForUs),
        }
    }
}
