//! The way up: from a frame to a socket's queue, or to an answer.

use crate::address::Key;
use crate::counters::Discard;
use crate::host::Host;
use crate::link::Arrived;
use crate::reassembly::{Outcome, Reason};
use crate::{Transmit, icmp, options};
use linerate_ring::Meta;
use linerate_sum::Sum;
use linerate_wire::{
    EtherType, IpProtocol, Ipv4Packet, Ipv6Chain, Ipv6Packet, Ipv6Problem, MacAddr, UdpDatagram, pseudo_header_v4,
    pseudo_header_v6,
};
use std::net::{IpAddr, Ipv4Addr};

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
        self.link.counters.frames += 1;
        if let Err(why) = self.take(now, frame, meta, tx) {
            self.link.counters.discard(why);
        }
    }

    /// A frame came that was longer than any can be, and was not kept.
    pub fn too_long(&mut self) {
        self.link.counters.frames += 1;
        self.link.counters.discard(Discard::Malformed);
    }

    fn take<T: Transmit>(&mut self, now: u64, frame: &[u8], meta: Option<Meta>, tx: &mut T) -> Result<(), Discard> {
        let Arrived { ethertype, payload, stations, verified } = self.link.open(frame, meta)?;
        let origin = Origin { stations: Some(stations), verified, joined: false };
        match ethertype {
            EtherType::IPV4 => self.take_v4(now, payload, origin, tx),
            EtherType::IPV6 => self.take_v6(now, payload, origin, tx),
            EtherType::ARP => self.link.take_arp(now, payload, &self.own, tx),
            _ => Err(Discard::NotForUs),
        }
    }

    fn take_v4<T: Transmit>(&mut self, now: u64, whole: &[u8], origin: Origin, tx: &mut T) -> Result<(), Discard> {
        let ip = Ipv4Packet::new_checked(whole).map_err(|_| Discard::Malformed)?;
        if !ip.verify_checksum() {
            return Err(Discard::BadChecksum);
        }
        let (src, dst) = (ip.src(), ip.dst());
        let (from, to) = (Key::v4(src), Key::v4(dst));
        let outside = origin.stations.is_some();
        if !plausible_v4(src) || self.own.is_broadcast(src.into()) || (outside && self.own.has(from)) {
            return Err(Discard::BadAddress);
        }
        let plain = ip.header_len() == 20 && !ip.is_fragment() && !origin.to_group();
        if plain && ip.protocol() == IpProtocol::UDP && self.own.has(to) {
            let pseudo = || pseudo_header_v4(src, dst, IpProtocol::UDP, u16::try_from(ip.payload().len()).unwrap_or(0));
            if let Some(taken) = self.deliver_udp(from, to, ip.payload(), (!origin.verified).then_some(pseudo)) {
                return taken;
            }
        }
        let to_all = self.own.is_to_all(dst.into());
        if !to_all && !self.own.has(to) {
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
                self.link.counters.fragments += 1;
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
        if src.is_multicast() || src.is_loopback() || mapped || (origin.stations.is_some() && self.own.has(from)) {
            return Err(Discard::BadAddress);
        }
        if ip.next_header() == IpProtocol::UDP && self.own.has(to) && !origin.to_group() {
            let pseudo = || pseudo_header_v6(src, dst, IpProtocol::UDP, u32::from(ip.payload_len()));
            if let Some(taken) = self.deliver_udp(from, to, ip.payload(), (!origin.verified).then_some(pseudo)) {
                return taken;
            }
        }
        let group = self.own.is_to_all(dst.into());
        if !group && !self.own.has(to) {
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
                self.link.counters.fragments += 1;
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
        self.link.counters.udp_received += 1;
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
        self.link.counters.udp_received += 1;
        Some(Ok(()))
    }

    /// What time brings: requests to neighbours, errors for those that stay silent, fragments that never came; and what
    /// the host sent to itself.
    pub fn poll<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        for _ in 0..self.looped.len() {
            let Some(packet) = self.looped.pop_front() else { break };
            self.link.counters.looped += 1;
            let origin = Origin { verified: true, ..Origin::default() };
            let taken = match packet.first().map(|b| b >> 4) {
                Some(4) => self.take_v4(now, &packet, origin, tx),
                _ => self.take_v6(now, &packet, origin, tx),
            };
            if let Err(why) = taken {
                self.link.counters.discard(why);
            }
        }
        self.link.poll(now, &self.own, tx);
        self.tell_undelivered(now);
        self.end_fragments(now, tx);
    }

    /// When [`Host::poll`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        if !self.looped.is_empty() {
            return Some(0);
        }
        [self.link.poll_timeout(), self.reassembly.poll_timeout()].into_iter().flatten().min()
    }
}

/// Sources that a packet from outside can have (RFC 1122, section 3.2.1.3).
fn plausible_v4(src: Ipv4Addr) -> bool {
    !(src.is_multicast() || src.is_broadcast() || src.is_loopback() || src.is_unspecified())
}
