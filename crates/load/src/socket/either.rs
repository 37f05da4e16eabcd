//! A socket of a test: of bytes or of datagrams, the kernel's or of a host of our own.

use super::sys::TcpInfo;
use super::{TcpStream, UdpSocket, plain};
use std::io::Result as Io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    #[default]
    Tcp,
    Udp,
}

pub(crate) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Socket {
    /// Own address and that of the other end; an address of IPv4 in one of IPv6 is shown as such.
    pub(crate) fn addresses(&self) -> Io<(SocketAddr, SocketAddr)> {
        let (local, remote) = match self {
            Self::Tcp(stream) => (stream.local_addr()?, stream.peer_addr()?),
            Self::Udp(socket) => (socket.local_addr()?, socket.peer_addr()?),
        };
        Ok((plain(local), plain(remote)))
    }

    /// Number of the socket, for reports.
    pub(crate) fn number(&self) -> i32 {
        match self {
            Self::Tcp(stream) => stream.number(),
            Self::Udp(socket) => socket.number(),
        }
    }

    /// The byte stream, if it is one.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        if let Self::Tcp(stream) = self { Some(stream) } else { None }
    }

    /// State of the connection, and its largest segment; none of datagrams.
    pub(crate) fn info(&self) -> Option<(TcpInfo, u64)> {
        let stream = self.tcp()?;
        stream.info().map(|info| (info, stream.segment()))
    }

    /// The kernel's descriptor, if it is the kernel's.
    pub(crate) fn kernel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(stream) => stream.kernel(),
            Self::Udp(socket) => socket.kernel(),
        }
    }

    /// Ends both directions; whoever sleeps on it wakes.
    pub(crate) fn shut_down(&self) {
        match self {
            Self::Tcp(stream) => stream.shut_down(),
            Self::Udp(socket) => socket.shut_down(),
        }
    }

    /// Ends the receiving; whoever sleeps on it wakes.
    pub(crate) fn receive_no_more(&self) {
        match self {
            Self::Tcp(stream) => stream.receive_no_more(),
            Self::Udp(socket) => socket.receive_no_more(),
        }
    }
}
