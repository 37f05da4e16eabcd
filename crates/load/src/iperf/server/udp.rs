//! Sessions of datagrams. A datagram from an address that has no session begins one: it gets a socket of its own, connected
//! to that address, to which the kernel delivers what follows.

use super::session::{Arrived, Session};
use super::{House, options, second};
use crate::iperf::config::Serving;
use crate::iperf::lane::{Early, Receiving, Reply};
use crate::iperf::link::{self, Socket, service};
use crate::iperf::protocol::{Ask, Datagram, Request};
use crate::iperf::settings::{DATAGRAMS, Transport};
use crate::socket::sys::{Ready, poll};
use crate::socket::{Place, plain};
use linerate_rt::{Stop, monotonic_ns};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Greatest number of datagrams that wait for their session to begin.
const WAITING: usize = 1024;
/// Greatest number of datagrams of others that a new socket may have got before it was connected.
const STRAYS: usize = 64;
/// Time in which late datagrams of a session that has begun begin no other one.
const LATE: Duration = Duration::from_secs(1);

/// A socket at the server's port, with its options.
pub(super) fn socket(place: &Place, serving: &Serving) -> io::Result<UdpSocket> {
    let socket = second(place)?;
    let v6 = socket.local_addr()?.is_ipv6();
    link::set(socket.as_fd(), Transport::Udp, v6, &options(serving)).map_err(io::Error::other)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Datagram at the door.
struct Knock {
    from: SocketAddr,
    early: Early,
    /// Beginning of its bytes, with the request.
    request: Result<Request, &'static str>,
}

/// Datagrams at the door.
#[derive(Default)]
pub(super) struct Knocks {
    waiting: VecDeque<Knock>,
    /// Sessions that have begun lately.
    lately: Vec<(SocketAddr, Instant)>,
    buffer: Vec<u8>,
}

impl Knocks {
    /// Waits for a datagram, or until there is something else to do, and starts its session.
    pub(super) fn accept(
        &mut self,
        house: &Arc<House>,
        door: &UdpSocket,
        stop: &Stop,
        wait: Option<Duration>,
    ) -> Result<(), String> {
        self.buffer.resize(DATAGRAMS[1], 0);
        let on = [(stop.as_fd(), Ready::Read), (door.as_fd(), Ready::Read)];
        let wait = if self.waiting.is_empty() { wait } else { Some(Duration::ZERO) };
        let ready = poll(&on, wait).map_err(|e| format!("recvfrom failed: {e}"))?;
        if ready[0] {
            return Ok(());
        }
        if ready[1] {
            self.drain(house, door, WAITING);
        }
        self.lately.retain(|(_, at)| at.elapsed() < LATE);
        if let Some(knock) = self.waiting.pop_front() {
            // What is late of a session that has begun is lost to it, and begins no other one.
            let late = self.lately.iter().any(|(from, _)| *from == knock.from) && knock.early.datagram.number != 1;
            if !late {
                self.begin(house, door, knock);
            }
        }
        Ok(())
    }

    /// Takes in what has arrived at a socket, so many datagrams at most.
    fn drain(&mut self, house: &House, socket: &UdpSocket, most: usize) {
        for _ in 0..most {
            if self.waiting.len() >= WAITING {
                return;
            }
            let Ok((bytes, from)) = socket.recv_from(&mut self.buffer) else { return };
            let datagram = &self.buffer[..bytes];
            let request = match house.only {
                Some(only) if plain(from).ip() != only.to_canonical() => continue,
                // The server's data have no header, and numbers of 64 bits.
                Some(_) => Ok(Request { wide_numbers: true, ..Request::default() }),
                None => Request::read_datagram(datagram).map_err(|refusal| refusal.words()),
            };
            let wide = request.is_ok_and(|request| request.wide_numbers);
            // Those that say an end have none to end any more; 0 is the number of none.
            if let Some(datagram) = Datagram::read(wide, datagram).filter(|datagram| datagram.number > 0) {
                self.waiting.push_back(Knock { from, early: Early { datagram, bytes, at: monotonic_ns() }, request });
            }
        }
    }

    fn begin(&mut self, house: &Arc<House>, door: &UdpSocket, first: Knock) {
        let from = first.from;
        let connected = socket(&house.place, &house.serving).and_then(|socket| {
            socket.connect(from)?;
            Ok(socket)
        });
        let socket = match connected {
            Ok(socket) => socket,
            Err(e) => return house.board.error(&format!("{}: socket: {e}", plain(from))),
        };
        // From now on the kernel delivers to the new socket. What came before is at the door; what came to the new one
        // before it was connected may be of others.
        self.drain(house, door, WAITING);
        self.drain(house, &socket, STRAYS);
        let (mut early, mut others) = (vec![first.early], VecDeque::new());
        for knock in self.waiting.drain(..) {
            if knock.from == from { early.push(knock.early) } else { others.push_back(knock) }
        }
        self.waiting = others;
        self.lately.push((from, Instant::now()));
        let request = match first.request {
            Ok(request) => request,
            Err(why) => return house.board.error(&format!("{}: refused: {why}", plain(from))),
        };
        house.session(plain(from), move |house| serve(house, socket, request, early));
    }
}

/// Serves the datagrams of an address.
fn serve(house: &Arc<House>, socket: UdpSocket, request: Request, early: Vec<Early>) -> Result<(), String> {
    let system = |e: io::Error| format!("socket: {e}");
    socket.set_nonblocking(false).map_err(system)?;
    let v6 = socket.local_addr().map_err(system)?.is_ipv6();
    let serving = &house.serving;
    if serving.tos == 0 {
        let _ = service(socket.as_fd(), v6, request.tos);
    }
    let begin = early.first().map_or_else(monotonic_ns, |early| early.at);
    let no_fin = request.no_fin || request.ask == Ask::Reverse;
    let arrived = Arrived::new(Arc::new(Socket::Udp(socket)))?;
    let session = Session::open(house, arrived, begin, request, no_fin);
    let wanted = !request.no_fin && request.ask != Ask::FullDuplex;
    let reply = match (wanted, session.enhanced) {
        (false, _) => Reply::None,
        (true, false) => Reply::Plain,
        (true, true) => Reply::Timed,
    };
    session.go(Receiving { early, wide: request.wide_numbers, reply, ..Receiving::new(serving.idle) })
}
