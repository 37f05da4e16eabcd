//! Datagrams by the kernel, or by a host of our own, used as the standard library's sockets are.

use super::sys;
use linerate_rt::net;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Time after which a receiver of our own looks whether it is to end: nothing else wakes it.
const LOOKS: Duration = Duration::from_millis(20);

/// Datagrams of our own that are sent at once.
const BATCH: usize = 32;
/// Time in which a full ring is likely to have room again.
const ROOM: Duration = Duration::from_micros(20);

pub(crate) enum UdpSocket {
    Kernel(std::net::UdpSocket),
    /// Our own, with a number for reports.
    Own(net::UdpSocket, i32),
}

impl UdpSocket {
    pub(super) fn own(socket: net::UdpSocket) -> Self {
        socket.set_read_timeout(Some(LOOKS));
        Self::Own(socket, super::number())
    }

    /// Its number, for reports.
    pub(crate) fn number(&self) -> i32 {
        match self {
            Self::Kernel(socket) => socket.as_raw_fd(),
            Self::Own(_, number) => *number,
        }
    }

    /// The kernel's descriptor, for options that only the kernel has.
    pub(crate) fn kernel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Kernel(socket) => Some(socket.as_fd()),
            Self::Own(..) => None,
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(socket) => socket.local_addr(),
            Self::Own(socket, _) => socket.local_addr(),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(socket) => socket.peer_addr(),
            Self::Own(socket, _) => socket.peer_addr(),
        }
    }

    #[inline]
    pub(crate) fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        match self {
            Self::Kernel(socket) => socket.send(datagram),
            Self::Own(socket, _) => socket.send(datagram),
        }
    }

    /// Number of datagrams that are best sent at once.
    pub(crate) fn batch(&self) -> usize {
        match self {
            Self::Kernel(_) => 1,
            Self::Own(..) => BATCH,
        }
    }

    /// Sends datagrams to the other end, one after the other; gives how many were sent. An error is the first one's.
    #[inline]
    pub(crate) fn send_batch(&self, datagrams: &[&[u8]]) -> io::Result<usize> {
        match self {
            Self::Kernel(socket) => datagrams.first().map_or(Ok(0), |first| socket.send(first).map(|_| 1)),
            Self::Own(socket, _) => socket.send_batch(datagrams, None),
        }
    }

    /// Takes what has arrived, if it is cheaper to take it all at once than one by one.
    #[inline]
    pub(crate) fn recv_batch(&self, mut take: impl FnMut(&[u8])) {
        if let Self::Own(socket, _) = self {
            socket.recv_batch(|datagram, _| take(datagram));
        }
    }

    /// Waits for room after a batch of which nothing was sent.
    pub(crate) fn wait_for_room(&self) {
        std::thread::sleep(ROOM);
    }

    #[inline]
    pub(crate) fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        match self {
            Self::Kernel(socket) => socket.send_to(datagram, to),
            Self::Own(socket, _) => socket.send_to(datagram, to),
        }
    }

    /// Sends to this address from now on, and receives from it alone.
    pub(crate) fn connect(&self, to: SocketAddr) -> io::Result<()> {
        match self {
            Self::Kernel(socket) => socket.connect(to),
            Self::Own(socket, _) => socket.connect(to),
        }
    }

    /// Receives a datagram. `WouldBlock` says that none came for a while.
    #[inline]
    pub(crate) fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Kernel(socket) => socket.recv(into),
            Self::Own(socket, _) => socket.recv(into),
        }
    }

    /// Receives a datagram of anybody. `WouldBlock` says that none came for a while.
    pub(crate) fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Self::Kernel(socket) => socket.recv_from(into),
            Self::Own(socket, _) => socket.recv_from(into),
        }
    }

    /// True if a datagram of this length is the next to be received. None is seen at a socket of our own.
    pub(crate) fn has(&self, len: usize) -> bool {
        let Self::Kernel(socket) = self else { return false };
        let mut bytes = vec![0; len + 1];
        let peeked = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut bytes));
        socket.set_nonblocking(false).is_ok() && peeked.is_ok_and(|n| n == len)
    }

    /// Sets the time for which receivers wait; none is until the end.
    pub(crate) fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Kernel(socket) => socket.set_read_timeout(time),
            Self::Own(socket, _) => {
                socket.set_read_timeout(Some(time.unwrap_or(LOOKS)));
                Ok(())
            }
        }
    }

    /// Sets the time for which senders wait for room. Those of our own wait for the port's ring, and for nothing else.
    pub(crate) fn set_write_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Kernel(socket) => socket.set_write_timeout(time),
            Self::Own(..) => Ok(()),
        }
    }

    /// Ends the receiving; whoever sleeps on it wakes. Receivers of our own wake by themselves.
    pub(crate) fn receive_no_more(&self) {
        if let Self::Kernel(socket) = self {
            sys::receive_no_more(socket.as_fd());
        }
    }

    /// Ends both directions.
    pub(crate) fn shut_down(&self) {
        if let Self::Kernel(socket) = self {
            sys::shut_down(socket.as_fd());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_lets_two_words_pass_and_nothing_else_fills_the_queue() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Some(socket) = linerate_skip::permitted(std::net::UdpSocket::bind(at), |_| at.starts_with('[')) else {
                continue;
            };
            sys::take_only(socket.as_fd(), [*b"here", *b"also"]).unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
            let other = std::net::UdpSocket::bind(at).unwrap();
            other.connect(socket.local_addr().unwrap()).unwrap();
            // More than the queue has room for.
            for wrong in [&[0; 1000][..], b"hers", b"her", b"here!", b""].repeat(1000) {
                other.send(wrong).unwrap();
            }
            other.send(b"also").unwrap();
            other.send(b"here").unwrap();
            let mut bytes = [0; 8];
            let mut next = || socket.recv(&mut bytes).map(|n| bytes[..n].to_vec());
            assert_eq!((next().unwrap(), next().unwrap()), (b"also".to_vec(), b"here".to_vec()), "{at}");
            socket.set_nonblocking(true).unwrap();
            assert!(next().is_err(), "{at}");
        }
    }
}
