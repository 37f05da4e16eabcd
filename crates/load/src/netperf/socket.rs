//! Data sockets with the options of a test, and waits that look up now and then.
//!
//! Those of the kernel have their options before they are connected, or listen. Those of a host of our own have them checked before
//! anything is made, and set once a connection stands.

use super::fault::Fault;
use super::timer::Shared;
use crate::socket::sys::{self, Ready};
use crate::socket::{Options, Site, Sizes, TcpListener, TcpStream, Transport, UdpSocket};
use linerate_stack::tcp::Config;
use linerate_text::cut;
use std::io::{Error, ErrorKind, Result as Io};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Time that a call blocks before it returns to look at the flags.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// Time for a data connection.
const CONNECTS: Duration = Duration::from_secs(60);

/// Type of service as the kernel takes it: of TCP the two lower bits (ECN) are its own.
pub(super) fn service(tos: u32, tcp: bool) -> u64 {
    u64::from(if tcp { tos & !3 } else { tos })
}

fn fault(what: &'static str) -> impl FnOnce(Error) -> Fault {
    move |error| Fault::Option { what, error }
}

/// A socket of the kernel's at this address, with the buffers that it has.
fn bound(own: SocketAddr, transport: Transport, wanted: &Options) -> Result<(OwnedFd, Sizes), Fault> {
    let kind = if transport == Transport::Tcp { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
    let fd = sys::socket(own, kind).map_err(fault("own address"))?;
    wanted.set(fd.as_fd(), transport, own.is_ipv4())?;
    let sizes = Sizes::of(fd.as_fd()).unwrap_or_default();
    let reused = sys::set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
    reused.and_then(|()| sys::bind(fd.as_fd(), own)).map_err(fault("own address"))?;
    Ok((fd, sizes))
}

/// Buffers with which a connection of our own begins; those that nobody has chosen grow with the path.
fn first(wanted: &Options) -> Sizes {
    let (send, receive) = wanted.own_buffers();
    Sizes { send: send.unwrap_or(Config::FIRST), receive: receive.unwrap_or(Config::FIRST) }
}

/// Sets the options of a connection of our own, and has its calls return now and then.
fn settle(of: &TcpStream, wanted: &Options) {
    // Those of our own stack do not fail.
    let _ = of.set_read_timeout(Some(TICK)).and_then(|()| of.set_write_timeout(Some(TICK)));
    wanted.set_own(of);
}

pub(super) fn datagrams(site: &Site, own: SocketAddr, wanted: &Options) -> Result<(UdpSocket, Sizes), Fault> {
    let (socket, sizes) = match site.datagrams_at(own) {
        Some(socket) => {
            wanted.check_own(Transport::Udp)?;
            // All have queues of one size, and none to send.
            let sizes = Sizes { send: 0, receive: cut(linerate_stack::Config::INBOX, u32::MAX) };
            let socket = socket.map_err(fault("own address"))?;
            wanted.set_own_datagrams(&socket);
            (socket, sizes)
        }
        None => bound(own, Transport::Udp, wanted).map(|(fd, sizes)| (UdpSocket::Kernel(fd.into()), sizes))?,
    };
    let set = socket.set_read_timeout(Some(TICK)).and_then(|()| socket.set_write_timeout(Some(TICK)));
    set.map_err(fault("time limit"))?;
    Ok((socket, sizes))
}

/// A listener; it returns from its waits to look up, and so do the connections that it takes in.
pub(super) struct Listener {
    listener: TcpListener,
    /// Options of its connections, if they do not have them from the listener.
    options: Option<Options>,
}

/// A listener at this address, with the buffers that its connections have.
pub(super) fn listener(site: &Site, own: SocketAddr, wanted: &Options) -> Result<(Listener, Sizes), Fault> {
    if let Some(listener) = site.listen_at(own, TICK) {
        wanted.check_own(Transport::Tcp)?;
        let listener = listener.map_err(fault("listen"))?;
        return Ok((Listener { listener, options: Some(wanted.clone()) }, first(wanted)));
    }
    let (fd, sizes) = bound(own, Transport::Tcp, wanted)?;
    sys::listen(fd.as_fd()).and_then(|()| sys::time_limits(fd.as_fd(), TICK)).map_err(fault("listen"))?;
    Ok((Listener { listener: TcpListener::Kernel(fd.into()), options: None }, sizes))
}

impl Listener {
    /// Takes the next connection; it, and its other end's address.
    pub(super) fn accept(&self) -> Io<(TcpStream, SocketAddr)> {
        let (stream, from) = self.listener.accept()?;
        if let Some(options) = &self.options {
            settle(&stream, options);
        }
        Ok((stream, from))
    }

    pub(super) fn local_addr(&self) -> Io<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A data connection that is not made yet.
pub(super) enum Unconnected {
    Kernel(std::net::TcpStream),
    /// Source of one of our own.
    Own(Site),
}

/// A connection that is not made yet, from this address, with the buffers that it will have.
pub(super) fn unconnected(site: &Site, own: SocketAddr, wanted: &Options) -> Result<(Unconnected, Sizes), Fault> {
    if site.is_own() {
        wanted.check_own(Transport::Tcp)?;
        return Ok((Unconnected::Own(site.clone()), first(wanted)));
    }
    let (fd, sizes) = bound(own, Transport::Tcp, wanted)?;
    sys::time_limits(fd.as_fd(), TICK).map_err(fault("time limit"))?;
    Ok((Unconnected::Kernel(fd.into()), sizes))
}

impl Unconnected {
    /// Connects, with the options that were checked; `None` if the time was over before.
    pub(super) fn connect(self, to: SocketAddr, time: &Shared, wanted: &Options) -> Result<Option<TcpStream>, Fault> {
        let begin = Instant::now();
        let goes_on = || !time.is_over() && begin.elapsed() < CONNECTS;
        let made = match self {
            Self::Kernel(stream) => {
                connects(&stream, to, goes_on).map(|made| made.then_some(TcpStream::Kernel(stream)))
            }
            Self::Own(site) => {
                let made = site.connect_while(to, TICK, goes_on).unwrap_or(Ok(None));
                made.map(|made| made.inspect(|stream| settle(stream, wanted)))
            }
        };
        match made.map_err(Fault::DataConnect)? {
            None if !time.is_over() => Err(Fault::DataConnect(ErrorKind::TimedOut.into())),
            made => Ok(made),
        }
    }

    /// Own address, as far as it is known.
    pub(super) fn local_addr(&self, asked: SocketAddr) -> Io<SocketAddr> {
        match self {
            Self::Kernel(stream) => stream.local_addr(),
            Self::Own(..) => Ok(asked),
        }
    }
}

/// Connects a socket of the kernel's whose calls return now and then; false once it does not go on.
fn connects(stream: &std::net::TcpStream, to: SocketAddr, goes_on: impl Fn() -> bool) -> Io<bool> {
    match sys::connect(stream.as_fd(), to, None) {
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINPROGRESS | libc::EAGAIN)) => {}
        done => return done.map(|()| true),
    }
    while goes_on() {
        if sys::poll(&[(stream.as_fd(), Ready::Write)], Some(TICK))?[0] {
            return stream.take_error()?.map_or(Ok(true), Err);
        }
    }
    Ok(false)
}

/// An error if data must not go by a gateway, and would. The kernel sees to that by itself.
pub(super) fn may_reach(site: &Site, wanted: &Options, peer: SocketAddr) -> Result<(), Fault> {
    if wanted.no_gateway && !site.is_near(peer.ip()) {
        return Err(Fault::DataConnect(Error::from_raw_os_error(libc::ENETUNREACH)));
    }
    Ok(())
}

pub(super) fn sizes(of: &TcpStream) -> Sizes {
    match of {
        TcpStream::Kernel(stream) => Sizes::of(stream.as_fd()).unwrap_or_default(),
        TcpStream::Own(stream, _) => Sizes::of_own(stream),
    }
}

/// Largest segment of a connection, as far as it is known.
pub(super) fn segment(of: &TcpStream) -> u32 {
    cut(of.segment(), u32::MAX)
}

/// Segments that a connection has sent again; -1 if nobody knows.
pub(super) fn retransmits(of: &TcpStream) -> i32 {
    of.info().map_or(-1, |info| cut(info.retransmits, i32::MAX))
}

pub(super) fn congestion(of: &TcpStream) -> String {
    of.congestion().unwrap_or_default()
}
