//! The way up: from a frame to a socket's queue, or to an answer.

use crate::counters::Discard;
use crate::host::Host;
use crate::key::Key;
use crate::neighbour::Heard;
use crate::reassembly::{Outcome, Reason};
use crate::{Transmit, icmp, nd, options};
use linerate_ring::Meta;
use linerate_sum::Sum;
use linerate_wire::{
    ArpOperation, ArpPacket, ArpRepr, EtherType, EthernetFrame, IpProtocol, Ipv4Packet, Ipv6Chain, Ipv6Packet,
    Ipv6Problem, MacAddr, UdpDatagram, VlanHeader, pseudo_header_v4, pseudo_header_v6, solicited_node,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All hosts on the link (RFC 1112, section 4).
const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

/// What is known of an IP packet when its payload is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) hops: u8,
    /// The packet from its IP header on, for errors that quote it.
    pub(crate) whole: &'a [u8],
    pub(crate) protocol: IpProtocol,
    /// Which octet of the packet names it.
    pub(crate) named_at: u32,
    pub(crate) payload: &'a [u8],
    /// It came to everybody (a group or a broadcast): nobody answers with an error.
    pub(crate) to_all: bool,
    pub(crate) origin: Origin,
}

/// How an IP packet came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// The stations that it came from and to on the link; none if it came from ourselves.
    pub(crate) stations: Option<(MacAddr, MacAddr)>,
    /// The adapter has verified the upper checksum, or the packet never left the machine.
    pub(crate) verified: bool,
    /// It was in fragments.
    pub(crate) joined: bool,
}

impl Origin {
    /// It came to more than one station.
    fn to_group(self) -> bool {
        self.stations.is_some_and(|(_, dst)| dst.is_multicast())
    }

    /// It was in fragments: the adapter saw pieces only, so the checksum is still to be verified.
    fn joined(self) -> Self {
        Self { verified: false, joined: true, ..self }
    }
}

impl Host {
    /// Takes a frame. `meta` is what the adapter says of it. Answers are sent at once; those that find no room are
    /// counted, as on any wire.
    pub fn handle<T: Transmit>(&mut self, now: u64, frame: &[u8], meta: Option<Meta>, tx: &mut T) {
        self.counters.frames += 1;
        if let Err(why) = self.take(now, frame, meta, tx) {
            self.counters.discard(why);
        }
    }

    /// A frame came that was longer than any can be, and was not kept.
    pub fn too_long(&mut self) {
        self.counters.frames += 1;
        self.counters.discard(Discard::Malformed);
    }

    fn take<T: Transmit>(&mut self, now: u64, frame: &[u8], meta: Option<Meta>, tx: &mut T) -> Result<(), Discard> {
        let ethernet = EthernetFrame::new_checked(frame).map_err(|_| Discard::Malformed)?;
        let (dst, station) = (ethernet.dst(), ethernet.src());
        if !self.up || (dst != self.mac && !dst.is_multicast()) {
            return Err(Discard::NotForUs);
        }
        if station.is_multicast() {
            return Err(Discard::BadAddress);
        }
        let (mut ethertype, mut payload) = (ethernet.ethertype(), ethernet.payload());
        let mut vid = meta.map_or(0, |meta| meta.vlan_tci & 0x0fff);
        // Two tags, one of which the adapter has taken out, are somebody else's.
        if ethertype == EtherType::VLAN && vid == 0 {
            let tag = VlanHeader::new_checked(payload).map_err(|_| Discard::Malformed)?;
            (vid, ethertype, payload) = (tag.tag().vid(), tag.ethertype(), tag.payload());
        }
        // Number 0 is a priority without a VLAN (IEEE 802.1Q, 9.6).
        if vid != self.vlan.map_or(0, |tag| tag.vid()) {
            return Err(Discard::NotForUs);
        }
        let verified = meta.is_some_and(|meta| meta.flags & (Meta::DATA_VALID | Meta::NEEDS_CSUM) != 0);
        let origin = Origin { stations: Some((station, dst)), verified, joined: false };
        match ethertype {
            EtherType::IPV4 => self.take_v4(now, payload, origin, tx),
            EtherType::IPV6 => self.take_v6(now, payload, origin, tx),
            EtherType::ARP => self.take_arp(now, payload, tx),
            _ => Err(Discard::NotForUs),
        }
    }

    /// RFC 826's packet reception.
    fn take_arp<T: Transmit>(&mut self, now: u64, payload: &[u8], tx: &mut T) -> Result<(), Discard> {
        let packet = ArpPacket::new_checked(payload).map_err(|_| Discard::Malformed)?;
        let arp = ArpRepr::parse(&packet);
        let (ours, from) = (self.is_ours(arp.target_ip.into()), IpAddr::V4(arp.sender_ip));
        if arp.sender_mac.is_multicast() || arp.sender_mac == MacAddr::UNSPECIFIED || arp.sender_ip.is_multicast() {
            return Err(Discard::BadAddress);
        }
        if self.is_ours(from) {
            // Somebody has our address, or our own frame came back: no neighbour of ours.
            return Err(Discard::BadAddress);
        }
        let how = match arp.operation {
            ArpOperation::REQUEST if ours => Heard::Solicitation,
            ArpOperation::REPLY if ours => Heard::ARP_REPLY,
            _ => Heard::ARP_GRATUITOUS,
        };
        self.counters.neighbours += 1;
        // A probe for an address (RFC 5227) has no sender to be learned.
        if !arp.sender_ip.is_unspecified() && self.on_link(from) {
            self.learn(now, from, Some(arp.sender_mac), how, tx);
        }
        if arp.operation == ArpOperation::REQUEST && ours {
            let answer = ArpRepr {
                operation: ArpOperation::REPLY,
                sender_mac: self.mac,
                sender_ip: arp.target_ip,
                target_mac: arp.sender_mac,
                target_ip: arp.sender_ip,
            };
            return self.send_arp(arp.sender_mac, &answer, tx);
        }
        Ok(())
    }

    /// Whether an address is on one of the host's networks.
    pub(crate) fn on_link(&self, addr: IpAddr) -> bool {
        self.addresses.iter().any(|a| a.contains(addr))
    }

    pub(crate) fn send_arp<T: Transmit>(&mut self, to: MacAddr, arp: &ArpRepr, tx: &mut T) -> Result<(), Discard> {
        let mut head = [0; 18];
        let len = 14 + if self.vlan.is_some() { 4 } else { 0 };
        self.emit_header(&mut head[..len], to, EtherType::ARP);
        let mut body = [0; 28];
        let written = arp.emit(&mut body).is_ok();
        if written && tx.send(&head[..len], &body, None) { Ok(()) } else { Err(Discard::NoRoom) }
    }

    fn take_v4<T: Transmit>(&mut self, now: u64, whole: &[u8], origin: Origin, tx: &mut T) -> Result<(), Discard> {
        let ip = Ipv4Packet::new_checked(whole).map_err(|_| Discard::Malformed)?;
        if !ip.verify_checksum() {
            return Err(Discard::BadChecksum);
        }
        let (src, dst) = (ip.src(), ip.dst());
        let (from, to) = (Key::v4(src), Key::v4(dst));
        let outside = origin.stations.is_some();
        if !plausible_v4(src) || self.is_broadcast(src.into()) || (outside && self.has(from)) {
            return Err(Discard::BadAddress);
        }
        let plain = ip.header_len() == 20 && !ip.is_fragment() && !origin.to_group();
        if plain && ip.protocol() == IpProtocol::UDP && self.has(to) {
            let pseudo = || pseudo_header_v4(src, dst, IpProtocol::UDP, u16::try_from(ip.payload().len()).unwrap_or(0));
            if let Some(taken) = self.deliver_udp(from, to, ip.payload(), (!origin.verified).then_some(pseudo)) {
                return taken;
            }
        }
        let to_all = self.is_to_all(dst.into());
        if !to_all && !self.has(to) {
            return Err(Discard::NotForUs);
        }
        // RFC 1122, section 3.3.6: what comes by a broadcast of the link is for all, or for nobody.
        if !to_all && origin.to_group() {
            return Err(Discard::BadAddress);
        }
        let whole = &whole[..usize::from(ip.total_len())];
        let packet = Packet {
            from: src.into(),
            to: dst.into(),
            hops: ip.ttl(),
            whole,
            protocol: ip.protocol(),
            named_at: 9,
            payload: ip.payload(),
            to_all,
            origin,
        };
        match options::check(&whole[20..ip.header_len()]) {
            Ok(()) => {}
            Err(options::Problem::SourceRoute) => return Err(Discard::BadAddress),
            Err(options::Problem::Length { at }) => {
                let pointer = u32::try_from(20 + at).unwrap_or(20);
                self.send_error(now, packet, icmp::Error::Parameter { code: 0, pointer }, tx);
                return Err(Discard::Malformed);
            }
        }
        if !ip.is_fragment() {
            return self.take_payload(now, packet, tx);
        }
        match self.reassembly.push_v4(now, &ip) {
            Outcome::Complete(whole) => self.take_v4(now, &whole, origin.joined(), tx),
            Outcome::Incomplete => {
                self.counters.fragments += 1;
                Ok(())
            }
            Outcome::Dropped(_) => Err(Discard::Fragments),
        }
    }

    fn take_v6<T: Transmit>(&mut self, now: u64, whole: &[u8], origin: Origin, tx: &mut T) -> Result<(), Discard> {
        let ip = Ipv6Packet::new_checked(whole).map_err(|_| Discard::Malformed)?;
        let (src, dst) = (ip.src(), ip.dst());
        let (from, to) = (Key::v6(src), Key::v6(dst));
        // IPv4's addresses in IPv6's clothes stay inside programs (RFC 4291, section 2.5.5.2).
        let mapped = from.is_v4() || to.is_v4();
        if src.is_multicast() || src.is_loopback() || mapped || (origin.stations.is_some() && self.has(from)) {
            return Err(Discard::BadAddress);
        }
        if ip.next_header() == IpProtocol::UDP && self.has(to) && !origin.to_group() {
            let pseudo = || pseudo_header_v6(src, dst, IpProtocol::UDP, u32::from(ip.payload_len()));
            if let Some(taken) = self.deliver_udp(from, to, ip.payload(), (!origin.verified).then_some(pseudo)) {
                return taken;
            }
        }
        let group = self.is_to_all(dst.into());
        if !group && !self.has(to) {
            return Err(Discard::NotForUs);
        }
        let whole = &whole[..40 + ip.payload().len()];
        let to_all = group || origin.to_group();
        let mut packet = Packet {
            from: src.into(),
            to: dst.into(),
            hops: ip.hop_limit(),
            whole,
            protocol: ip.next_header(),
            named_at: 6,
            payload: &whole[40..],
            to_all,
            origin,
        };
        let chain = match Ipv6Chain::walk(&ip) {
            Ok(chain) => chain,
            Err(Ipv6Problem::Discard) => return Err(Discard::Malformed),
            Err(Ipv6Problem::Parameter { code, pointer, multicast }) => {
                packet.to_all &= !multicast;
                self.send_error(now, packet, icmp::Error::Parameter { code, pointer }, tx);
                return Err(Discard::Malformed);
            }
        };
        let Some(piece) = chain.fragment else {
            (packet.protocol, packet.payload) = (chain.protocol, &whole[40 + chain.offset..]);
            packet.named_at = u32::try_from(chain.named_at).unwrap_or(6);
            return self.take_payload(now, packet, tx);
        };
        match self.reassembly.push_v6(now, &ip, &piece) {
            Outcome::Complete(whole) => self.take_v6(now, &whole, origin.joined(), tx),
            Outcome::Incomplete => {
                self.counters.fragments += 1;
                Ok(())
            }
            Outcome::Dropped(why) => {
                let pointer = match why {
                    Reason::Unaligned => Some(4),
                    Reason::TooLong => u32::try_from(40 + piece.at + 2).ok(),
                    _ => None,
                };
                if let Some(pointer) = pointer {
                    self.send_error(now, packet, icmp::Error::Parameter { code: 0, pointer }, tx);
                }
                Err(Discard::Fragments)
            }
        }
    }

    /// Whether an address is a broadcast or a group that this host hears.
    pub(crate) fn is_to_all(&self, to: IpAddr) -> bool {
        match to {
            IpAddr::V4(to) => self.is_broadcast(to.into()) || to == ALL_HOSTS,
            IpAddr::V6(to) => self.is_member(to),
        }
    }

    /// Groups that every IPv6 host is in (RFC 4291, section 2.8): all nodes, and the solicited-node groups of its addresses.
    fn is_member(&self, group: Ipv6Addr) -> bool {
        let ours = |a: &crate::Cidr| match a.addr() {
            IpAddr::V6(addr) => solicited_node(addr) == group,
            IpAddr::V4(_) => false,
        };
        group == nd::ALL_NODES || self.addresses.iter().any(ours)
    }

    fn take_payload<T: Transmit>(&mut self, now: u64, packet: Packet<'_>, tx: &mut T) -> Result<(), Discard> {
        match packet.protocol {
            IpProtocol::UDP => self.take_udp(now, packet, tx),
            // RFC 8200, section 4.7: nothing follows, and nothing is said about it.
            IpProtocol::IPV6_NO_NEXT if packet.to.is_ipv6() => Err(Discard::NotForUs),
            IpProtocol::ICMP if packet.to.is_ipv4() => self.take_icmp_v4(now, packet, tx),
            IpProtocol::ICMPV6 if packet.to.is_ipv6() => self.take_icmp_v6(now, packet, tx),
            _ => {
                self.send_error(now, packet, icmp::Error::NoProtocol, tx);
                Err(Discard::NotForUs)
            }
        }
    }

    fn take_udp<T: Transmit>(&mut self, now: u64, packet: Packet<'_>, tx: &mut T) -> Result<(), Discard> {
        let udp = UdpDatagram::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        // RFC 8200, section 8.1: over IPv6 there is always a checksum, whoever has verified it.
        let missing = packet.to.is_ipv6() && udp.checksum() == 0;
        let right = !missing && packet.origin.verified
            || match (packet.from, packet.to) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => udp.verify_checksum_v4(src, dst),
                (IpAddr::V6(src), IpAddr::V6(dst)) => udp.verify_checksum_v6(src, dst),
                _ => false,
            };
        if !right {
            return Err(Discard::BadChecksum);
        }
        let (from, to) = (Key::new(packet.from), Key::new(packet.to));
        let Some(socket) = self.sockets.find((to, udp.dst_port()), (from, udp.src_port())) else {
            self.send_error(now, packet, icmp::Error::NoPort, tx);
            return Err(Discard::NoSocket);
        };
        if !socket.inbox.push((from, udp.src_port()), udp.payload()) {
            return Err(Discard::QueueFull);
        }
        self.counters.udp_received += 1;
        Ok(())
    }

    /// The short way up, for whole datagrams to an address of ours. None, and nothing done, if anything about it is out
    /// of the ordinary.
    #[inline]
    fn deliver_udp(
        &mut self,
        from: Key,
        to: Key,
        datagram: &[u8],
        pseudo: Option<impl FnOnce() -> Sum>,
    ) -> Option<Result<(), Discard>> {
        let header = datagram.first_chunk::<8>()?;
        let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        if usize::from(field(4)) != datagram.len() || field(6) == 0 {
            return None;
        }
        if let Some(pseudo) = pseudo
            && pseudo().add_bytes(datagram).finish() != 0
        {
            return None;
        }
        let sender = (from, field(0));
        let socket = self.sockets.find((to, field(2)), sender)?;
        if !socket.inbox.push(sender, &datagram[8..]) {
            return Some(Err(Discard::QueueFull));
        }
        self.counters.udp_received += 1;
        Some(Ok(()))
    }

    /// What time brings: requests to neighbours, errors for those that stay silent, fragments that never came; and what
    /// the host sent to itself.
    pub fn poll<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        for _ in 0..self.looped.len() {
            let Some(packet) = self.looped.pop_front() else { break };
            self.counters.looped += 1;
            let origin = Origin { verified: true, ..Origin::default() };
            let taken = match packet.first().map(|b| b >> 4) {
                Some(4) => self.take_v4(now, &packet, origin, tx),
                _ => self.take_v6(now, &packet, origin, tx),
            };
            if let Err(why) = taken {
                self.counters.discard(why);
            }
        }
        self.ask_neighbours(now, tx);
        self.end_fragments(now, tx);
    }

    /// When [`Host::poll`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        if !self.looped.is_empty() {
            return Some(0);
        }
        [self.neighbours.poll_timeout(), self.reassembly.poll_timeout()].into_iter().flatten().min()
    }
}

/// Sources that a packet from outside can have (RFC 1122, section 3.2.1.3).
fn plausible_v4(src: Ipv4Addr) -> bool {
    !(src.is_multicast() || src.is_broadcast() || src.is_loopback() || src.is_unspecified())
}
