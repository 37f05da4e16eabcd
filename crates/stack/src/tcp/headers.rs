//! Frames of segments, and the headers in front of TCP's: a connection keeps them until something changes that they depend on.
//!
//! Whatever could affect them ends a generation (settings, addresses, routes, neighbours); after a second they are made anew in
//! any case, so that the neighbour's state is looked at.

use super::Outgoing;
use crate::Transmit;
use crate::ip::{ATOMIC, Ip, NextHop, PayloadLen, Traffic, emit_ip, header_len};
use crate::link::Generation;
use crate::stage::{Probe, Stage};
use crate::udp::Fills;
use linerate_ring::Meta;
use linerate_sum::Sum;
use linerate_wire::{IpProtocol, MacAddr, TcpFlags, pseudo_header_v4, pseudo_header_v6};
use std::net::{IpAddr, SocketAddr};

/// Bytes of TCP's header without options.
pub(super) const HEADER: usize = 20;
/// Ethernet, VLAN tag and IPv6, in whole words.
const BELOW: usize = 64;
/// TCP's header with all options.
const LONGEST: usize = 60;
/// All headers at their longest.
pub(super) const LONGEST_HEAD: usize = 14 + 4 + 40 + LONGEST;
/// Packets that routers may mark for congestion (RFC 3168, section 5).
const ECT0: u8 = 2;
/// Longest time for which headers are kept, ns.
const KEPT: u64 = 1_000_000_000;

/// Ethernet and IP headers of a connection's segments.
#[derive(Debug)]
pub(crate) struct Headers {
    valid: Generation,
    until: u64,
    local: SocketAddr,
    remote: SocketAddr,
    way: NextHop,
    /// None: the next hop is ourselves, or is being resolved.
    mac: Option<MacAddr>,
    /// Ethernet and IP, with zeros for what differs from segment to segment.
    head: [u8; BELOW],
    /// Places of IP's header, and of TCP's.
    ip_at: usize,
    tcp_at: usize,
    /// Sums of IPv4's header, and of the pseudo-header without the length.
    ip_sum: u16,
    pseudo: u16,
}

impl Headers {
    /// Headers for segments between two ends. `valid` was taken before the host followed its settings and the way was found:
    /// what changes meanwhile makes them headers that are not used again.
    pub(super) fn new(
        ip: &mut Ip,
        now: u64,
        (local, remote): (SocketAddr, SocketAddr),
        way: NextHop,
        valid: Generation,
    ) -> Self {
        let ours = ip.settings.own.is_ours(remote.ip());
        let mac = if ours { None } else { ip.link.station(now, way.hop, &ip.settings.own) };
        let (ip_at, ends) = (ip.link.header_len(), (way.from, remote.ip()));
        let tcp_at = ip_at + header_len(remote.ip());
        let mut head = [0; BELOW];
        ip.link.emit_header(&mut head[..ip_at], mac.unwrap_or_default(), remote.is_ipv4());
        let none = PayloadLen::new(0, remote.ip()).unwrap_or_default();
        emit_ip(
            &mut head[ip_at..],
            ends,
            IpProtocol::TCP,
            none,
            (ATOMIC, Traffic::default()),
            ip.settings.hops(remote.ip()),
        );
        let mut sum = Sum::new();
        if remote.is_ipv4() {
            head[ip_at + 2..ip_at + 4].fill(0);
            head[ip_at + 10..ip_at + 12].fill(0);
            sum.add_bytes(&head[ip_at..tcp_at]);
        }
        let until = now.saturating_add(KEPT);
        let (ip_sum, pseudo) = (sum.fold(), pseudo(way.from, remote.ip()));
        Self { valid, until, local, remote, way, mac, head, ip_at, tcp_at, ip_sum, pseudo }
    }

    /// True if they are right for a segment that is sent now.
    #[inline]
    pub(super) fn hold(&self, ip: &Ip, now: u64) -> bool {
        self.valid == ip.link.common.generation() && now < self.until && self.mac.is_some()
    }

    /// Longest IP packet on the way.
    #[inline]
    pub(super) fn mtu(&self) -> usize {
        self.way.mtu
    }

    /// Sends a segment in a frame; false if there is no room.
    pub(super) fn send<T: Transmit, P: Probe>(
        &self,
        ip: &mut Ip,
        now: u64,
        fills: Fills,
        outgoing: &Outgoing<'_>,
        tx: &mut T,
        probe: &mut P,
    ) -> bool {
        let Self { local, remote, ip_at, tcp_at, .. } = *self;
        let mut head = [0; BELOW + LONGEST];
        let len = tcp_at + HEADER + outgoing.options.len();
        let Some(payload_len) = PayloadLen::new(len - tcp_at + outgoing.bytes(), remote.ip()) else { return true };
        if self.mac.is_none() {
            return send_by_ip(ip, now, (local, remote), &self.way, outgoing, tx);
        }
        head[..BELOW].copy_from_slice(&self.head);
        if !probe.passed(Stage::Ethernet, &head) {
            return true;
        }
        let traffic = outgoing.traffic.with_ecn(if outgoing.may_be_marked { ECT0 } else { 0 });
        let class = traffic.class();
        if remote.is_ipv4() {
            let total = u16::try_from(tcp_at - ip_at).unwrap_or(0) + payload_len.bytes();
            let mut sum = Sum::new();
            sum.add_u16(self.ip_sum).add_u16(class.into()).add_u16(total);
            head[ip_at + 1] = class;
            head[ip_at + 2..ip_at + 4].copy_from_slice(&total.to_be_bytes());
            head[ip_at + 10..ip_at + 12].copy_from_slice(&sum.finish().to_be_bytes());
        } else {
            head[ip_at..ip_at + 4].copy_from_slice(&traffic.v6());
            head[ip_at + 4..ip_at + 6].copy_from_slice(&payload_len.bytes().to_be_bytes());
        }
        if !probe.passed(Stage::Ip, &head) {
            return true;
        }
        // What is longer than a segment is cut by the adapter, which then completes the checksums, too.
        let cut = u16::try_from(outgoing.mss).ok().filter(|mss| outgoing.bytes() > usize::from(*mss));
        let fills = cut.is_some() || if remote.is_ipv4() { fills.v4 } else { fills.v6 };
        let ports = (local.port(), remote.port());
        let mut request = emit(&mut head[tcp_at..len], tcp_at, ports, outgoing, (self.pseudo, payload_len), fills);
        if let (Some(gso_size), Some(request)) = (cut, &mut request) {
            let reduced = if outgoing.flags.contains(TcpFlags::CWR) { Meta::GSO_ECN } else { 0 };
            let gso_type = reduced | if remote.is_ipv4() { Meta::GSO_TCPV4 } else { Meta::GSO_TCPV6 };
            *request = Meta { gso_type, gso_size, hdr_len: u16::try_from(len).unwrap_or(0), ..*request };
        }
        if !probe.passed(Stage::Header, &(&head, request)) {
            return true;
        }
        let sent = tx.send(&head[..len], outgoing.pieces(), request);
        if sent {
            ip.link.counters.tcp_sent += 1;
        }
        probe.passed(Stage::Ring, &sent);
        sent
    }
}

/// Sends segments that wait for their neighbour, or are for ourselves; false if there is no room for the first.
#[cold]
fn send_by_ip<T: Transmit>(
    ip: &mut Ip,
    now: u64,
    (local, remote): (SocketAddr, SocketAddr),
    way: &NextHop,
    outgoing: &Outgoing<'_>,
    tx: &mut T,
) -> bool {
    let pseudo = pseudo(local.ip(), remote.ip());
    let whole = outgoing.payload.concat();
    let mut head = [0; 60];
    let len = HEADER + outgoing.options.len();
    let (mut at, mss) = (0, outgoing.mss.max(1) as usize);
    let traffic = outgoing.traffic.with_ecn(0);
    loop {
        let piece = &whole[at..whole.len().min(at + mss)];
        let last = at + piece.len() == whole.len();
        let mut flags = outgoing.flags.0;
        if !last {
            flags &= !(TcpFlags::FIN.0 | TcpFlags::PSH.0);
        }
        if at > 0 {
            flags &= !TcpFlags::CWR.0;
        }
        let flags = TcpFlags(flags);
        let segment =
            Outgoing { seq: outgoing.seq.plus(super::count(at)), flags, payload: [piece, &[], &[], &[]], ..*outgoing };
        let Some(payload_len) = PayloadLen::new(len + piece.len(), remote.ip()) else { return true };
        emit(&mut head[..len], 0, (local.port(), remote.port()), &segment, (pseudo, payload_len), false);
        let sent = ip.send(now, *way, remote.ip(), (IpProtocol::TCP, traffic), &[&head[..len], piece].concat(), tx);
        ip.link.counters.tcp_sent += u64::from(sent);
        // What finds no room later is lost, and sent again.
        if last || !sent {
            return sent || at > 0;
        }
        at += piece.len();
    }
}

/// Sum of the pseudo-header, without the length.
fn pseudo(from: IpAddr, to: IpAddr) -> u16 {
    match (from, to) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => pseudo_header_v4(src, dst, IpProtocol::TCP, 0).fold(),
        (IpAddr::V6(src), IpAddr::V6(dst)) => pseudo_header_v6(src, dst, IpProtocol::TCP, 0).fold(),
        _ => 0,
    }
}

/// Writes a segment's header with its options; returns the request to the adapter, if that completes the checksum. `at` is
/// the header's offset in the frame, `pseudo` the sum of the pseudo-header without the length.
#[inline]
fn emit(
    header: &mut [u8],
    at: usize,
    (from, to): (u16, u16),
    outgoing: &Outgoing<'_>,
    (pseudo, len): (u16, PayloadLen),
    fills: bool,
) -> Option<Meta> {
    // A header has room for the options that a connection sends.
    let _ = outgoing.options.emit(&mut header[HEADER..]);
    let words = u8::try_from(header.len() / 4).unwrap_or(0);
    header[0..2].copy_from_slice(&from.to_be_bytes());
    header[2..4].copy_from_slice(&to.to_be_bytes());
    header[4..8].copy_from_slice(&outgoing.seq.0.to_be_bytes());
    header[8..12].copy_from_slice(&outgoing.ack.0.to_be_bytes());
    header[12..14].copy_from_slice(&[words << 4, outgoing.flags.0]);
    header[14..16].copy_from_slice(&outgoing.window.to_be_bytes());
    header[16..20].fill(0);
    let mut sum = Sum::new();
    sum.add_u16(pseudo).add_u16(len.bytes());
    if fills {
        header[16..18].copy_from_slice(&sum.fold().to_be_bytes());
        let csum_start = u16::try_from(at).unwrap_or(0);
        return Some(Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset: 16, ..Meta::default() });
    }
    sum.add_bytes(header);
    for piece in outgoing.pieces() {
        sum.add_bytes(piece);
    }
    let sum = sum.finish();
    header[16..18].copy_from_slice(&sum.to_be_bytes());
    None
}
