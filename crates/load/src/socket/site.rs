//! Site of a load: its place among the kernel's sockets, or a host of our own on a port, from which it has its sockets.

use super::place::{self, Place, addresses, any};
use super::{TcpListener, TcpStream, UdpSocket};
use linerate_rt::net::{Connecting, Net, NetError, Node, Options};
use linerate_rt::{ThreadTime, monotonic_ns};
use linerate_stack::{Cidr, Route};
use std::io::{Error, ErrorKind, Result as Io};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Host of our own stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The port that it is on (KIND:NAME).
    pub port: String,
    pub addresses: Vec<Cidr>,
    pub routes: Vec<Route>,
    /// Longest IP packet; otherwise the port's.
    pub mtu: Option<usize>,
}

/// Source of a load's sockets.
#[derive(Clone)]
pub(crate) struct Site {
    place: Place,
    net: Option<Net>,
    /// Description of the port's path.
    path: Option<String>,
}

impl Site {
    /// Opens a site: of the kernel, or of a host of our own.
    pub(crate) fn open(place: &Place, own: Option<&Own>) -> Result<Self, String> {
        let Some(own) = own else { return Ok(Self { place: place.clone(), net: None, path: None }) };
        let opened = Self::host(own).map_err(|e| e.to_string())?;
        let (mut nodes, path) = opened;
        for route in &own.routes {
            nodes[0].ip.host.set_route(*route).map_err(|e| e.to_string())?;
        }
        nodes[0].announce(monotonic_ns());
        let net = Net::run(nodes).map_err(|e| e.to_string())?;
        Ok(Self { place: place.clone(), net: Some(net), path: Some(path) })
    }

    fn host(own: &Own) -> Result<(Vec<Node>, String), NetError> {
        let options = Options { mtu: own.mtu, ..Options::default() };
        let nodes = Node::open_shards(&own.port, &own.addresses, &options)?;
        let path = nodes.first().map(|node| {
            let info = node.line().info();
            format!("{}: {}", info.name, info.path)
        });
        path.map(|path| (nodes, path)).ok_or_else(|| NetError::OneWay(own.port.clone()))
    }

    /// The port of a host of our own and the path that it has; `None` for the kernel.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// True if its sockets are those of a host of our own.
    pub(crate) fn is_own(&self) -> bool {
        self.net.is_some()
    }

    /// A site of a host that runs.
    pub(crate) fn of(place: &Place, net: Net) -> Self {
        Self { place: place.clone(), net: Some(net), path: None }
    }

    /// Processor time of the threads of a host of our own, which serve all its sockets; none of the kernel's.
    pub(crate) fn spent(&self) -> ThreadTime {
        self.net.as_ref().map(Net::spent).unwrap_or_default()
    }

    /// The same, with that of the calling thread.
    pub(crate) fn spent_with_this_thread(&self) -> ThreadTime {
        let (own, host) = (ThreadTime::of_this_thread(), self.spent());
        ThreadTime { user: own.user + host.user, system: own.system + host.system }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The same source of sockets at another place.
    pub(crate) fn placed(&self, place: Place) -> Self {
        Self { place, ..self.clone() }
    }

    /// Largest segment that a host of our own takes from its peers; none of the kernel's.
    pub(crate) fn segment(&self, v4: bool) -> Option<u64> {
        let headers = if v4 { 40 } else { 60 };
        self.net.as_ref().map(|net| net.with(|host| host.mtu() as u64).saturating_sub(headers))
    }

    /// Connects to the first address of a host that takes it, at the place's port.
    pub(crate) fn dial(&self, host: &str, within: Option<Duration>) -> Io<TcpStream> {
        let Some(net) = &self.net else { return place::dial(&self.place, host, within).map(TcpStream::Kernel) };
        let mut failed = Error::from(ErrorKind::AddrNotAvailable);
        for remote in addresses(host, self.place.port, self.place.family)? {
            match connect(net, remote, within) {
                Ok(stream) => return Ok(stream),
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    pub(crate) fn listen(&self) -> Io<TcpListener> {
        match &self.net {
            None => place::listen(&self.place).map(TcpListener::Kernel),
            Some(net) => net.tcp_listen(self.at()?).map(TcpListener::Own),
        }
    }

    pub(crate) fn receive_at(&self) -> Io<UdpSocket> {
        match &self.net {
            None => place::receive_at(&self.place).map(UdpSocket::Kernel),
            Some(net) => net.udp_bind(self.at()?).map(UdpSocket::own),
        }
    }

    /// A socket of our own at the place's port for the datagrams of one peer; `None` if the sockets are the kernel's.
    pub(crate) fn receive_of(&self, peer: SocketAddr) -> Option<Io<UdpSocket>> {
        let net = self.net.as_ref()?;
        let at = if self.place.bind.is_some() { self.at() } else { Ok(towards(net, peer, self.place.port)) };
        Some(at.and_then(|at| net.udp_bind_to(at, peer)).map(UdpSocket::own))
    }

    /// A connection of our own; `None` if the sockets are the kernel's.
    pub(crate) fn connect(&self, remote: SocketAddr, how: &Connecting) -> Option<Io<TcpStream>> {
        self.net.as_ref().map(|net| net.tcp_connect_as(remote, how).map(TcpStream::own))
    }

    /// The same, as long as `goes_on` says so, which is asked whenever so much time has passed; none once it does not.
    pub(crate) fn connect_while(
        &self,
        remote: SocketAddr,
        tick: Duration,
        goes_on: impl FnMut() -> bool,
    ) -> Option<Io<Option<TcpStream>>> {
        let made = self.net.as_ref()?.tcp_connect_while(remote, tick, goes_on);
        Some(made.map(|made| made.map(TcpStream::own)))
    }

    /// A listener of our own at this address, which waits so long for a connection; `None` if the sockets are the kernel's.
    pub(crate) fn listen_at(&self, at: SocketAddr, waits: Duration) -> Option<Io<TcpListener>> {
        let listener = self.net.as_ref()?.tcp_listen(at);
        Some(listener.map(|listener| {
            listener.set_timeout(Some(waits));
            TcpListener::Own(listener)
        }))
    }

    /// A socket of our own for datagrams at this address; `None` if the sockets are the kernel's.
    pub(crate) fn datagrams_at(&self, at: SocketAddr) -> Option<Io<UdpSocket>> {
        Some(self.net.as_ref()?.udp_bind(at).map(UdpSocket::own))
    }

    /// True if a peer is in a network of the host's own addresses; the kernel knows that by itself.
    pub(crate) fn is_near(&self, peer: IpAddr) -> bool {
        let near = |net: &Net| net.with(|host| host.addresses().iter().any(|cidr| cidr.contains(peer)));
        self.net.as_ref().is_none_or(near)
    }

    /// A socket of our own for datagrams to a peer, from this port if it is not 0; `None` if the sockets are the kernel's.
    pub(crate) fn send_to(&self, peer: SocketAddr, port: u16) -> Option<Io<UdpSocket>> {
        let net = self.net.as_ref()?;
        Some(net.udp_bind_to(towards(net, peer, port), peer).map(UdpSocket::own))
    }

    /// Own address at which a host of our own takes in.
    fn at(&self) -> Io<SocketAddr> {
        let place = &self.place;
        match &place.bind {
            Some(host) => addresses(host, place.port, place.family)?.first().copied().ok_or(ErrorKind::NotFound.into()),
            None => {
                let v4 = place.family.map_or_else(|| self.has_v4(), |family| family == super::Family::V4);
                Ok(any(v4, place.port))
            }
        }
    }

    /// True if the host has an address of IPv4.
    fn has_v4(&self) -> bool {
        self.net.as_ref().is_some_and(|net| net.with(|host| host.addresses().iter().any(|cidr| cidr.addr().is_ipv4())))
    }
}

/// Own address by which a peer is reached, as the kernel chooses it for a socket that is connected.
fn towards(net: &Net, peer: SocketAddr, port: u16) -> SocketAddr {
    let own = net.with(|host| host.tcp_local(monotonic_ns(), 0, peer));
    own.map_or_else(|_| any(peer.is_ipv4(), port), |own| SocketAddr::new(own.ip(), port))
}

fn connect(net: &Net, remote: SocketAddr, within: Option<Duration>) -> Io<TcpStream> {
    let stream = match within {
        None => net.tcp_connect(remote),
        Some(within) => net.tcp_connect_timeout(remote, within),
    };
    stream.map(TcpStream::own)
}
