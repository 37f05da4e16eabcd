//! Connections that another shard of the host is making: their answers may come to this one, which takes them over then.

use super::sockets::Ends;
use super::{Connection, Segment};
use linerate_wire::TcpSegment;
use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;

/// Segments that wait to be taken over; more are dropped, and come again.
const MOST: usize = 64;

/// Segment that has come for a connection which another shard is making.
#[derive(Debug)]
pub struct TcpStray {
    local: SocketAddr,
    remote: SocketAddr,
    bytes: Vec<u8>,
}

impl TcpStray {
    /// Local and remote end of the connection.
    #[must_use]
    pub fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.local, self.remote)
    }

    /// Passes it to its connection.
    pub(super) fn arrive(&self, now: u64, connection: &mut Connection) {
        if let Ok(view) = TcpSegment::new_checked(&self.bytes[..]) {
            connection.arrive(now, &Segment::new(&view));
        }
    }
}

/// A connection on its way from one shard to another.
#[derive(Debug)]
pub struct TcpMoving {
    pub(super) connection: Connection,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// Answers that a shard expects for others.
#[derive(Debug, Default)]
pub(super) struct Strays {
    expected: HashSet<Ends>,
    waiting: VecDeque<TcpStray>,
}

impl Strays {
    pub(super) fn expect(&mut self, ends: Ends) -> bool {
        self.expected.insert(ends)
    }

    pub(super) fn forget(&mut self, ends: Ends) {
        self.expected.remove(&ends);
    }

    /// Keeps a segment if another shard is making its connection; its checksum is right. True if it is kept.
    pub(super) fn take(&mut self, ends: Ends, local: SocketAddr, remote: SocketAddr, bytes: &[u8]) -> bool {
        if !self.expected.contains(&ends) || self.waiting.len() >= MOST {
            return false;
        }
        self.waiting.push_back(TcpStray { local, remote, bytes: bytes.to_vec() });
        true
    }

    pub(super) fn next(&mut self) -> Option<TcpStray> {
        self.waiting.pop_front()
    }
}
