//! ICMP (RFC 792, RFC 4443): echoes, and errors in both directions.

use crate::Transmit;
use crate::address::Key;
use crate::counters::Discard;
use crate::host::Host;
use crate::input::{Origin, Packet};
use crate::link::Message;
use crate::udp::SendError;
use linerate_wire::{Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpProtocol, NdpPacket, NdpRepr, Quote};
use std::net::{IpAddr, SocketAddr};

/// Errors that may be sent at once, and how long each takes to be allowed again (RFC 1812, section 4.3.2.8; the numbers
/// are Linux's).
const BURST: u64 = 50;
const EACH_NS: u64 = 1_000_000;
/// Longest error packets (RFC 1812, section 4.3.2.3; RFC 4443, section 2.4 c).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;
const HOPS: u8 = 64;

/// How many errors may be sent.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    /// When all that were sent will be forgotten.
    until: u64,
}

impl Allowance {
    fn take(&mut self, now: u64) -> bool {
        let until = self.until.max(now) + EACH_NS;
        let allowed = until <= now + BURST * EACH_NS;
        if allowed {
            self.until = until;
        }
        allowed
    }
}

/// What is told to a packet's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// Nobody listens at the port.
    NoPort,
    /// The protocol is not spoken here.
    NoProtocol,
    /// A field is wrong.
    Parameter { code: u8, pointer: u32 },
    /// The fragments did not come in time.
    Reassembly,
}

impl Host {
    /// Tells a packet's sender what is wrong with it, unless nobody may be told (RFC 1122, section 3.2.2; RFC 4443, section
    /// 2.4 e).
    pub(crate) fn send_error<T: Transmit>(&mut self, now: u64, packet: Packet<'_>, error: Error, tx: &mut T) {
        let nobody = packet.from.is_unspecified() || packet.from.is_multicast() || self.own.is_broadcast(packet.from);
        if packet.to_all || nobody || is_error(packet.whole) {
            return;
        }
        if !self.allowance.take(now) {
            self.link.counters.discard(Discard::NoRoom);
            return;
        }
        let (most, header) = if packet.from.is_ipv4() { (LONGEST_V4, 20) } else { (LONGEST_V6, 40) };
        let quoted = &packet.whole[..packet.whole.len().min(most - header - 8)];
        let mut message = vec![0; 8 + quoted.len()];
        message[8..].copy_from_slice(quoted);
        let written = match packet.from {
            IpAddr::V4(_) => match error {
                Error::NoPort => Icmpv4Repr::Unreachable { code: Icmpv4Repr::PORT, mtu: 0 },
                Error::NoProtocol => Icmpv4Repr::Unreachable { code: Icmpv4Repr::PROTOCOL, mtu: 0 },
                Error::Parameter { code, pointer } => {
                    Icmpv4Repr::ParameterProblem { code, pointer: u8::try_from(pointer).unwrap_or(0) }
                }
                Error::Reassembly => Icmpv4Repr::TimeExceeded { code: Icmpv4Repr::REASSEMBLY },
            }
            .emit(&mut message)
            .is_ok(),
            IpAddr::V6(_) => match error {
                Error::NoPort => Icmpv6Repr::Unreachable { code: Icmpv6Repr::PORT },
                // RFC 8200, section 4: an unknown next header is a parameter problem, code 1, that points to it.
                Error::NoProtocol => Icmpv6Repr::ParameterProblem { code: 1, pointer: packet.named_at },
                Error::Parameter { code, pointer } => Icmpv6Repr::ParameterProblem { code, pointer },
                Error::Reassembly => Icmpv6Repr::TimeExceeded { code: Icmpv6Repr::REASSEMBLY },
            }
            .emit(&mut message)
            .is_ok(),
        };
        debug_assert!(written);
        // An error about what came to a group is sent from one of our own addresses.
        let from = if self.own.is_ours(packet.to) { packet.to } else { unspecified(packet.from) };
        match self.send_icmp(now, (from, packet.from), &mut message, tx) {
            Ok(()) => self.link.counters.errors_sent += 1,
            Err(why) => self.link.counters.discard(why),
        }
    }

    /// Completes an ICMP message by its checksum and sends it.
    fn send_icmp<T: Transmit>(
        &mut self,
        now: u64,
        (from, to): (IpAddr, IpAddr),
        message: &mut [u8],
        tx: &mut T,
    ) -> Result<(), Discard> {
        let way = self.way(to, from, now).ok_or(Discard::NoRoute)?;
        let protocol = match (way.from, to) {
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                if let Ok(mut packet) = Icmpv6Packet::new_checked(&mut *message) {
                    packet.fill_checksum(src, dst);
                }
                IpProtocol::ICMPV6
            }
            _ => {
                if let Ok(mut packet) = Icmpv4Packet::new_checked(&mut *message) {
                    packet.fill_checksum();
                }
                IpProtocol::ICMP
            }
        };
        let sent = self.send_payload(now, way, to, protocol, message, HOPS, tx);
        self.tell_undelivered(now);
        if sent { Ok(()) } else { Err(Discard::NoRoom) }
    }

    pub(crate) fn take_icmp_v4<T: Transmit>(
        &mut self,
        now: u64,
        packet: Packet<'_>,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let icmp = Icmpv4Packet::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        if !icmp.verify_checksum() {
            return Err(Discard::BadChecksum);
        }
        let repr = Icmpv4Repr::parse(&icmp);
        match repr {
            // RFC 1122, section 3.2.2.6: what went to everybody need not be answered, and would flood its sender.
            Icmpv4Repr::EchoRequest { .. } if packet.to_all => Err(Discard::NotForUs),
            Icmpv4Repr::EchoRequest { ident, sequence } => {
                let mut message = packet.payload.to_vec();
                let written = Icmpv4Repr::EchoReply { ident, sequence }.emit(&mut message).is_ok();
                debug_assert!(written);
                self.link.counters.echoes += 1;
                self.send_icmp(now, (packet.to, packet.from), &mut message, tx)
            }
            _ if repr.is_error() => {
                let quote = Quote::parse_v4(icmp.payload()).map_err(|_| Discard::Malformed)?;
                let what = match repr {
                    // Source quench is ignored (RFC 6633, section 3), and so are redirects: routes are configured here.
                    Icmpv4Repr::Other { .. } => return Err(Discard::NotForUs),
                    Icmpv4Repr::Unreachable { code: Icmpv4Repr::FRAGMENTATION_NEEDED, mtu } => {
                        // Routers before RFC 1191 tell nothing; then the least that must get through is assumed.
                        Told::TooBig(if mtu == 0 { 576 } else { mtu.into() })
                    }
                    Icmpv4Repr::Unreachable { code: Icmpv4Repr::PORT | Icmpv4Repr::PROTOCOL, .. } => Told::Refused,
                    _ => Told::Unreachable,
                };
                self.take_error(now, &quote, what)?;
                self.link.counters.errors_received += 1;
                Ok(())
            }
            _ => Err(Discard::NotForUs),
        }
    }

    pub(crate) fn take_icmp_v6<T: Transmit>(
        &mut self,
        now: u64,
        packet: Packet<'_>,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let (IpAddr::V6(src), IpAddr::V6(dst)) = (packet.from, packet.to) else { return Err(Discard::BadAddress) };
        let icmp = Icmpv6Packet::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        if !icmp.verify_checksum(src, dst) {
            return Err(Discard::BadChecksum);
        }
        if (133..=137).contains(&icmp.kind()) {
            // RFC 6980, section 5: discovery in fragments is ignored.
            if packet.origin.joined {
                return Err(Discard::Fragments);
            }
            let ndp = NdpPacket::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
            let station = packet.origin.stations.map(|(src, _)| src);
            let message = Message { from: src, to: dst, hops: packet.hops, station };
            return self.link.take_ndp(now, message, NdpRepr::parse(&ndp), &self.own, tx);
        }
        let repr = Icmpv6Repr::parse(&icmp);
        match repr {
            Icmpv6Repr::EchoRequest { .. } if packet.from.is_unspecified() => Err(Discard::BadAddress),
            Icmpv6Repr::EchoRequest { ident, sequence } => {
                let mut message = packet.payload.to_vec();
                let written = Icmpv6Repr::EchoReply { ident, sequence }.emit(&mut message).is_ok();
                debug_assert!(written);
                self.link.counters.echoes += 1;
                // RFC 4443, section 4.2: a ping to a group is answered from an address of our own.
                let from = if self.own.is_ours(packet.to) { packet.to } else { unspecified(packet.from) };
                self.send_icmp(now, (from, packet.from), &mut message, tx)
            }
            _ if repr.is_error() => {
                let quote = Quote::parse_v6(icmp.payload()).map_err(|_| Discard::Malformed)?;
                let what = match repr {
                    // RFC 8201, section 4: no link is as narrow as that.
                    Icmpv6Repr::PacketTooBig { mtu: ..1280 } => return Err(Discard::Malformed),
                    Icmpv6Repr::PacketTooBig { mtu } => Told::TooBig(usize::try_from(mtu).unwrap_or(usize::MAX)),
                    Icmpv6Repr::Unreachable { code: Icmpv6Repr::PORT } => Told::Refused,
                    _ => Told::Unreachable,
                };
                self.take_error(now, &quote, what)?;
                self.link.counters.errors_received += 1;
                Ok(())
            }
            _ => Err(Discard::NotForUs),
        }
    }

    /// An error about a datagram of ours. It must quote one that a socket could have sent, or an echo's answer: others
    /// could be anybody's.
    fn take_error(&mut self, now: u64, quote: &Quote<'_>, what: Told) -> Result<(), Discard> {
        // Answers over IPv4 may be cut on their way; those over IPv6 are cut by who sends them, or not at all.
        let echo = quote.protocol == IpProtocol::ICMPV6 && quote.first && quote.payload.first() == Some(&129);
        if let (true, Told::TooBig(mtu)) = (echo && self.own.is_ours(quote.src), what) {
            self.link.generation += u64::from(self.pmtu.tell(quote.dst, mtu, self.link.mtu, now));
            return Ok(());
        }
        let (from, to) = quote.ports().filter(|_| quote.protocol == IpProtocol::UDP).ok_or(Discard::NotForUs)?;
        if !self.own.is_ours(quote.src) {
            return Err(Discard::BadAddress);
        }
        let remote = SocketAddr::new(quote.dst, to);
        let ends = ((Key::new(quote.src), from), (Key::new(quote.dst), to));
        let socket = self.sockets.find(ends.0, ends.1).ok_or(Discard::NoSocket)?;
        // Only who is connected can tell which of its datagrams is meant (as in the systems that people know). What it
        // keeps of its header goes, so that the next send sees the error.
        let told = socket.remote == Some(remote);
        match what {
            Told::TooBig(mtu) => self.link.generation += u64::from(self.pmtu.tell(quote.dst, mtu, self.link.mtu, now)),
            Told::Refused if told => (socket.error, socket.template) = (Some(SendError::Refused), None),
            Told::Unreachable if told => (socket.error, socket.template) = (Some(SendError::Unreachable), None),
            _ => {}
        }
        Ok(())
    }

    /// Tells the sockets of what waited in vain for its neighbour.
    pub(crate) fn tell_undelivered(&mut self, now: u64) {
        for packet in self.link.failed() {
            let v4 = packet.first().is_some_and(|b| b >> 4 == 4);
            let quote = if v4 { Quote::parse_v4(&packet) } else { Quote::parse_v6(&packet) };
            if let Ok(quote) = quote {
                // What is not a socket's has nobody to be told.
                let _ = self.take_error(now, &quote, Told::Unreachable);
            }
        }
    }

    /// Tells the senders of fragments that never became a datagram (RFC 1122, section 3.3.2; RFC 8200, section 4.5).
    pub(crate) fn end_fragments<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        let mut late = Vec::new();
        self.reassembly.poll(now, |first| late.push(first));
        for first in &late {
            self.link.counters.discard(Discard::Late);
            let ends: Option<(IpAddr, IpAddr)> = match first.first().map(|b| b >> 4) {
                Some(4) => ends_at::<4>(first, 12),
                _ => ends_at::<16>(first, 8),
            };
            let Some((from, to)) = ends.filter(|(_, to)| self.own.is_ours(*to)) else { continue };
            let packet = Packet {
                from,
                to,
                hops: 0,
                whole: first,
                origin: Origin::default(),
                protocol: IpProtocol(if from.is_ipv4() { first[9] } else { first[6] }),
                named_at: 6,
                payload: &[],
                to_all: false,
            };
            self.send_error(now, packet, Error::Reassembly, tx);
        }
    }
}

/// Whether a packet is an ICMP error itself. Of a fragment that does not tell, it is assumed.
fn is_error(whole: &[u8]) -> bool {
    let byte = |at: usize| whole.get(at).copied();
    if byte(0).is_some_and(|b| b >> 4 == 4) {
        let header = byte(0).map_or(0, |b| usize::from(b & 15) * 4);
        let first = byte(6).is_some_and(|b| b & 0x1f == 0) && byte(7) == Some(0);
        let kind = byte(header).filter(|_| first);
        return byte(9) == Some(IpProtocol::ICMP.0) && kind.is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
    }
    let (mut next, mut at, mut first) = (byte(6), 40, true);
    while let Some(kind) = next {
        let len = match IpProtocol(kind) {
            IpProtocol::HOP_BY_HOP | IpProtocol::IPV6_DESTINATION | IpProtocol::IPV6_ROUTING => {
                byte(at + 1).map_or(8, |units| (usize::from(units) + 1) * 8)
            }
            IpProtocol::IPV6_FRAGMENT => {
                first = byte(at + 2) == Some(0) && byte(at + 3).is_none_or(|b| b < 8);
                8
            }
            IpProtocol::ICMPV6 => return byte(at).filter(|_| first).is_none_or(|kind| kind < 128 || kind == 137),
            _ => return false,
        };
        next = byte(at).filter(|_| first || kind == IpProtocol::IPV6_FRAGMENT.0);
        at += len;
    }
    false
}

/// What an error says.
#[derive(Clone, Copy, Debug)]
enum Told {
    TooBig(usize),
    Refused,
    Unreachable,
}

/// Source and destination that stand behind each other in a header.
fn ends_at<const N: usize>(bytes: &[u8], at: usize) -> Option<(IpAddr, IpAddr)>
where
    IpAddr: From<[u8; N]>,
{
    let one = |at: usize| -> Option<IpAddr> { Some(<[u8; N]>::try_from(bytes.get(at..at + N)?).ok()?.into()) };
    Some((one(at)?, one(at + N)?))
}

/// Any address of the same family.
fn unspecified(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }
}

/// Whatever stands where the first fragment would say what the message is.
#[test]
fn a_fragment_that_is_not_the_first_is_taken_for_an_error() {
    for ([high, low], error) in [([0, 0], false), ([0, 1], false), ([0, 8], true), ([1, 0], true), ([0x7f, 1], true)] {
        let mut whole = [0; 49];
        (whole[0], whole[6]) = (0x60, IpProtocol::IPV6_FRAGMENT.0);
        whole[40..44].copy_from_slice(&[IpProtocol::ICMPV6.0, 0, high, low]);
        whole[48] = 128;
        assert_eq!(is_error(&whole), error, "{high:#x} {low:#x}");
    }
}
