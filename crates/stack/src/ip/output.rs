//! IP output: source, next hop, fragments.

use super::ident::{ATOMIC, Ident, is_atomic};
use super::reassembly::{Fragment, Fragments};
use super::{Ip, PayloadLen, Traffic, emit_ip, header_len, whole_packet};
use crate::Transmit;
use crate::address::{Cidr, is_link_local, is_link_multicast};
use linerate_wire::{IpProtocol, Ipv4Packet, Ipv4Repr};
use std::net::IpAddr;
use std::ops::Range;

/// Ethernet, VLAN tag, IPv6, fragment header.
const LONGEST_HEAD: usize = 14 + 4 + 40 + 8;

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

    /// Sends a payload, in fragments if it is longer than the path MTU: to a next hop, or to the host itself. False if there was
    /// no room for all of it.
    pub(crate) fn send<T: Transmit>(
        &mut self,
        now: u64,
        way: NextHop,
        to: IpAddr,
        (protocol, traffic): (IpProtocol, Traffic),
        payload: &[u8],
        tx: &mut T,
    ) -> bool {
        let Some(len) = PayloadLen::new(payload.len(), to) else { return false };
        let ours = self.settings.own.is_ours(to);
        if !ours && header_len(to) + payload.len() > way.mtu {
            return self.send_cut(now, way, to, (protocol, traffic), [payload, &[]], tx);
        }
        let ident = if is_atomic(protocol) { ATOMIC } else { self.shared.idents.next((way.from, to)).low() };
        let hops = self.settings.hops(to);
        let packet = || whole_packet((way.from, to), protocol, (payload, len), (ident, traffic), hops);
        if ours { self.looped.push(packet) } else { self.link.send(now, way.hop, packet(), &self.settings.own, tx) }
    }

    /// Sends a payload in two parts, in fragments. False, and nothing sent, if there was no room for the first; others that
    /// find none wait for it ([`Rest`]).
    pub(crate) fn send_cut<T: Transmit>(
        &mut self,
        now: u64,
        way: NextHop,
        to: IpAddr,
        (protocol, traffic): (IpProtocol, Traffic),
        parts: [&[u8]; 2],
        tx: &mut T,
    ) -> bool {
        let len = parts[0].len() + parts[1].len();
        let cut = if to.is_ipv4() { Fragments::v4(len, way.mtu) } else { Fragments::v6(len, way.mtu) };
        let (Some(cut), true) = (cut, self.rest.send(tx)) else { return false };
        let ends = (way.from, to);
        let (ident, hops) = (self.shared.idents.next(ends), self.settings.hops(to));
        let mut head = [0; LONGEST_HEAD];
        let at = self.link.header_len();
        let mac = self.link.station(now, way.hop, &self.settings.own);
        if let Some(mac) = mac {
            self.link.emit_header(&mut head[..at], mac, to.is_ipv4());
        }
        for Fragment { offset, more, range } in cut {
            let piece = both(parts, range.clone());
            let Some(len) =
                emit_fragment(&mut head[at..], ends, protocol, range.len(), (ident, traffic), (offset, more), hops)
            else {
                return false;
            };
            let frame = [&head[..at + len], piece[0], piece[1]];
            if mac.is_none() {
                // It waits for the neighbour.
                self.link.send(now, way.hop, [&frame[0][at..], piece[0], piece[1]].concat(), &self.settings.own, tx);
            } else if !self.rest.is_empty() || !tx.send(frame[0], &frame[1..], None) {
                if offset == 0 {
                    return false;
                }
                self.rest.push(frame.concat());
            }
        }
        true
    }

    /// Sends an ICMP message over IPv4 with options in its header. In fragments the first alone has them: those that hosts
    /// send are not to be copied (RFC 791, section 3.1).
    pub(super) fn send_with_options<T: Transmit>(
        &mut self,
        now: u64,
        way: NextHop,
        to: IpAddr,
        (options, message): (&[u8], &[u8]),
        tx: &mut T,
    ) -> bool {
        let (ident, hops) = (self.shared.idents.next((way.from, to)), self.settings.hops(to));
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

/// Bytes in a range of two parts that follow one another.
fn both(parts: [&[u8]; 2], range: Range<usize>) -> [&[u8]; 2] {
    let end = parts[0].len();
    let first = range.start.min(end)..range.end.min(end);
    let second = range.start.saturating_sub(end)..range.end.saturating_sub(end);
    [&parts[0][first], &parts[1][second]]
}

/// Builds a packet with one fragment; None if no packet can carry it.
fn fragment(
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    piece: &[u8],
    ident: Ident,
    place: (u16, bool),
    hops: u8,
) -> Option<Vec<u8>> {
    let mut head = [0; LONGEST_HEAD];
    let len = emit_fragment(&mut head, ends, protocol, piece.len(), (ident, Traffic::default()), place, hops)?;
    Some([&head[..len], piece].concat())
}

/// Writes the headers of a fragment of `len` bytes; gives theirs, or None if no packet can carry it.
fn emit_fragment(
    head: &mut [u8],
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    len: usize,
    (ident, traffic): (Ident, Traffic),
    (offset, more): (u16, bool),
    hops: u8,
) -> Option<usize> {
    let (IpAddr::V4(src), IpAddr::V4(dst)) = ends else {
        let payload_len = PayloadLen::new(8 + len, ends.1)?;
        emit_ip(head, ends, IpProtocol::IPV6_FRAGMENT, payload_len, (ident.low(), traffic), hops);
        // RFC 8200, section 4.5: next header, reserved, offset in units of 8 with the M flag, identification.
        (head[40], head[41]) = (protocol.0, 0);
        let field = offset & !7 | u16::from(more);
        head[42..44].copy_from_slice(&field.to_be_bytes());
        head[44..48].copy_from_slice(&ident.whole().to_be_bytes());
        return Some(48);
    };
    let ip = Ipv4Repr {
        payload_len: len,
        ident: ident.low(),
        tos: traffic.class(),
        ttl: hops,
        dont_fragment: false,
        more_fragments: more,
        fragment_offset: offset,
        ..Ipv4Repr::new(src, dst, protocol)
    };
    ip.emit(head).ok().map(|_| ip.buffer_len())
}
