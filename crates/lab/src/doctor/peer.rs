//! A peer without an agent: whether it answers echo requests, how soon, and packets of which size.

use super::examine::wait;
use super::flows::{Flows, Segments, flows, segments};
use super::longest::{self, SHORT, Sizes, limits_requests, longest};
use super::protocols::{SNMP, SNMP6, alone, named};
use crate::quantity;
use linerate_host::adapter::{Interface, Route};
use linerate_host::{Echo, Path, Rtnetlink, claims};
use linerate_load::{Handshake, handshake};
use linerate_rt::Stop;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Requests by which loss is seen, and time for each response.
const REQUESTS: u32 = 20;
const LIMIT: Duration = Duration::from_millis(500);
/// Requests without any response after which the peer is silent.
const SILENT: u32 = 4;
/// Time for answers to ARP probes.
const CLAIMS: Duration = Duration::from_millis(300);
/// Ports at which TCP is tried: iperf3's, those of ssh and the web, and one where hardly anybody listens.
pub(super) const PORTS: &[u16] = &[5201, 22, 443, 80, 9];

/// Answer of a peer to TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tcp {
    #[default]
    Unknown,
    /// A connection, or a reset.
    Answered,
    /// Nothing, at any of the ports.
    Silent,
    /// This machine, or a router, refuses it.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    pub peer: IpAddr,
    /// The interface by which it is reached, and its MTU.
    pub way: String,
    pub mtu: usize,
    /// Echo requests sent.
    pub asked: u32,
    /// Responses to them.
    pub answered: u32,
    /// Those that come fast are not all answered, and those that come slowly are.
    pub limited: bool,
    /// Shortest and longest time of a response.
    pub times: Option<(Duration, Duration)>,
    /// Longest packet that came back, bytes with its IP header.
    pub largest: usize,
    /// Certainty of that.
    pub sizes: Sizes,
    /// Router on the way.
    pub gateway: Option<IpAddr>,
    /// MTU of the path that routers have told.
    pub told: Option<u32>,
    pub tcp: Tcp,
    /// Options of a connection to it, if one of the ports took one.
    pub handshake: Option<Handshake>,
    /// Answers to connections that differ in their source port alone.
    pub flows: Option<Flows>,
    /// Segments of a connection that are acknowledged.
    pub segments: Option<Segments>,
    /// Next hops of the route to it that answer no ARP, if there are several.
    pub silent_hops: Vec<Ipv4Addr>,
    /// The reason for which there is no way to it.
    pub refused: Option<String>,
    /// It is reached by another interface than those that are looked at.
    pub elsewhere: bool,
    /// Own address of packets to it.
    pub source: IpAddr,
    /// Stations at the link that have that address, or the next hop's; or why they were not asked.
    pub claims: Result<Vec<(Ipv4Addr, String)>, String>,
}

impl Probed {
    pub(super) fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            way: String::new(),
            mtu: 0,
            asked: 0,
            answered: 0,
            limited: false,
            times: None,
            largest: 0,
            sizes: Sizes::Sure,
            elsewhere: false,
            gateway: None,
            told: None,
            tcp: Tcp::Unknown,
            handshake: None,
            flows: None,
            segments: None,
            silent_hops: Vec::new(),
            refused: None,
            source: peer,
            claims: Err("no ARP is spoken on the way".to_owned()),
        }
    }

    pub(super) fn is_own(&self) -> bool {
        self.source == self.peer.to_canonical() && !self.peer.is_loopback() && self.refused.is_none()
    }

    /// Asks on the link for stations that have the address from which packets go to the peer, or that of the next hop.
    pub(super) fn ask_claims(&mut self, of: &Interface, all: &[Interface]) {
        let Some(mac) = speaks_arp(of) else { return };
        let asked: Vec<Ipv4Addr> = [self.source, self.hop()].into_iter().filter_map(v4).collect();
        if !asked.is_empty() && !self.is_own() {
            // Another interface of this machine may answer, too, for an address that is the machine's.
            let own = |mac: &str| all.iter().any(|one| one.address.as_deref() == Some(mac));
            let named = |(address, mac): (Ipv4Addr, [u8; 6])| (address, linerate_text::colons(&mac));
            let claims = claims(of.index, (mac, v4(self.source)), &asked, CLAIMS);
            self.claims = claims
                .map(|found| found.into_iter().map(named).filter(|one| !own(&one.1)).collect())
                .map_err(|e| words(&e));
        }
    }

    /// Asks for the next hops of the route to the peer, if that is over several.
    pub(super) fn ask_hops(&mut self, routes: &[Route], all: &[Interface]) {
        let to = routes.iter().filter(|route| route.is_to(self.peer.to_canonical()) && route.kind == "unicast");
        let Some(route) = to.max_by_key(|route| (route.to.1, route.hops.len())) else { return };
        for (link, hop) in route.hops.iter().filter_map(|(link, hop)| Some((*link, v4((*hop)?)?))) {
            let of = all.iter().find(|one| one.index == link).and_then(|one| Some((one, speaks_arp(one)?)));
            let own = v4(self.source).filter(|_| of.is_some_and(|(of, _)| of.name == self.way));
            let silent = of.is_some_and(|(of, mac)| {
                claims(of.index, (mac, own), &[hop], CLAIMS).is_ok_and(|answers| answers.is_empty())
            });
            self.silent_hops.extend(silent.then_some(hop));
        }
    }

    /// The neighbour to which packets for it are sent.
    pub(super) fn hop(&self) -> IpAddr {
        self.gateway.unwrap_or(self.peer)
    }

    /// All of it, in a line.
    pub(super) fn line(&self) -> String {
        let Self { peer, way, asked, answered, largest, .. } = self;
        if let Some(why) = &self.refused {
            return format!("{peer}: there is no way to it: {why}.");
        }
        let times = self.times.map_or_else(String::new, |(least, most)| {
            let [least, most] = [least, most].map(|time| quantity::nanoseconds(time.as_secs_f64() * 1e9));
            let slow = if self.sizes == Sizes::Limited { ", of that length only slowly" } else { "" };
            format!(" in {least} to {most}; packets of up to {largest} bytes come back{slow}")
        });
        format!("{peer} by {way}: {answered} of {asked} echo requests answered{times}.")
    }
}

fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(_) => None,
    }
}

/// Address of an interface that speaks ARP.
pub(super) fn speaks_arp(of: &Interface) -> Option<[u8; 6]> {
    let text = of.address.as_deref().filter(|_| of.hardware == 1 && !of.has("NOARP"))?;
    let mac: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    mac?.try_into().ok()
}

/// Tries TCP at a few ports, until one takes a connection. The last port that answered is told.
fn try_tcp(peer: IpAddr, limit: Duration, stop: &Stop) -> (Tcp, Option<u16>, Option<TcpStream>) {
    let (mut refused, mut reset) = (None, None);
    for port in PORTS {
        if stop.asked() {
            return (Tcp::Unknown, None, None);
        }
        let before = messages();
        match TcpStream::connect_timeout(&SocketAddr::new(peer, *port), limit) {
            Ok(stream) => return (Tcp::Answered, Some(*port), Some(stream)),
            // A host without a listener sends a reset; who rejects packets for another one sends a message of ICMP.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && messages() > before => {
                refused = Some("a packet filter rejects it (ICMP unreachable)".to_owned());
            }
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset) => {
                reset = Some(*port);
            }
            // It answers; one that is silent costs time.
            Err(_) if reset.is_some() => break,
            Err(e) if matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {}
            Err(e) => refused = Some(words(&e)),
        }
    }
    let tcp = if reset.is_some() { Tcp::Answered } else { refused.map_or(Tcp::Silent, Tcp::Refused) };
    (tcp, reset, None)
}

/// Messages of ICMP, of either version, that something was not reached.
fn messages() -> u64 {
    let text = |file: &str| std::fs::read_to_string(format!("/{file}")).unwrap_or_default();
    let v4 = named(&text(SNMP), "Icmp", "InDestUnreachs");
    v4.unwrap_or(0) + alone(&text(SNMP6), "Icmp6InDestUnreachs").unwrap_or(0)
}

fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Probes a peer.
///
/// # Errors
/// One line: no socket for the requests.
pub(super) fn probe(peer: IpAddr, stop: &Stop) -> Result<Probed, String> {
    if matches!(peer, IpAddr::V6(v6) if v6.is_unicast_link_local()) {
        return Err(format!("--peer {peer}: such an address is one of each link; give one that is not link-local"));
    }
    let wrong = |e: linerate_host::Error| format!("--peer {peer}: {e}");
    let mut links = Rtnetlink::open().map_err(wrong)?;
    let mut probed = Probed::new(peer);
    let Path { index, source, gateway, .. } = match links.way_to(peer) {
        Ok(path) => path,
        Err(e) => {
            // What `ip route get` says of it: EINVAL is a blackhole, EACCES prohibit.
            probed.refused = Some(match e.kind() {
                ErrorKind::InvalidInput => "a route discards what is sent there (blackhole)".to_owned(),
                ErrorKind::PermissionDenied => "a route prohibits it".to_owned(),
                _ => words(&e),
            });
            return Ok(probed);
        }
    };
    let link = links.link_at(index).map_err(wrong)?;
    probed.source = source;
    (probed.way, probed.mtu, probed.gateway) = (link.name, usize::try_from(link.mtu).unwrap_or_default(), gateway);
    let mut echo = match Echo::open(peer) {
        Ok(echo) => echo,
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            return Err(format!(
                "--peer {peer}: {e}; give the address of one host, and run as root, or with CAP_NET_RAW"
            ));
        }
        Err(e) => {
            probed.refused = Some(words(&e));
            return Ok(probed);
        }
    };
    probed.echo(&mut echo, &mut links, stop)?;
    if probed.answered > 0 {
        probed.told = links.way_to(peer).ok().and_then(|path| path.mtu);
    }
    let slowest = probed.times.map_or(Duration::ZERO, |(_, slowest)| slowest);
    let limit = (slowest * 4).clamp(Duration::from_millis(200), LIMIT);
    let (tcp, port, stream) = try_tcp(peer, limit, stop);
    probed.tcp = tcp;
    probed.handshake = stream.as_ref().and_then(|stream| handshake(stream.as_fd()));
    if let (Some(stream), Some(agreed)) = (stream, probed.handshake) {
        probed.segments = segments(stream, agreed.segment);
    }
    // A way inside the machine is one.
    if let Some(port) = port.filter(|_| !peer.is_loopback() && !probed.is_own()) {
        probed.flows = flows(SocketAddr::new(peer, port), limit, stop);
    }
    Ok(probed)
}

/// Requests to a peer.
struct Asked<'a> {
    echo: &'a mut Echo,
    links: &'a mut Rtnetlink,
    peer: IpAddr,
    limit: Duration,
    stop: &'a Stop,
}

impl Asked<'_> {
    fn once(&mut self, size: usize, limit: Duration) -> Result<Option<Duration>, String> {
        match self.echo.ask(size, limit) {
            Ok(time) => Ok(time),
            // Its address is not resolved, a router knows no way, or a packet filter refuses it.
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::PermissionDenied
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(format!("--peer {}: {e}", self.peer)),
        }
    }
}

impl longest::Path for Asked<'_> {
    fn ask(&mut self, size: usize, slow: bool) -> Result<bool, String> {
        let limit = if slow { LIMIT } else { self.limit };
        self.once(size, limit).map(|time| time.is_some())
    }

    fn told(&mut self) -> Option<usize> {
        self.links.way_to(self.peer).ok()?.mtu.and_then(|mtu| usize::try_from(mtu).ok())
    }

    fn rest(&mut self, time: Duration) {
        wait(time, self.stop);
    }

    fn is_stopped(&self) -> bool {
        self.stop.asked()
    }
}

impl Probed {
    /// Sends echo requests: some of one size, and then the longest that come back.
    fn echo(&mut self, echo: &mut Echo, links: &mut Rtnetlink, stop: &Stop) -> Result<(), String> {
        let mut asked = Asked { echo, links, peer: self.peer, limit: LIMIT, stop };
        while self.asked < REQUESTS && !stop.asked() && (self.answered > 0 || self.asked < SILENT) {
            self.asked += 1;
            if let Some(time) = asked.once(SHORT, LIMIT)? {
                self.answered += 1;
                let (least, most) = self.times.unwrap_or((time, time));
                self.times = Some((least.min(time), most.max(time)));
            }
        }
        let Some((_, slowest)) = self.times else { return Ok(()) };
        // Long enough for what is slower because it is longer.
        asked.limit = (slowest * 4).clamp(Duration::from_millis(50), LIMIT);
        self.limited = self.answered < self.asked && limits_requests(&mut asked)?;
        (self.largest, self.sizes) = longest(&mut asked, self.mtu.min(65_535))?;
        Ok(())
    }
}
