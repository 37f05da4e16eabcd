//! Sockets for many threads: one thread runs the host, the others share it under a lock.

use super::node::{NetError, Node, Options};
use crate::event::run;
use crate::machine::Sleeper;
use crate::machine::{Machine, Progress};
use crate::signal::Stop;
use crate::wait::{WaitMode, Waiter};
use crate::{monotonic_ns, spawn};
use linerate_port::{Interest, Sleep};
use linerate_ring::Bell;
use linerate_stack::{BindError, Cidr, SendError, UdpId};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a full transmit ring is waited for between two looks.
const ROOM: Duration = Duration::from_micros(50);

struct Shared {
    node: Mutex<Node>,
    arrived: Condvar,
    stop: Stop,
    /// Rung when the host has something to do earlier than its sleeping thread knows.
    bell: Bell,
}

/// The bell, as the thread waits on it.
struct Wake<'a>(&'a Bell);

impl Sleeper for Wake<'_> {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(Sleep::on(self.0.as_fd(), Interest::Readable))
    }

    fn wake_up(&mut self) {
        self.0.clear();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Node> {
        self.node.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A host that runs in a thread of its own until the last handle and socket of it is dropped.
#[derive(Clone)]
pub struct Net {
    running: Arc<Running>,
}

struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.ask(0);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Net {
    /// Opens a port and runs a host with one address on it.
    pub fn open(port: &str, address: Cidr, options: &Options) -> std::result::Result<Self, NetError> {
        Self::run(Node::open(port, &[address], options)?)
    }

    /// Two at once, which may be the ends of one cable.
    pub fn open_pair(
        ports: [&str; 2],
        addresses: [Cidr; 2],
        options: &Options,
    ) -> std::result::Result<[Self; 2], NetError> {
        let addresses = addresses.map(|a| [a]);
        let mut nodes = Node::open_all(&ports, &[&addresses[0], &addresses[1]], options)?.into_iter();
        match (nodes.next(), nodes.next()) {
            (Some(a), Some(b)) => Ok([Self::run(a)?, Self::run(b)?]),
            _ => Err(NetError::OneWay(ports.join(" "))),
        }
    }

    /// Runs a node that was set up.
    pub fn run(node: Node) -> std::result::Result<Self, NetError> {
        let (stop, bell) = (Stop::new()?, Bell::new()?);
        let shared = Arc::new(Shared { node: Mutex::new(node), arrived: Condvar::new(), stop, bell });
        let theirs = shared.clone();
        let thread = spawn("net", &[], move || {
            let stop = theirs.stop.clone();
            run(&mut Runner { shared: theirs, stopping: false }, &mut Waiter::new(WaitMode::Sleep), &stop);
        })?;
        Ok(Self { running: Arc::new(Running { shared, thread: Some(thread) }) })
    }

    /// Opens a UDP socket; port 0 gives a free one.
    pub fn udp_bind(&self, local: SocketAddr) -> Result<UdpSocket> {
        let id = self.running.shared.lock().ip.host.udp_bind(local).map_err(|error| {
            let kind = match error {
                BindError::InUse(_) => ErrorKind::AddrInUse,
                BindError::NotOurs(_) => ErrorKind::AddrNotAvailable,
                BindError::Full => ErrorKind::OutOfMemory,
            };
            Error::new(kind, error)
        })?;
        Ok(UdpSocket { net: self.clone(), id, timeout: Mutex::new(None) })
    }

    /// Looks at the host, or changes it: routes, addresses, counters.
    pub fn with<T>(&self, look: impl FnOnce(&mut Node) -> T) -> T {
        look(&mut self.running.shared.lock())
    }
}

/// What the thread runs.
struct Runner {
    shared: Arc<Shared>,
    stopping: bool,
}

impl Machine for Runner {
    fn handle(&mut self, now: u64) -> Progress {
        if self.stopping {
            return Progress::Done;
        }
        if self.shared.lock().handle(now) {
            self.shared.arrived.notify_all();
            return Progress::Worked;
        }
        Progress::Idle
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.shared.lock().poll_timeout()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.shared.lock().waits_for(visit);
        visit(&mut Wake(&self.shared.bell));
    }

    fn stop(&mut self, _: u64) {
        self.stopping = true;
    }
}

/// A UDP socket of a [`Net`], used as `std::net::UdpSocket` is.
pub struct UdpSocket {
    net: Net,
    id: UdpId,
    timeout: Mutex<Option<Duration>>,
}

impl UdpSocket {
    fn lock(&self) -> MutexGuard<'_, Node> {
        self.net.running.shared.lock()
    }

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
        let mut node = self.lock();
        let now = monotonic_ns();
        let before = node.poll_timeout();
        let (host, mut tx) = node.parts();
        let mut sent = 0;
        for datagram in datagrams {
            match host.udp_send(now, self.id, to, datagram, &mut tx) {
                Ok(()) => sent += 1,
                Err(error) if sent == 0 && error != SendError::NoRoom => return Err(as_io(error)),
                Err(_) => break,
            }
        }
        node.flush(now);
        if node.poll_timeout().is_some_and(|at| before.is_none_or(|before| at < before)) {
            self.net.running.shared.bell.ring();
        }
        Ok(sent)
    }

    /// Receives a datagram: its length, cut to the buffer's, and who sent it. Waits for it, no longer than the time-out.
    /// A connected socket is told here, too, that nobody listens or answers there.
    pub fn recv_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        let timeout = *self.timeout.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut node = self.lock();
        loop {
            if let Some((n, _, from)) = node.ip.host.udp_recv(self.id, buffer) {
                return Ok((n, from));
            }
            if let Some(error) = node.ip.host.udp_error(self.id) {
                return Err(as_io(error));
            }
            let arrived = &self.net.running.shared.arrived;
            node = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => arrived.wait(node).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(Duration::ZERO) => return Err(ErrorKind::WouldBlock.into()),
                Some(left) => arrived.wait_timeout(node, left).unwrap_or_else(std::sync::PoisonError::into_inner).0,
            };
        }
    }

    /// Receives a datagram.
    pub fn recv(&self, buffer: &mut [u8]) -> Result<usize> {
        self.recv_from(buffer).map(|(n, _)| n)
    }

    /// Takes all datagrams that wait, without waiting for any: `take` is given each with its sender. Gives how many.
    pub fn recv_batch(&self, buffer: &mut [u8], mut take: impl FnMut(&[u8], SocketAddr)) -> usize {
        let mut node = self.lock();
        let mut n = 0;
        while let Some((len, _, from)) = node.ip.host.udp_recv(self.id, buffer) {
            take(&buffer[..len], from);
            n += 1;
        }
        n
    }

    /// Sends to this address from now on, and receives from it alone.
    pub fn connect(&self, to: SocketAddr) -> Result<()> {
        if self.lock().ip.host.udp_connect(self.id, Some(to)) { Ok(()) } else { Err(as_io(SendError::Closed)) }
    }

    /// The socket's own address.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        self.lock().ip.host.udp_ends(self.id).map(|(local, _)| local).ok_or_else(|| as_io(SendError::Closed))
    }

    /// Where the socket is connected.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        let ends = self.lock().ip.host.udp_ends(self.id);
        ends.and_then(|(_, remote)| remote).ok_or_else(|| as_io(SendError::NotConnected))
    }

    /// How long a receiver waits; none is for ever, zero not at all.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        *self.timeout.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = timeout;
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.lock().ip.host.udp_close(self.id);
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
