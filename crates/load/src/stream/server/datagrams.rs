//! Door for datagrams: those that open a stream say nothing but their address, so a session waits for those of its
//! client's address, and one session of an address at a time.

use crate::socket::sys::{Ready, poll};
use crate::socket::{Site, UdpSocket};
use crate::stream::fault::Fault;
use crate::stream::protocol::{is_connect, reply};
use crate::stream::socket::Socket;
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
/// Time between two looks at the stop.
const LOOKS: Duration = Duration::from_millis(100);

/// A stream that is asked for: its socket, and the answer that its client waits for.
pub(super) type Knock = (Socket, [u8; 4]);

/// The door.
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
    waiting: HashMap<IpAddr, SyncSender<Knock>>,
}

/// A session's place at the door, which it leaves when this is dropped.
pub(super) struct Turn {
    shared: Arc<Shared>,
    ip: IpAddr,
    pub(super) streams: Receiver<Knock>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Datagrams {
    /// Makes a door, which opens when the first session wants it.
    pub(super) fn new(site: &Site, stop: &Stop) -> Self {
        Self { site: site.clone(), stop: stop.clone(), shared: Arc::default() }
    }

    /// Waits for the turn of an address, until a stop is requested, and has its streams delivered.
    pub(super) fn turn(&self, ip: IpAddr, streams: usize, stop: &Stop) -> Result<Turn, Fault> {
        let (to, from) = sync_channel(streams);
        let until = Instant::now() + WAITS;
        let mut inner = self.shared.lock();
        if !inner.open {
            self.open().map_err(Fault::StreamListen)?;
            inner.open = true;
        }
        while inner.waiting.contains_key(&ip) {
            if stop.asked() {
                return Err(Fault::Stopped);
            }
            if Instant::now() > until {
                return Err(Fault::StreamAccept(io::ErrorKind::TimedOut.into()));
            }
            inner = self.shared.left.wait_timeout(inner, LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
        inner.waiting.insert(ip, to);
        Ok(Turn { shared: self.shared.clone(), ip, streams: from })
    }

    fn open(&self) -> io::Result<()> {
        let socket = self.site.receive_at()?;
        if let UdpSocket::Kernel(socket) = &socket {
            socket.set_nonblocking(true)?;
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
            let ip = from.ip().to_canonical();
            let Some(to) = shared.lock().waiting.get(&ip).cloned() else { continue };
            if let Ok((stream, others)) = stream_to(site, from) {
                let _ = to.try_send((Socket::Udp(stream), answer));
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
        self.shared.lock().waiting.remove(&self.ip);
        self.shared.left.notify_all();
    }
}
