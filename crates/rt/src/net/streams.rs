//! The same services over TCP.

use super::ip::Ip;
use super::service::{Offer, Service};
use bytes::Bytes;
use linerate_port::{Admission, Limits, Ticket};
use linerate_stack::tcp::{KeepAlive, State, TcpId, TcpListenerId};
use linerate_stack::{BindError, Host};
use linerate_text::counters;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Connections of all services of a queue at a time: more than ten thousand of one origin, which has three quarters.
const MOST: usize = 16_384;
/// Connections that wait to be accepted, of a service.
const BACKLOG: usize = 1024;
/// Connections of a service that have begun with data and whose handshake is not over: all services answer a request that comes
/// twice as they do one that comes once (RFC 7413, section 6).
const FAST_OPEN: usize = 256;
/// Questions to silent clients.
const KEEP_ALIVE: KeepAlive = KeepAlive { idle: 60_000_000_000, interval: 10_000_000_000, probes: 6 };

counters! {
    /// Counters of a service over TCP.
    pub struct Streamed {
        pub connections: u64,
        /// Connections reset: for others, or because there was no place for them.
        pub refused: u64,
        /// Bytes received.
        pub received: u64,
        /// Bytes sent.
        pub sent: u64,
    }
}

/// Conversation of a service on a connection.
pub(super) trait Talk: Send {
    /// Goes on, as something is new. True if it has nothing more to say: then the connection is closed.
    fn go(&mut self, stream: &mut Stream<'_>) -> bool;
}

/// A talk that remembers nothing: it ends when the peer has closed.
impl<F: FnMut(&mut Stream<'_>) + Send> Talk for F {
    fn go(&mut self, stream: &mut Stream<'_>) -> bool {
        self(stream);
        stream.is_at_end()
    }
}

/// A connection, and memory for what it reads.
pub(super) struct Stream<'a> {
    host: &'a mut Host,
    id: TcpId,
    pub(super) buffer: &'a mut [u8],
    count: &'a mut Streamed,
}

impl Stream<'_> {
    /// Room for what is written.
    pub(super) fn room(&self) -> usize {
        self.host.tcp_connection(self.id).map_or(0, linerate_stack::tcp::Connection::room)
    }

    /// Bytes that are worth reading from a file now.
    pub(super) fn room_for_chunk(&self) -> usize {
        self.host.tcp_connection(self.id).map_or(0, linerate_stack::tcp::Connection::room_for_chunk)
    }

    /// True if the peer has closed, and all was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.host.tcp_connection(self.id).is_none_or(linerate_stack::tcp::Connection::is_at_end)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.host.tcp_state(self.id).is_none_or(|(state, _)| state == State::Closed)
    }

    /// Reads into the buffer.
    pub(super) fn read(&mut self, most: usize) -> usize {
        let most = most.min(self.buffer.len());
        let n = self.host.tcp_read(self.id, &mut self.buffer[..most]).unwrap_or(0);
        self.count.received += n as u64;
        n
    }

    /// Writes the first bytes of the buffer, as many as there is room for.
    pub(super) fn write(&mut self, n: usize) -> usize {
        let n = self.host.tcp_write(self.id, &self.buffer[..n]).unwrap_or(0);
        self.count.sent += n as u64;
        n
    }

    /// Writes bytes, as many as there is room for.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> usize {
        let n = self.host.tcp_write(self.id, bytes).unwrap_or(0);
        self.count.sent += n as u64;
        n
    }

    /// Writes the front of a buffer, without a copy unless it is short.
    pub(super) fn write_chunk(&mut self, chunk: &mut Bytes) -> usize {
        let n = self.host.tcp_write_chunk(self.id, chunk).unwrap_or(0);
        self.count.sent += n as u64;
        n
    }

    /// Closes our side: the peer reads to the end of what was written.
    pub(super) fn close(&mut self) {
        self.host.tcp_close(self.id);
    }

    /// Resets the connection: what was promised cannot be kept.
    pub(super) fn abort(&mut self) {
        self.host.tcp_abort(self.id);
    }
}

/// RFC 862: what comes goes back.
pub(super) fn echo(stream: &mut Stream<'_>) {
    loop {
        // What is read can be written.
        let n = stream.read(stream.room());
        if n == 0 {
            return;
        }
        stream.write(n);
    }
}

/// RFC 863: what comes is dropped.
pub(super) fn discard(stream: &mut Stream<'_>) {
    while stream.read(usize::MAX) > 0 {}
}

/// RFC 864: lines of 72 printing characters, each beginning with the next, until the other side closes; what comes is
/// dropped.
pub(super) fn chargen(stream: &mut Stream<'_>) {
    discard(stream);
    const LINE: u64 = 74;
    const LEAST: usize = 4096;
    loop {
        // Little at a time would cost more than it gives; where there is little memory, there is room for no more than a few.
        let n = stream.room().min(stream.buffer.len());
        if n < LEAST {
            return;
        }
        let sent = stream.host.tcp_connection(stream.id).map_or(0, linerate_stack::tcp::Connection::written);
        for (at, to) in (sent..).zip(stream.buffer[..n].iter_mut()) {
            let (line, column) = (at / LINE, at % LINE);
            *to = match column {
                72 => b'\r',
                73 => b'\n',
                column => b' ' + u8::try_from((line + column) % 95).unwrap_or(0),
            };
        }
        if stream.write(n) == 0 {
            return;
        }
    }
}

/// A connection of a service.
struct Talker {
    /// Place of the service.
    at: usize,
    talk: Box<dyn Talk>,
    ticket: Ticket,
}

/// Services over TCP that a host has open.
pub struct Streams {
    open: Vec<(Offer, TcpListenerId, Streamed)>,
    door: Admission,
    talks: HashMap<TcpId, Talker>,
    /// Connection of each that was let in.
    admitted: HashMap<Ticket, TcpId>,
    buffer: Box<[u8]>,
}

impl Streams {
    /// Opens these services for all of a host's addresses.
    pub fn open(ip: &mut Ip, offers: &[Offer]) -> Result<Self, BindError> {
        let mut open = Vec::new();
        // Clients that have gone without a word are not kept for ever.
        ip.host.tcp_config().keep_alive = Some(KEEP_ALIVE);
        for offer in offers {
            for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
                let id = ip.host.tcp_listen(SocketAddr::new(any, offer.service.port), BACKLOG)?;
                ip.host.tcp_fast_open(id, FAST_OPEN);
                open.push((offer.clone(), id, Streamed::default()));
            }
        }
        let (door, talks, admitted) = (Admission::new(Limits::new(MOST)), HashMap::new(), HashMap::new());
        Ok(Self { open, door, talks, admitted, buffer: vec![0; 65536].into() })
    }

    /// Counters of each service, for each family.
    pub fn streamed(&self) -> impl Iterator<Item = (&'static Service, Streamed)> {
        self.open.iter().map(|(offer, _, count)| (offer.service, *count))
    }

    /// Answers what the host has received by `now`; true if there was something.
    pub(crate) fn serve(&mut self, now: u64, host: &mut Host) -> bool {
        let mut worked = false;
        while let Some(listener) = host.tcp_arrival() {
            worked = true;
            let Some(at) = self.open.iter().position(|(_, id, _)| *id == listener) else { continue };
            while let Some((id, from)) = host.tcp_accept(listener) {
                let (offer, _, count) = &mut self.open[at];
                count.connections += 1;
                let Ok((ticket, gone)) = self.door.admit(now, from.ip().into()) else {
                    count.refused += 1;
                    host.tcp_abort(id);
                    host.tcp_release(id);
                    continue;
                };
                self.talks.insert(id, Talker { at, talk: (offer.service.talk)(offer), ticket });
                self.admitted.insert(ticket, id);
                if let Some(gone) = gone {
                    self.dismiss(host, gone);
                }
                self.talk(now, host, id);
            }
        }
        while let Some(id) = host.tcp_news() {
            worked = true;
            self.talk(now, host, id);
        }
        worked
    }

    /// Resets a connection, for another one.
    fn dismiss(&mut self, host: &mut Host, gone: Ticket) {
        self.door.leave(gone);
        let Some(id) = self.admitted.remove(&gone) else { return };
        if let Some(talker) = self.talks.remove(&id) {
            self.open[talker.at].2.refused += 1;
        }
        host.tcp_abort(id);
        host.tcp_release(id);
    }

    fn talk(&mut self, now: u64, host: &mut Host, id: TcpId) {
        let Some(Talker { at, talk, ticket }) = self.talks.get_mut(&id) else { return };
        let count = &mut self.open[*at].2;
        let before = count.received + count.sent;
        let mut stream = Stream { host, id, buffer: &mut self.buffer, count };
        let over = talk.go(&mut stream) || stream.is_closed();
        if count.received + count.sent > before {
            self.door.proved(*ticket, now);
        }
        if over {
            self.door.leave(*ticket);
            self.admitted.remove(ticket);
            host.tcp_release(id);
            self.talks.remove(&id);
        }
    }
}
