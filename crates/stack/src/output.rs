//! The way down: from a socket's bytes to a frame.

use crate::Transmit;
use crate::address::{Cidr, Key, is_link_local, is_link_multicast, is_mapped};
use crate::flow::Flow;
use crate::host::{Host, LOOPED, Path};
use crate::reassembly::{Fragment, Fragments};
use crate::stage::{Probe, Stage};
use crate::template::Template;
use crate::udp::{SendError, UdpId};
use linerate_ring::Meta;
use linerate_wire::{IpProtocol, Ipv4Repr, pseudo_header_v4, pseudo_header_v6};
use std::net::{IpAddr, SocketAddr};

/// Ethernet, tag, IPv6, UDP.
const LONGEST_HEAD: usize = 14 + 4 + 40 + 8;
/// How long route and neighbour are taken as found without being looked at again: the neighbour's state is seen to then.
const KEPT: u64 = 1_000_000_000;
/// How far packets go: groups are for the link unless somebody says otherwise (RFC 1112, section 6.1; RFC 3493, section
/// 5.2).
fn hops(to: IpAddr) -> u8 {
    if to.is_multicast() { 1 } else { 64 }
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) from: IpAddr,
    hop: IpAddr,
    mtu: usize,
}

impl Host {
    /// Sends a datagram from a socket to where it is connected, or to `to`. What waits for its neighbour is sent too.
    #[inline]
    pub fn udp_send<T: Transmit>(
        &mut self,
        now: u64,
        id: UdpId,
        to: Option<SocketAddr>,
        body: &[u8],
        tx: &mut T,
    ) -> Result<(), SendError> {
        self.udp_send_probed(now, id, to, body, tx, &mut ())
    }

    /// As [`Host::udp_send`], with somebody who looks between the stages. The fast path has only the first and the last of
    /// them.
    #[inline]
    pub fn udp_send_probed<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        id: UdpId,
        to: Option<SocketAddr>,
        body: &[u8],
        tx: &mut T,
        probe: &mut P,
    ) -> Result<(), SendError> {
        if self.path == Path::Fast
            && let Some(sent) = self.udp_send_fast(now, id, to, body, tx, probe)
        {
            return sent;
        }
        self.udp_send_long(now, id, to, body, tx, probe)
    }

    /// By the header that the socket keeps; None if there is none that holds.
    #[inline]
    fn udp_send_fast<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        id: UdpId,
        to: Option<SocketAddr>,
        body: &[u8],
        tx: &mut T,
        probe: &mut P,
    ) -> Option<Result<(), SendError>> {
        let valid = self.link.valid();
        let socket = self.sockets.get(id)?;
        let to = to.or(socket.remote)?;
        let template = socket.template.as_ref().filter(|t| t.holds(valid, now, to, body.len()))?;
        if !probe.passed(Stage::Socket, template) {
            return Some(Ok(()));
        }
        let ident = self.ident;
        if !tx.frame(template.len() + body.len(), template.request(), |frame| template.write(frame, ident, body)) {
            return Some(Err(SendError::NoRoom));
        }
        self.ident = ident.wrapping_add(1);
        self.link.counters.udp_sent += 1;
        self.link.counters.udp_fast += 1;
        probe.passed(Stage::Ring, &());
        Some(Ok(()))
    }

    /// With all headers made anew, and perhaps route and neighbour looked up.
    fn udp_send_long<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        id: UdpId,
        to: Option<SocketAddr>,
        body: &[u8],
        tx: &mut T,
        probe: &mut P,
    ) -> Result<(), SendError> {
        // socket
        let socket = self.sockets.get_mut(id).ok_or(SendError::Closed)?;
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        let (local, to) = (socket.local, to.or(socket.remote).ok_or(SendError::NotConnected)?);
        check(local, to, body.len())?;
        if !self.link.up {
            return Err(SendError::Down);
        }
        if !probe.passed(Stage::Socket, &(local, to)) {
            return Ok(());
        }
        // route, and with the flow table the neighbour too
        let valid = self.link.valid();
        let known =
            if self.path >= Path::Flow { self.flows.find(to.ip(), local.ip(), valid, now).copied() } else { None };
        let way = match known {
            Some(flow) => Way { from: flow.from, hop: flow.hop, mtu: flow.mtu },
            None => self.way(to.ip(), local.ip(), now).ok_or(SendError::NoRoute)?,
        };
        if !probe.passed(Stage::Route, &way) {
            return Ok(());
        }
        let from = SocketAddr::new(way.from, local.port());
        let ip_len = if to.is_ipv4() { 20 } else { 40 };
        let ethernet = self.link.header_len();
        if ip_len + 8 + body.len() > way.mtu || (known.is_none() && self.own.is_ours(to.ip())) {
            return self.udp_send_packet(now, (from, to), way, body, tx);
        }
        // udp
        let mut head = [0; LONGEST_HEAD];
        let len = ethernet + ip_len + 8;
        let request = self.udp_header(&mut head[ethernet + ip_len..len], ethernet + ip_len, (from, to), body);
        if !probe.passed(Stage::Udp, &head) {
            return Ok(());
        }
        // ip
        let ident = self.ident;
        emit_ip(&mut head[ethernet..], (way.from, to.ip()), IpProtocol::UDP, 8 + body.len(), ident, hops(to.ip()));
        if !probe.passed(Stage::Ip, &head) {
            return Ok(());
        }
        // neighbour
        let mac = match known {
            Some(flow) => flow.mac,
            None => match self.link.station(now, way.hop, &self.own) {
                Some(mac) => mac,
                None => return self.udp_send_packet(now, (from, to), way, body, tx),
            },
        };
        if !probe.passed(Stage::Neighbour, &(&head, mac)) {
            return Ok(());
        }
        // ethernet header
        self.link.emit_ip(&mut head[..ethernet], mac, to.is_ipv4());
        if !probe.passed(Stage::Ethernet, &head) {
            return Ok(());
        }
        // loopback check: what goes to all on the link goes to the host's own sockets too
        let ours_too = mac.is_multicast() && self.own.is_to_all(to.ip());
        if !probe.passed(Stage::Loopback, &(&head, ours_too)) {
            return Ok(());
        }
        // nic and ring
        if !tx.send(&head[..len], body, request) {
            return Err(SendError::NoRoom);
        }
        if ours_too {
            self.loop_back((from, to), &[&head[ethernet + ip_len..len], body].concat(), ident);
        }
        self.ident = ident.wrapping_add(1);
        self.link.counters.udp_sent += 1;
        self.link.counters.udp_flow += u64::from(known.is_some());
        // A lookup may have changed the neighbours' generation; what was found holds under the one that is now.
        let (valid, until) = (self.link.valid(), now.saturating_add(KEPT));
        if self.path == Path::Fast
            && !mac.is_multicast()
            && let Some(socket) = self.sockets.get_mut(id)
        {
            let most = (way.mtu - ip_len - 8).min(tx.single().saturating_sub(len));
            let kept = Template::new(&head[..len], ethernet, (way.from, to), request, (valid, until), most);
            socket.template = Some(kept);
        }
        if self.path >= Path::Flow && known.is_none() && !mac.is_multicast() {
            let (to, bound) = (to.ip(), local.ip());
            self.flows.keep(Flow { to, bound, from: way.from, hop: way.hop, mac, mtu: way.mtu, valid, until });
        }
        probe.passed(Stage::Ring, &());
        Ok(())
    }

    /// A datagram as a whole IP packet: one that is fragmented, is for ourselves, or waits for its neighbour.
    #[cold]
    fn udp_send_packet<T: Transmit>(
        &mut self,
        now: u64,
        (from, to): (SocketAddr, SocketAddr),
        way: Way,
        body: &[u8],
        tx: &mut T,
    ) -> Result<(), SendError> {
        let mut datagram = vec![0; 8 + body.len()];
        datagram[8..].copy_from_slice(body);
        let fills = std::mem::take(&mut self.fills);
        let (header, _) = datagram.split_at_mut(8);
        self.udp_header(header, 0, (from, to), body);
        self.fills = fills;
        let ident = self.ident;
        let sent = self.send_payload(now, way, to.ip(), IpProtocol::UDP, &datagram, hops(to.ip()), tx);
        self.tell_undelivered(now);
        if !sent {
            return Err(SendError::NoRoom);
        }
        if self.own.is_to_all(to.ip()) {
            self.loop_back((from, to), &datagram, ident);
        }
        self.link.counters.udp_sent += 1;
        Ok(())
    }

    /// What goes to all on the link goes to the host's own sockets too, if there is one that wants it.
    fn loop_back(&mut self, (from, to): (SocketAddr, SocketAddr), datagram: &[u8], ident: u16) {
        let (here, there) = ((Key::new(to.ip()), to.port()), (Key::new(from.ip()), from.port()));
        if self.looped.len() < LOOPED && self.sockets.find(here, there).is_some() {
            let packet = whole_packet((from.ip(), to.ip()), IpProtocol::UDP, datagram, ident, hops(to.ip()));
            self.looped.push_back(packet);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an IP packet")]
    pub(crate) fn send_payload<T: Transmit>(
        &mut self,
        now: u64,
        way: Way,
        to: IpAddr,
        protocol: IpProtocol,
        payload: &[u8],
        hops: u8,
        tx: &mut T,
    ) -> bool {
        let ident = self.ident;
        self.ident = ident.wrapping_add(1);
        if self.own.is_ours(to) {
            let packet = whole_packet((way.from, to), protocol, payload, ident, hops);
            let room = self.looped.len() < LOOPED;
            if room {
                self.looped.push_back(packet);
            }
            return room;
        }
        let header = if to.is_ipv4() { 20 } else { 40 };
        if header + payload.len() <= way.mtu {
            let packet = whole_packet((way.from, to), protocol, payload, ident, hops);
            return self.link.send(now, way.hop, packet, &self.own, tx);
        }
        let mut sent = true;
        let fragments =
            if to.is_ipv4() { Fragments::v4(payload.len(), way.mtu) } else { Fragments::v6(payload.len(), way.mtu) };
        let Some(fragments) = fragments else { return false };
        let ident_v6 = self.ident_v6;
        self.ident_v6 = ident_v6.wrapping_add(u32::from(to.is_ipv6()));
        for Fragment { offset, more, range } in fragments {
            let piece = &payload[range];
            let packet = match (way.from, to) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => {
                    let ip = Ipv4Repr {
                        payload_len: piece.len(),
                        ident,
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
                    packet
                }
                _ => {
                    // RFC 8200, section 4.5: next header, reserved, offset in units of 8 with the M flag, identification.
                    let mut body = vec![0; 8 + piece.len()];
                    body[0] = protocol.0;
                    let field = offset & !7 | u16::from(more);
                    body[2..4].copy_from_slice(&field.to_be_bytes());
                    body[4..8].copy_from_slice(&ident_v6.to_be_bytes());
                    body[8..].copy_from_slice(piece);
                    whole_packet((way.from, to), IpProtocol::IPV6_FRAGMENT, &body, ident, hops)
                }
            };
            sent &= self.link.send(now, way.hop, packet, &self.own, tx);
        }
        sent
    }

    /// Source and next hop towards an address, for a socket bound to `bound`.
    pub(crate) fn way(&self, to: IpAddr, bound: IpAddr, now: u64) -> Option<Way> {
        let hop = if self.own.is_broadcast(to) || to.is_multicast() || self.own.is_ours(to) || is_link_local(to) {
            to
        } else {
            self.routes.next_hop(to)?
        };
        let from = if bound.is_unspecified() { self.source(to, hop)? } else { bound };
        self.own.is_ours(from).then(|| Way { from, hop, mtu: self.pmtu.of(to, self.link.mtu, now) })
    }

    /// The address to send from: the destination itself if it is ours, one on the next hop's network, or the first of
    /// the family whose scope reaches as far (RFC 6724, rules 1, 2 and 8).
    fn source(&self, to: IpAddr, hop: IpAddr) -> Option<IpAddr> {
        if self.own.is_ours(to) {
            return Some(to);
        }
        let near = |addr: &IpAddr| is_link_local(*addr) == (is_link_local(to) || is_link_multicast(to));
        let family = || self.own.all().iter().filter(|a| a.addr().is_ipv4() == to.is_ipv4());
        let on_network = || family().filter(|a| a.contains(hop)).map(Cidr::addr);
        on_network()
            .find(near)
            .or_else(|| family().map(Cidr::addr).find(near))
            .or_else(|| on_network().next())
            .or_else(|| family().map(Cidr::addr).next())
    }

    /// Writes a UDP header; says what the adapter shall fill in. `at` is where it will stand in the frame.
    #[inline]
    fn udp_header(
        &self,
        header: &mut [u8],
        at: usize,
        (from, to): (SocketAddr, SocketAddr),
        body: &[u8],
    ) -> Option<Meta> {
        let len = body.len() + 8;
        header[0..2].copy_from_slice(&from.port().to_be_bytes());
        header[2..4].copy_from_slice(&to.port().to_be_bytes());
        header[4..6].copy_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes());
        let mut sum = match (from.ip(), to.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                pseudo_header_v4(src, dst, IpProtocol::UDP, u16::try_from(len).unwrap_or(u16::MAX))
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                pseudo_header_v6(src, dst, IpProtocol::UDP, u32::try_from(len).unwrap_or(u32::MAX))
            }
            _ => return None,
        };
        if if to.is_ipv4() { self.fills.v4 } else { self.fills.v6 } {
            header[6..8].copy_from_slice(&sum.fold().to_be_bytes());
            let csum_start = u16::try_from(at).unwrap_or(0);
            return Some(Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset: 6, ..Meta::default() });
        }
        sum.add_bytes(&header[..6]).add_bytes(body);
        let sum = match sum.finish() {
            0 => 0xffff,
            sum => sum,
        };
        header[6..8].copy_from_slice(&sum.to_be_bytes());
        None
    }
}

/// What a socket may send where.
fn check(local: SocketAddr, to: SocketAddr, len: usize) -> Result<(), SendError> {
    let nobody = to.ip().is_unspecified() || to.ip().is_loopback() || is_mapped(to.ip());
    if local.is_ipv4() != to.is_ipv4() || to.port() == 0 || nobody {
        return Err(SendError::BadDestination);
    }
    if len > 65535 - 8 - if to.is_ipv4() { 20 } else { 0 } {
        return Err(SendError::TooLong);
    }
    Ok(())
}

/// An IP header in front; the buffer is longer than that. Only datagrams that may not be fragmented come here.
fn emit_ip(buffer: &mut [u8], ends: (IpAddr, IpAddr), protocol: IpProtocol, payload_len: usize, ident: u16, hops: u8) {
    let mut header = [0; 40];
    let len = match ends {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            // The representation wants room for the payload, which stands elsewhere.
            let total = u16::try_from(20 + payload_len).unwrap_or(u16::MAX);
            header[0] = 0x45;
            header[2..4].copy_from_slice(&total.to_be_bytes());
            header[4..6].copy_from_slice(&ident.to_be_bytes());
            // Who can hear that it was too long sends a datagram that may not be cut (RFC 1191, section 3); an ICMP message
            // has nobody who would send it again.
            header[6] = if protocol == IpProtocol::UDP { 0x40 } else { 0 };
            header[8] = hops;
            header[9] = protocol.0;
            header[12..16].copy_from_slice(&src.octets());
            header[16..20].copy_from_slice(&dst.octets());
            let sum = linerate_sum::checksum(&header[..20]);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            20
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            header[0] = 0x60;
            header[4..6].copy_from_slice(&u16::try_from(payload_len).unwrap_or(u16::MAX).to_be_bytes());
            header[6] = protocol.0;
            header[7] = hops;
            header[8..24].copy_from_slice(&src.octets());
            header[24..40].copy_from_slice(&dst.octets());
            40
        }
        _ => 0,
    };
    buffer[..len].copy_from_slice(&header[..len]);
}

/// A packet that is not fragmented.
pub(crate) fn whole_packet(
    ends: (IpAddr, IpAddr),
    protocol: IpProtocol,
    payload: &[u8],
    ident: u16,
    hops: u8,
) -> Vec<u8> {
    let header = if ends.1.is_ipv4() { 20 } else { 40 };
    let mut packet = vec![0; header + payload.len()];
    emit_ip(&mut packet, ends, protocol, payload.len(), ident, hops);
    packet[header..].copy_from_slice(payload);
    packet
}
