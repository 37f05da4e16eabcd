//! An IP host on one link: it owns the layers, passes frames up through them and datagrams down.

mod config;
mod input;
mod probed;
mod streams;

use crate::counters::Counters;
use crate::ip::{Ip, Traffic, check_mtu};
use crate::link::{Link, NeighbourTable, Station};
use crate::secret::{Secret, Use};
use crate::tcp::{Tcp, Tso};
use crate::udp::{self, OnIp, Udp};
use crate::{
    AddressState, BindError, Cidr, ConfigError, Event, Fills, Inbox, Path, Prepared, Probe, Route, SendError, Transmit,
    UdpId,
};
pub use config::Config;
use linerate_wire::{MacAddr, VlanTag};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

/// An IP host. Frames and times (nanoseconds of a clock that never goes back) are passed in.
///
/// A host on several queues has a shard on each: shards share settings, addresses, routes, path MTUs and neighbours, and
/// each has sockets and counters of its own. Shards may be in different threads.
#[derive(Debug)]
pub struct Host {
    /// IP, with the link under it.
    ip: Ip,
    udp: Udp,
    tcp: Tcp,
}

impl Host {
    /// Makes a host without addresses.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        check_mtu(config.mtu, false)?;
        if config.mac.is_multicast() || config.mac == MacAddr::UNSPECIFIED {
            return Err(ConfigError::Mac(config.mac));
        }
        let station = Station { mac: config.mac, mtu: config.mtu, vlan: config.vlan, up: true, carrier: true };
        let secret = Secret::new(config.seed);
        let link = Link::new(station, config.neighbours, secret.key(Use::Neighbours).hash_one(()));
        let udp = Udp::new(config.inbox, config.fills, secret.key(Use::UdpPort));
        let tcp = Tcp::new(config.fills, secret, config.tcp_memory);
        Ok(Self { ip: Ip::new(link, secret), udp, tcp })
    }

    /// Makes another shard of the host, without sockets. A socket that is to receive from all queues is opened in all
    /// shards, and so is one that connects: errors are reported to the socket of the shard that hears of them.
    #[must_use]
    pub fn shard(&self) -> Self {
        Self { ip: self.ip.shard(), udp: self.udp.shard(), tcp: self.tcp.shard() }
    }

    // ---- settings: each counts up the generation ----

    /// Adds an address and the route to its network. The first IPv6 address adds the link-local one too.
    pub fn add_address(&mut self, cidr: Cidr) -> Result<(), ConfigError> {
        self.ip.try_change(|settings| settings.add_address(cidr))?;
        self.ip.addresses_changed();
        Ok(())
    }

    /// Removes an address, and the route to its network unless another address is in it; false if it was not there.
    pub fn remove_address(&mut self, addr: IpAddr) -> bool {
        let removed = self.ip.change(|settings| settings.remove_address(addr));
        self.ip.follow_claims();
        removed
    }

    /// Addresses of the host.
    #[must_use]
    pub fn addresses(&self) -> &[Cidr] {
        self.ip.settings.own.all()
    }

    /// State of an address; None if it is not the host's. After another station turned out to have it, it is not
    /// ([`Event::AddressLost`]).
    #[must_use]
    pub fn address_state(&self, addr: IpAddr) -> Option<AddressState> {
        let own = &self.ip.settings.own;
        own.is_ours(addr).then(|| match (own.is_checked(addr), own.is_deprecated(addr)) {
            (true, _) => AddressState::Checking,
            (false, true) => AddressState::Deprecated,
            (false, false) => AddressState::Preferred,
        })
    }

    /// Switches autoconfiguration over IPv6 on or off: the host has a link-local address, asks for routers when the link is up
    /// (RFC 4861, section 6.3.7), and takes from their advertisements addresses (RFC 4862, section 5.5), default route and
    /// MTU. Switched off, it takes no more; what it has ends with its lifetime.
    pub fn set_auto(&mut self, on: bool) -> Result<(), ConfigError> {
        self.ip.follow();
        self.ip.set_auto(on)
    }

    /// Takes an event, if there is one: of all shards, each once. Calling it is optional.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.ip.event()
    }

    /// Adds or replaces a route. Its router must be on one of the host's networks.
    pub fn set_route(&mut self, route: Route) -> Result<(), ConfigError> {
        self.ip.try_change(|settings| settings.set_route(route))
    }

    /// Removes the route to a network; false if there was none.
    pub fn remove_route(&mut self, to: Cidr) -> bool {
        self.ip.change(|settings| settings.routes.remove(to))
    }

    /// All routes, longest prefix first.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.ip.settings.routes.iter()
    }

    /// Changes the link's MTU.
    pub fn set_mtu(&mut self, mtu: usize) -> Result<(), ConfigError> {
        self.ip.try_change(|settings| settings.set_mtu(mtu))
    }

    /// Changes the MAC address. The link-local address stays as it is.
    pub fn set_mac(&mut self, mac: MacAddr) {
        self.ip.change(|settings| settings.station.mac = mac);
    }

    /// MAC address of the host.
    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.ip.link.station.mac
    }

    /// Longest IP packet on the link.
    #[must_use]
    pub fn mtu(&self) -> usize {
        self.ip.link.station.mtu
    }

    /// Changes the VLAN tag.
    pub fn set_vlan(&mut self, vlan: Option<VlanTag>) {
        self.ip.change(|settings| settings.station.vlan = vlan);
        self.ip.link.common.neighbours().flush();
    }

    /// Sets the checksums that the adapter completes from now on.
    pub fn set_fills(&mut self, fills: Fills) {
        if std::mem::replace(&mut self.udp.fills, fills) != fills {
            self.ip.link.common.changed();
        }
        self.tcp.fills = fills;
    }

    /// Sets which super-frames of TCP the adapter segments from now on.
    pub fn set_tso(&mut self, tso: Tso) {
        self.tcp.tso = tso;
    }

    /// Sets the interface up or down.
    pub fn set_up(&mut self, up: bool) {
        self.ip.change(|settings| settings.station.up = up);
    }

    /// Tells the host whether its link has a carrier; true if that is new. Without one it sends nothing, but takes what has
    /// arrived before. When it comes, [`Host::poll`] reports the host's IPv6 groups (RFC 3810), asks whether other stations
    /// have its addresses, announces them when none has (RFC 5227; RFC 4862, section 5.4), and does the same from then on
    /// for addresses that are added. They are in use meanwhile; one that is another's is given up ([`Host::poll_event`]).
    pub fn set_carrier(&mut self, carrier: bool) -> bool {
        let new = self.ip.change(|settings| std::mem::replace(&mut settings.station.carrier, carrier) != carrier);
        match (new, carrier) {
            (true, true) => self.ip.begin(),
            (true, false) => self.ip.end(),
            (false, _) => {}
        }
        new
    }

    /// True if the link has a carrier, as far as the host was told.
    #[must_use]
    pub fn has_carrier(&self) -> bool {
        self.ip.link.station.carrier
    }

    /// Takes over settings that another shard has changed, as all calls do that change the host or pass it frames.
    pub fn follow(&mut self) {
        self.ip.follow();
    }

    /// Sets the paths that datagrams may take; all of them by default.
    pub fn set_path(&mut self, path: Path) {
        self.udp.path = path;
    }

    /// The neighbour table, to be read, flushed or changed.
    pub fn neighbours(&mut self) -> NeighbourTable<'_> {
        self.ip.link.common.neighbours()
    }

    /// Counters of all layers.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.ip.link.counters
    }

    // ---- sockets ----

    /// Opens a UDP socket; port 0 chooses a free one, an unspecified address means all of its family.
    pub fn udp_bind(&mut self, local: SocketAddr) -> Result<UdpId, BindError> {
        self.ip.follow();
        self.udp.bind(local, None, &self.ip.settings.own)
    }

    /// Opens a UDP socket for one peer: its default destination, and the only sender it receives from. Another socket, or others
    /// for other peers, may have the same address and port.
    pub fn udp_bind_to(&mut self, local: SocketAddr, remote: SocketAddr) -> Result<UdpId, BindError> {
        self.ip.follow();
        self.udp.bind(local, Some(remote), &self.ip.settings.own)
    }

    /// Closes a socket and drops its waiting datagrams. False if it was closed already.
    pub fn udp_close(&mut self, id: UdpId) -> bool {
        self.udp.close(id)
    }

    /// Sets or clears a socket's peer: its default destination, and the only sender it receives from. False if it is
    /// closed.
    pub fn udp_connect(&mut self, id: UdpId, remote: Option<SocketAddr>) -> bool {
        self.udp.connect(id, remote)
    }

    /// Sets the traffic class and the flow label of what a socket sends from now on; headers that were taken of it before
    /// ([`Host::udp_prepared`]) are to be dropped. False if it is closed.
    pub fn udp_set_traffic(&mut self, id: UdpId, traffic: Traffic) -> bool {
        self.udp.set_traffic(id, traffic)
    }

    /// Makes a socket refuse datagrams to broadcasts and groups from now on: they are dropped, and counted by
    /// [`Discard::Broadcast`](crate::Discard::Broadcast) and [`Host::udp_refused`]. False if it is closed.
    pub fn udp_refuse_broadcasts(&mut self, id: UdpId) -> bool {
        self.udp.refuse_broadcasts(id)
    }

    /// Number of datagrams to broadcasts and groups that a socket has refused.
    #[must_use]
    pub fn udp_refused(&self, id: UdpId) -> u64 {
        self.udp.refused(id)
    }

    /// Local address and peer of a socket; None if it is closed.
    #[must_use]
    pub fn udp_ends(&self, id: UdpId) -> Option<(SocketAddr, Option<SocketAddr>)> {
        self.udp.ends(id)
    }

    /// Copies the oldest waiting datagram, as far as it fits, and removes it. Returns bytes copied, its length, its
    /// sender.
    #[inline]
    pub fn udp_recv(&mut self, id: UdpId, into: &mut [u8]) -> Option<(usize, usize, SocketAddr)> {
        self.udp.recv(id, into)
    }

    /// Number of datagrams that wait in a socket.
    #[must_use]
    pub fn udp_waiting(&self, id: UdpId) -> usize {
        self.udp.waiting(id)
    }

    /// Takes a socket with a datagram or an error that is new since it was last returned; each once, None if there is
    /// none. Calling it is optional.
    #[inline]
    pub fn udp_news(&mut self) -> Option<UdpId> {
        self.udp.news()
    }

    /// True if since the last call a datagram came to a socket whose queue is more than a quarter full: whoever takes datagrams
    /// should do so before more frames are passed to the host, which may have to drop some. Calling it is optional.
    #[inline]
    pub fn udp_fills(&mut self) -> bool {
        self.udp.fills()
    }

    /// Makes an empty queue of the size of a socket's, for [`Host::udp_hand_over`].
    #[must_use]
    pub fn udp_inbox(&self) -> Inbox {
        self.udp.inbox()
    }

    /// Moves all datagrams that wait in a socket to another queue, usually without copying. Those that find no room
    /// there are dropped and counted as if the socket's queue had been full. Returns the number moved, and takes the
    /// socket's error, if there is one ([`Host::udp_error`]).
    pub fn udp_hand_over(&mut self, id: UdpId, to: &mut Inbox) -> (usize, Option<SendError>) {
        self.udp.hand_over(id, to, &mut self.ip.link.counters)
    }

    /// Takes the error that ICMP or neighbour resolution reported about an earlier datagram of a connected socket;
    /// otherwise the next send would return it.
    pub fn udp_error(&mut self, id: UdpId) -> Option<SendError> {
        self.udp.error(id)
    }

    /// Sends a datagram from a socket to its peer, or to `to`. A datagram that waits for its neighbour counts as sent.
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

    /// Like [`Host::udp_send`], with a probe between the stages. The fast path has only the first and the last stage.
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

    /// Headers of the datagram that a socket sent last, with which its owner sends others to the same destination
    /// without the host; None if that datagram's headers cannot be used again.
    #[must_use]
    pub fn udp_prepared(&self, id: UdpId) -> Option<Prepared> {
        self.udp.prepared(id, &self.ip)
    }

    /// Counts datagrams that were sent with [`Prepared`] headers.
    pub fn udp_count_prepared(&mut self, datagrams: u64) {
        self.ip.link.counters.udp_sent += datagrams;
        self.ip.link.counters.udp_fast += datagrams;
    }

    // ---- time ----

    /// Announces the host's addresses to all on the link: for use when an address moved here (RFC 5227, section 3; RFC 4861,
    /// section 7.2.6), and the groups as [`Host::set_carrier`] does. Addresses that are still being checked are announced
    /// after that.
    pub fn announce<T: Transmit>(&mut self, tx: &mut T) {
        self.ip.announce(tx);
    }

    /// True if TCP segments, or fragments of a packet that was sent in part, wait for room in the transmit ring:
    /// [`Host::poll`] sends them when there is some.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        self.tcp.is_blocked() || !self.ip.rest.is_empty()
    }

    /// Time at which [`Host::poll`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.ip.due().min(self.tcp.due()).time()
    }
}

impl OnIp for Host {
    #[inline(always)]
    fn layers(&mut self) -> (&mut Udp, &mut Ip) {
        (&mut self.udp, &mut self.ip)
    }
}
