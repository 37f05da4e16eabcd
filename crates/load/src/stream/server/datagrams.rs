//! Listener for datagrams: those that open a stream say nothing but their address, so a session waits for those of its
//! client's address, and one session of an address at a time.
//!
//! Sessions of an address take turns in the order in which they came. One whose next stream does not come has time while
//! nobody else waits; the more wait, the less it has, and then it loses its turn. So clients that never open their streams delay
//! others of their address for a second or two, however many they are.
//!
//! Anybody can send such a datagram in the client's name. So a session that has its streams goes on to be given some more, until
//! it knows by their data which are its client's, or another one waits.

use crate::socket::sys::{Ready, poll, take_only};
use crate::socket::{Site, Socket, UdpSocket};
use crate::stream::fault::Fault;
use crate::stream::protocol::{CONNECTS, is_connect, reply};
use linerate_rt::{Stop, spawn};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for other sessions of the same address to have their streams.
const WAITS: Duration = Duration::from_secs(30);
/// Time for the next stream of a session while one other of its address waits; a part of it while more do.
const SHARED: Duration = Duration::from_millis(500);
/// Longest round trip that a session gets time for beyond that.
const ROUND_TRIP: Duration = Duration::from_millis(250);
/// Longest time between two looks at the control connection of a session that waits.
const LOOKS: Duration = Duration::from_millis(100);

/// Greatest number of streams that a session is given beyond those that it wants.
const SPARES: usize = 32;

/// A stream that is asked for: its socket, and the answer that its client waits for.
pub(super) type Knock = (Socket, [u8; 4]);

/// The listener.
pub(super) struct Datagrams {
    site: Site,
    stop: Stop,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    left: Condvar,
}

#[derive(Default)]
struct Inner {
    open: bool,
    /// Number of the last session that came.
    last: u64,
    lines: HashMap<IpAddr, Line>,
}

/// Sessions of an address: the one whose turn it is, and those that wait.
#[derive(Default)]
struct Line {
    holder: Option<Holder>,
    waiting: VecDeque<u64>,
}

/// A session whose turn it is.
struct Holder {
    number: u64,
    to: SyncSender<Knock>,
    /// Number of streams that it wants.
    wants: usize,
    round_trip: Duration,
    /// Time at which its turn began, or its last stream came.
    since: Instant,
    /// Addresses of its streams: a datagram may come twice.
    opened: Vec<SocketAddr>,
}

/// A session's place at the listener, which it leaves when this is dropped.
pub(super) struct Turn {
    shared: Arc<Shared>,
    ip: IpAddr,
    number: u64,
    /// Its streams. They end when the turn does.
    pub(super) streams: Receiver<Knock>,
}

impl Line {
    /// Time left of the turn of the holder while others wait.
    fn left(&self, now: Instant) -> Duration {
        let crowd = self.waiting.len().max(1) as f64;
        let left = |one: &Holder| {
            // The invitation goes there, and the datagram comes back.
            (SHARED.div_f64(crowd) + 2 * one.round_trip.min(ROUND_TRIP)).saturating_sub(now.duration_since(one.since))
        };
        let waits = self.holder.as_ref().filter(|one| one.opened.len() < one.wants);
        waits.map_or(Duration::ZERO, left)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a session takes a stream from there that it does not have yet.
    fn awaits(&self, from: SocketAddr) -> bool {
        let inner = self.lock();
        let holder = inner.lines.get(&from.ip().to_canonical()).and_then(|line| line.holder.as_ref());
        let room = |holder: &Holder| holder.opened.len() < holder.wants + SPARES;
        holder.is_some_and(|holder| room(holder) && !holder.opened.contains(&from))
    }

    /// Gives a stream to the session whose turn it is.
    fn deliver(&self, from: SocketAddr, stream: Knock) {
        let mut inner = self.lock();
        let holder = inner.lines.get_mut(&from.ip().to_canonical()).and_then(|line| line.holder.as_mut());
        if let Some(holder) = holder
            && holder.to.try_send(stream).is_ok()
        {
            holder.since = Instant::now();
            holder.opened.push(from);
            if holder.opened.len() == holder.wants {
                self.left.notify_all();
            }
        }
    }
}

impl Datagrams {
    /// Makes a listener, which opens when the first session wants it.
    pub(super) fn new(site: &Site, stop: &Stop) -> Self {
        Self { site: site.clone(), stop: stop.clone(), shared: Arc::default() }
    }

    /// Waits for the turn of an address, as long as `goes_on` says so, and has its streams delivered. `round_trip` is that to
    /// the client.
    pub(super) fn turn(
        &self,
        ip: IpAddr,
        streams: usize,
        round_trip: Duration,
        goes_on: impl Fn() -> Result<(), Fault>,
    ) -> Result<Turn, Fault> {
        let (to, from) = sync_channel(streams + SPARES);
        let mut inner = self.shared.lock();
        if !inner.open {
            self.open().map_err(Fault::StreamListen)?;
            inner.open = true;
        }
        inner.last += 1;
        let number = inner.last;
        inner.lines.entry(ip).or_default().waiting.push_back(number);
        let turn = Turn { shared: self.shared.clone(), ip, number, streams: from };
        let until = Instant::now() + WAITS;
        loop {
            let (now, line) = (Instant::now(), inner.lines.entry(ip).or_default());
            let left = line.left(now);
            if left.is_zero() && line.waiting.front() == Some(&number) {
                line.waiting.pop_front();
                // Who had the turn before has lost it: its streams end.
                line.holder = Some(Holder { number, to, wants: streams, round_trip, since: now, opened: Vec::new() });
                return Ok(turn);
            }
            let wait = left.clamp(Duration::from_millis(1), LOOKS);
            drop(self.shared.left.wait_timeout(inner, wait).unwrap_or_else(PoisonError::into_inner));
            goes_on()?;
            if Instant::now() > until {
                return Err(Fault::StreamAccept(io::ErrorKind::TimedOut.into()));
            }
            inner = self.shared.lock();
        }
    }

    fn open(&self) -> io::Result<()> {
        let socket = self.site.receive_at()?;
        if let UdpSocket::Kernel(socket) = &socket {
            socket.set_nonblocking(true)?;
            // Whatever else is sent here does not fill it.
            take_only(socket.as_fd(), CONNECTS)?;
        }
        let (site, stop, shared) = (self.site.clone(), self.stop.clone(), self.shared.clone());
        spawn("stream-door", &[], move || attend(&socket, &site, &stop, &shared)).map(drop)
    }
}

/// Takes datagrams in until the stop is requested.
fn attend(socket: &UdpSocket, site: &Site, stop: &Stop, shared: &Shared) {
    let mut datagram = [0; 8];
    loop {
        // A socket of our own looks up by itself.
        if let Some(fd) = socket.kernel()
            && poll(&[(stop.as_fd(), Ready::Read), (fd, Ready::Read)], None).is_err()
        {
            return;
        }
        if stop.asked() {
            return;
        }
        let mut knocks = VecDeque::new();
        if let Ok((n, from)) = socket.recv_from(&mut datagram) {
            knocks.extend(knock(&datagram[..n], from));
        }
        while let Some((from, answer)) = knocks.pop_front() {
            if !shared.awaits(from) {
                continue;
            }
            if let Ok((stream, others)) = stream_to(site, from) {
                shared.deliver(from, (Socket::Udp(stream), answer));
                knocks.extend(others);
            }
        }
    }
}

/// A datagram that opens a stream: its sender, and the answer.
type Opening = (SocketAddr, [u8; 4]);

fn knock(datagram: &[u8], from: SocketAddr) -> Option<Opening> {
    is_connect(datagram).then(|| (from, reply(datagram)))
}

/// Socket of a stream, and what others have sent to it before it was connected.
fn stream_to(site: &Site, from: SocketAddr) -> io::Result<(UdpSocket, Vec<Opening>)> {
    if let Some(socket) = site.receive_of(from) {
        return Ok((socket?, Vec::new()));
    }
    let socket = site.receive_at()?;
    let mut others = Vec::new();
    if let UdpSocket::Kernel(socket) = &socket {
        socket.connect(from)?;
        socket.set_nonblocking(true)?;
        let mut datagram = [0; 8];
        while let Ok((n, other)) = socket.recv_from(&mut datagram) {
            if other != from {
                others.extend(knock(&datagram[..n], other));
            }
        }
        socket.set_nonblocking(false)?;
    }
    Ok((socket, others))
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        if let Some(line) = inner.lines.get_mut(&self.ip) {
            line.waiting.retain(|number| *number != self.number);
            line.holder.take_if(|holder| holder.number == self.number);
            if line.holder.is_none() && line.waiting.is_empty() {
                inner.lines.remove(&self.ip);
            }
        }
        self.shared.left.notify_all();
    }
}
