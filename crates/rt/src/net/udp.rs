//! Sockets of a host that runs in a thread of its own, used as the standard library's are.

use super::mailbox::{Mail, Mailbox};
use super::node::Node;
use super::running::Net;
use crate::monotonic_ns;
use linerate_stack::{BindError, SendError, UdpId};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long a full transmit ring is waited for between two looks.
const ROOM: Duration = Duration::from_micros(50);

impl Net {
    /// Opens a UDP socket; port 0 gives a free one.
    pub fn udp_bind(&self, local: SocketAddr) -> Result<UdpSocket> {
        let (id, mailbox) = self.bind(local).map_err(|error| {
            let kind = match error {
                BindError::InUse(_) => ErrorKind::AddrInUse,
                BindError::NotOurs(_) => ErrorKind::AddrNotAvailable,
                BindError::Full => ErrorKind::OutOfMemory,
            };
            Error::new(kind, error)
        })?;
        Ok(UdpSocket { net: self.clone(), id, mailbox })
    }
}

/// A UDP socket of a [`Net`], used as `std::net::UdpSocket` is. Who reads it is woken by what comes for it alone.
pub struct UdpSocket {
    net: Net,
    id: UdpId,
    mailbox: Arc<Mailbox>,
}

impl UdpSocket {
    /// Sends a datagram; waits while the transmit ring is full.
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr) -> Result<usize> {
        self.send_one(datagram, Some(to))
    }

    /// Sends a datagram to where the socket is connected.
    pub fn send(&self, datagram: &[u8]) -> Result<usize> {
        self.send_one(datagram, None)
    }

    fn send_one(&self, datagram: &[u8], to: Option<SocketAddr>) -> Result<usize> {
        loop {
            match self.send_batch(&[datagram], to) {
                Ok(0) => std::thread::sleep(ROOM),
                Ok(_) => return Ok(datagram.len()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends datagrams to one destination under one lock and with one hand-over; gives how many went before the ring was
    /// full. An error is told if it was the first one's.
    pub fn send_batch(&self, datagrams: &[&[u8]], to: Option<SocketAddr>) -> Result<usize> {
        let (sent, earlier) = self.net.with(|node| {
            let now = monotonic_ns();
            let before = node.poll_timeout();
            let sent = self.put(node, now, datagrams, to);
            node.flush(now);
            (sent, node.poll_timeout().is_some_and(|at| before.is_none_or(|before| at < before)))
        });
        if earlier {
            self.net.ring();
        }
        sent
    }

    /// Puts datagrams into the transmit ring.
    #[inline]
    fn put(&self, node: &mut Node, now: u64, datagrams: &[&[u8]], to: Option<SocketAddr>) -> Result<usize> {
        let (host, mut tx) = node.parts();
        let mut sent = 0;
        for datagram in datagrams {
            match host.udp_send(now, self.id, to, datagram, &mut tx) {
                Ok(()) => sent += 1,
                Err(error) if sent == 0 && error != SendError::NoRoom => return Err(as_io(error)),
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Receives a datagram: its length, cut to the buffer's, and who sent it. Waits for it, no longer than the time-out.
    /// A connected socket is told here, too, that nobody listens or answers there.
    pub fn recv_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        let mut until = None;
        loop {
            match self.mailbox.read(buffer, &mut until) {
                Mail::Datagram(n, from) => return Ok((n, from)),
                Mail::Nothing => return Err(ErrorKind::WouldBlock.into()),
                // It is told once, here or to who sends.
                Mail::Error => {
                    if let Some(error) = self.net.with(|node| node.ip.host.udp_error(self.id)) {
                        return Err(as_io(error));
                    }
                }
            }
        }
    }

    /// Receives a datagram.
    pub fn recv(&self, buffer: &mut [u8]) -> Result<usize> {
        self.recv_from(buffer).map(|(n, _)| n)
    }

    /// Takes all datagrams that wait, without waiting for any: `take` is given each with its sender. Gives how many.
    pub fn recv_batch(&self, buffer: &mut [u8], take: impl FnMut(&[u8], SocketAddr)) -> usize {
        self.mailbox.read_all(buffer, take)
    }

    /// Sends to this address from now on, and receives from it alone.
    pub fn connect(&self, to: SocketAddr) -> Result<()> {
        if self.net.with(|node| node.ip.host.udp_connect(self.id, Some(to))) {
            Ok(())
        } else {
            Err(as_io(SendError::Closed))
        }
    }

    /// The socket's own address.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        let ends = self.net.with(|node| node.ip.host.udp_ends(self.id));
        ends.map(|(local, _)| local).ok_or_else(|| as_io(SendError::Closed))
    }

    /// Where the socket is connected.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        let ends = self.net.with(|node| node.ip.host.udp_ends(self.id));
        ends.and_then(|(_, remote)| remote).ok_or_else(|| as_io(SendError::NotConnected))
    }

    /// How long a receiver waits; none is for ever, zero not at all.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.mailbox.set_timeout(timeout);
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.net.close(self.id);
    }
}

fn as_io(error: SendError) -> Error {
    let kind = match error {
        SendError::NoRoom => ErrorKind::WouldBlock,
        SendError::NotConnected => ErrorKind::NotConnected,
        SendError::BadDestination | SendError::TooLong => ErrorKind::InvalidInput,
        SendError::NoRoute => ErrorKind::NetworkUnreachable,
        SendError::Down => ErrorKind::NetworkDown,
        SendError::Refused => ErrorKind::ConnectionRefused,
        SendError::Unreachable => ErrorKind::HostUnreachable,
        SendError::Closed => ErrorKind::BrokenPipe,
    };
    Error::new(kind, error)
}
