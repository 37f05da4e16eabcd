//! Data sockets with the options of a test, of the kernel or of a host of our own, and waits that look up now and then.

mod kernel;
mod own;

use super::fault::Fault;
use super::timer::Shared;
use crate::socket::{Options, Site, Sizes, TcpListener, TcpStream, UdpSocket};
use linerate_text::cut;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

/// Time that a call blocks before it returns to look at the flags.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// Time for a data connection.
const CONNECTS: Duration = Duration::from_secs(60);

/// Type of service as the kernel takes it: of TCP the two lower bits (ECN) are its own.
pub(super) fn service(tos: u32, tcp: bool) -> u64 {
    u64::from(if tcp { tos & !3 } else { tos })
}

pub(super) fn datagrams(site: &Site, own: SocketAddr, wanted: &Options) -> Result<(UdpSocket, Sizes), Fault> {
    own::datagrams(site, own, wanted).unwrap_or_else(|| kernel::datagrams(own, wanted))
}

/// A listener; it returns from its waits to look up, and so do the connections that it takes in.
pub(super) struct Listener {
    listener: TcpListener,
    /// Options of its connections, if they do not have them from the listener.
    options: Option<Options>,
}

/// A listener at this address, with the buffers that its connections have.
pub(super) fn listener(site: &Site, own: SocketAddr, wanted: &Options) -> Result<(Listener, Sizes), Fault> {
    own::listener(site, own, wanted).unwrap_or_else(|| kernel::listener(own, wanted))
}

impl Listener {
    /// Takes the next connection; it, and its other end's address.
    pub(super) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, from) = self.listener.accept()?;
        if let Some(options) = &self.options {
            own::settle(&stream, options);
        }
        Ok((stream, from))
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A data connection that is not made yet.
pub(super) enum Unconnected {
    Kernel(std::net::TcpStream),
    /// Place of one of our own, and its options.
    Own(Site, Options),
}

/// A connection that is not made yet, from this address, with the buffers that it will have.
pub(super) fn unconnected(site: &Site, own: SocketAddr, wanted: &Options) -> Result<(Unconnected, Sizes), Fault> {
    own::unconnected(site, wanted).unwrap_or_else(|| kernel::unconnected(own, wanted))
}

impl Unconnected {
    /// Connects; `None` if the time was over before.
    pub(super) fn connect(self, to: SocketAddr, time: &Shared) -> Result<Option<TcpStream>, Fault> {
        match self {
            Self::Kernel(stream) => {
                let connected = kernel::connect(&stream, to, time)?;
                Ok(connected.then_some(TcpStream::Kernel(stream)))
            }
            Self::Own(site, options) => own::connect(&site, &options, to, time),
        }
    }

    /// Own address, as far as it is known.
    pub(super) fn local_addr(&self, asked: SocketAddr) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(stream) => stream.local_addr(),
            Self::Own(..) => Ok(asked),
        }
    }
}

/// An error if data must not go by a gateway, and would. The kernel sees to that by itself.
pub(super) fn may_reach(site: &Site, wanted: &Options, peer: SocketAddr) -> Result<(), Fault> {
    if wanted.no_gateway && !site.is_near(peer.ip()) {
        return Err(Fault::DataConnect(io::Error::from_raw_os_error(libc::ENETUNREACH)));
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
