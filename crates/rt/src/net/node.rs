//! A host on a port of its own, in one thread, or in one for each queue.

use super::ip::{Ip, IpTx};
use crate::dcb::{DcbClient, DcbError, Settings};
use crate::line::{Line, local_mac};
use crate::machine::Sleeper;
use crate::random;
use linerate_nic::{Nic, NicError};
use linerate_port::{Link, OpenError, Port, TxQueue, open_all};
use linerate_stack::{Cidr, ConfigError, Host, Probe};
use linerate_wire::{MacAddr, VlanTag};
use std::iter::once;
use thiserror::Error;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its hardware address; otherwise the port's own, or a random one.
    pub mac: Option<MacAddr>,
    /// Longest IP packet; otherwise the port's.
    pub mtu: Option<usize>,
    /// The tag of all frames.
    pub vlan: Option<VlanTag>,
    /// Checksums are always made and verified here, whatever the port could do.
    pub software: bool,
    /// It gets IPv6 addresses, a default route and an MTU of routers ([`Host::set_auto`]).
    pub auto: bool,
    /// Most neighbours at a time; 1024 if nothing is said.
    pub neighbours: Option<usize>,
    /// Seed of all that is random in it; otherwise the system gives one.
    pub seed: Option<u64>,
    /// Data Center Bridging is negotiated with these settings, and the adapter serves the operative classes.
    pub dcb: Option<Settings>,
}

#[derive(Debug, Error)]
pub enum NetError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("an MTU of {0} is more than {1} carries: give at most {2}, or open it with ,mtu={0} if it can be larger")]
    Mtu(usize, String, usize),
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error("{0}: it has no queue for each way, and a host needs both: choose another port")]
    OneWay(String),
    #[error("{0} has {1} queues, of which one thread reads one: open it with ,queues=1, or a node for each queue")]
    Queues(String, usize),
    #[error("{0} has {1} queues, and LLDP may come by any: open it with ,queues=1")]
    DcbQueues(String, usize),
    #[error(transparent)]
    Dcb(#[from] DcbError),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// A host and its port's queue. Its owner calls [`Node::handle`] again and again, as [`crate::run`] does.
pub struct Node {
    pub ip: Ip,
    line: Line,
    dcb: Option<DcbClient>,
}

/// Interface of LLDP, beside the host's.
const LLDP: usize = 1;

impl Node {
    /// Opens a port of one queue and sets up a host with these addresses on it.
    pub fn open(port: &str, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let mut nodes = Self::open_all(&[port], &[addresses], options)?;
        nodes.pop().ok_or_else(|| NetError::OneWay(port.into()))
    }

    /// Sets up a host with these addresses on an open port of one queue.
    pub fn over(port: Port, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        Self::single(Self::adapter(port, options)?, addresses, options)
    }

    /// Several at once, which may be the ends of one cable.
    pub fn open_all(ports: &[&str], addresses: &[&[Cidr]], options: &Options) -> Result<Vec<Self>, NetError> {
        let ports = open_all(ports)?;
        let nodes = ports.into_iter().zip(addresses);
        nodes.map(|(port, addresses)| Self::over(port, addresses, options)).collect()
    }

    /// Opens a port and sets up a host with these addresses on it: a node for each queue, each for a thread of its own.
    /// They have addresses, routes and neighbours in common; each has its own sockets.
    pub fn open_shards(port: &str, addresses: &[Cidr], options: &Options) -> Result<Vec<Self>, NetError> {
        let mut hosts = Self::open_all_shards(&[port], &[addresses], options)?;
        hosts.pop().ok_or_else(|| NetError::OneWay(port.into()))
    }

    /// Several such hosts at once, whose ports may be the ends of one cable.
    pub fn open_all_shards(
        ports: &[&str],
        addresses: &[&[Cidr]],
        options: &Options,
    ) -> Result<Vec<Vec<Self>>, NetError> {
        let hosts = open_all(ports)?.into_iter().zip(addresses);
        hosts.map(|(port, addresses)| Self::shards(Self::adapter(port, options)?, addresses, options)).collect()
    }

    pub(super) fn adapter(port: Port, options: &Options) -> Result<Nic, NetError> {
        let info = port.info();
        if let Some(mtu) = options.mtu.filter(|mtu| *mtu > info.mtu) {
            return Err(NetError::Mtu(mtu, info.name.clone(), info.mtu));
        }
        let mac = options.mac.or(info.mac.map(MacAddr)).unwrap_or_else(|| local_mac(random()));
        let interfaces = 1 + usize::from(options.dcb.is_some());
        Ok(Line::adapter(port, interfaces, mac, options.software)?)
    }

    /// Sets up a host on interface 0 of an adapter of one queue, as [`Node::shards`] does.
    pub fn single(nic: Nic, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let name = nic.info().name.clone();
        let mut nodes = Self::shards(nic, addresses, options)?;
        match nodes.len() {
            1 => nodes.pop().ok_or(NetError::OneWay(name)),
            n => Err(NetError::Queues(name, n)),
        }
    }

    /// Sets up a host on interface 0 of an adapter, with the address, MTU and flags that are set there; it follows when
    /// they are changed. There is a node for each queue, and where there is a negotiation one, with interface 1 for it.
    pub fn shards(mut nic: Nic, addresses: &[Cidr], options: &Options) -> Result<Vec<Self>, NetError> {
        let mut first = Ip::new(&nic.control(), 0, addresses, options)?;
        let info = nic.info().clone();
        let lines = (0..info.tx_queues.max(info.rx_queues)).map(|queue| Line::new(&mut nic, queue));
        let Some(mut lines) = lines.collect::<Option<Vec<_>>>().filter(|lines| !lines.is_empty()) else {
            return Err(NetError::OneWay(info.name));
        };
        if options.dcb.is_some() && lines.len() > 1 {
            return Err(NetError::DcbQueues(info.name, lines.len()));
        }
        let client = |settings: &Settings| DcbClient::at(&nic.control(), LLDP, first.host.mac(), settings.clone(), 0);
        let mut dcb = options.dcb.as_ref().map(client).transpose()?;
        // The host knows the present state of the link, and its user announces it.
        for line in &mut lines {
            if line.changed(0) == Some(Link::Up) {
                first.host.set_carrier(true);
                dcb.iter_mut().for_each(|client| client.set_link(Link::Up, 0));
            }
        }
        let more: Vec<_> = lines[1..].iter().map(|_| first.shard()).collect();
        let nodes = once(first).chain(more).zip(lines);
        Ok(nodes.map(|(ip, line)| Self { ip, line, dcb: dcb.take() }).collect())
    }

    /// Its queue.
    #[must_use]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// LLDP and DCBX at its port.
    #[must_use]
    pub fn dcb(&self) -> Option<&DcbClient> {
        self.dcb.as_ref()
    }

    pub fn dcb_mut(&mut self) -> Option<&mut DcbClient> {
        self.dcb.as_mut()
    }

    /// Runs a turn of DCBX, and obeys what is new; true if there was something to do. `link`: its new state.
    fn negotiate(&mut self, now: u64, link: Option<Link>) -> bool {
        let Self { dcb: Some(client), line: Line { tx, arrivals }, .. } = self else { return false };
        if link == Some(Link::Up) {
            client.set_link(Link::Up, now);
        }
        let came = arrivals.rx.receive(LLDP, usize::MAX, |frame| client.receive(frame.head(), now)) > 0;
        if link == Some(Link::Down) {
            client.set_link(Link::Down, now);
        }
        let sent = client.turn(now, |frame| tx.send_first(LLDP, frame));
        client.obey(arrivals.control());
        came || sent
    }

    /// The host, and its output.
    #[inline]
    pub fn parts(&mut self) -> (&mut Host, IpTx<'_>) {
        self.ip.follow(self.line.control());
        self.line.tx.follow();
        self.ip.over(&mut self.line.tx)
    }

    /// The host and its whole queue.
    #[inline]
    pub(super) fn split(&mut self) -> (&mut Ip, &mut Line) {
        (&mut self.ip, &mut self.line)
    }

    /// The host and its whole queue, for threads of their own.
    pub(super) fn into_parts(self) -> (Ip, Line) {
        (self.ip, self.line)
    }

    pub fn set_mac(&mut self, mac: MacAddr) -> Result<(), NetError> {
        let control = self.line.control();
        control.change(0, |vi| vi.mac = mac.0)?;
        self.ip.follow(control);
        Ok(())
    }

    pub fn port_tx(&mut self) -> &mut TxQueue {
        self.line.tx.port()
    }

    /// Processes what has arrived and does the work that is due; true if there was any.
    pub fn handle(&mut self, now: u64) -> bool {
        let Self { ip, line, .. } = self;
        let link = line.changed(now);
        if let Some(link) = link {
            ip.set_link(link, &mut IpTx::new(&mut line.tx, ip.interface()));
        }
        line.take(now);
        let Line { tx, arrivals } = line;
        tx.tick(now);
        tx.follow();
        let worked = ip.work(now, arrivals, &mut IpTx::new(tx, ip.interface())) | self.negotiate(now, link);
        let line = &mut self.line;
        line.flush(now);
        // The link may have changed once more by now: that is looked at before the thread sleeps.
        worked || link.is_some() || line.arrivals.is_news()
    }

    /// Processes frames that have arrived, with a probe between the stages; returns their number. Together with
    /// [`Node::answer`] it is [`Node::handle`], but for changes of the link.
    pub fn receive_probed(&mut self, now: u64, probe: &mut impl Probe) -> usize {
        let Self { ip, line: Line { tx, arrivals }, .. } = self;
        arrivals.take(now);
        ip.receive_probed(now, arrivals, &mut IpTx::new(tx, ip.interface()), probe)
    }

    /// Does the work that is due, and hands on what was sent.
    pub fn answer(&mut self, now: u64) {
        let Self { ip, line: Line { tx, arrivals }, .. } = self;
        tx.tick(now);
        ip.poll(now, arrivals.control(), &mut IpTx::new(tx, ip.interface()));
        self.line.flush(now);
    }

    /// Announces the host's addresses to all on the link, so that nobody keeps what was true before.
    pub fn announce(&mut self, now: u64) {
        let (host, mut tx) = self.parts();
        host.announce(&mut tx);
        self.flush(now);
    }

    /// Hands on what was sent since.
    #[inline]
    pub fn flush(&mut self, now: u64) {
        self.line.flush(now);
    }

    /// Time of the next call of [`Node::handle`] even if nothing arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let dcb = self.dcb.as_ref().map(DcbClient::due);
        [self.ip.poll_timeout(), self.line.resumes(), dcb].into_iter().flatten().min()
    }

    /// Visits the queues to wait for.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let blocked = self.ip.host.wants_room() || self.dcb.as_ref().is_some_and(DcbClient::is_held_up);
        self.line.waits_for(blocked, visit);
    }
}
