//! Sockets of a test, with their options: the one place that knows more of a socket than to read, write and close it.
//!
//! The kernel's have their options before they are connected. Those of a host of our own are connected first: their stack
//! has buffers, Nagle's algorithm and a congestion control to set, and nothing else (see `flags::check`).

use super::settings::Transport;
use crate::socket::sys;
use crate::socket::{self, Options, Refused, Site, Socket, TcpStream, UdpSocket, open};
use linerate_rt::net::Connecting;
use linerate_stack::tcp::Config;
use linerate_text::cut;
use std::io::{ErrorKind, Result as Io};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

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
        let buffers = socket::Sizes::of(fd).unwrap_or_default();
        let segment = sys::option(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG).map_or(0, |n| cut(n, 0));
        Self { buffer: if sends { buffers.send } else { buffers.receive }.into(), segment }
    }

    /// Those that a socket of our own will have. Datagrams have no buffer on their way out.
    pub(super) fn own(transport: Transport, options: &Options, segment: u64, sends: bool) -> Self {
        let ((send, receive), usual) = (options.own_buffers(), Config::default());
        let buffer = match (transport, sends) {
            (Transport::Udp, true) => 0,
            (Transport::Udp, false) => cut(linerate_stack::Config::INBOX, u32::MAX),
            (Transport::Tcp, true) => send.unwrap_or(usual.send),
            (Transport::Tcp, false) => receive.unwrap_or(usual.receive),
        };
        Self { buffer: buffer.into(), segment }
    }
}

/// Line about an option that cannot be had.
pub(super) fn told(Refused { row, value, error }: Refused) -> String {
    let flag = row.words.1;
    match flag {
        "-Z" => format!("-Z {value}: {error}; the system's own are in net.ipv4.tcp_allowed_congestion_control"),
        flag => format!("{flag} {value}: {error}"),
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
        options.set(fd.as_fd(), transport, to.is_ipv4()).map_err(told)?;
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
                    options.set_own(&stream);
                    Socket::Tcp(stream)
                }
                Transport::Udp => {
                    let socket = site.send_to(self.to, 0).unwrap_or_else(no_host)?;
                    options.set_own_datagrams(&socket);
                    Socket::Udp(socket)
                }
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
