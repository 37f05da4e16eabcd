//! Sockets of a test, with their options in the order in which the kernel wants them.

use super::fault::Fault;
use super::figures::{Buffers, Face};
use super::settings::{Settings, Transport};
use crate::socket::{Place, open, plain, sys};
use std::io::{Error, ErrorKind, Result as Io};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Room that a socket buffer must have beyond one datagram, bytes.
const EXTRA: u64 = 1024;

/// Socket of a stream.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
        }
    }
}

impl Socket {
    /// The stream, for reports. Addresses of IPv4 that IPv6 stands for are shown as such.
    pub(super) fn face(&self, sends: bool) -> Io<Face> {
        let (local, remote) = match self {
            Self::Tcp(stream) => (stream.local_addr()?, stream.peer_addr()?),
            Self::Udp(socket) => (socket.local_addr()?, socket.peer_addr()?),
        };
        Ok(Face { socket: self.as_fd().as_raw_fd(), sends, local: plain(local), remote: plain(remote) })
    }
}

/// Largest segment of a connection, as far as the kernel says so.
pub(super) fn segment(of: &TcpStream) -> u64 {
    let mss = sys::option(of.as_fd(), libc::IPPROTO_TCP, libc::TCP_MAXSEG).unwrap_or(0);
    u64::try_from(mss).unwrap_or(0)
}

/// A stream of bytes to the server, with all options that must be set before.
pub(super) fn connect_tcp(
    place: &Place,
    remote: SocketAddr,
    port: u16,
    settings: &Settings,
) -> Result<(TcpStream, Buffers), Fault> {
    let fd = open(place, remote, libc::SOCK_STREAM, port).map_err(Fault::StreamConnect)?;
    let tcp = |what, code, name, value| match value {
        0 => Ok(()),
        value => sys::set_option(fd.as_fd(), libc::IPPROTO_TCP, name, value).map_err(|error| Fault::Option {
            what,
            code,
            error,
        }),
    };
    tcp("TCP NODELAY", 122, libc::TCP_NODELAY, settings.no_delay.into())?;
    tcp("TCP MSS", 123, libc::TCP_MAXSEG, settings.mss)?;
    let buffers = buffers(fd.as_fd(), settings.window)?;
    let mut to = remote;
    if settings.flow_label > 0 {
        let label = |error| Fault::Option { what: "IPv6 flow label", code: 127, error };
        let SocketAddr::V6(v6) = remote else {
            return Err(label(Error::new(ErrorKind::Unsupported, "the server is reached over IPv4; give -6")));
        };
        to = sys::flow_label(fd.as_fd(), v6, settings.flow_label).map_err(label)?.into();
    }
    sys::connect(fd.as_fd(), to, None).map_err(Fault::StreamConnect)?;
    Ok((TcpStream::from(fd), buffers))
}

/// A socket for datagrams to the server.
pub(super) fn connect_udp(
    place: &Place,
    remote: SocketAddr,
    port: u16,
    settings: &Settings,
) -> Result<(UdpSocket, Buffers), Fault> {
    let fd = open(place, remote, libc::SOCK_DGRAM, port).map_err(Fault::StreamConnect)?;
    sys::connect(fd.as_fd(), remote, None).map_err(Fault::StreamConnect)?;
    let buffers = datagram_buffers(fd.as_fd(), settings)?;
    Ok((UdpSocket::from(fd), buffers))
}

/// Sets both buffers to a size, 0 for the system's own; the sizes that they have then.
pub(super) fn buffers(of: BorrowedFd<'_>, asked: u64) -> Result<Buffers, Fault> {
    let fault = |error| Fault::Option { what: "socket buffer size", code: 124, error };
    let size = |name, forced| -> Result<u64, Fault> {
        let given = || sys::option(of, libc::SOL_SOCKET, name).map(|n| u64::try_from(n).unwrap_or(0)).map_err(fault);
        if asked > 0 {
            sys::set_option(of, libc::SOL_SOCKET, name, asked).map_err(fault)?;
            // Beyond the system's limit, for those who may.
            if given()? < asked {
                let _ = sys::set_option(of, libc::SOL_SOCKET, forced, asked);
            }
        }
        given()
    };
    let send = size(libc::SO_SNDBUF, libc::SO_SNDBUFFORCE)?;
    let receive = size(libc::SO_RCVBUF, libc::SO_RCVBUFFORCE)?;
    let given = send.min(receive);
    if given < asked { Err(Fault::Buffers { asked, given }) } else { Ok(Buffers { asked, send, receive }) }
}

/// Buffers that have room for a datagram at least.
pub(super) fn datagram_buffers(of: BorrowedFd<'_>, settings: &Settings) -> Result<Buffers, Fault> {
    let sizes = buffers(of, settings.window)?;
    let block = settings.block as u64;
    if settings.window == 0 && sizes.send.min(sizes.receive) < block {
        return buffers(of, block + EXTRA);
    }
    Ok(sizes)
}

/// Sets what both ends set at a stream that is open; the congestion control that it has then. A server goes on without
/// the one asked for if it has none of that name.
pub(super) fn settle(of: &Socket, settings: &Settings, is_server: bool) -> Result<Option<String>, Fault> {
    let fd = of.as_fd();
    let (v4, set) = (plain(of.face(true).map_err(Fault::Create)?.remote).is_ipv4(), sys::set_option);
    if settings.tos > 0 {
        // A socket of IPv6 that carries IPv4 has both.
        let tos = u64::from(settings.tos);
        let v4_set = v4.then(|| set(fd, libc::IPPROTO_IP, libc::IP_TOS, tos)).transpose();
        v4_set.map_err(|error| Fault::Option { what: "IP TOS", code: 125, error })?;
        let v6_set = (!v4).then(|| set(fd, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, tos)).transpose();
        v6_set.map_err(|error| Fault::Option { what: "IPv6 traffic class", code: 126, error })?;
    }
    if settings.pacing >= 8 {
        sys::pace(fd, settings.pacing / 8).map_err(|error| Fault::Option {
            what: "socket pacing",
            code: 140,
            error,
        })?;
    }
    if settings.transport == Transport::Udp {
        if settings.dont_fragment && v4 {
            let probe = u64::try_from(libc::IP_PMTUDISC_DO).unwrap_or(0);
            set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe).map_err(|error| Fault::Option {
                what: "IP Do-Not-Fragment flag",
                code: 145,
                error,
            })?;
        }
        return Ok(None);
    }
    if is_server && settings.no_delay {
        set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1).map_err(|error| Fault::Option {
            what: "TCP NODELAY",
            code: 122,
            error,
        })?;
    }
    if let Some(name) = &settings.congestion {
        match sys::set_congestion(fd, name) {
            Err(e) if is_server && e.raw_os_error() == Some(libc::ENOENT) => {}
            done => done.map_err(|error| Fault::Option { what: "TCP_CONGESTION", code: 134, error })?,
        }
    }
    Ok(sys::congestion(fd).ok())
}
