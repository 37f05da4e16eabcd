//! Sockets of a test, with their options: the one place that knows more of a socket than to read, write and close it.
//!
//! The kernel's have their options before they are connected. Those of a host of our own are connected first: their stack
//! has buffers, Nagle's algorithm and a congestion control to set, and nothing else (see `flags::check`).

use super::settings::Transport;
use crate::socket::{Site, TcpStream, UdpSocket, open, plain, sys};
use linerate_rt::net::Connecting;
use linerate_stack::tcp::{Config, Connection};
use std::io::{Error, ErrorKind, Result as Io};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Largest buffer for sending, and smallest for receiving, of a connection of our own, bytes.
const SENDS: u64 = 16 << 20;
const RECEIVES: u64 = 2048;

pub(super) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// State of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tcp {
    /// Congestion window, bytes.
    pub(super) cwnd: u64,
    /// Round trip and its variation, microseconds.
    pub(super) rtt: u64,
    pub(super) rttvar: u64,
    /// Segments sent again.
    pub(super) retransmits: u64,
}

impl Socket {
    /// Own address and that of the other end; an address of IPv4 in one of IPv6 is shown as such.
    pub(super) fn addresses(&self) -> Io<(SocketAddr, SocketAddr)> {
        let (local, remote) = match self {
            Self::Tcp(stream) => (stream.local_addr()?, stream.peer_addr()?),
            Self::Udp(socket) => (socket.local_addr()?, socket.peer_addr()?),
        };
        Ok((plain(local), plain(remote)))
    }

    /// Number of the socket, for lines.
    pub(super) fn number(&self) -> i32 {
        match self {
            Self::Tcp(stream) => stream.number(),
            Self::Udp(socket) => socket.number(),
        }
    }

    /// The kernel's descriptor, if it is the kernel's.
    pub(super) fn kernel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(stream) => stream.kernel(),
            Self::Udp(socket) => socket.kernel(),
        }
    }

    /// State of the connection; `None` for datagrams.
    pub(super) fn tcp(&self) -> Option<Tcp> {
        let Self::Tcp(stream) = self else { return None };
        let info = stream.info()?;
        Some(Tcp { cwnd: info.cwnd, rtt: info.rtt, rttvar: info.rttvar, retransmits: info.retransmits })
    }

    /// Largest segment of the connection, as far as it is known.
    pub(super) fn segment(&self) -> u64 {
        match self {
            Self::Tcp(stream) => stream.segment(),
            Self::Udp(_) => 0,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// Size of the buffer for sending, and for receiving; 0 for the system's.
    pub(super) send: u64,
    pub(super) receive: u64,
    pub(super) mss: u64,
    pub(super) no_delay: bool,
    pub(super) tos: u8,
    pub(super) ttl: u8,
    pub(super) congestion: Option<String>,
}

/// Sizes that lines about settings show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Buffer for sending, or for receiving, bytes.
    pub(super) buffer: u64,
    /// Largest segment, bytes.
    pub(super) segment: u64,
}

impl Sizes {
    /// Those of a socket of the kernel.
    pub(super) fn of(fd: BorrowedFd<'_>, sends: bool) -> Self {
        let number = |level, name| sys::option(fd, level, name).ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let buffer = if sends { libc::SO_SNDBUF } else { libc::SO_RCVBUF };
        let segment = number(libc::IPPROTO_TCP, libc::TCP_MAXSEG);
        Self { buffer: number(libc::SOL_SOCKET, buffer), segment }
    }

    /// Those that a socket of our own will have. Datagrams have no buffer on their way out.
    pub(super) fn own(transport: Transport, options: &Options, segment: u64, sends: bool) -> Self {
        let buffer = match (transport, sends) {
            (Transport::Udp, true) => 0,
            (Transport::Udp, false) => linerate_stack::Config::INBOX as u64,
            (Transport::Tcp, true) => send_buffer(options.send),
            (Transport::Tcp, false) => receive_buffer(options.receive),
        };
        Self { buffer, segment }
    }
}

/// Size of the buffer for sending of a connection of our own. As with the kernel, what is beyond the limit is cut, and the size
/// that it has is shown.
fn send_buffer(asked: u64) -> u64 {
    if asked > 0 { asked.min(SENDS) } else { Config::default().send.into() }
}

/// The same for receiving. Windows are scaled for the usual size, so there is none that is larger.
fn receive_buffer(asked: u64) -> u64 {
    let usual = u64::from(Config::default().receive);
    if asked > 0 { asked.clamp(RECEIVES.min(usual), usual) } else { usual }
}

/// Sets the options of a connection of our own.
pub(super) fn settle(stream: &TcpStream, options: &Options) -> Result<(), String> {
    let TcpStream::Own(own, _) = stream else { return Ok(()) };
    if options.send > 0 || options.receive > 0 {
        // No window is larger (RFC 7323, section 2.3).
        let size = |n: u64| u32::try_from(n).unwrap_or(1 << 30);
        let (send, receive) = own.look(Connection::buffers).unwrap_or_default();
        let send = if options.send > 0 { size(send_buffer(options.send)) } else { send };
        let receive = if options.receive > 0 { size(receive_buffer(options.receive)) } else { receive };
        own.set_buffers(send, receive);
    }
    if options.no_delay {
        own.set_nodelay(true);
    }
    match &options.congestion {
        Some(name) => stream.set_congestion(name).map_err(|e| format!("-Z {name}: {e}")),
        None => Ok(()),
    }
}

/// Sets the options of a socket of the kernel, before it is connected or listens.
pub(super) fn set(of: BorrowedFd<'_>, transport: Transport, v6: bool, options: &Options) -> Result<(), String> {
    let number = |flag: &str, level, name, value: u64| match value {
        0 => Ok(()),
        value => sys::set_option(of, level, name, value).map_err(|e| format!("{flag} {value}: {e}")),
    };
    number("-w", libc::SOL_SOCKET, libc::SO_SNDBUF, options.send)?;
    number("-w", libc::SOL_SOCKET, libc::SO_RCVBUF, options.receive)?;
    if transport == Transport::Tcp {
        number("-M", libc::IPPROTO_TCP, libc::TCP_MAXSEG, options.mss)?;
        number("-N", libc::IPPROTO_TCP, libc::TCP_NODELAY, options.no_delay.into())?;
        if let Some(name) = &options.congestion {
            sys::set_congestion(of, name).map_err(|e| {
                format!("-Z {name}: {e}; the system's own are in net.ipv4.tcp_allowed_congestion_control")
            })?;
        }
    }
    if v6 {
        number("-T", libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, options.ttl.into())?;
        return service(of, true, options.tos).map_err(|e| format!("-S {}: {e}", options.tos));
    }
    number("-T", libc::IPPROTO_IP, libc::IP_TTL, options.ttl.into())?;
    service(of, false, options.tos).map_err(|e| format!("-S {}: {e}", options.tos))
}

/// Sets the type of service of what a socket sends, unless it is 0.
pub(super) fn service(of: BorrowedFd<'_>, v6: bool, tos: u8) -> Io<()> {
    match (tos, v6) {
        (0, _) => Ok(()),
        (tos, true) => sys::set_option(of, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, tos.into()),
        (tos, false) => sys::set_option(of, libc::IPPROTO_IP, libc::IP_TOS, tos.into()),
    }
}

/// A socket to the server, not connected yet.
pub(super) struct Dialled<'a> {
    by: By<'a>,
    transport: Transport,
    to: SocketAddr,
    sizes: Sizes,
}

/// Maker of a connection.
enum By<'a> {
    /// The kernel, with a socket that has its options.
    Kernel(OwnedFd),
    /// A host of our own, whose connections get theirs.
    Own(&'a Site, &'a Options),
}

impl<'a> Dialled<'a> {
    /// Makes a socket with its options and its own address.
    pub(super) fn new(
        site: &'a Site,
        to: SocketAddr,
        own_port: u16,
        transport: Transport,
        options: &'a Options,
    ) -> Result<Self, String> {
        if let Some(segment) = site.segment(to.is_ipv4()) {
            let sizes = Sizes::own(transport, options, segment, true);
            return Ok(Self { by: By::Own(site, options), transport, to, sizes });
        }
        let kind = if transport == Transport::Tcp { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
        let fd = open(site.place(), to, kind, own_port).map_err(|e| format!("socket: {e}"))?;
        set(fd.as_fd(), transport, to.is_ipv6(), options)?;
        let sizes = Sizes::of(fd.as_fd(), true);
        Ok(Self { by: By::Kernel(fd), transport, to, sizes })
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Connects; returns the time that it took, milliseconds.
    pub(super) fn connect(self) -> Io<(Socket, f64)> {
        self.connect_until(Instant::now())
    }

    /// Connects to a client that has just asked for it: iperf 2 may listen a moment later.
    pub(super) fn connect_back(self) -> Io<(Socket, f64)> {
        self.connect_until(Instant::now() + Duration::from_secs(1))
    }

    fn connect_until(self, until: Instant) -> Io<(Socket, f64)> {
        let begin = Instant::now();
        let socket = match self.by {
            By::Kernel(fd) => {
                refused_until(until, || sys::connect(fd.as_fd(), self.to, None))?;
                match self.transport {
                    Transport::Tcp => Socket::Tcp(TcpStream::Kernel(fd.into())),
                    Transport::Udp => Socket::Udp(UdpSocket::Kernel(fd.into())),
                }
            }
            By::Own(site, options) => match self.transport {
                Transport::Tcp => {
                    let stream =
                        refused_until(until, || site.connect(self.to, &Connecting::default()).unwrap_or_else(no_host))?;
                    settle(&stream, options).map_err(Error::other)?;
                    Socket::Tcp(stream)
                }
                Transport::Udp => Socket::Udp(site.send_to(self.to, 0).unwrap_or_else(no_host)?),
            },
        };
        Ok((socket, begin.elapsed().as_secs_f64() * 1e3))
    }
}

/// Fault of a site whose sockets are the kernel's.
fn no_host<T>() -> Io<T> {
    Err(ErrorKind::Unsupported.into())
}

/// Tries again while it is refused, until this time.
fn refused_until<T>(until: Instant, mut attempt: impl FnMut() -> Io<T>) -> Io<T> {
    loop {
        match attempt() {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}
