//! Sockets of a test, with their options in the order in which the kernel wants them.

use super::fault::Fault;
use super::figures::{Buffers, StreamInfo};
use super::settings::{Settings, Transport};
use crate::socket::{Options, Refused, Site, Socket, TcpStream, UdpSocket, given, open, sys};
use linerate_rt::net::{self, Connecting};
use linerate_stack::Traffic;
use linerate_stack::tcp::{Connection, Opening};
use std::io::{Error, ErrorKind, Result as Io};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::os::fd::{AsFd, BorrowedFd};

/// Room that a socket buffer must have beyond one datagram, bytes.
const EXTRA: u64 = 1024;

impl StreamInfo {
    /// The stream of a socket, for reports.
    pub(super) fn of(socket: &Socket, sends: bool) -> Io<Self> {
        let (local, remote) = socket.addresses()?;
        Ok(Self { socket: socket.number(), sends, local, remote })
    }
}

/// Sets the buffers of a socket to a size, 0 for the system's own; the sizes that they have then.
pub(super) fn buffers(of: &Socket, asked: u64) -> Result<Buffers, Fault> {
    match (of, of.kernel()) {
        (_, Some(fd)) => kernel_buffers(fd, asked),
        (Socket::Tcp(TcpStream::Own(stream, _)), _) => own_buffers(stream, asked),
        _ => own_queue(asked),
    }
}

/// The same, so that they have room for a datagram at least.
pub(super) fn datagram_buffers(of: &Socket, settings: &Settings) -> Result<Buffers, Fault> {
    let (sizes, block) = (buffers(of, settings.window)?, settings.block as u64);
    if of.kernel().is_some() && settings.window == 0 && sizes.send.min(sizes.receive) < block {
        return buffers(of, block + EXTRA);
    }
    Ok(sizes)
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
fn own_buffers(of: &net::TcpStream, asked: u64) -> Result<Buffers, Fault> {
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
) -> Result<(Socket, Buffers), Fault> {
    let label = |error| Fault::Option { what: "IPv6 flow label", code: 127, error };
    if settings.flow_label > 0 && remote.is_ipv4() {
        return Err(label(Error::new(ErrorKind::Unsupported, "the server is reached over IPv4; give -6")));
    }
    let traffic = Traffic::new(settings.tos, settings.flow_label);
    let mss = u16::try_from(settings.mss).ok().and_then(NonZeroU16::new);
    if let Some(stream) = site.connect(remote, &Connecting { port, opening: Opening { mss, traffic } }) {
        let socket = Socket::Tcp(stream.map_err(Fault::StreamConnect)?);
        let sizes = buffers(&socket, settings.window)?;
        return Ok((socket, sizes));
    }
    let fd = open(site.place(), remote, libc::SOCK_STREAM, port).map_err(Fault::StreamConnect)?;
    let first = Options { no_delay: settings.no_delay, segment: given(settings.mss), ..Options::default() };
    first.set(fd.as_fd(), Transport::Tcp, remote.is_ipv4())?;
    let sizes = kernel_buffers(fd.as_fd(), settings.window)?;
    let mut to = remote;
    if let (SocketAddr::V6(v6), true) = (remote, settings.flow_label > 0) {
        to = sys::flow_label(fd.as_fd(), v6, settings.flow_label).map_err(label)?.into();
    }
    sys::connect(fd.as_fd(), to, None).map_err(Fault::StreamConnect)?;
    Ok((Socket::Tcp(TcpStream::Kernel(fd.into())), sizes))
}

pub(super) fn connect_udp(
    site: &Site,
    remote: SocketAddr,
    port: u16,
    settings: &Settings,
) -> Result<(Socket, Buffers), Fault> {
    let kernel = || {
        let fd = open(site.place(), remote, libc::SOCK_DGRAM, port)?;
        sys::connect(fd.as_fd(), remote, None).map(|()| UdpSocket::Kernel(fd.into()))
    };
    let socket = Socket::Udp(site.send_to(remote, port).unwrap_or_else(kernel).map_err(Fault::StreamConnect)?);
    let sizes = datagram_buffers(&socket, settings)?;
    Ok((socket, sizes))
}

/// The same at a socket of the kernel's.
fn kernel_buffers(of: BorrowedFd<'_>, asked: u64) -> Result<Buffers, Fault> {
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

/// Sets what both ends set at a stream that is open; the congestion control that it has then. A server goes on without
/// the one asked for if it has none of that name.
pub(super) fn settle(of: &Socket, settings: &Settings, is_server: bool) -> Result<Option<String>, Fault> {
    let is_own = of.kernel().is_none();
    if let (true, Socket::Tcp(TcpStream::Own(stream, _))) = (is_server, of) {
        stream.set_traffic(Traffic::new(settings.tos, 0));
    }
    let mut options = Options {
        // Our own TCP has it from its opening on.
        service: given(settings.tos).filter(|_| !is_own || of.tcp().is_none()),
        pacing: given(settings.pacing / 8),
        whole: settings.dont_fragment,
        no_delay: settings.no_delay && (is_server || is_own),
        congestion: settings.congestion.clone(),
        ..Options::default()
    };
    let v4 = of.addresses().map_err(Fault::Create)?.1.is_ipv4();
    let mut set = options.settle(of, v4);
    if is_server && set.as_ref().is_err_and(|r| r.is_name() && r.error.raw_os_error() == Some(libc::ENOENT)) {
        options.congestion = None;
        set = options.settle(of, v4);
    }
    set.map_err(|refused| match refused {
        Refused { row, value, .. } if is_own && !refused.is_name() => {
            let why = "linerate's own stack has no such option; leave it out";
            Refused { row, value, error: Error::new(ErrorKind::Unsupported, why) }
        }
        refused => refused,
    })?;
    Ok(of.tcp().and_then(TcpStream::congestion))
}
