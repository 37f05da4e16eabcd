//! A host on a port of its own, in one thread.

use super::ip::{Ip, IpTx};
use crate::line::{Line, random_mac};
use crate::machine::Sleeper;
use crate::random::random;
use linerate_nic::{Nic, NicError};
use linerate_port::{OpenError, Port, TxQueue, open_all};
use linerate_stack::{Cidr, ConfigError, Host};
use linerate_wire::{MacAddr, VlanTag};
use thiserror::Error;

/// How a host is set up.
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
}

/// Why a host could not be set up.
#[derive(Debug, Error)]
pub enum NetError {
    /// The port.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An address, the MTU, a route.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Packets longer than the port's.
    #[error("an MTU of {0} is more than {1} carries: give at most {2}, or open it with ,mtu={0} if it can be larger")]
    Mtu(usize, String, usize),
    /// An adapter.
    #[error(transparent)]
    Nic(#[from] NicError),
    /// The port sends or receives only.
    #[error("{0}: it has no queue for each way, and a host needs both: choose another port")]
    OneWay(String),
    /// No thread, no memory.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// A host and its port. Whoever owns it calls [`Node::handle`] again and again, as [`crate::run`] does.
pub struct Node {
    /// The host.
    pub ip: Ip,
    line: Line,
}

impl Node {
    /// Opens a port and sets up a host with these addresses on it.
    pub fn open(port: &str, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let mut nodes = Self::open_all(&[port], &[addresses], options)?;
        nodes.pop().ok_or_else(|| NetError::OneWay(port.into()))
    }

    /// Several at once, which may be the ends of one cable.
    pub fn open_all(ports: &[&str], addresses: &[&[Cidr]], options: &Options) -> Result<Vec<Self>, NetError> {
        let ports = open_all(ports)?;
        ports.into_iter().zip(addresses).map(|(port, addresses)| Self::over(port, addresses, options)).collect()
    }

    fn over(port: Port, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let info = port.info();
        if let Some(mtu) = options.mtu.filter(|mtu| *mtu > info.mtu) {
            return Err(NetError::Mtu(mtu, info.name.clone(), info.mtu));
        }
        let mac = options.mac.or(info.mac.map(MacAddr)).unwrap_or_else(|| random_mac(random()));
        Self::over_nic(Line::adapter(port, 1, mac, options.software)?, addresses, options)
    }

    /// Sets up a host on interface 0 of an adapter, with the address, MTU and flags that are set there; it follows when
    /// they are changed.
    pub fn over_nic(mut nic: Nic, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let ip = Ip::new(&nic.control(), 0, addresses, options)?;
        let mut line = Line::new(&mut nic, 0).ok_or_else(|| NetError::OneWay(nic.info().name.clone()))?;
        // What the link is now, the host knows.
        line.changed(0);
        Ok(Self { ip, line })
    }

    /// The queue that it has.
    #[must_use]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The host, and its way out.
    #[inline]
    pub fn parts(&mut self) -> (&mut Host, IpTx<'_>) {
        self.ip.over(&mut self.line.tx)
    }

    /// The host and its whole queue.
    #[inline]
    pub(super) fn split(&mut self) -> (&mut Ip, &mut Line) {
        (&mut self.ip, &mut self.line)
    }

    /// Gives the host another hardware address.
    pub fn set_mac(&mut self, mac: MacAddr) -> Result<(), NetError> {
        let control = self.line.control();
        control.change(0, |vi| vi.mac = mac.0)?;
        self.ip.follow(control);
        Ok(())
    }

    /// The port's transmit queue.
    pub fn port_tx(&mut self) -> &mut TxQueue {
        self.line.tx.port()
    }

    /// Takes what has arrived and does what is due; true if there was something.
    pub fn handle(&mut self, now: u64) -> bool {
        let Self { ip, line } = self;
        if let Some(link) = line.changed(now) {
            ip.set_link(now, link, line);
        }
        line.take(now);
        let worked = ip.work(now, line);
        line.flush(now);
        worked
    }

    /// Tells all on the link where the host's addresses are, so that nobody keeps what was true before.
    pub fn announce(&mut self, now: u64) {
        self.ip.announce(&mut self.line);
        self.flush(now);
    }

    /// Hands on what was sent since.
    #[inline]
    pub fn flush(&mut self, now: u64) {
        self.line.flush(now);
    }

    /// When [`Node::handle`] is wanted although nothing arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.ip.poll_timeout()
    }

    /// What to wait on.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.line.waits_for(false, visit);
    }
}
