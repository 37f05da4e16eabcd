//! Data sockets of the kernel's.

use super::{CONNECTS, Listener, Sizes, TICK, Unconnected, Wanted};
use crate::netperf::fault::Fault;
use crate::netperf::timer::Shared;
use crate::socket::sys::{self, Ready};
use crate::socket::{TcpListener, UdpSocket};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

pub(super) fn sizes(of: &impl AsFd) -> Sizes {
    let size =
        |name| sys::option(of.as_fd(), libc::SOL_SOCKET, name).ok().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    Sizes { send: size(libc::SO_SNDBUF), receive: size(libc::SO_RCVBUF) }
}

/// Sets the options; the buffers that it has then.
fn prepare(fd: BorrowedFd<'_>, wanted: &Wanted, of: SocketAddr, tcp: bool) -> Result<Sizes, Fault> {
    let (socket, v4) = (libc::SOL_SOCKET, of.is_ipv4());
    let errors = if v4 { (libc::IPPROTO_IP, libc::IP_RECVERR) } else { (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) };
    let service = if v4 { (libc::IPPROTO_IP, libc::IP_TOS) } else { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) };
    let on = |wanted: bool| wanted.then_some(1);
    for (what, (level, name), value) in [
        ("send buffer", (socket, libc::SO_SNDBUF), wanted.send),
        ("receive buffer", (socket, libc::SO_RCVBUF), wanted.receive),
        ("no delay", (libc::IPPROTO_TCP, libc::TCP_NODELAY), on(wanted.no_delay && tcp)),
        ("keep alive", (socket, libc::SO_KEEPALIVE), on(wanted.keep_alive)),
        ("no gateway", (socket, libc::SO_DONTROUTE), on(wanted.no_gateway)),
        ("priority", (socket, libc::SO_PRIORITY), wanted.priority),
        ("type of service", service, wanted.service(tcp)),
        ("reports of drops", errors, on(wanted.drops && !tcp)),
    ] {
        if let Some(value) = value {
            sys::set_option(fd, level, name, value.into()).map_err(|error| Fault::Option { what, error })?;
        }
    }
    if tcp && !wanted.congestion.is_empty() {
        let what = "congestion control";
        sys::set_congestion(fd, &wanted.congestion).map_err(|error| Fault::Option { what, error })?;
    }
    Ok(sizes(&fd))
}

fn bound(own: SocketAddr, kind: libc::c_int, wanted: &Wanted) -> Result<(OwnedFd, Sizes), Fault> {
    let fault = |error| Fault::Option { what: "own address", error };
    let fd = sys::socket(own, kind).map_err(fault)?;
    let sizes = prepare(fd.as_fd(), wanted, own, kind == libc::SOCK_STREAM)?;
    sys::set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1).map_err(fault)?;
    sys::bind(fd.as_fd(), own).map_err(fault)?;
    Ok((fd, sizes))
}

pub(super) fn datagrams(own: SocketAddr, wanted: &Wanted) -> Result<(UdpSocket, Sizes), Fault> {
    let (fd, sizes) = bound(own, libc::SOCK_DGRAM, wanted)?;
    let socket = std::net::UdpSocket::from(fd);
    let set = socket.set_read_timeout(Some(TICK)).and_then(|()| socket.set_write_timeout(Some(TICK)));
    set.map_err(|error| Fault::Option { what: "time limit", error })?;
    Ok((UdpSocket::Kernel(socket), sizes))
}

/// A socket that takes in connections at this address; it returns from its waits to look up, and so do the connections.
pub(super) fn listener(own: SocketAddr, wanted: &Wanted) -> Result<(Listener, Sizes), Fault> {
    let (fd, sizes) = bound(own, libc::SOCK_STREAM, wanted)?;
    let fault = |error| Fault::Option { what: "listen", error };
    sys::listen(fd.as_fd()).map_err(fault)?;
    sys::time_limits(fd.as_fd(), TICK).map_err(fault)?;
    Ok((Listener { listener: TcpListener::Kernel(fd.into()), options: None }, sizes))
}

/// A socket for a connection from this address, with the buffers that it has.
pub(super) fn unconnected(own: SocketAddr, wanted: &Wanted) -> Result<(Unconnected, Sizes), Fault> {
    let (fd, sizes) = bound(own, libc::SOCK_STREAM, wanted)?;
    sys::time_limits(fd.as_fd(), TICK).map_err(|error| Fault::Option { what: "time limit", error })?;
    Ok((Unconnected::Kernel(fd.into()), sizes))
}

/// Connects; false if the time was over before.
pub(super) fn connect(stream: &TcpStream, to: SocketAddr, time: &Shared) -> Result<bool, Fault> {
    let begin = Instant::now();
    match sys::connect(stream.as_fd(), to, None) {
        Ok(()) => return Ok(true),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINPROGRESS | libc::EAGAIN)) => {}
        Err(e) => return Err(Fault::DataConnect(e)),
    }
    loop {
        if time.is_over() {
            return Ok(false);
        }
        if begin.elapsed() > CONNECTS {
            return Err(Fault::DataConnect(ErrorKind::TimedOut.into()));
        }
        if sys::poll(&[(stream.as_fd(), Ready::Write)], Some(TICK)).map_err(Fault::DataConnect)?[0] {
            let error = stream.take_error().map_err(Fault::DataConnect)?;
            return error.map_or(Ok(true), |e| Err(Fault::DataConnect(e)));
        }
    }
}
