//! Data sockets of the kernel's.

use super::{CONNECTS, Listener, TICK, Unconnected};
use crate::netperf::fault::Fault;
use crate::netperf::timer::Shared;
use crate::socket::sys::{self, Ready};
use crate::socket::{Options, Sizes, TcpListener, Transport, UdpSocket};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

fn bound(own: SocketAddr, kind: libc::c_int, wanted: &Options) -> Result<(OwnedFd, Sizes), Fault> {
    let fault = |error| Fault::Option { what: "own address", error };
    let fd = sys::socket(own, kind).map_err(fault)?;
    let transport = if kind == libc::SOCK_STREAM { Transport::Tcp } else { Transport::Udp };
    wanted.set(fd.as_fd(), transport, own.is_ipv4())?;
    let sizes = Sizes::of(fd.as_fd()).unwrap_or_default();
    sys::set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1).map_err(fault)?;
    sys::bind(fd.as_fd(), own).map_err(fault)?;
    Ok((fd, sizes))
}

pub(super) fn datagrams(own: SocketAddr, wanted: &Options) -> Result<(UdpSocket, Sizes), Fault> {
    let (fd, sizes) = bound(own, libc::SOCK_DGRAM, wanted)?;
    let socket = std::net::UdpSocket::from(fd);
    let set = socket.set_read_timeout(Some(TICK)).and_then(|()| socket.set_write_timeout(Some(TICK)));
    set.map_err(|error| Fault::Option { what: "time limit", error })?;
    Ok((UdpSocket::Kernel(socket), sizes))
}

/// A socket that takes in connections at this address; it returns from its waits to look up, and so do the connections.
pub(super) fn listener(own: SocketAddr, wanted: &Options) -> Result<(Listener, Sizes), Fault> {
    let (fd, sizes) = bound(own, libc::SOCK_STREAM, wanted)?;
    let fault = |error| Fault::Option { what: "listen", error };
    sys::listen(fd.as_fd()).map_err(fault)?;
    sys::time_limits(fd.as_fd(), TICK).map_err(fault)?;
    Ok((Listener { listener: TcpListener::Kernel(fd.into()), options: None }, sizes))
}

/// A socket for a connection from this address, with the buffers that it has.
pub(super) fn unconnected(own: SocketAddr, wanted: &Options) -> Result<(Unconnected, Sizes), Fault> {
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
