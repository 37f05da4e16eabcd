//! Sockets of a test, with their options: the one place that knows more of a socket than to read, write and close it.

use super::settings::Transport;
use crate::socket::{Place, open, plain, sys};
use std::io::Result as Io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

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

    /// Number of the descriptor, for lines.
    pub(super) fn number(&self) -> i32 {
        self.as_fd().as_raw_fd()
    }

    /// State of the connection; `None` for datagrams.
    pub(super) fn tcp(&self) -> Option<Tcp> {
        let Self::Tcp(stream) = self else { return None };
        let info = sys::tcp_info(stream.as_fd())?;
        Some(Tcp { cwnd: info.cwnd, rtt: info.rtt, rttvar: info.rttvar, retransmits: info.retransmits })
    }

    /// Largest segment of the connection, as far as the kernel says so.
    pub(super) fn segment(&self) -> u64 {
        segment(self.as_fd())
    }
}

/// Options of a socket.
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

/// Largest segment of a socket.
pub(super) fn segment(of: BorrowedFd<'_>) -> u64 {
    sys::option(of, libc::IPPROTO_TCP, libc::TCP_MAXSEG).ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

/// Size of a socket's buffer for sending, or for receiving.
pub(super) fn buffer(of: BorrowedFd<'_>, sends: bool) -> u64 {
    let name = if sends { libc::SO_SNDBUF } else { libc::SO_RCVBUF };
    sys::option(of, libc::SOL_SOCKET, name).ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

/// Sets the options of a socket, before it is connected or listens.
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
pub(super) struct Dialled {
    fd: std::os::fd::OwnedFd,
    transport: Transport,
    to: SocketAddr,
}

impl Dialled {
    /// Makes a socket with its options and its own address.
    pub(super) fn new(
        place: &Place,
        to: SocketAddr,
        own_port: u16,
        transport: Transport,
        options: &Options,
    ) -> Result<Self, String> {
        let kind = if transport == Transport::Tcp { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
        let fd = open(place, to, kind, own_port).map_err(|e| format!("socket: {e}"))?;
        set(fd.as_fd(), transport, to.is_ipv6(), options)?;
        Ok(Self { fd, transport, to })
    }

    /// Size of the buffer for sending.
    pub(super) fn buffer(&self) -> u64 {
        buffer(self.fd.as_fd(), true)
    }

    /// Largest segment.
    pub(super) fn segment(&self) -> u64 {
        segment(self.fd.as_fd())
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
        while let Err(e) = sys::connect(self.fd.as_fd(), self.to, None) {
            if e.kind() != std::io::ErrorKind::ConnectionRefused || Instant::now() >= until {
                return Err(e);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let took = begin.elapsed().as_secs_f64() * 1e3;
        Ok(match self.transport {
            Transport::Tcp => (Socket::Tcp(TcpStream::from(self.fd)), took),
            Transport::Udp => (Socket::Udp(UdpSocket::from(self.fd)), took),
        })
    }
}
