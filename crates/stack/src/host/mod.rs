//! An IP host on one link: it owns the layers, hands frames up through them and datagrams down.

mod config;
mod input;

use crate::counters::Counters;
use crate::ip::{Ip, check_mtu};
use crate::link::{Link, Neighbours};
use crate::udp::{self, OnIp, Udp};
use crate::{BindError, Cidr, ConfigError, Fills, Inbox, Path, Probe, Route, SendError, Transmit, UdpId};
pub use config::Config;
use linerate_wire::{MacAddr, VlanTag};
use std::net::{IpAddr, SocketAddr};

/// An IP host. Frames and times (nanoseconds of a clock that never goes back) are passed in.
#[derive(Debug)]
pub struct Host {
    /// With the link under it.
    ip: Ip,
    udp: Udp,
}

impl Host {
    /// A host without addresses.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        check_mtu(config.mtu, false)?;
        if config.mac.is_multicast() || config.mac == MacAddr::UNSPECIFIED {
            return Err(ConfigError::Mac(config.mac));
        }
        let link = Link::new(config.mac, config.mtu, config.vlan, config.seed);
        Ok(Self { ip: Ip::new(link, config.seed), udp: Udp::new(config.inbox, config.fills, config.seed) })
    }

    // ---- settings: each counts up the generation ----

    /// Adds an address and the route to its network. With the first IPv6 address comes the link-local one.
    pub fn add_address(&mut self, cidr: Cidr) -> Result<(), ConfigError> {
        self.ip.add_address(cidr)
    }

    /// Removes an address, and the route to its network unless another address is there too; false if it was not there.
    pub fn remove_address(&mut self, addr: IpAddr) -> bool {
        self.ip.remove_address(addr)
    }

    /// The host's addresses.
    #[must_use]
    pub fn addresses(&self) -> &[Cidr] {
        self.ip.own.all()
    }

    /// Adds or replaces a route. Its router must be on one of the host's networks.
    pub fn set_route(&mut self, route: Route) -> Result<(), ConfigError> {
        self.ip.set_route(route)
    }

    /// Removes the route to a network; false if there was none.
    pub fn remove_route(&mut self, to: Cidr) -> bool {
        self.ip.remove_route(to)
    }

    /// The routes, longest prefix first.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.ip.routes()
    }

    /// Changes the link's MTU.
    pub fn set_mtu(&mut self, mtu: usize) -> Result<(), ConfigError> {
        self.ip.set_mtu(mtu)
    }

    /// Changes the hardware address. The link-local address stays as it is.
    pub fn set_mac(&mut self, mac: MacAddr) {
        self.ip.link.mac = mac;
        self.ip.link.generation += 1;
    }

    /// The hardware address.
    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.ip.link.mac
    }

    /// Longest IP packet on the link.
    #[must_use]
    pub fn mtu(&self) -> usize {
        self.ip.link.mtu
    }

    /// Changes the tag.
    pub fn set_vlan(&mut self, vlan: Option<VlanTag>) {
        self.ip.link.vlan = vlan;
        self.ip.link.neighbours.flush();
        self.ip.link.generation += 1;
    }

    /// Says what the adapter fills in from now on.
    pub fn set_fills(&mut self, fills: Fills) {
        self.udp.fills = fills;
        self.ip.link.generation += 1;
    }

    /// The interface went up or down.
    pub fn set_up(&mut self, up: bool) {
        self.ip.link.up = up;
        self.ip.link.generation += 1;
    }

    /// Ways that datagrams may take; all the way unless it is told.
    pub fn set_path(&mut self, path: Path) {
        self.udp.path = path;
    }

    /// The neighbours, to look at, to flush or to set by hand.
    pub fn neighbours(&mut self) -> &mut Neighbours {
        &mut self.ip.link.neighbours
    }

    /// Counters of all layers.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.ip.link.counters
    }

    // ---- sockets ----

    /// Opens a UDP socket; port 0 gives a free one, an unspecified address all of its family.
    pub fn udp_bind(&mut self, local: SocketAddr) -> Result<UdpId, BindError> {
        self.udp.bind(local, &self.ip.own)
    }

    /// Closes a socket; what waits in it is gone. False if it was closed.
    pub fn udp_close(&mut self, id: UdpId) -> bool {
        self.udp.close(id)
    }

    /// Sets or clears where a socket sends without being told, and from whom alone it receives. False if it is closed.
    pub fn udp_connect(&mut self, id: UdpId, remote: Option<SocketAddr>) -> bool {
        self.udp.connect(id, remote)
    }

    /// The socket's own address and its peer's; None if it is closed.
    #[must_use]
    pub fn udp_ends(&self, id: UdpId) -> Option<(SocketAddr, Option<SocketAddr>)> {
        self.udp.ends(id)
    }

    /// Copies the oldest waiting datagram, as far as it fits, and removes it: bytes copied, bytes it had, its sender.
    #[inline]
    pub fn udp_recv(&mut self, id: UdpId, into: &mut [u8]) -> Option<(usize, usize, SocketAddr)> {
        self.udp.recv(id, into)
    }

    /// Datagrams that wait in a socket.
    #[must_use]
    pub fn udp_waiting(&self, id: UdpId) -> usize {
        self.udp.waiting(id)
    }

    /// A socket to which something has come, a datagram or an error, since it was given last; each once, None when there
    /// is none. Who has no use for it need not ask.
    #[inline]
    pub fn udp_news(&mut self) -> Option<UdpId> {
        self.udp.news()
    }

    /// An empty queue with as much room as a socket has, for [`Host::udp_hand_over`].
    #[must_use]
    pub fn udp_inbox(&self) -> Inbox {
        self.udp.inbox()
    }

    /// Moves all datagrams that wait in a socket to a queue elsewhere, mostly without copying. Those that find no room
    /// there are dropped and counted as if they had found none here. Gives how many were moved, and whether the socket
    /// has an error to be told too ([`Host::udp_error`]).
    pub fn udp_hand_over(&mut self, id: UdpId, to: &mut Inbox) -> (usize, bool) {
        self.udp.hand_over(id, to, &mut self.ip.link.counters)
    }

    /// Takes what an ICMP error or a silent neighbour told of an earlier datagram of a connected socket; the next send
    /// would tell it otherwise.
    pub fn udp_error(&mut self, id: UdpId) -> Option<SendError> {
        self.udp.error(id)
    }

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
        udp::send(self, now, id, to, body, tx, probe)
    }

    // ---- time ----

    /// Tells all on the link where the host's addresses are: when the link came up, or an address moved here (RFC 5227,
    /// section 3; RFC 4861, section 7.2.6).
    pub fn announce<T: Transmit>(&mut self, tx: &mut T) {
        self.ip.link.announce(&self.ip.own, tx);
    }

    /// Time at which [`Host::poll`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.ip.poll_timeout()
    }
}

impl OnIp for Host {
    #[inline(always)]
    fn layers(&mut self) -> (&mut Udp, &mut Ip) {
        (&mut self.udp, &mut self.ip)
    }
}
