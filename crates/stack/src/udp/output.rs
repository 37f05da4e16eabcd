//! UDP output: from a socket's bytes to a frame.

use super::flow::Flow;
use super::template::Template;
use super::{Fills, OnIp, Path, SendError, Udp, UdpId, header};
use crate::Transmit;
use crate::address::{Key, is_mapped};
use crate::ip::{ATOMIC, Ip, NextHop, PayloadLen, Traffic, emit_ip, header_len, whole_packet};
use crate::stage::{Probe, Stage};
use linerate_wire::IpProtocol;
use std::net::SocketAddr;

/// Ethernet, VLAN tag, IPv6, UDP.
const LONGEST_HEAD: usize = 14 + 4 + 40 + 8;
/// Time in ns for which a found route and neighbour are reused; after that the neighbour's state is checked again.
const KEPT: u64 = 1_000_000_000;

/// Sends a datagram from a socket to its connected peer, or to `to`, by the fastest path available.
#[inline]
pub(crate) fn send<H: OnIp, T: Transmit, P: Probe>(
    host: &mut H,
    now: u64,
    id: UdpId,
    to: Option<SocketAddr>,
    body: &[u8],
    tx: &mut T,
    probe: &mut P,
) -> Result<(), SendError> {
    if host.layers().0.path == Path::Fast
        && let Some(sent) = send_fast(host, now, id, to, body, tx, probe)
    {
        return sent;
    }
    send_long(host, now, id, to, body, tx, probe)
}

/// Sends with the header template that the socket keeps; None if there is no valid one.
#[inline]
fn send_fast<H: OnIp, T: Transmit, P: Probe>(
    host: &mut H,
    now: u64,
    id: UdpId,
    to: Option<SocketAddr>,
    body: &[u8],
    tx: &mut T,
    probe: &mut P,
) -> Option<Result<(), SendError>> {
    let (udp, ip) = host.layers();
    let valid = ip.link.common.generation();
    let socket = udp.sockets.get(id)?;
    let to = to.or(socket.remote)?;
    let template = socket.template.as_ref().filter(|t| t.holds(valid, now, to))?;
    let udp_len = template.udp_len(body.len())?;
    if !probe.passed(Stage::Socket, template) {
        return Some(Ok(()));
    }
    if !tx.frame(template.len() + body.len(), template.request(), |frame| template.write(frame, (body, udp_len))) {
        return Some(Err(SendError::NoRoom));
    }
    ip.link.counters.udp_sent += 1;
    ip.link.counters.udp_fast += 1;
    probe.passed(Stage::Ring, &());
    Some(Ok(()))
}

/// Sends with all headers made anew, after looking up route and neighbour if needed.
fn send_long<H: OnIp, T: Transmit, P: Probe>(
    host: &mut H,
    now: u64,
    id: UdpId,
    to: Option<SocketAddr>,
    body: &[u8],
    tx: &mut T,
    probe: &mut P,
) -> Result<(), SendError> {
    let (udp, ip) = host.layers();
    // Taken before all that depends on it: what changes meanwhile makes the template one that is not used.
    let valid = ip.link.common.generation();
    ip.follow();
    // socket
    let socket = udp.sockets.get_mut(id).ok_or(SendError::Closed)?;
    if let Some(error) = socket.error.take() {
        return Err(error);
    }
    let (local, to) = (socket.local, to.or(socket.remote).ok_or(SendError::NotConnected)?);
    let traffic = socket.traffic;
    let udp_len = check(local, to, body.len())?;
    if !ip.link.station.up || !ip.link.station.carrier {
        return Err(SendError::Down);
    }
    if !probe.passed(Stage::Socket, &(local, to)) {
        return Ok(());
    }
    // route, and with the flow table the neighbour too
    let known = if udp.path >= Path::Flow { udp.flows.find(to.ip(), local.ip(), valid, now).copied() } else { None };
    let way = match known {
        Some(flow) => NextHop { from: flow.from, hop: flow.hop, mtu: flow.mtu },
        None => ip.way(to.ip(), local.ip(), now).ok_or(SendError::NoRoute)?,
    };
    if !probe.passed(Stage::Route, &way) {
        return Ok(());
    }
    let from = SocketAddr::new(way.from, local.port());
    let ip_len = header_len(to.ip());
    let ethernet = ip.link.header_len();
    if ip_len + 8 + body.len() > way.mtu || (known.is_none() && ip.settings.own.is_ours(to.ip())) {
        return udp.send_whole(ip, now, (from, to), way, (body, udp_len, traffic), tx);
    }
    // udp
    let mut head = [0; LONGEST_HEAD];
    let len = ethernet + ip_len + 8;
    let request =
        header::emit(&udp.fills, &mut head[ethernet + ip_len..len], ethernet + ip_len, (from, to), (body, udp_len));
    if !probe.passed(Stage::Udp, &head) {
        return Ok(());
    }
    // ip
    emit_ip(
        &mut head[ethernet..],
        (way.from, to.ip()),
        IpProtocol::UDP,
        udp_len,
        (ATOMIC, traffic),
        ip.settings.hops(to.ip()),
    );
    if !probe.passed(Stage::Ip, &head) {
        return Ok(());
    }
    // neighbour
    let mac = match known {
        Some(flow) => flow.mac,
        None => match ip.link.station(now, way.hop, &ip.settings.own) {
            Some(mac) => mac,
            None => return udp.send_whole(ip, now, (from, to), way, (body, udp_len, traffic), tx),
        },
    };
    if !probe.passed(Stage::Neighbour, &(&head, mac)) {
        return Ok(());
    }
    // ethernet header
    ip.link.emit_header(&mut head[..ethernet], mac, to.is_ipv4());
    if !probe.passed(Stage::Ethernet, &head) {
        return Ok(());
    }
    // loopback check: a datagram to all on the link goes to the host's own sockets too
    let ours_too = mac.is_multicast() && ip.settings.own.is_to_all(to.ip());
    if !probe.passed(Stage::Loopback, &(&head, ours_too)) {
        return Ok(());
    }
    // nic and ring
    if !tx.send(&head[..len], &[body], request) {
        return Err(SendError::NoRoom);
    }
    if ours_too {
        udp.loop_back(ip, (from, to), (&[&head[ethernet + ip_len..len], body].concat(), udp_len, traffic));
    }
    ip.link.counters.udp_sent += 1;
    ip.link.counters.udp_flow += u64::from(known.is_some());
    let until = now.saturating_add(KEPT);
    if udp.path == Path::Fast
        && !mac.is_multicast()
        && let Some(socket) = udp.sockets.get_mut(id)
    {
        let most = (way.mtu - ip_len - 8).min(tx.single().saturating_sub(len));
        let kept = Template::new(&head[..len], ethernet, (way.from, to), request, (valid, until), most);
        socket.template = Some(kept);
    }
    if udp.path >= Path::Flow && known.is_none() && !mac.is_multicast() {
        let (to, bound) = (to.ip(), local.ip());
        udp.flows.keep(Flow { to, bound, from: way.from, hop: way.hop, mac, mtu: way.mtu, valid, until });
    }
    probe.passed(Stage::Ring, &());
    Ok(())
}

impl Udp {
    /// Sends a datagram as a whole IP packet: if it is fragmented, is for ourselves, or waits for its neighbour.
    #[cold]
    fn send_whole<T: Transmit>(
        &mut self,
        ip: &mut Ip,
        now: u64,
        (from, to): (SocketAddr, SocketAddr),
        way: NextHop,
        (body, udp_len, traffic): (&[u8], PayloadLen, Traffic),
        tx: &mut T,
    ) -> Result<(), SendError> {
        let mut header = [0; 8];
        header::emit(&Fills::default(), &mut header, 0, (from, to), (body, udp_len));
        let cut = header_len(to.ip()) + header.len() + body.len() > way.mtu && !ip.settings.own.is_ours(to.ip());
        let sent = if cut {
            ip.send_cut(now, way, to.ip(), (IpProtocol::UDP, traffic), [&header, body], tx)
        } else {
            ip.send(now, way, to.ip(), (IpProtocol::UDP, traffic), &[&header, body].concat(), tx)
        };
        if !sent {
            return Err(SendError::NoRoom);
        }
        if ip.settings.own.is_to_all(to.ip()) {
            self.loop_back(ip, (from, to), (&[&header, body].concat(), udp_len, traffic));
        }
        ip.link.counters.udp_sent += 1;
        Ok(())
    }

    /// Delivers a datagram to all on the link to the host's own sockets too, if one of them matches.
    fn loop_back(
        &mut self,
        ip: &mut Ip,
        (from, to): (SocketAddr, SocketAddr),
        (datagram, len, traffic): (&[u8], PayloadLen, Traffic),
    ) {
        let (here, there) = ((Key::new(to.ip()), to.port()), (Key::new(from.ip()), from.port()));
        if self.sockets.find(here, there).is_some() {
            let (ends, hops) = ((from.ip(), to.ip()), ip.settings.hops(to.ip()));
            ip.looped.push(|| whole_packet(ends, IpProtocol::UDP, (datagram, len), (ATOMIC, traffic), hops));
        }
    }
}

/// Checks that a socket may send a datagram of `len` bytes, UDP header included, to `to`.
fn check(local: SocketAddr, to: SocketAddr, len: usize) -> Result<PayloadLen, SendError> {
    let nobody = to.ip().is_unspecified() || to.ip().is_loopback() || is_mapped(to.ip());
    if local.is_ipv4() != to.is_ipv4() || to.port() == 0 || nobody {
        return Err(SendError::BadDestination);
    }
    len.checked_add(8).and_then(|len| PayloadLen::new(len, to.ip())).ok_or(SendError::TooLong)
}
