//! Sockets of a test, with their options in the order in which the kernel wants them.

use super::fault::Fault;
use super::figures::{Buffers, StreamInfo};
use super::settings::{Settings, Transport};
use crate::socket::{Site, TcpStream, UdpSocket, open, plain, sys};
use linerate_rt::net::Connecting;
use linerate_stack::Traffic;
use linerate_stack::tcp::{Connection, Opening};
use std::io::{Error, ErrorKind, Result as Io};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::os::fd::{AsFd, BorrowedFd};

/// Room that a socket buffer must have beyond one datagram, bytes.
const EXTRA: u64 = 1024;

pub(super) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Socket {
    /// The stream, for reports. Addresses of IPv4 that IPv6 stands for are shown as such.
    pub(super) fn info(&self, sends: bool) -> Io<StreamInfo> {
        let (number, local, remote) = match self {
            Self::Tcp(stream) => (stream.number(), stream.local_addr()?, stream.peer_addr()?),
            Self::Udp(socket) => (socket.number(), socket.local_addr()?, socket.peer_addr()?),
        };
        Ok(StreamInfo { socket: number, sends, local: plain(local), remote: plain(remote) })
    }

    /// The kernel's descriptor, if it is the kernel's.
    fn kernel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(stream) => stream.kernel(),
            Self::Udp(socket) => socket.kernel(),
        }
    }

    /// Ends both directions; whoever sleeps on it wakes.
    pub(super) fn shut_down(&self) {
        match self {
            Self::Tcp(stream) => stream.shut_down(),
            Self::Udp(socket) => socket.shut_down(),
        }
    }

    /// Ends the receiving; whoever sleeps on it wakes.
    pub(super) fn receive_no_more(&self) {
        match self {
            Self::Tcp(stream) => stream.receive_no_more(),
            Self::Udp(socket) => socket.receive_no_more(),
        }
    }

    /// Sets its buffers to a size, 0 for the system's own; the sizes that they have then.
    pub(super) fn buffers(&self, asked: u64) -> Result<Buffers, Fault> {
        match self {
            Self::Tcp(TcpStream::Own(stream, _)) => own_buffers(stream, asked),
            Self::Udp(UdpSocket::Own(..)) => own_queue(asked),
            Self::Tcp(TcpStream::Kernel(stream)) => buffers(stream.as_fd(), asked),
            Self::Udp(UdpSocket::Kernel(socket)) => buffers(socket.as_fd(), asked),
        }
    }

    /// Sets its buffers so that they have room for a datagram at least.
    pub(super) fn datagram_buffers(&self, settings: &Settings) -> Result<Buffers, Fault> {
        match self.kernel() {
            Some(fd) => datagram_buffers(fd, settings),
            None => self.buffers(settings.window),
        }
    }
}

/// Sizes of a socket for datagrams of our own, which cannot be chosen.
fn own_queue(asked: u64) -> Result<Buffers, Fault> {
    if asked > 0 {
        let queued = linerate_stack::Config::INBOX;
        let why = format!("a host of linerate's own stack queues {queued} bytes of datagrams; leave -w out");
        let error = Error::new(ErrorKind::Unsupported, why);
        return Err(Fault::Option { what: "socket buffer size", code: 124, error });
    }
    Ok(Buffers { asked, send: 0, receive: linerate_stack::Config::INBOX as u64 })
}

/// Sets the buffers of a connection of our own, 0 for those that it has.
fn own_buffers(of: &linerate_rt::net::TcpStream, asked: u64) -> Result<Buffers, Fault> {
    let (send, receive) = match u32::try_from(asked) {
        Ok(0) => of.look(Connection::buffers).unwrap_or_default(),
        Ok(size) => of.set_buffers(size, size),
        Err(_) => (0, 0),
    };
    let (send, receive) = (u64::from(send), u64::from(receive));
    let given = send.min(receive);
    if given < asked { Err(Fault::OwnBuffers { asked, given }) } else { Ok(Buffers { asked, send, receive }) }
}

/// A stream of bytes to the server, with all options that must be set before.
pub(super) fn connect_tcp(
    site: &Site,
    remote: SocketAddr,
    port: u16,
    settings: &Settings,
) -> Result<(TcpStream, Buffers), Fault> {
    let label = |error| Fault::Option { what: "IPv6 flow label", code: 127, error };
    if settings.flow_label > 0 && remote.is_ipv4() {
        return Err(label(Error::new(ErrorKind::Unsupported, "the server is reached over IPv4; give -6")));
    }
    let traffic = Traffic::new(settings.tos, settings.flow_label);
    let mss = u16::try_from(settings.mss).ok().and_then(NonZeroU16::new);
    if let Some(stream) = site.connect(remote, &Connecting { port, opening: Opening { mss, traffic } }) {
        let socket = Socket::Tcp(stream.map_err(Fault::StreamConnect)?);
        let sizes = socket.buffers(settings.window)?;
        let Socket::Tcp(stream) = socket else { return Err(Fault::StreamId) };
        stream.set_nodelay(settings.no_delay).map_err(Fault::StreamConnect)?;
        return Ok((stream, sizes));
    }
    let fd = open(site.place(), remote, libc::SOCK_STREAM, port).map_err(Fault::StreamConnect)?;
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
    if let (SocketAddr::V6(v6), true) = (remote, settings.flow_label > 0) {
        to = sys::flow_label(fd.as_fd(), v6, settings.flow_label).map_err(label)?.into();
    }
    sys::connect(fd.as_fd(), to, None).map_err(Fault::StreamConnect)?;
    Ok((TcpStream::Kernel(fd.into()), buffers))
}

pub(super) fn connect_udp(
    site: &Site,
    remote: SocketAddr,
    port: u16,
    settings: &Settings,
) -> Result<(UdpSocket, Buffers), Fault> {
    if let Some(socket) = site.send_to(remote, port) {
        let socket = socket.map_err(Fault::StreamConnect)?;
        return own_queue(settings.window).map(|sizes| (socket, sizes));
    }
    let fd = open(site.place(), remote, libc::SOCK_DGRAM, port).map_err(Fault::StreamConnect)?;
    sys::connect(fd.as_fd(), remote, None).map_err(Fault::StreamConnect)?;
    let buffers = datagram_buffers(fd.as_fd(), settings)?;
    Ok((UdpSocket::Kernel(fd.into()), buffers))
}

/// Sets both buffers to a size, 0 for the system's own; the sizes that they have then.
fn buffers(of: BorrowedFd<'_>, asked: u64) -> Result<Buffers, Fault> {
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
fn datagram_buffers(of: BorrowedFd<'_>, settings: &Settings) -> Result<Buffers, Fault> {
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
    match (of.kernel(), of) {
        (Some(fd), of) => settle_kernel(of, fd, settings, is_server),
        (None, Socket::Tcp(stream)) => settle_own(stream, settings, is_server),
        (None, Socket::Udp(_)) => unlike_kernel(settings).map(|()| None),
    }
}

/// Options of our own TCP.
fn settle_own(stream: &TcpStream, settings: &Settings, is_server: bool) -> Result<Option<String>, Fault> {
    unlike_kernel(settings)?;
    if let (true, TcpStream::Own(own, _)) = (is_server, stream) {
        own.set_traffic(Traffic::new(settings.tos, 0));
    }
    stream.set_nodelay(settings.no_delay).map_err(Fault::Create)?;
    choose_congestion(stream, settings, is_server)?;
    Ok(stream.congestion())
}

/// Refuses options that our own stack has not.
fn unlike_kernel(settings: &Settings) -> Result<(), Fault> {
    let udp = settings.transport == Transport::Udp;
    for (asked, what, code) in [
        (settings.tos > 0 && udp, "IP TOS", 125),
        (settings.pacing >= 8, "socket pacing", 140),
        (settings.dont_fragment && udp, "IP Do-Not-Fragment flag", 145),
    ] {
        if asked {
            let why = "linerate's own stack has no such option; leave it out";
            return Err(Fault::Option { what, code, error: Error::new(ErrorKind::Unsupported, why) });
        }
    }
    Ok(())
}

fn choose_congestion(stream: &TcpStream, settings: &Settings, is_server: bool) -> Result<(), Fault> {
    let Some(name) = &settings.congestion else { return Ok(()) };
    match stream.set_congestion(name) {
        Err(e) if is_server && e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        done => done.map_err(|error| Fault::Option { what: "TCP_CONGESTION", code: 134, error }),
    }
}

/// Options of the kernel's sockets.
fn settle_kernel(
    of: &Socket,
    fd: BorrowedFd<'_>,
    settings: &Settings,
    is_server: bool,
) -> Result<Option<String>, Fault> {
    let (v4, set) = (plain(of.info(true).map_err(Fault::Create)?.remote).is_ipv4(), sys::set_option);
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
    let Socket::Tcp(stream) = of else { return Ok(None) };
    choose_congestion(stream, settings, is_server)?;
    Ok(stream.congestion())
}
