//! Own addresses, and those of other ends: names, families, interfaces; sockets at them.

use super::sys;
use linerate_rt::Capability;
use std::io::{Error, ErrorKind, Result as Io};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Addresses of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Port of the server.
    pub port: u16,
    /// Own address, or a name of it.
    pub bind: Option<String>,
    /// Interface of all sockets.
    pub device: Option<String>,
    /// The only family of addresses.
    pub family: Option<Family>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// The address of IPv4 that an address of IPv6 stands for.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Addresses of a name, of one family only if one is given.
pub(crate) fn addresses(host: &str, port: u16, family: Option<Family>) -> Io<Vec<SocketAddr>> {
    let all = (host, port).to_socket_addrs()?;
    let fits = |address: &SocketAddr| family.is_none_or(|family| (family == Family::V4) == address.is_ipv4());
    let fitting: Vec<SocketAddr> = all.filter(fits).collect();
    if fitting.is_empty() {
        let family = if family == Some(Family::V4) { "IPv4" } else { "IPv6" };
        return Err(Error::new(ErrorKind::AddrNotAvailable, format!("{host} has no address of {family}")));
    }
    Ok(fitting)
}

/// The address that stands for all of a family.
pub(crate) fn any(v4: bool, port: u16) -> SocketAddr {
    let ip: IpAddr = if v4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, port)
}

fn family_of(address: SocketAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

/// Own address for a socket to `remote`, with this port; `None` if the system may choose both.
fn own(place: &Place, remote: SocketAddr, port: u16) -> Io<Option<SocketAddr>> {
    match &place.bind {
        Some(host) => addresses(host, port, Some(family_of(remote))).map(|all| all.first().copied()),
        None if port > 0 => Ok(Some(any(remote.is_ipv4(), port))),
        None => Ok(None),
    }
}

impl Place {
    /// Takes the interface of `HOST%INTERFACE`, and gives the host; the interface of a link-local address belongs to that.
    pub(crate) fn host_of<'a>(&mut self, text: &'a str) -> &'a str {
        match text.split_once('%') {
            Some((host, device)) if !host.to_ascii_lowercase().starts_with("fe80:") => {
                self.device = Some(device.to_owned());
                host
            }
            _ => text,
        }
    }

    /// Capabilities that it takes to open more sockets at the port of a server that listens.
    pub(crate) fn keeps(&self) -> Vec<Capability> {
        if (1..1024).contains(&self.port) { vec![Capability::NetBindService] } else { Vec::new() }
    }
}

/// A socket to `remote`, not connected yet.
pub(crate) fn open(place: &Place, remote: SocketAddr, kind: libc::c_int, port: u16) -> Io<OwnedFd> {
    let fd = sys::socket(remote, kind)?;
    if let Some(device) = &place.device {
        sys::bind_device(fd.as_fd(), device)?;
    }
    if let Some(own) = own(place, remote, port)? {
        if kind == libc::SOCK_STREAM && port > 0 {
            // A connection from this port that has ended, in TIME-WAIT, does not keep it from the next one (as iperf's).
            sys::set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        }
        sys::bind(fd.as_fd(), own)?;
    }
    Ok(fd)
}

/// Connects the control connection: to the first address of the server that takes it.
pub(crate) fn dial(place: &Place, host: &str, within: Option<Duration>) -> Io<TcpStream> {
    let mut failed = Error::from(ErrorKind::AddrNotAvailable);
    for remote in addresses(host, place.port, place.family)? {
        let connected = open(place, remote, libc::SOCK_STREAM, 0)
            .and_then(|fd| sys::connect(fd.as_fd(), remote, within).map(|()| TcpStream::from(fd)));
        match connected {
            Ok(stream) => return Ok(stream),
            Err(e) => failed = e,
        }
    }
    Err(failed)
}

/// Socket that takes in at the server's port: of one family if one is given, otherwise of both.
fn at(place: &Place, kind: libc::c_int) -> Io<OwnedFd> {
    let both = place.family.is_none() && place.bind.is_none();
    let [v6, v4] = [false, true].map(|v4| any(v4, place.port));
    let address = match &place.bind {
        Some(host) => addresses(host, place.port, place.family)?.first().copied().unwrap_or(v6),
        None if place.family == Some(Family::V4) => v4,
        None => v6,
    };
    let fd = match sys::socket(address, kind) {
        Err(e) if both && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
            return bound(sys::socket(v4, kind)?, place, v4);
        }
        fd => fd?,
    };
    if address.is_ipv6() {
        sys::set_option(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, u64::from(!both))?;
    }
    bound(fd, place, address)
}

fn bound(fd: OwnedFd, place: &Place, to: SocketAddr) -> Io<OwnedFd> {
    if let Some(device) = &place.device {
        sys::bind_device(fd.as_fd(), device)?;
    }
    sys::set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    sys::bind(fd.as_fd(), to)?;
    Ok(fd)
}

pub(crate) fn listen(place: &Place) -> Io<TcpListener> {
    let fd = at(place, libc::SOCK_STREAM)?;
    sys::listen(fd.as_fd())?;
    Ok(TcpListener::from(fd))
}

pub(crate) fn receive_at(place: &Place) -> Io<UdpSocket> {
    at(place, libc::SOCK_DGRAM).map(UdpSocket::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_port_whose_last_connection_is_in_time_wait_is_given_to_the_next() {
        // Addresses that no other test has ports of.
        let server = TcpListener::bind("127.77.1.1:0").unwrap();
        let (remote, any) = (server.local_addr().unwrap(), TcpListener::bind("127.77.1.2:0").unwrap());
        let port = any.local_addr().unwrap().port();
        drop(any);
        let place = Place { port: remote.port(), bind: Some("127.77.1.2".into()), device: None, family: None };
        let client = open(&place, remote, libc::SOCK_STREAM, port).unwrap();
        sys::connect(client.as_fd(), remote, None).unwrap();
        let (mut accepted, from) = server.accept().unwrap();
        assert_eq!(from.port(), port);
        // The client closes first.
        drop(client);
        assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
        drop(accepted);
        open(&place, remote, libc::SOCK_STREAM, port).unwrap();
        // A port of datagrams is one socket's alone.
        let one = open(&place, remote, libc::SOCK_DGRAM, port).unwrap();
        assert_eq!(open(&place, remote, libc::SOCK_DGRAM, port).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(one);
    }
}
