//! Stations of a case: addresses that no other case uses, so that nothing learned in one case changes another.

use super::craft::{
    ARP, BROADCAST, ICMP, ICMPV6, IPV4, IPV6, Mac, UDP, V4, V6, arp, bytes, ethernet, group_mac, icmp, icmp6,
    link_option, solicited_node, udp,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The subject, and the router of its default routes.
pub(crate) const HOST_MAC: Mac = [2, 0, 0, 0, 0, 2];
pub(crate) const HOST4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(crate) const HOST6: Ipv6Addr = Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 2);
pub(crate) const HOST_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 2);
pub(crate) const ROUTER_MAC: Mac = [2, 0xbb, 0, 0, 0, 1];
pub(crate) const ROUTER4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const ROUTER6: Ipv6Addr = Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 1);
/// Broadcast address of the subject's network.
pub(crate) const DIRECTED: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 255);
pub(crate) const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// Ports: of the echo service, of nobody, and of the sender.
pub(crate) const ECHO: u16 = 7;
pub(crate) const CLOSED: u16 = 9999;
pub(crate) const OURS: u16 = 5000;

/// Stations of the case with this number, which are told apart by a number from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) u16);

impl At {
    pub(crate) fn mac(self, k: u8) -> Mac {
        let [high, low] = self.0.to_be_bytes();
        [2, 0xaa, high, low, 0, k]
    }

    /// Address on the subject's link.
    pub(crate) fn v4(self, k: u8) -> Ipv4Addr {
        let [high, low] = self.0.to_be_bytes();
        Ipv4Addr::new(10, high + 1, low, k)
    }

    pub(crate) fn v6(self, k: u8) -> Ipv6Addr {
        Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 1, self.0, k.into())
    }

    pub(crate) fn local(self, k: u8) -> Ipv6Addr {
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 1, self.0, k.into())
    }

    /// Address behind the router (RFC 2544, appendix C.2.2; RFC 3849).
    pub(crate) fn far4(self, k: u8) -> Ipv4Addr {
        let [high, low] = self.0.to_be_bytes();
        Ipv4Addr::new(198, 18 + high, low, k)
    }

    pub(crate) fn far6(self, k: u8) -> Ipv6Addr {
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 1, self.0, k.into())
    }

    /// Number of the station with this address, if it is one of this case.
    pub(crate) fn station(self, addr: IpAddr) -> Option<u8> {
        let k = *super::craft::octets(addr).last()?;
        let all: [IpAddr; 5] =
            [self.v4(k).into(), self.far4(k).into(), self.v6(k).into(), self.local(k).into(), self.far6(k).into()];
        all.contains(&addr).then_some(k)
    }

    /// True for a MAC address of the case.
    pub(crate) fn is_ours(self, mac: &[u8]) -> bool {
        mac[..4] == self.mac(0)[..4]
    }

    // ---- headers from station 1 to the subject ----

    pub(crate) fn ip4(self, protocol: u8) -> V4 {
        V4::new(self.v4(1), HOST4, protocol)
    }

    pub(crate) fn ip6(self, protocol: u8) -> V6 {
        V6::new(self.v6(1), HOST6, protocol)
    }

    // ---- frames from station 1 to the subject ----

    pub(crate) fn frame4(self, packet: &[u8]) -> Vec<u8> {
        ethernet(HOST_MAC, self.mac(1), IPV4, packet)
    }

    pub(crate) fn frame6(self, packet: &[u8]) -> Vec<u8> {
        ethernet(HOST_MAC, self.mac(1), IPV6, packet)
    }

    /// Frame to the group or broadcast address of a packet.
    pub(crate) fn group4(self, packet: &[u8], to: Ipv4Addr) -> Vec<u8> {
        let mac = if to.is_multicast() { group_mac(to.into()) } else { BROADCAST };
        ethernet(mac, self.mac(1), IPV4, packet)
    }

    pub(crate) fn group6(self, packet: &[u8], to: Ipv6Addr) -> Vec<u8> {
        ethernet(group_mac(to.into()), self.mac(1), IPV6, packet)
    }

    /// Echo requests.
    pub(crate) fn ping4(self, body: &[u8]) -> Vec<u8> {
        self.frame4(&self.ip4(ICMP).with(&self.echo4(body)))
    }

    pub(crate) fn ping6(self, body: &[u8]) -> Vec<u8> {
        self.frame6(&self.ip6(ICMPV6).with(&self.echo6(body)))
    }

    /// Messages of echo requests.
    pub(crate) fn echo4(self, body: &[u8]) -> Vec<u8> {
        icmp(8, 0, self.ident(), body)
    }

    pub(crate) fn echo6(self, body: &[u8]) -> Vec<u8> {
        icmp6(self.v6(1), HOST6, 128, 0, self.ident(), body)
    }

    /// Identifier and sequence number of the case's echoes.
    pub(crate) fn ident(self) -> [u8; 4] {
        let [high, low] = self.0.to_be_bytes();
        [0x10 | high, low, 0, 1]
    }

    /// Datagrams for the subject.
    pub(crate) fn datagram4(self, port: u16, body: &[u8]) -> Vec<u8> {
        udp((self.v4(1).into(), OURS), (HOST4.into(), port), body)
    }

    pub(crate) fn datagram6(self, port: u16, body: &[u8]) -> Vec<u8> {
        udp((self.v6(1).into(), OURS), (HOST6.into(), port), body)
    }

    /// Frames with such datagrams.
    pub(crate) fn udp4(self, port: u16, body: &[u8]) -> Vec<u8> {
        self.frame4(&self.ip4(UDP).with(&self.datagram4(port, body)))
    }

    pub(crate) fn udp6(self, port: u16, body: &[u8]) -> Vec<u8> {
        self.frame6(&self.ip6(UDP).with(&self.datagram6(port, body)))
    }

    /// ARP request for the subject's address.
    pub(crate) fn arp_request(self) -> Vec<u8> {
        ethernet(BROADCAST, self.mac(1), ARP, &arp(1, (self.mac(1), self.v4(1)), ([0; 6], HOST4)))
    }

    /// Packet with a message of neighbour discovery.
    pub(crate) fn discovery(self, from: Ipv6Addr, to: Ipv6Addr, kind: u8, rest: [u8; 4], body: &[u8]) -> Vec<u8> {
        V6 { hops: 255, ..V6::new(from, to, ICMPV6) }.with(&icmp6(from, to, kind, 0, rest, body))
    }

    /// Solicitation of one of the subject's addresses, from one of station 1.
    pub(crate) fn solicitation(self, from: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
        let to = solicited_node(target);
        let body = [&target.octets()[..], &link_option(1, self.mac(1))].concat();
        self.group6(&self.discovery(from, to, 135, [0; 4], &body), to)
    }

    /// Frames by which station 1 makes itself known.
    pub(crate) fn meeting(self) -> Vec<Vec<u8>> {
        let solicitations = [(self.v6(1), HOST6), (self.local(1), HOST_LOCAL)];
        let both = solicitations.map(|(from, target)| self.solicitation(from, target));
        [self.arp_request()].into_iter().chain(both).collect()
    }

    // ---- packets of the subject's, to be quoted ----

    /// Echo reply that the subject would send to station 1.
    pub(crate) fn reply4(self, body: &[u8]) -> Vec<u8> {
        V4 { from: HOST4, to: self.v4(1), ..self.ip4(ICMP) }.with(&icmp(0, 0, self.ident(), body))
    }

    pub(crate) fn reply6(self, body: &[u8]) -> Vec<u8> {
        let message = icmp6(HOST6, self.v6(1), 129, 0, self.ident(), body);
        V6::new(HOST6, self.v6(1), ICMPV6).with(&message)
    }

    /// Echoed datagram that the subject would send to station 1.
    pub(crate) fn echoed4(self, body: &[u8]) -> Vec<u8> {
        let datagram = udp((HOST4.into(), ECHO), (self.v4(1).into(), OURS), body);
        V4 { from: HOST4, to: self.v4(1), ..self.ip4(UDP) }.with(&datagram)
    }

    pub(crate) fn echoed6(self, body: &[u8]) -> Vec<u8> {
        let datagram = udp((HOST6.into(), ECHO), (self.v6(1).into(), OURS), body);
        V6::new(HOST6, self.v6(1), UDP).with(&datagram)
    }

    /// Body that fills a packet of this length with 28 bytes of headers over IPv4, 48 over IPv6.
    pub(crate) fn body4(len: usize) -> Vec<u8> {
        bytes(len - 28)
    }

    pub(crate) fn body6(len: usize) -> Vec<u8> {
        bytes(len - 48)
    }
}
