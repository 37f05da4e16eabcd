//! Streams of datagrams, whose end is an empty one.

use super::{End, Flow};
use crate::netperf::fault::Fault;
use crate::netperf::ring::Ring;
use crate::socket::{UdpSocket, is_tick};
use std::net::SocketAddr;

/// Number of empty datagrams at the end: some may be lost.
const ENDS: usize = 3;

/// Sends a datagram: to this address, or on a connected socket to its own.
#[inline]
fn put(socket: &UdpSocket, bytes: &[u8], to: Option<SocketAddr>) -> std::io::Result<usize> {
    match to {
        Some(to) => socket.send_to(bytes, to),
        None => socket.send(bytes),
    }
}

/// Says that no more datagrams come. The other end may be gone already.
pub(in crate::netperf) fn end(socket: &UdpSocket, to: Option<SocketAddr>) {
    for _ in 0..ENDS {
        let _ = put(socket, &[], to);
    }
}

impl Flow<'_> {
    /// Sends one datagram; false if the time was over before. One that the system drops is counted, and is sent.
    #[inline]
    pub(super) fn put(
        &mut self,
        socket: &UdpSocket,
        bytes: &[u8],
        to: Option<SocketAddr>,
    ) -> Result<Option<usize>, Fault> {
        loop {
            match put(socket, bytes, to) {
                Ok(n) => {
                    self.tally.sent += n as u64;
                    self.tally.sends += 1;
                    return Ok(Some(n));
                }
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.tally.failed += 1;
                    return Ok(Some(0));
                }
                Err(e) if is_tick(&e) => {
                    if self.tick()? {
                        return Ok(None);
                    }
                }
                Err(e) => return Err(Fault::Send(e)),
            }
        }
    }

    /// Sends datagrams until the time is over, or the bytes are sent.
    pub(in crate::netperf) fn send_datagrams(
        &mut self,
        socket: &UdpSocket,
        ring: &mut Ring,
        to: Option<SocketAddr>,
    ) -> Result<End, Fault> {
        self.begins();
        while !self.time.is_over() {
            let Some(sent) = self.put(socket, ring.next(), to)? else { return Ok(End::Time) };
            self.ends();
            self.publish(self.tally.sent);
            self.left = self.left.saturating_sub(sent as u64);
            if self.left == 0 {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Receives the datagrams of the first sender until it says that they end, or the time is over.
    pub(in crate::netperf) fn receive_datagrams(&mut self, socket: &UdpSocket, ring: &mut Ring) -> Result<End, Fault> {
        let mut sender = None;
        self.begins();
        while !self.time.is_over() {
            match socket.recv_from(ring.next()) {
                Ok((_, from)) if !self.is_of(&mut sender, from) => {}
                Ok((0, _)) => return Ok(End::Done),
                Ok((n, _)) => {
                    self.has_come();
                    if self.received(n) {
                        return Ok(End::Done);
                    }
                }
                Err(e) if is_tick(&e) => {
                    if self.tick()? {
                        return Ok(End::Time);
                    }
                }
                Err(e) => return Err(Fault::Receive(e)),
            }
        }
        Ok(End::Time)
    }
}
