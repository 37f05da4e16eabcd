//! The same services over TCP.

use super::ip::Ip;
use super::service::Service;
use linerate_stack::tcp::{TcpId, TcpListenerId};
use linerate_stack::{BindError, Host};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::AddAssign;

/// Connections that wait to be accepted, of a service.
const BACKLOG: usize = 1024;

/// Counters of a service over TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streamed {
    /// Connections taken.
    pub connections: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

impl AddAssign for Streamed {
    fn add_assign(&mut self, other: Self) {
        self.connections += other.connections;
        self.received += other.received;
        self.sent += other.sent;
    }
}

/// Action of a service on a connection of which something is new.
pub(super) type Talk = fn(&mut Stream<'_>);

/// A connection, and memory for what it reads.
pub(super) struct Stream<'a> {
    host: &'a mut Host,
    id: TcpId,
    buffer: &'a mut [u8],
    count: &'a mut Streamed,
}

impl Stream<'_> {
    /// Room for what is written.
    fn room(&self) -> usize {
        self.host.tcp_connection(self.id).map_or(0, linerate_stack::tcp::Connection::room)
    }

    fn read(&mut self, most: usize) -> usize {
        let most = most.min(self.buffer.len());
        let n = self.host.tcp_read(self.id, &mut self.buffer[..most]).unwrap_or(0);
        self.count.received += n as u64;
        n
    }

    fn write(&mut self, n: usize) -> usize {
        let n = self.host.tcp_write(self.id, &self.buffer[..n]).unwrap_or(0);
        self.count.sent += n as u64;
        n
    }

    /// RFC 862: what comes goes back.
    pub(super) fn echo(&mut self) {
        loop {
            // What is read can be written.
            let n = self.read(self.room());
            if n == 0 {
                return;
            }
            self.write(n);
        }
    }

    /// RFC 863: what comes is dropped.
    pub(super) fn discard(&mut self) {
        while self.read(usize::MAX) > 0 {}
    }

    /// RFC 864: lines of 72 printing characters, each beginning with the next, until the other side closes; what comes is
    /// dropped.
    pub(super) fn chargen(&mut self) {
        self.discard();
        const LINE: u64 = 74;
        while self.room() >= self.buffer.len() {
            let sent = self.host.tcp_connection(self.id).map_or(0, linerate_stack::tcp::Connection::written);
            for (at, to) in (sent..).zip(self.buffer.iter_mut()) {
                let (line, column) = (at / LINE, at % LINE);
                *to = match column {
                    72 => b'\r',
                    73 => b'\n',
                    column => b' ' + u8::try_from((line + column) % 95).unwrap_or(0),
                };
            }
            if self.write(self.buffer.len()) == 0 {
                return;
            }
        }
    }
}

/// Services over TCP that a host has open.
pub struct Streams {
    open: Vec<(&'static Service, TcpListenerId, Streamed)>,
    /// Service of each connection, by its identifier.
    talks: std::collections::HashMap<TcpId, usize>,
    buffer: Box<[u8]>,
}

impl Streams {
    /// Opens these services for all of a host's addresses.
    pub fn open(ip: &mut Ip, services: &[&'static Service]) -> Result<Self, BindError> {
        let mut open = Vec::new();
        for service in services {
            for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
                let id = ip.host.tcp_listen(SocketAddr::new(any, service.port), BACKLOG)?;
                open.push((*service, id, Streamed::default()));
            }
        }
        Ok(Self { open, talks: std::collections::HashMap::new(), buffer: vec![0; 65536].into() })
    }

    /// Counters of each service, for each family.
    pub fn streamed(&self) -> impl Iterator<Item = (&'static Service, Streamed)> {
        self.open.iter().map(|(service, _, count)| (*service, *count))
    }

    /// Answers what the host has received; true if there was something.
    pub(crate) fn serve(&mut self, host: &mut Host) -> bool {
        let mut worked = false;
        while let Some(listener) = host.tcp_arrival() {
            worked = true;
            let Some(at) = self.open.iter().position(|(_, id, _)| *id == listener) else { continue };
            while let Some((id, _)) = host.tcp_accept(listener) {
                self.open[at].2.connections += 1;
                self.talks.insert(id, at);
                self.talk(host, id, at);
            }
        }
        while let Some(id) = host.tcp_news() {
            worked = true;
            if let Some(at) = self.talks.get(&id).copied() {
                self.talk(host, id, at);
            }
        }
        worked
    }

    fn talk(&mut self, host: &mut Host, id: TcpId, at: usize) {
        let (service, _, count) = &mut self.open[at];
        (service.talk)(&mut Stream { host, id, buffer: &mut self.buffer, count });
        let over = host.tcp_connection(id).is_none_or(|connection| connection.is_at_end());
        if over {
            host.tcp_release(id);
            self.talks.remove(&id);
        }
    }
}
