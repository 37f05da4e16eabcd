//! IP output: source, next hop, fragments.

use super::reassembly::{Fragment, Fragments};
use super::shared::Ident;
use super::{Ip, PayloadLen, header_len, whole_packet};
use crate::Transmit;
use crate::address::{Cidr, is_link_local, is_link_multicast};
use linerate_wire::{IpProtocol, Ipv4Packet, Ipv4Repr};
use std::net::IpAddr;

/// Next hop of a packet, source address and path MTU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextHop {
    pub(crate) from: IpAddr,
    pub(crate) hop: IpAddr,
    /// Longest IP packet.
    pub(crate) mtu: usize,
}

impl Ip {
    /// Source and next hop towards an address, for a socket bound to `bound`.
    pub(crate) fn way(&self, to: IpAddr, bound: IpAddr, now: u64) -> Option<NextHop> {
        let hop = if self.settings.own.is_broadcast(to)
            || to.is_multicast()
            || self.settings.own.is_ours(to)
            || is_link_local(to)
        {
            to
        } else {
            self.settings.routes.next_hop(to)?
        };
        let from = if bound.is_unspecified() { self.source(to, hop)? } else { bound };
        self.settings.own.is_ours(from).then(|| NextHop {
            from,
            hop,
            mtu: self.settings.pmtu.of(to, self.settings.mtu(to), now),
        })
    }

    /// Source address: the destination itself if it is ours, one on the next hop's network, or the first of the family
    /// whose scope is wide enough (RFC 6724, rules 1, 2 and 8); of all these one that is not deprecated, if there is one
    /// (rule 3).
    fn source(&self, to: IpAddr, hop: IpAddr) -> Option<IpAddr> {
        if self.settings.own.is_ours(to) {
            return Some(to);
        }
        let near = |addr: &IpAddr| is_link_local(*addr) == (is_link_local(to) || is_link_multicast(to));
        let own = &self.settings.own;
        let old = |a: &Cidr| own.is_deprecated(a.addr()) && !is_link_local(a.addr());
        let young = own.all().iter().any(|a| a.addr().is_ipv4() == to.is_ipv4() && near(&a.addr()) && !old(a));
        let family = || own.all().iter().filter(|a| a.addr().is_ipv4() == to.is_ipv4() && !(young && old(a)));
        let on_network = || family().filter(|a| a.contains(hop)).map(Cidr::addr);
        on_network()
            .find(near)
            .or_else(|| family().map(Cidr::addr).find(near))
            .or_else(|| on_network().next())
            .or_else(|| family().map(Cidr::addr).next())
    }

    /// Sends a payload, in fragments if it is longer than the path MTU: to a next hop, or to the host itself. False if
    /// there was no room for all of it.
    #[expect(clippy::too_many_arguments, reason = "the fields of an IP packet")]
    pub(crate) fn send<T: Transmit>(
        &mut self,
        now: u64,
        way: NextHop,
        to: IpAddr,
        protocol: IpProtocol,
        payload: &[u8],
        hops: u8,
        tx: &mut T,
    ) -> bool {
        let Some(len) = PayloadLen::new(payload.len(), to) else { return false };
        let ident = self.shared.ident();
        if self.settings.own.is_ours(to) {
            return self.looped.push(|| whole_packet((way.from, to), protocol, (payload, len), ident.low(), hops));
        }
        if header_len(to) + payload.len() <= way.mtu {
            let packet = whole_packet((way.from, to), protocol, (payload, len), ident.low(), hops);
            return self.link.send(now, way.hop, packet, &self.settings.own, tx);
        }
        let mut sent = true;
        let fragments =
            if to.is_ipv4() { Fragments::v4(payload.len(), way.mtu) } else { Fragments::v6(payload.len(), way.mtu) };
        let Some(fragments) = fragments else { return false };
        for Fragment { offset, more, range } in fragments {
            let packet = fragment((way.from, to), protocol, &payload[range], ident, (offset, more), hops);
            sent &= packet.is_some_and(|packet| self.link.send(now, way.hop, packet, &self.settings.own, tx));
        }
        sent
    }

    /// Sends an ICMP message over IPv4 with options in its header. In fragments the first alone has them: those that hosts
    /// send are not to be copied (RFC 791, section 3.1).
    pub(super) fn send_with_options<T: Transmit>(
        &mut self,
        now: u64,
        way: NextHop,
        to: IpAddr,
        (options, message): (&[u8], &[u8]),
        hops: u8,
        tx: &mut T,
    ) -> bool {
        let ident = self.shared.ident();
        let fits = message.len() + options.len() + 20 <= usize::from(u16::MAX);
        let fragments = Fragments::v4(message.len(), way.mtu.saturating_sub(options.len())).filter(|_| fits);
        let Some(fragments) = fragments else { return false };
        let mut sent = true;
        for Fragment { offset, more, range } in fragments {
            let options = if offset == 0 { options } else { &[] };
            let body = [options, &message[range]].concat();
            let packet = fragment((way.from, to), IpProtocol::ICMP, &body, ident, (offset, more), hops);
            let packet = packet.map(|packet| with_options(packet, options.len()));
            sent &= packet.is_some_and(|packet| self.link.send(now, way.hop, packet, &self.settings.own, tx));
        }
        sent
    }
}

/// Makes the first `len` bytes of an IPv4 packet's payload options.
fn with_options(mut packet: Vec<u8>, len: usize) -> Vec<u8> {
    packet[0] += u8::try_from(len / 4).unwrap_or(0);
    if let Ok(mut ip) = Ipv4Packet::new_checked(&mut packet[..]) {
        ip.fill_checksum();
    }
    packet
}

/// Builds a packet with one fragment; None if no packet can carry it.
fn fragment(
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    piece: &[u8],
    ident: Ident,
    (offset, more): (u16, bool),
    hops: u8,
) -> Option<Vec<u8>> {
    let (IpAddr::V4(src), IpAddr::V4(dst)) = ends else {
        // RFC 8200, section 4.5: next header, reserved, offset in units of 8 with the M flag, identification.
        let mut body = vec![0; 8 + piece.len()];
        body[0] = protocol.0;
        let field = offset & !7 | u16::from(more);
        body[2..4].copy_from_slice(&field.to_be_bytes());
        body[4..8].copy_from_slice(&ident.whole().to_be_bytes());
        body[8..].copy_from_slice(piece);
        let len = PayloadLen::new(body.len(), ends.1)?;
        return Some(whole_packet(ends, IpProtocol::IPV6_FRAGMENT, (&body, len), ident.low(), hops));
    };
    let ip = Ipv4Repr {
        payload_len: piece.len(),
        ident: ident.low(),
        ttl: hops,
        dont_fragment: false,
        more_fragments: more,
        fragment_offset: offset,
        ..Ipv4Repr::new(src, dst, protocol)
    };
    let mut packet = vec![0; 20 + piece.len()];
    if let Ok(rest) = ip.emit(&mut packet) {
        rest.copy_from_slice(piece);
    }
    Some(packet)
}
