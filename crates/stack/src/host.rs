//! An IP host on one link.

use crate::address::{Own, is_mapped, link_local};
use crate::counters::Counters;
use crate::flow::Flows;
use crate::icmp::Allowance;
use crate::link::{Link, Neighbours};
use crate::pmtu::Pmtu;
use crate::reassembly::Reassembly;
use crate::route::{Route, Routes};
use crate::udp::{BindError, SendError, Sockets, UdpId};
use crate::{Cidr, Transmit, reassembly};
use linerate_wire::{MacAddr, VlanTag};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Most addresses.
const ADDRESSES: usize = 64;
/// Most packets on their way from the host to itself.
pub(crate) const LOOPED: usize = 256;
/// Smallest MTU: IPv4 needs 68 bytes (RFC 791); an IPv6 address needs 1280 (RFC 8200, section 5).
const LEAST_MTU: usize = 68;
const LEAST_MTU_V6: usize = 1280;

/// How a host begins.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its hardware address.
    pub mac: MacAddr,
    /// Longest IP packet on the link, in bytes.
    pub mtu: usize,
    /// The tag of all its frames; without one it speaks untagged only.
    pub vlan: Option<VlanTag>,
    /// Whether the adapter fills in UDP's checksum over IPv4 and over IPv6 when it is asked to.
    pub fills: Fills,
    /// Bytes that wait in a socket for their reader.
    pub inbox: usize,
    /// For all that shall not be foreseen: ports, identifications, hashes.
    pub seed: u64,
}

impl Config {
    /// With an MTU of 1500, no tag, no help of the adapter, and 208 KiB a socket.
    #[must_use]
    pub fn new(mac: MacAddr, seed: u64) -> Self {
        Self { mac, mtu: 1500, vlan: None, fills: Fills::default(), inbox: 212_992, seed }
    }
}

/// Checksums that the adapter fills in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// TXCSUM.
    pub v4: bool,
    /// TXCSUM_IPV6.
    pub v6: bool,
}

/// How far a datagram may be short-cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// Never: route and neighbour are looked up, and all headers made, for each datagram.
    Long,
    /// Route and neighbour are remembered by destination.
    Flow,
    /// Whole headers are remembered by the socket.
    #[default]
    Fast,
}

/// Why a setting was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// Not an address that a host can have.
    #[error("{0} cannot be a host's address: give a unicast address that is not its network's own")]
    Address(Cidr),
    /// Too many.
    #[error("a host has at most {ADDRESSES} addresses")]
    TooMany,
    /// Too small or too large.
    #[error("an MTU of {0} is out of range: give {LEAST_MTU} to 65535, and at least {LEAST_MTU_V6} with IPv6")]
    Mtu(usize),
    /// No station's.
    #[error("{0} cannot be a host's hardware address: give a unicast one, as 02:00:00:00:00:01")]
    Mac(MacAddr),
    /// A route whose router is not on the link.
    #[error("the router {0} is on none of the host's networks: give one that is")]
    Router(IpAddr),
    /// Too many.
    #[error("there are too many routes")]
    TooManyRoutes,
}

/// An IP host. Frames and times (nanoseconds of a clock that never goes back) are passed in.
#[derive(Debug)]
pub struct Host {
    pub(crate) link: Link,
    pub(crate) fills: Fills,
    pub(crate) path: Path,
    inbox: usize,
    pub(crate) own: Own,
    pub(crate) routes: Routes,
    pub(crate) pmtu: Pmtu,
    pub(crate) reassembly: Reassembly,
    pub(crate) sockets: Sockets,
    pub(crate) flows: Flows,
    pub(crate) looped: VecDeque<Vec<u8>>,
    pub(crate) allowance: Allowance,
    /// The next packet's identification over IPv4, and the next datagram's in fragments over IPv6.
    pub(crate) ident: u16,
    pub(crate) ident_v6: u32,
}

impl Host {
    /// A host without addresses.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        if !(LEAST_MTU..=65535).contains(&config.mtu) {
            return Err(ConfigError::Mtu(config.mtu));
        }
        if config.mac.is_multicast() || config.mac == MacAddr::UNSPECIFIED {
            return Err(ConfigError::Mac(config.mac));
        }
        Ok(Self {
            link: Link::new(config.mac, config.mtu, config.vlan, config.seed),
            fills: config.fills,
            path: Path::Fast,
            inbox: config.inbox,
            own: Own::default(),
            routes: Routes::default(),
            pmtu: Pmtu::default(),
            reassembly: Reassembly::new(reassembly::Config::default()),
            sockets: Sockets::new(config.seed),
            flows: Flows::default(),
            looped: VecDeque::new(),
            allowance: Allowance::default(),
            ident: u16::try_from(config.seed >> 16 & 0xffff).unwrap_or(0),
            ident_v6: u32::try_from(config.seed >> 32).unwrap_or(0),
        })
    }

    // ---- settings: each counts up the generation ----

    /// Adds an address and the route to its network. With the first IPv6 address comes the link-local one.
    pub fn add_address(&mut self, cidr: Cidr) -> Result<(), ConfigError> {
        let addr = cidr.addr();
        let own_network = addr.is_ipv4() && cidr.prefix() < 31 && cidr.network().addr() == addr;
        let limited =
            is_mapped(addr) || addr == IpAddr::from([255; 4]) || Some(addr) == cidr.broadcast().map(IpAddr::V4);
        if addr.is_multicast() || addr.is_unspecified() || addr.is_loopback() || own_network || limited {
            return Err(ConfigError::Address(cidr));
        }
        if addr.is_ipv6() && self.link.mtu < LEAST_MTU_V6 {
            return Err(ConfigError::Mtu(self.link.mtu));
        }
        let local = link_local(self.link.mac);
        let first_v6 = addr.is_ipv6() && !self.own.all().iter().any(|a| a.addr().is_ipv6()) && addr != local.addr();
        if self.own.all().len() + 1 + usize::from(first_v6) > ADDRESSES {
            return Err(ConfigError::TooMany);
        }
        if first_v6 {
            self.add_address(local)?;
        }
        // With another prefix than before, the old network is no longer on the link.
        self.remove_address(addr);
        if !self.routes.set(Route { to: cidr, via: None }) {
            return Err(ConfigError::TooManyRoutes);
        }
        self.own.add(cidr);
        self.link.generation += 1;
        Ok(())
    }

    /// Removes an address, and the route to its network unless another address is there too; false if it was not there.
    pub fn remove_address(&mut self, addr: IpAddr) -> bool {
        let Some(gone) = self.own.remove(addr) else { return false };
        if !self.own.all().iter().any(|a| a.network() == gone.network()) {
            self.routes.remove(gone);
        }
        self.link.generation += 1;
        true
    }

    /// The host's addresses.
    #[must_use]
    pub fn addresses(&self) -> &[Cidr] {
        self.own.all()
    }

    /// Adds or replaces a route. Its router must be on one of the host's networks.
    pub fn set_route(&mut self, route: Route) -> Result<(), ConfigError> {
        if let Some(via) = route.via {
            let reached = via.is_ipv4() == route.to.addr().is_ipv4()
                && self.own.all().iter().any(|a| a.contains(via) && a.addr() != via);
            if !reached {
                return Err(ConfigError::Router(via));
            }
        }
        self.link.generation += 1;
        if self.routes.set(route) { Ok(()) } else { Err(ConfigError::TooManyRoutes) }
    }

    /// Removes the route to a network; false if there was none.
    pub fn remove_route(&mut self, to: Cidr) -> bool {
        self.link.generation += 1;
        self.routes.remove(to)
    }

    /// The routes, longest prefix first.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }

    /// Changes the link's MTU.
    pub fn set_mtu(&mut self, mtu: usize) -> Result<(), ConfigError> {
        let least = if self.own.all().iter().any(|a| a.addr().is_ipv6()) { LEAST_MTU_V6 } else { LEAST_MTU };
        if !(least..=65535).contains(&mtu) {
            return Err(ConfigError::Mtu(mtu));
        }
        self.link.mtu = mtu;
        self.link.generation += 1;
        Ok(())
    }

    /// Changes the hardware address. The link-local address stays as it is.
    pub fn set_mac(&mut self, mac: MacAddr) {
        self.link.mac = mac;
        self.link.generation += 1;
    }

    /// The hardware address.
    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.link.mac
    }

    /// Longest IP packet on the link.
    #[must_use]
    pub fn mtu(&self) -> usize {
        self.link.mtu
    }

    /// Changes the tag.
    pub fn set_vlan(&mut self, vlan: Option<VlanTag>) {
        self.link.vlan = vlan;
        self.link.neighbours.flush();
        self.link.generation += 1;
    }

    /// Says what the adapter fills in from now on.
    pub fn set_fills(&mut self, fills: Fills) {
        self.fills = fills;
        self.link.generation += 1;
    }

    /// The interface went up or down.
    pub fn set_up(&mut self, up: bool) {
        self.link.up = up;
        self.link.generation += 1;
    }

    /// How far datagrams may be short-cut; all the way unless it is told.
    pub fn set_path(&mut self, path: Path) {
        self.path = path;
    }

    /// The neighbours, to look at, to flush or to set by hand.
    pub fn neighbours(&mut self) -> &mut Neighbours {
        &mut self.link.neighbours
    }

    /// What the host did.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.link.counters
    }

    // ---- sockets ----

    /// Opens a UDP socket; port 0 gives a free one, an unspecified address all of its family.
    pub fn udp_bind(&mut self, local: SocketAddr) -> Result<UdpId, BindError> {
        if !local.ip().is_unspecified() && !self.own.is_ours(local.ip()) {
            return Err(BindError::NotOurs(local.ip()));
        }
        self.sockets.bind(local, self.inbox)
    }

    /// Closes a socket; what waits in it is gone. False if it was closed.
    pub fn udp_close(&mut self, id: UdpId) -> bool {
        self.sockets.close(id)
    }

    /// Sets or clears where a socket sends without being told, and from whom alone it receives. False if it is closed.
    pub fn udp_connect(&mut self, id: UdpId, remote: Option<SocketAddr>) -> bool {
        self.sockets.connect(id, remote)
    }

    /// The socket's own address and its peer's; None if it is closed.
    #[must_use]
    pub fn udp_ends(&self, id: UdpId) -> Option<(SocketAddr, Option<SocketAddr>)> {
        self.sockets.get(id).map(|s| (s.local, s.remote))
    }

    /// Copies the oldest waiting datagram, as far as it fits, and removes it: bytes copied, bytes it had, its sender.
    #[inline]
    pub fn udp_recv(&mut self, id: UdpId, into: &mut [u8]) -> Option<(usize, usize, SocketAddr)> {
        self.sockets.get_mut(id)?.inbox.pop(into)
    }

    /// Datagrams that wait in a socket.
    #[must_use]
    pub fn udp_waiting(&self, id: UdpId) -> usize {
        self.sockets.get(id).map_or(0, |s| s.inbox.len())
    }

    /// Takes what an ICMP error or a silent neighbour told of an earlier datagram of a connected socket; the next send
    /// would tell it otherwise.
    pub fn udp_error(&mut self, id: UdpId) -> Option<SendError> {
        self.sockets.get_mut(id)?.error.take()
    }

    /// Tells all on the link where the host's addresses are: when the link came up, or an address moved here (RFC 5227,
    /// section 3; RFC 4861, section 7.2.6).
    pub fn announce<T: Transmit>(&mut self, tx: &mut T) {
        self.link.announce(&self.own, tx);
    }
}
