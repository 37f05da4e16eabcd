//! Sessions of datagrams. A datagram from an address that has no session begins one, in its turn (`waiting`): it gets a socket of
//! its own, connected to that address, to which what follows is delivered.

use super::session::{Arrived, Session, serve_as};
use super::waiting::{Knock, Waiting};
use super::{ServerState, options};
use crate::iperf::config::Serving;
use crate::iperf::lane::{Another, Early, Receiving, Reply};
use crate::iperf::link::told;
use crate::iperf::protocol::{Ask, Datagram, Request};
use crate::iperf::settings::{DATAGRAMS, Transport};
use crate::socket::sys::{Ready, poll};
use crate::socket::{Site, Socket, UdpSocket, plain};
use linerate_rt::{Place, Stop, monotonic_ns};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, iter};

/// Time after which a socket of our own looks whether it is to end.
const LOOKS: Duration = Duration::from_millis(20);
/// Time after which it is looked whether sessions have left.
const LEAVING: Duration = Duration::from_millis(1);

/// A socket at the server's port, with its options.
pub(super) fn socket(site: &Site, serving: &Serving) -> io::Result<UdpSocket> {
    let socket = site.receive_at()?;
    if let UdpSocket::Kernel(socket) = &socket {
        let set = options(serving).set(socket.as_fd(), Transport::Udp, socket.local_addr()?.is_ipv4());
        set.map_err(told).map_err(io::Error::other)?;
        socket.set_nonblocking(true)?;
    }
    Ok(socket)
}

/// Socket for the datagrams of an address. That of the kernel may have got datagrams of others before it was connected.
fn socket_of(site: &Site, serving: &Serving, from: SocketAddr) -> io::Result<UdpSocket> {
    if let Some(socket) = site.receive_of(from) {
        return socket;
    }
    let socket = socket(site, serving)?;
    if let UdpSocket::Kernel(socket) = &socket {
        socket.connect(from)?;
    }
    Ok(socket)
}

#[derive(Default)]
pub(super) struct Knocks {
    waiting: Waiting,
    buffer: Vec<u8>,
}

impl Knocks {
    /// Waits for a datagram, or until there is something else to do, and starts a session.
    pub(super) fn accept(
        &mut self,
        state: &Arc<ServerState>,
        listener: &UdpSocket,
        stop: &Stop,
        wait: Option<Duration>,
    ) -> Result<(), String> {
        self.buffer.resize(DATAGRAMS[1], 0);
        // While sessions leave for others, none begins: what comes is taken in meanwhile, before the socket's room is used up.
        let wait = match (self.waiting.is_empty(), state.sessions.is_leaving()) {
            (true, _) => wait,
            (false, true) => Some(wait.unwrap_or(LEAVING).min(LEAVING)),
            (false, false) => Some(Duration::ZERO),
        };
        let failed = |e| format!("recvfrom failed: {e}");
        if let Some(fd) = listener.kernel() {
            let ready = poll(&[(stop.as_fd(), Ready::Read), (fd, Ready::Read)], wait).map_err(failed)?;
            if ready[0] {
                return Ok(());
            }
            if ready[1] {
                self.drain(state, listener);
            }
        } else {
            // Those of our own have no descriptor, and are not woken for a stop.
            listener.set_read_timeout(Some(wait.unwrap_or(LOOKS).min(LOOKS))).map_err(failed)?;
            let comes = self.take(state, listener);
            listener.set_read_timeout(Some(Duration::ZERO)).map_err(failed)?;
            if comes {
                self.drain(state, listener);
            }
        }
        if !state.sessions.is_leaving()
            && let Some(knock) = self.waiting.next(monotonic_ns())
        {
            self.begin(state, listener, knock);
        }
        Ok(())
    }

    /// Takes in what has arrived at a socket, as many datagrams as may wait at most.
    fn drain(&mut self, state: &ServerState, socket: &UdpSocket) {
        for _ in 0..Waiting::MOST {
            if !self.take(state, socket) {
                return;
            }
        }
    }

    /// Takes in the next datagram of a socket; false if there is none.
    fn take(&mut self, state: &ServerState, socket: &UdpSocket) -> bool {
        let Ok((bytes, from)) = socket.recv_from(&mut self.buffer) else { return false };
        let datagram = &self.buffer[..bytes];
        let request = match state.only {
            Some(only) if plain(from).ip() != only.to_canonical() => return true,
            // The server's data have no header, and numbers of 64 bits.
            Some(_) => Ok(Request { wide_numbers: true, ..Request::default() }),
            None => Request::read_datagram(datagram).map_err(|refusal| refusal.words()),
        };
        let wide = request.is_ok_and(|request| request.wide_numbers);
        if let Some(datagram) = Datagram::read(wide, datagram) {
            self.waiting.add(Knock { from, early: Early { datagram, bytes, at: monotonic_ns() }, request });
        }
        true
    }

    fn begin(&mut self, state: &Arc<ServerState>, listener: &UdpSocket, first: Knock) {
        let from = first.from;
        let socket = match socket_of(&state.site, &state.serving, from) {
            Ok(socket) => socket,
            Err(e) => return state.reporter.error(&format!("{}: socket: {e}", plain(from))),
        };
        // From now on what comes is delivered to the new socket. What came before is at the listener; what came to one of the
        // kernel's before it was connected may be of others.
        self.drain(state, listener);
        if socket.kernel().is_some() {
            self.drain(state, &socket);
        }
        let early = iter::once(first.early).chain(self.waiting.begun(monotonic_ns(), from)).collect();
        let request = match first.request {
            Ok(request) => request,
            Err(why) => return state.reporter.error(&format!("{}: refused: {why}", plain(from))),
        };
        state.session(plain(from), move |state, place| serve(state, place, socket, request, early));
    }
}

/// Serves the datagrams of an address: a test, and others that its client begins at the same port while the server still waits
/// for it to have its report, or after it was ended in the middle.
fn serve(
    state: &Arc<ServerState>,
    place: &Place,
    socket: UdpSocket,
    mut request: Request,
    mut early: Vec<Early>,
) -> Result<(), String> {
    let system = |e: io::Error| format!("socket: {e}");
    if let UdpSocket::Kernel(socket) = &socket {
        socket.set_nonblocking(false).map_err(system)?;
    }
    let v6 = socket.local_addr().map_err(system)?.is_ipv6();
    let (serving, socket) = (&state.serving, Arc::new(Socket::Udp(socket)));
    loop {
        serve_as(&socket, v6, serving, &request)?;
        let begin = early.first().map_or_else(monotonic_ns, |early| early.at);
        let no_fin = request.no_fin || request.ask == Ask::Reverse;
        let arrived = Arrived::new(socket.clone())?;
        let session = Session::open((state, place), arrived, begin, request, no_fin);
        let wanted = !request.no_fin && request.ask != Ask::FullDuplex;
        let reply = match (wanted, session.enhanced) {
            (false, _) => Reply::None,
            (true, false) => Reply::Plain,
            (true, true) => Reply::Timed,
        };
        let another = Arc::new(Mutex::new(None));
        let work = Receiving { early, wide: request.wide_numbers, reply, ..Receiving::new(serving.idle) };
        let gone = session.go(Receiving { another: state.only.is_none().then(|| Arc::clone(&another)), ..work });
        let next = another.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Another { early: next, first }) = next else { return gone };
        if state.is_full() {
            return gone;
        }
        state.began.fetch_add(1, SeqCst);
        request = Request::read_datagram(&first).map_err(|refusal| format!("refused: {}", refusal.words()))?;
        early = next;
    }
}
