//! Sockets of a host that runs in threads of its own, used as the standard library's are.

use super::headers::Headers;
use super::ip::IpTx;
use super::mailbox::{Mail, Mailbox};
use super::queue::Queue;
use super::running::Net;
use crate::monotonic_ns;
use linerate_stack::{BindError, Host, Prepared, SendError, Traffic, UdpId};
use linerate_text::saturating_ns;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a full transmit ring is waited for between two looks.
const ROOM: Duration = Duration::from_micros(50);

impl Net {
    /// Opens a UDP socket; port 0 gives a free one.
    pub fn udp_bind(&self, local: SocketAddr) -> Result<UdpSocket> {
        self.udp_open(local, None)
    }

    /// Opens a UDP socket that is connected from the beginning. Its address and port may be those of a socket for everybody, or
    /// of others with other peers, as a server's are that has a socket for each client.
    pub fn udp_bind_to(&self, local: SocketAddr, peer: SocketAddr) -> Result<UdpSocket> {
        self.udp_open(local, Some(peer))
    }

    fn udp_open(&self, local: SocketAddr, peer: Option<SocketAddr>) -> Result<UdpSocket> {
        let (ids, mailbox) = self.bind(local, peer).map_err(not_bound)?;
        let sending = Mutex::new(Sending { peer, headers: Headers::new() });
        Ok(UdpSocket { output: self.output_of(&ids), net: self.clone(), ids, mailbox, sending })
    }
}

/// A UDP socket of a [`Net`], used as `std::net::UdpSocket` is. Its readers are woken by what comes for it alone, and
/// its senders wait for the transmit ring alone.
pub struct UdpSocket {
    net: Net,
    /// Its identifiers in the shards of the host, by queue.
    ids: Vec<UdpId>,
    /// Index of the queue by which it sends.
    output: usize,
    mailbox: Arc<Mailbox>,
    sending: Mutex<Sending>,
}

/// State of a socket's senders.
struct Sending {
    /// Where the socket is connected.
    peer: Option<SocketAddr>,
    headers: Headers,
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

    /// Sends datagrams to one destination under one lock and with one hand-over; gives how many were sent before the ring
    /// was full. An error is reported if it was the first one's.
    pub fn send_batch(&self, datagrams: &[&[u8]], to: Option<SocketAddr>) -> Result<usize> {
        if let Some(error) = self.mailbox.error() {
            return Err(as_io(error));
        }
        let (now, mut sending) = (monotonic_ns(), self.sending());
        let mut sent = 0;
        if let Some(prepared) = to.or(sending.peer).and_then(|to| sending.headers.of(to)) {
            match self.queue().send_prepared(now, |tx| send_prepared(prepared, now, datagrams, tx)) {
                Some((n, true)) => return Ok(n),
                Some((n, false)) => sent = n,
                None => {}
            }
        }
        let id = self.ids[self.output];
        let (rest, prepared) = self.queue().send(|ip, tx, now| {
            let rest = send_rest(&mut ip.host, now, (id, to), &datagrams[sent..], tx);
            (rest, ip.host.udp_prepared(id))
        });
        if let Some(prepared) = prepared {
            sending.headers.keep(prepared);
        }
        match rest {
            Err(_) if sent > 0 => Ok(sent),
            rest => rest.map(|n| sent + n).map_err(as_io),
        }
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> &Queue {
        self.net.queue(self.output)
    }

    /// Receives a datagram: its length, cut to the buffer's, and who sent it. Waits for it, no longer than the time-out.
    /// A connected socket is told here, too, that nobody listens or answers there.
    pub fn recv_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        let mut until = None;
        if let Some(time) = self.mailbox.must_wait() {
            until = time.and_then(|time| Instant::now().checked_add(time));
            let ends = time.map(|time| monotonic_ns().saturating_add(saturating_ns(time)));
            self.queue().turn_until(ends, || self.mailbox.must_wait().is_none());
        }
        match self.mailbox.read(buffer, until) {
            Mail::Datagram(n, from) => Ok((n, from)),
            Mail::Nothing => Err(ErrorKind::WouldBlock.into()),
            Mail::Error(error) => Err(as_io(error)),
        }
    }

    pub fn recv(&self, buffer: &mut [u8]) -> Result<usize> {
        self.recv_from(buffer).map(|(n, _)| n)
    }

    /// Takes all datagrams that wait, without waiting for any: `take` is given each, whole and where it lies, with its sender.
    /// Gives how many.
    pub fn recv_batch(&self, take: impl FnMut(&[u8], SocketAddr)) -> usize {
        self.mailbox.read_all(take)
    }

    /// Sends to this address from now on, and receives from it alone.
    pub fn connect(&self, to: SocketAddr) -> Result<()> {
        let mut sending = self.sending();
        if !self.net.connect(&self.ids, to) {
            return Err(as_io(SendError::Closed));
        }
        sending.peer = Some(to);
        // Errors about datagrams to the peer before are no longer of interest.
        let _ = self.mailbox.error();
        Ok(())
    }

    pub fn local_addr(&self) -> Result<SocketAddr> {
        let ends = self.queue().shard().ip.host.udp_ends(self.ids[self.output]);
        ends.map(|(local, _)| local).ok_or_else(|| as_io(SendError::Closed))
    }

    /// Where the socket is connected.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        self.sending().peer.ok_or_else(|| as_io(SendError::NotConnected))
    }

    /// Sets the traffic class and the flow label of what is sent from now on.
    pub fn set_traffic(&self, traffic: Traffic) -> Result<()> {
        let mut sending = self.sending();
        sending.headers = Headers::new();
        if self.net.set_traffic(&self.ids, traffic) { Ok(()) } else { Err(as_io(SendError::Closed)) }
    }

    /// How long a receiver waits; none is for ever, zero not at all.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.mailbox.set_timeout(timeout);
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.net.close(&self.ids);
    }
}

/// Sends datagrams with prepared headers: how many, and true if the host is not needed for more. It is if nothing can be
/// sent: it knows whether the ring is full, or the interface down.
#[inline]
fn send_prepared(prepared: &mut Prepared, now: u64, datagrams: &[&[u8]], tx: &mut IpTx<'_>) -> (usize, bool) {
    for (sent, datagram) in datagrams.iter().enumerate() {
        match prepared.send(now, datagram, tx) {
            Some(true) => {}
            Some(false) => return (sent, sent > 0),
            None => return (sent, false),
        }
    }
    (datagrams.len(), true)
}

/// Sends datagrams by the host: how many; an error if it was the first one's.
fn send_rest(
    host: &mut Host,
    now: u64,
    (id, to): (UdpId, Option<SocketAddr>),
    datagrams: &[&[u8]],
    tx: &mut IpTx<'_>,
) -> std::result::Result<usize, SendError> {
    for (sent, datagram) in datagrams.iter().enumerate() {
        match host.udp_send(now, id, to, datagram, tx) {
            Ok(()) => {}
            Err(error) if sent == 0 && error != SendError::NoRoom => return Err(error),
            Err(_) => return Ok(sent),
        }
    }
    Ok(datagrams.len())
}

/// Reason for which a socket was not opened, as the standard library says it.
pub(super) fn not_bound(error: BindError) -> Error {
    let kind = match error {
        BindError::InUse(_) => ErrorKind::AddrInUse,
        BindError::NotOurs(_) => ErrorKind::AddrNotAvailable,
        BindError::Full => ErrorKind::OutOfMemory,
    };
    Error::new(kind, error)
}

/// Reason for which nothing was sent, as the standard library says it.
pub(super) fn as_io(error: SendError) -> Error {
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
