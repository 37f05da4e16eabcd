//! Plain IP hosts beside the SAN: each sends UDP datagrams at a rate to an IP host on the target's port.

use super::{San, SimulateError, Stream};
use hdrhistogram::Histogram;
use linerate_port::Port;
use linerate_result::Latency;
use linerate_rt::fc::FcPort;
use linerate_rt::net::{Node, Options};
use linerate_stack::{Cidr, Host, UdpId};
use linerate_sum::SplitMix64;
use linerate_text::saturating_u64;
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;

/// Port at the target for the first host's datagrams; those of the others follow.
pub(super) const FIRST: u16 = 9000;
/// Bytes that a datagram has besides on the wire: UDP, IPv4, Ethernet, and 24 of framing.
const BESIDES: u64 = 8 + 20 + 14 + 24;
/// Longest latency that is told apart: one minute.
const LONGEST: u64 = 60_000_000_000;

pub(super) fn address(number: u16) -> IpAddr {
    let [high, low] = (number + 1).to_be_bytes();
    Ipv4Addr::new(10, 0, high, low).into()
}

/// What a host is set up with: address 0 is the target's.
pub(super) fn settings(san: &San, number: u16, mac: MacAddr) -> Result<(Cidr, Options), SimulateError> {
    let cidr = Cidr::new(address(number), 16).ok_or(SimulateError::Hosts)?;
    let seed = SplitMix64::nth(san.seed, 1 << 33 | u64::from(number));
    Ok((cidr, Options { mac: Some(mac), seed: Some(seed), ..Options::default() }))
}

/// Adds to the target's port the host that the others send to.
pub(super) fn beside(san: &San, port: FcPort, mac: MacAddr) -> Result<FcPort, SimulateError> {
    let (cidr, options) = settings(san, 0, mac)?;
    Ok(port.with_ip(&[cidr], &options, &[]))
}

/// A host that sends.
pub(super) struct Sender {
    node: Node,
    socket: UdpId,
    body: Vec<u8>,
    /// Bit/s on the wire, and the bits of a datagram there.
    rate: u64,
    bits: u64,
    /// Time of the first datagram, and times between which datagrams count.
    begun: Option<u64>,
    window: Range<u64>,
    /// Datagrams that were due.
    due: u64,
    /// Those of them that count and were sent.
    pub(super) sent: u64,
    /// Those that count and found no room in the host's ring.
    pub(super) refused: u64,
}

impl Sender {
    /// Host `number`, counted from 1.
    pub(super) fn new(san: &San, number: u16, port: Port, mac: MacAddr) -> Result<Self, SimulateError> {
        let (cidr, options) = settings(san, number, mac)?;
        let mut node = Node::over(port, &[cidr], &options)?;
        let (host, _) = node.parts();
        let socket = host.udp_bind(SocketAddr::new(address(number), 0)).map_err(|_| SimulateError::Hosts)?;
        host.udp_connect(socket, Some(SocketAddr::new(address(0), FIRST + number - 1)));
        let bits = 8 * (u64::from(san.datagram) + BESIDES);
        Ok(Self {
            node,
            socket,
            body: vec![0x5a; san.datagram.into()],
            rate: san.host_rate,
            bits,
            begun: None,
            window: 0..0,
            due: 0,
            sent: 0,
            refused: 0,
        })
    }

    /// Begins to send; datagrams of these times count, and none is sent behind them.
    pub(super) fn begin(&mut self, now: u64, window: &Range<u64>) {
        (self.begun, self.window) = (Some(now), window.clone());
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Time of the next datagram.
    fn next(&self) -> Option<u64> {
        let after = u128::from(self.due) * u128::from(self.bits) * 1_000_000_000 / u128::from(self.rate);
        self.begun.map(|begun| begun + saturating_u64(after)).filter(|at| *at < self.window.end)
    }

    pub(super) fn timer(&self) -> Option<u64> {
        [self.node.poll_timeout(), self.next()].into_iter().flatten().min()
    }

    /// Does what the host does, and sends what is due; true if there was something.
    pub(super) fn handle(&mut self, now: u64) -> bool {
        let mut worked = self.node.handle(now);
        while self.next().is_some_and(|at| at <= now) {
            self.due += 1;
            worked = true;
            self.body[..8].copy_from_slice(&now.to_be_bytes());
            let (host, mut tx) = self.node.parts();
            let sent = host.udp_send(now, self.socket, None, &self.body, &mut tx).is_ok();
            if self.window.contains(&now) {
                (self.sent, self.refused) = (self.sent + u64::from(sent), self.refused + u64::from(!sent));
            }
        }
        self.node.flush(now);
        worked
    }
}

/// What comes to the target's host, by sender.
pub(super) struct Inbox(Vec<(UdpId, Histogram<u64>)>);

impl Inbox {
    pub(super) fn new(san: &San, host: &mut Host) -> Result<Self, SimulateError> {
        let open = |number| {
            let socket = host.udp_bind(SocketAddr::new(address(0), FIRST + number));
            let latency = Histogram::new_with_max(LONGEST, 3);
            socket.ok().zip(latency.ok()).ok_or(SimulateError::Hosts)
        };
        (0..san.hosts).map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Takes what has come; what was sent in the window counts.
    pub(super) fn take(&mut self, now: u64, window: &Range<u64>, host: &mut Host) {
        for (socket, latency) in &mut self.0 {
            let mut at = [0; 8];
            while host.udp_recv(*socket, &mut at).is_some() {
                let sent = u64::from_be_bytes(at);
                if window.contains(&sent) {
                    latency.saturating_record(now - sent);
                }
            }
        }
    }

    /// Results of a sender.
    pub(super) fn stream(&self, san: &San, number: usize, name: &str, sender: &Sender) -> Stream {
        let latency = &self.0[number].1;
        Stream {
            name: name.to_owned(),
            sent: sender.sent,
            refused: sender.refused,
            received: latency.len(),
            resent: None,
            bytes: latency.len() * u64::from(san.datagram),
            latency: Latency::of(latency),
        }
    }
}
