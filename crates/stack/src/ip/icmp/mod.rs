//! ICMP (RFC 792, RFC 4443): echoes, and errors in both directions.

mod error;
mod report;

use super::{Ip, Packet, Taken, Traffic, mld, options};
use crate::Transmit;
use crate::counters::Discard;
use crate::link::Message;
pub(super) use error::Allowance;
pub(crate) use error::Wrong;
use linerate_wire::{Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpProtocol, NdpPacket, NdpRepr, Quote};
pub(crate) use report::{About, Report, Told};
use std::net::IpAddr;

impl Ip {
    /// Processes the payload if it is ICMP; others are for the protocols above.
    pub(super) fn take_payload<'a, T: Transmit>(
        &mut self,
        now: u64,
        packet: Packet<'a>,
        tx: &mut T,
    ) -> Result<Taken<'a>, Discard> {
        match packet.protocol {
            // RFC 8200, section 4.7: nothing follows, and no error is sent about it.
            IpProtocol::IPV6_NO_NEXT if packet.to.is_ipv6() => Err(Discard::NotForUs),
            IpProtocol::ICMP if packet.to.is_ipv4() => self.take_icmp_v4(now, packet, tx),
            IpProtocol::ICMPV6 if packet.to.is_ipv6() => self.take_icmp_v6(now, packet, tx),
            _ => Ok(Taken::Up(packet)),
        }
    }

    fn take_icmp_v4<T: Transmit>(
        &mut self,
        now: u64,
        packet: Packet<'_>,
        tx: &mut T,
    ) -> Result<Taken<'static>, Discard> {
        let icmp = Icmpv4Packet::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        if !icmp.verify_checksum() {
            return Err(Discard::BadChecksum);
        }
        let repr = Icmpv4Repr::parse(&icmp);
        match repr {
            // RFC 1122, section 3.2.2.6: a broadcast echo request need not be answered, and the answers would flood its
            // sender.
            Icmpv4Repr::EchoRequest { .. } if packet.to_all => Err(Discard::NotForUs),
            Icmpv4Repr::EchoRequest { ident, sequence } => {
                let mut message = packet.payload.to_vec();
                let written = Icmpv4Repr::EchoReply { ident, sequence }.emit(&mut message).is_ok();
                debug_assert!(written);
                self.link.counters.echoes += 1;
                let options = self.reply_options(now, &packet);
                let ends = (packet.to, packet.from);
                self.send_icmp_with(now, ends, options.bytes(), &mut message, tx).map(|()| Taken::Done)
            }
            _ if repr.is_error() => {
                let quote = Quote::parse_v4(icmp.payload()).map_err(|_| Discard::Malformed)?;
                let what = match repr {
                    // Source quench is ignored (RFC 6633, section 3), and so are redirects: routes are configured here.
                    Icmpv4Repr::Other { .. } => return Err(Discard::NotForUs),
                    Icmpv4Repr::Unreachable { code: Icmpv4Repr::FRAGMENTATION_NEEDED, mtu } => {
                        // Routers before RFC 1191 report no MTU; then the smallest that must be supported is assumed.
                        Told::TooBig(if mtu == 0 { 576 } else { mtu.into() })
                    }
                    Icmpv4Repr::Unreachable { code: Icmpv4Repr::PORT | Icmpv4Repr::PROTOCOL, .. } => Told::Refused,
                    _ => Told::Unreachable,
                };
                self.take_error(now, &quote, what)
            }
            _ => Err(Discard::NotForUs),
        }
    }

    fn take_icmp_v6<T: Transmit>(
        &mut self,
        now: u64,
        packet: Packet<'_>,
        tx: &mut T,
    ) -> Result<Taken<'static>, Discard> {
        let (IpAddr::V6(src), IpAddr::V6(dst)) = (packet.from, packet.to) else { return Err(Discard::BadAddress) };
        let icmp = Icmpv6Packet::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        if !icmp.verify_checksum(src, dst) {
            return Err(Discard::BadChecksum);
        }
        if (133..=137).contains(&icmp.kind()) {
            // RFC 6980, section 5: fragmented neighbour discovery messages are ignored.
            if packet.origin.joined {
                return Err(Discard::Fragments);
            }
            let ndp = NdpPacket::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
            let station = packet.origin.stations.map(|(src, _)| src);
            let message = Message { from: src, to: dst, hops: packet.hops, station };
            return self.take_ndp(now, message, NdpRepr::parse(&ndp), tx).map(|()| Taken::Done);
        }
        if icmp.kind() == mld::QUERY {
            return self.take_query(now, &packet).map(|()| Taken::Done);
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
                let from = if self.settings.own.is_ours(packet.to) { packet.to } else { unspecified(packet.from) };
                self.send_icmp(now, (from, packet.from), &mut message, tx).map(|()| Taken::Done)
            }
            _ if repr.is_error() => {
                let quote = Quote::parse_v6(icmp.payload()).map_err(|_| Discard::Malformed)?;
                let what = match repr {
                    // RFC 8201, section 4: no link has an MTU below 1280.
                    Icmpv6Repr::PacketTooBig { mtu: ..1280 } => return Err(Discard::Malformed),
                    Icmpv6Repr::PacketTooBig { mtu } => Told::TooBig(mtu as usize),
                    Icmpv6Repr::Unreachable { code: Icmpv6Repr::PORT } => Told::Refused,
                    _ => Told::Unreachable,
                };
                self.take_error(now, &quote, what)
            }
            _ => Err(Discard::NotForUs),
        }
    }

    /// Processes a message of neighbour discovery: those of routers are IP's, others the link's.
    fn take_ndp<T: Transmit>(&mut self, now: u64, message: Message, said: NdpRepr, tx: &mut T) -> Result<(), Discard> {
        if let NdpRepr::RouterAdvertisement { router, source } = &said
            && let Some(taken) = self.take_advertisement(now, message, router, *source, tx)
        {
            return taken;
        }
        let taken = self.link.take_ndp(now, message, said, &self.settings.own, tx);
        self.judge(now, tx);
        taken
    }

    /// Options of the reply to an echo request over IPv4.
    fn reply_options(&self, now: u64, packet: &Packet<'_>) -> options::Reply {
        let header = packet.whole.first().map_or(0, |byte| usize::from(byte & 15) * 4);
        match (packet.whole.get(20..header), packet.to) {
            (Some(options), IpAddr::V4(ours)) if !options.is_empty() => {
                options::Reply::to(options, ours, |addr| self.settings.own.is_ours(addr.into()), now)
            }
            _ => options::Reply::NONE,
        }
    }

    /// Completes an ICMP message with its checksum and sends it.
    fn send_icmp<T: Transmit>(
        &mut self,
        now: u64,
        ends: (IpAddr, IpAddr),
        message: &mut [u8],
        tx: &mut T,
    ) -> Result<(), Discard> {
        self.send_icmp_with(now, ends, &[], message, tx)
    }

    /// Like [`Ip::send_icmp`], with options in IPv4's header.
    fn send_icmp_with<T: Transmit>(
        &mut self,
        now: u64,
        (from, to): (IpAddr, IpAddr),
        options: &[u8],
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
        let sent = if options.is_empty() {
            self.send(now, way, to, (protocol, Traffic::default()), message, tx)
        } else {
            self.send_with_options(now, way, to, (options, message), tx)
        };
        if sent { Ok(()) } else { Err(Discard::NoRoom) }
    }
}

/// The unspecified address of the same family.
fn unspecified(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }
}
