//! UDP datagrams beside the disks: a host that sends at a rate, on the port that FCoE has.

use super::FcoeError;
use linerate_fcoe::DeviceServer;
use linerate_rt::fc::{FcNode, FcOptions, FcPort, Watcher};
use linerate_rt::net::{Options, SERVICES, Service};
use linerate_stack::{Cidr, SendError, UdpId};
use linerate_wire::MacAddr;
use std::net::{Ipv4Addr, SocketAddr};

/// The hosts of target and initiator.
const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
/// Payload of a datagram: a frame of 64 bytes.
const BODY: [u8; 22] = [0x5a; 22];
/// MAC addresses of the hosts, which FCoE has too.
const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0x10, 1]), MacAddr([2, 0, 0, 0, 0x10, 2])];
/// Greatest number of datagrams sent in one turn, so that the disks get their turns.
const BURST: u64 = 64;
/// Greatest number of overdue datagrams that are sent later, after the thread could not run.
const BACKLOG: u64 = 100_000;

/// Options of a node with a host beside it.
pub(super) fn options(target: bool) -> FcOptions {
    FcOptions { mac: Some(MACS[usize::from(!target)]), ..FcOptions::default() }
}

/// Adds to a port the target's host, which discards datagrams, or the initiator's.
pub(super) fn with_host(port: FcPort, target: bool) -> Result<FcPort, FcoeError> {
    let address = Cidr::new(HOSTS[usize::from(!target)].into(), 24);
    let address = address.ok_or(FcoeError::Stuck("no address for an IP host: this is a bug"))?;
    let discard: Vec<&'static Service> = SERVICES.iter().filter(|row| target && row.name == "discard").collect();
    Ok(port.with_ip(&[address], &Options::default(), &discard))
}

/// Number of datagrams that a host's services received.
pub(super) fn received<S: DeviceServer, W: Watcher<S>>(node: &FcNode<S, W>) -> u64 {
    node.ip().map_or(0, |(ip, services)| services.served(&ip.host).map(|(_, served)| served.received).sum())
}

pub(super) struct Sender {
    /// Datagrams per second.
    rate: u64,
    socket: Option<UdpId>,
    /// Time at which the first datagram was due.
    began: Option<u64>,
    /// Time of its last turn.
    last: u64,
    pub(super) sent: u64,
    /// Datagrams that were overdue by more than the backlog, and will never be sent.
    passed_over: u64,
}

impl Sender {
    pub(super) fn new(rate: u32) -> Self {
        Self { rate: rate.into(), socket: None, began: None, last: 0, sent: 0, passed_over: 0 }
    }

    /// Sends the datagrams that are due.
    pub(super) fn turn<S: DeviceServer, W: Watcher<S>>(&mut self, now: u64, node: &mut FcNode<S, W>) {
        let Some((host, mut tx)) = node.ip_parts() else { return };
        let Some(socket) = self.socket.or_else(|| host.udp_bind(SocketAddr::new(HOSTS[1].into(), 0)).ok()) else {
            return;
        };
        if self.socket.replace(socket).is_none() {
            host.udp_connect(socket, Some(SocketAddr::new(HOSTS[0].into(), 9)));
            // The queue behind an unresolved neighbour is bounded, and is not measured here.
            let _ = host.neighbours().insert_permanent(HOSTS[0].into(), MACS[0]);
        }
        let began = *self.began.get_or_insert(now);
        self.last = now;
        // Microseconds, so that hours at a 32-bit rate do not overflow.
        let due = ((now - began) / 1000).saturating_mul(self.rate) / 1_000_000;
        let due = due.saturating_sub(self.sent + self.passed_over);
        self.passed_over += due.saturating_sub(BACKLOG);
        for _ in 0..due.min(BURST) {
            match host.udp_send(now, socket, None, &BODY, &mut tx) {
                Ok(()) => self.sent += 1,
                // The link is not up yet, or the ring is full: they stay due.
                Err(SendError::NoRoom | SendError::Down) => break,
                Err(_) => self.passed_over += 1,
            }
        }
    }

    /// Datagrams sent per second.
    pub(super) fn per_second(&self) -> f64 {
        let ns = self.last - self.began.unwrap_or(self.last);
        self.sent as f64 * 1e9 / ns.max(1) as f64
    }
}
