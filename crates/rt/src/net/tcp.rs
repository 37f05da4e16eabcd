//! TCP sockets of a host that runs in threads of its own, used as the standard library's are.

use super::autocork::{Autocork, Hold};
use super::file::Chunks;
use super::gate::Gate;
use super::queue::{Queue, Shard, Then};
use super::running::Net;
use super::stray_answer::Hailing;
use crate::monotonic_ns;
use bytes::Bytes;
use linerate_stack::Traffic;
use linerate_stack::tcp::{Algorithm, Connection, End, KeepAlive, Opening, State, TcpId, TcpListenerId};
use linerate_text::saturating_ns;
use std::fs::File;
use std::io::{Error, ErrorKind, IoSlice, Read, Result, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Connections that wait to be accepted at a listener.
const BACKLOG: usize = 1024;

/// Port and options of a connection from its first segment on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connecting {
    /// Own port; 0 for any.
    pub port: u16,
    pub opening: Opening,
}

impl Net {
    /// Listens for connections; port 0 gives a free one, an unspecified address means all of its family.
    pub fn tcp_listen(&self, local: SocketAddr) -> Result<TcpListener> {
        let gate = Arc::new(Gate::default());
        let mut listener = TcpListener { net: self.clone(), ids: Vec::new(), local, gate, wait: FOR_EVER.into() };
        for at in 0..self.queues() {
            let mut shard = self.queue(at).shard();
            let id = shard.ip.host.tcp_listen(listener.local, BACKLOG).map_err(super::udp::not_bound)?;
            // The first one has chosen the port, where none was given.
            listener.local = shard.ip.host.tcp_listener_end(id).unwrap_or(local);
            shard.watch_listener(id, Some(listener.gate.clone()));
            drop(shard);
            listener.ids.push(id);
        }
        Ok(listener)
    }

    /// Makes a connection; waits until it stands or the attempt has failed.
    pub fn tcp_connect(&self, remote: SocketAddr) -> Result<TcpStream> {
        self.connect_within(remote, None, &Connecting::default(), None)
    }

    /// Makes a connection; waits no longer than this time.
    pub fn tcp_connect_timeout(&self, remote: SocketAddr, time: Duration) -> Result<TcpStream> {
        self.connect_within(remote, Some(time.max(Duration::from_nanos(1))), &Connecting::default(), None)
    }

    /// Makes a connection that has this from its first segment on; waits until it stands or the attempt has failed.
    pub fn tcp_connect_as(&self, remote: SocketAddr, how: &Connecting) -> Result<TcpStream> {
        self.connect_within(remote, None, how, None)
    }

    /// Makes a connection and writes bytes to it, by TCP Fast Open (RFC 7413); waits until it stands and they are written. To
    /// a server that has given this host a cookie before, the first of them go with SYN: its answer comes a round trip earlier.
    /// To others, and wherever Fast Open fails, they are sent like any.
    ///
    /// The server's user may get bytes of SYN twice, the second time by a connection of their own, when the network doubles
    /// the packet. So write a request that can be repeated without harm (RFC 7413, section 6): a TLS hello, or a GET; nothing
    /// that orders or pays.
    pub fn tcp_connect_with(&self, remote: SocketAddr, bytes: &[u8]) -> Result<TcpStream> {
        self.connect_within(remote, None, &Connecting::default(), Some(bytes))
    }

    /// Makes a connection as long as `goes_on`, which is asked again and again, says so; `None` once it does not. It is asked
    /// whenever so much time has passed.
    pub fn tcp_connect_while(
        &self,
        remote: SocketAddr,
        tick: Duration,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Option<TcpStream>> {
        let tick = Some(tick.max(Duration::from_nanos(1)));
        self.connect_waiting(remote, &Connecting::default(), None, |gate, queue, attempt| {
            loop {
                match gate.wait(queue, tick, &mut *attempt) {
                    None if goes_on() => {}
                    done => return done,
                }
            }
        })
    }

    fn connect_within(
        &self,
        remote: SocketAddr,
        time: Option<Duration>,
        how: &Connecting,
        bytes: Option<&[u8]>,
    ) -> Result<TcpStream> {
        let stream =
            self.connect_waiting(remote, how, bytes, |gate, queue, attempt| gate.wait(queue, time, attempt))?;
        stream.ok_or_else(|| ErrorKind::TimedOut.into())
    }

    /// Makes a connection, for which `wait` waits by an attempt to see whether it stands; `None`, and it is given up, if there is no
    /// outcome.
    fn connect_waiting(
        &self,
        remote: SocketAddr,
        how: &Connecting,
        bytes: Option<&[u8]>,
        wait: impl FnOnce(&Gate, &Queue, Attempt<'_>) -> Option<Result<()>>,
    ) -> Result<Option<TcpStream>> {
        let gate = Arc::new(Gate::default());
        let by = self.next_queue();
        let mut hailing = Hailing::begin(self, by, remote, (how, bytes), &gate)?;
        let done = wait(&gate, self.queue(by), &mut || {
            hailing.follow();
            let (queue, id) = hailing.place;
            match self.queue(queue).shard().ip.host.tcp_state(id) {
                Some((State::SynSent | State::SynReceived, _)) => None,
                Some((State::Closed, end)) => Some(Err(ended(end.unwrap_or(End::Aborted)))),
                Some(_) => Some(Ok(())),
                None => Some(Err(ended(End::Aborted))),
            }
        });
        let ((queue, id), taken) = (hailing.place, hailing.taken);
        let ends = self.queue(queue).shard().ip.host.tcp_ends(id);
        let stream = TcpStream(Arc::new(Stream::new(self, queue, id, ends, gate)?));
        let Some(done) = done else {
            stream.0.abort();
            return Ok(None);
        };
        done?;
        // What there was no room for.
        (&stream).write_all(bytes.and_then(|bytes| bytes.get(taken..)).unwrap_or_default())?;
        Ok(Some(stream))
    }
}

/// An attempt to see whether a connection stands.
type Attempt<'a> = &'a mut dyn FnMut() -> Option<Result<()>>;

/// Most bytes of one read: what arrives meanwhile waits in the rings.
const GULP: usize = 256 << 10;

/// A listener of a [`Net`], used as `std::net::TcpListener` is.
pub struct TcpListener {
    net: Net,
    /// Its identifiers in the shards of the host, by queue.
    ids: Vec<TcpListenerId>,
    local: SocketAddr,
    gate: Arc<Gate>,
    /// Time for which [`accept`](Self::accept) waits, in ns; 0 is none at all, and the greatest is for ever.
    wait: AtomicU64,
}

impl TcpListener {
    /// Takes a connection, waiting for one.
    pub fn accept(&self) -> Result<(TcpStream, SocketAddr)> {
        let taken =
            self.gate.wait(self.net.queue(0), waited(&self.wait), || (0..self.ids.len()).find_map(|at| self.take(at)));
        taken.unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()))
    }

    fn take(&self, at: usize) -> Option<Result<(TcpStream, SocketAddr)>> {
        let mut shard = self.net.queue(at).shard();
        let (id, remote) = shard.ip.host.tcp_accept(self.ids[at])?;
        let (gate, ends) = (Arc::new(Gate::default()), shard.ip.host.tcp_ends(id));
        shard.watch(id, gate.clone());
        drop(shard);
        Some(Stream::new(&self.net, at, id, ends, gate).map(|stream| (TcpStream(Arc::new(stream)), remote)))
    }

    /// Connections as they come.
    pub fn incoming(&self) -> impl Iterator<Item = Result<TcpStream>> {
        std::iter::from_fn(|| Some(self.accept().map(|(stream, _)| stream)))
    }

    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Switches TCP Fast Open on (RFC 7413): clients are given cookies, and who comes with one is accepted before the handshake
    /// is over, with the bytes that came with SYN. At most `most` connections of each queue have begun so at a time; 0, as at
    /// first, switches it off.
    ///
    /// Bytes of a SYN may come twice, the second time by a connection of their own, if the network doubles it: Fast Open is for
    /// servers to whom a request may come twice (RFC 7413, section 6).
    pub fn set_fast_open(&self, most: usize) {
        for (at, id) in self.ids.iter().enumerate() {
            self.net.queue(at).shard().ip.host.tcp_fast_open(*id, most);
        }
    }

    /// Makes [`accept`](Self::accept) return `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self, on: bool) {
        self.set_timeout(on.then_some(Duration::ZERO));
    }

    /// Time for which [`accept`](Self::accept) waits, before it returns `WouldBlock`; none is for ever, zero not at all.
    pub fn set_timeout(&self, time: Option<Duration>) {
        set_wait(&self.wait, time);
    }

    /// Descriptor for poll, which is readable when a connection may be there, and until [`accept`](Self::accept) has returned
    /// `WouldBlock`.
    pub fn readiness(&self) -> Result<BorrowedFd<'_>> {
        self.gate.descriptor()
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        for (at, id) in self.ids.iter().enumerate() {
            self.net.queue(at).talk(|shard| {
                shard.watch_listener(*id, None);
                shard.ip.host.tcp_unlisten(*id);
            });
        }
    }
}

/// A connection of a [`Net`], used as `std::net::TcpStream` is: cloned for a reader and a writer, and closed when the last
/// clone is dropped. What was written then is still sent.
#[derive(Clone)]
pub struct TcpStream(Arc<Stream>);

struct Stream {
    net: Net,
    queue: usize,
    id: TcpId,
    local: SocketAddr,
    remote: SocketAddr,
    gate: Arc<Gate>,
    /// Times for which readers and writers wait, in ns; 0 is none at all, and the greatest is for ever.
    waits: [AtomicU64; 2],
    autocork: Autocork,
    /// Nothing is read any more.
    deaf: AtomicBool,
}

/// Places in [`Stream::waits`].
const READ: usize = 0;
const WRITE: usize = 1;
const FOR_EVER: u64 = u64::MAX;

/// Time for which is waited; none is for ever.
fn waited(ns: &AtomicU64) -> Option<Duration> {
    let ns = ns.load(Relaxed);
    (ns != FOR_EVER).then(|| Duration::from_nanos(ns))
}

fn set_wait(ns: &AtomicU64, time: Option<Duration>) {
    ns.store(time.map_or(FOR_EVER, saturating_ns), Relaxed);
}

impl Stream {
    fn new(
        net: &Net,
        queue: usize,
        id: TcpId,
        ends: Option<(SocketAddr, SocketAddr)>,
        gate: Arc<Gate>,
    ) -> Result<Self> {
        let (local, remote) = ends.ok_or(ErrorKind::NotConnected)?;
        let waits = [FOR_EVER.into(), FOR_EVER.into()];
        Ok(Self {
            net: net.clone(),
            queue,
            id,
            local,
            remote,
            gate,
            waits,
            autocork: Autocork::default(),
            deaf: false.into(),
        })
    }

    fn queue(&self) -> &Queue {
        self.net.queue(self.queue)
    }

    /// Tries until there is a result, for as long as readers or writers wait.
    fn wait<T>(&self, way: usize, attempt: impl FnMut() -> Option<Result<T>>) -> Result<T> {
        self.gate
            .wait(self.queue(), waited(&self.waits[way]), attempt)
            .unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()))
    }

    /// Works on the host that has the connection; what comes of it is sent.
    fn talk<T>(&self, work: impl FnOnce(&mut linerate_stack::Host) -> T) -> T {
        self.queue().talk(|shard| work(&mut shard.ip.host))
    }

    fn read(&self, into: &mut [u8]) -> Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let most = into.len().min(GULP);
        self.reads(|host| host.tcp_read(self.id, &mut into[..most]).filter(|n| *n > 0))
    }

    fn read_with(&self, read: impl FnOnce([&[u8]; 2]) -> usize) -> Result<usize> {
        let mut read = Some(read);
        self.reads(|host| {
            let readable = host.tcp_connection(self.id).is_some_and(|connection| connection.readable() > 0);
            let read = read.take_if(|_| readable)?;
            host.tcp_read_with(self.id, read)
        })
    }

    /// Reads with `read` as soon as it reads something; 0 at the end.
    fn reads(&self, mut read: impl FnMut(&mut linerate_stack::Host) -> Option<usize>) -> Result<usize> {
        self.wait(READ, || {
            if self.deaf.load(Relaxed) {
                return Some(Ok(0));
            }
            self.queue().talk_then(|shard| {
                let host = &mut shard.ip.host;
                if let Some(n) = read(host) {
                    return (Some(Ok(n)), Then::Send);
                }
                let connection = host.tcp_connection(self.id);
                let done = match connection.and_then(|connection| connection.end()) {
                    Some(end) => Some(Err(ended(end))),
                    None => connection.is_none_or(|connection| connection.is_at_end()).then_some(Ok(0)),
                };
                (done, Then::Send)
            })
        })
    }

    /// Writes the pieces one behind the other, as far as there is room.
    fn write(&self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        if bytes == 0 {
            return Ok(0);
        }
        let waits = self.waits[WRITE].load(Relaxed) > 0;
        let hold = if waits { self.autocork.holds(bytes) } else { Hold::Not(bytes) };
        let sends = hold != Hold::May;
        let done = self.wait(WRITE, || {
            let write = |shard: &mut Shard| self.write_to(&mut shard.ip.host, pieces, bytes, hold);
            match hold {
                Hold::May => self.queue().talk_then(write),
                Hold::Not(held) => self.queue().talk_in_turn(held, write),
            }
        });
        if waits && sends {
            self.autocork.ended(monotonic_ns());
        }
        done
    }

    /// Writes as much as there is room for; None if that is nothing.
    fn write_to(
        &self,
        host: &mut linerate_stack::Host,
        pieces: &[IoSlice<'_>],
        bytes: usize,
        hold: Hold,
    ) -> (Option<Result<usize>>, Then) {
        let mut written = 0;
        for piece in pieces {
            let Some(n) = host.tcp_write(self.id, piece) else {
                return (Some(Err(self.why_closed(host))), Then::Tell);
            };
            written += n;
            if n < piece.len() {
                break;
            }
        }
        // Who switches Nagle's algorithm off wants each write sent at once.
        let nagle = || host.tcp_connection(self.id).is_some_and(Connection::has_nagle);
        let then = if hold == Hold::May && written == bytes && nagle() { Then::Hold } else { Then::Tell };
        ((written > 0).then_some(Ok(written)), then)
    }

    fn write_chunk(&self, chunk: &mut Bytes) -> Result<usize> {
        if chunk.is_empty() {
            return Ok(0);
        }
        self.wait(WRITE, || {
            self.talk(|host| match host.tcp_write_chunk(self.id, chunk) {
                Some(0) => None,
                Some(taken) => Some(Ok(taken)),
                None => Some(Err(self.why_closed(host))),
            })
        })
    }

    fn why_closed(&self, host: &linerate_stack::Host) -> Error {
        let end = host.tcp_connection(self.id).and_then(Connection::end);
        end.map_or(ErrorKind::BrokenPipe.into(), ended)
    }

    /// Waits until it is worth reading from a file; gives how many bytes.
    fn wait_for_room(&self) -> Result<usize> {
        self.wait(WRITE, || {
            let shard = self.queue().shard();
            let host = &shard.ip.host;
            let connection = host.tcp_connection(self.id).filter(|connection| connection.end().is_none());
            match connection.map(Connection::room_for_chunk) {
                None => Some(Err(self.why_closed(host))),
                Some(0) => None,
                Some(room) => Some(Ok(room)),
            }
        })
    }

    /// Sends bytes of a file, and counts them.
    fn send_file(&self, file: &File, at: u64, count: u64, sent: &mut u64) -> Result<()> {
        let mut chunks = Chunks::default();
        while *sent < count {
            let room = self.wait_for_room()?;
            let most = usize::try_from(count - *sent).unwrap_or(room).min(room);
            let mut chunk = chunks.read(file, at.saturating_add(*sent), most)?;
            if chunk.is_empty() {
                return Ok(());
            }
            while !chunk.is_empty() {
                *sent += self.write_chunk(&mut chunk)? as u64;
            }
        }
        Ok(())
    }

    fn abort(&self) {
        self.talk(|host| host.tcp_abort(self.id));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.queue().talk(|shard| {
            shard.unwatch(self.id);
            shard.ip.host.tcp_release(self.id);
        });
    }
}

impl TcpStream {
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.0.local
    }

    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.0.remote
    }

    /// True if the connection began by TCP Fast Open: the peer's cookie was right, or the peer took data of our SYN.
    #[must_use]
    pub fn is_fast_open(&self) -> bool {
        self.0.queue().shard().ip.host.tcp_connection(self.0.id).is_some_and(Connection::is_fast_open)
    }

    /// Time for which a reader waits, before it gets `WouldBlock`; none is for ever, zero not at all.
    pub fn set_read_timeout(&self, time: Option<Duration>) {
        set_wait(&self.0.waits[READ], time);
    }

    /// Time for which a writer waits for room; none is for ever, zero not at all.
    pub fn set_write_timeout(&self, time: Option<Duration>) {
        set_wait(&self.0.waits[WRITE], time);
    }

    /// Makes readers and writers get `WouldBlock` instead of waiting, or wait for ever again.
    pub fn set_nonblocking(&self, on: bool) {
        let time = on.then_some(Duration::ZERO);
        set_wait(&self.0.waits[READ], time);
        set_wait(&self.0.waits[WRITE], time);
    }

    /// Sends each write at once (true), or waits with less than a segment while something is not acknowledged (Nagle), and
    /// sends writes that come within microseconds of one another together: the last of them some 400 us later at most.
    pub fn set_nodelay(&self, on: bool) {
        self.change(|connection| connection.set_nagle(!on));
    }

    /// Has the peer asked whether it is there after this time of silence, or never; without nine answers the connection ends
    /// with `TimedOut`.
    pub fn set_keep_alive(&self, idle: Option<Duration>) {
        let usual = KeepAlive::default();
        let how = idle.map(|idle| {
            let idle = saturating_ns(idle);
            KeepAlive { idle, interval: usual.interval.min(idle), ..usual }
        });
        self.change(|connection| connection.set_keep_alive(monotonic_ns(), how));
    }

    /// Sets the time for which nothing of what was written need be acknowledged before the connection ends with `TimedOut`, or
    /// `HostUnreachable` if the peer was told to be so.
    pub fn set_user_timeout(&self, time: Duration) {
        self.change(|connection| connection.set_user_timeout(saturating_ns(time)));
    }

    /// Sets the traffic class, but for the bits of ECN, and the flow label of what is sent from now on.
    pub fn set_traffic(&self, traffic: Traffic) {
        self.change(|connection| connection.set_traffic(traffic));
    }

    /// Sets the most bytes that wait to be sent or acknowledged, and that wait to be read, as far as windows can tell of the latter;
    /// gives what they are then.
    pub fn set_buffers(&self, send: u32, receive: u32) -> (u32, u32) {
        let mut given = (0, 0);
        self.change(|connection| {
            connection.set_buffers(send, receive);
            given = connection.buffers();
        });
        given
    }

    pub fn set_congestion(&self, algorithm: Algorithm) {
        self.change(|connection| connection.set_algorithm(algorithm));
    }

    /// Looks at the connection: its state, windows, times and counters. None once it is gone.
    pub fn look<T>(&self, look: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.0.queue().shard().ip.host.tcp_connection(self.0.id).map(look)
    }

    fn change(&self, change: impl FnOnce(&mut Connection)) {
        self.0.talk(|host| host.tcp_change(self.0.id, change));
    }

    /// Writes the front of a buffer, without a copy: it is left where it is until what was taken is acknowledged. All of it is
    /// taken if there is any room, unless it is longer than 16 MiB; of less than 64 KiB, as much as there is room for, and it is
    /// copied. Gives the bytes taken, which are gone from `chunk`.
    pub fn write_chunk(&self, chunk: &mut Bytes) -> Result<usize> {
        self.0.write_chunk(chunk)
    }

    /// Sends `count` bytes of a file from the place `at` on, or up to its end if that comes first, without a copy in user space
    /// but into frames. Gives the bytes sent: fewer than there are if the time for writers was over, the file could not be read
    /// or the connection has ended meanwhile. An error if that were none.
    ///
    /// The file is read while it is sent: whoever changes it changes what goes out.
    pub fn send_file(&self, file: &File, at: u64, count: u64) -> Result<u64> {
        let mut sent = 0;
        match self.0.send_file(file, at, count, &mut sent) {
            Err(error) if sent == 0 => Err(error),
            _ => Ok(sent),
        }
    }

    /// Reads without a copy: shows `read` the bytes that have arrived where they lie, in two pieces of which the second follows
    /// the first, and drops as many of them as it says. Waits for bytes as `read` of the standard library does, and gives their
    /// number; 0, and `read` is not called, at the end.
    ///
    /// Nothing is received or sent by the connection's queue until `read` has returned: it must not wait, nor use the host.
    pub fn read_with(&self, read: impl FnOnce([&[u8]; 2]) -> usize) -> Result<usize> {
        self.0.read_with(read)
    }

    /// Closes a side: the peer reads to the end of what was written, or nothing is read here any more.
    pub fn shutdown(&self, how: Shutdown) -> Result<()> {
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            self.0.deaf.store(true, Relaxed);
        }
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            self.0.talk(|host| host.tcp_close(self.0.id));
        }
        // Readers and writers that wait learn of it.
        self.0.gate.open();
        Ok(())
    }

    /// Descriptor for poll, which is readable when there may be bytes to read, room to write, or the end; and until a read or
    /// a write has returned `WouldBlock`.
    pub fn readiness(&self) -> Result<BorrowedFd<'_>> {
        self.0.gate.descriptor()
    }
}

impl Read for &TcpStream {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.0.read(into)
    }
}

impl Write for &TcpStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        self.0.write(pieces)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.0.read(into)
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        self.0.write(pieces)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Reason for which a connection has ended, as the standard library says it.
fn ended(end: End) -> Error {
    let kind = match end {
        End::Refused => ErrorKind::ConnectionRefused,
        End::Reset => ErrorKind::ConnectionReset,
        End::TimedOut => ErrorKind::TimedOut,
        End::Unreachable => ErrorKind::HostUnreachable,
        End::Aborted => ErrorKind::ConnectionAborted,
    };
    Error::new(kind, end)
}

#[cfg(test)]
mod tests;
