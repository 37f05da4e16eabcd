//! Listener of a server: connections that have not said their cookie yet. They share this one thread, so that each costs a
//! descriptor and nothing else; who gives way when there are too many, [`Admission`] says.

use crate::socket::sys::{Ready, poll};
use crate::socket::{TcpListener, TcpStream, rest};
use crate::stream::protocol::Cookie;
use linerate_port::{Admission, Limits, Ticket};
use linerate_rt::{Stop, monotonic_ns};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Greatest number of connections without a cookie.
const WAITING: usize = 128;
/// Time for a cookie.
const SPEAKS: Duration = Duration::from_secs(5);

/// A connection with its cookie.
pub(super) struct Arrival {
    pub(super) stream: TcpStream,
    pub(super) cookie: Cookie,
    /// Number of the connection, in the order in which they were taken.
    pub(super) number: u64,
}

/// A connection without a cookie, or with a part of one.
struct Silent {
    stream: TcpStream,
    ticket: Ticket,
    bytes: [u8; Cookie::LEN],
    got: usize,
    since: Instant,
    number: u64,
}

pub(super) struct Listener {
    listener: TcpListener,
    door: Admission,
    /// The oldest first.
    silent: Vec<Silent>,
    number: u64,
}

impl Listener {
    pub(super) fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, door: Admission::new(Limits::new(WAITING)), silent: Vec::new(), number: 0 })
    }

    /// Waits for the next connection that says its cookie; `None` once one of the stops is requested, or it is later than `until`
    /// says, if that says a time.
    pub(super) fn next(&mut self, stops: &[&Stop], until: impl Fn() -> Option<Instant>) -> io::Result<Option<Arrival>> {
        loop {
            let now = Instant::now();
            while self.silent.first().is_some_and(|oldest| now.duration_since(oldest.since) >= SPEAKS) {
                self.take_out(0);
            }
            let left = self.silent.first().map(|oldest| SPEAKS.saturating_sub(now.duration_since(oldest.since)));
            let left = until().map(|until| until.saturating_duration_since(now)).into_iter().chain(left).min();
            let fds = stops.iter().map(|stop| Ok(stop.as_fd())).chain([self.listener.readiness()]);
            let fds = fds.chain(self.silent.iter().map(|silent| silent.stream.readiness()));
            let on = fds.map(|fd| fd.map(|fd| (fd, Ready::Read))).collect::<io::Result<Vec<_>>>()?;
            let ready = poll(&on, left)?;
            let late = !ready.contains(&true) && until().is_some_and(|until| Instant::now() >= until);
            if late || ready[..stops.len()].contains(&true) {
                return Ok(None);
            }
            // One at a time: the others stay ready.
            if let Some(at) = ready[stops.len() + 1..].iter().position(|ready| *ready) {
                match self.silent[at].read() {
                    Ok(true) => {
                        let Silent { stream, bytes, number, .. } = self.take_out(at);
                        return Ok(Some(Arrival { stream, cookie: Cookie::received(bytes), number }));
                    }
                    Ok(false) => {}
                    Err(_) => drop(self.take_out(at)),
                }
            }
            if ready[stops.len()] {
                self.accept();
            }
        }
    }

    /// Takes out the connection at this place.
    fn take_out(&mut self, at: usize) -> Silent {
        let silent = self.silent.remove(at);
        self.door.leave(silent.ticket);
        silent
    }

    /// Closes a connection, if there is one that has to go.
    fn dismiss(&mut self, gone: Option<Ticket>) {
        let at = self.silent.iter().position(|silent| Some(silent.ticket) == gone);
        at.map(|at| self.take_out(at));
    }

    fn accept(&mut self) {
        match self.listener.take() {
            Ok(Some((stream, from))) if stream.set_nonblocking(true).is_ok() => {
                // None of them has proved anything: one gives way.
                let Ok((ticket, gone)) = self.door.admit(monotonic_ns(), from.ip().into()) else { return };
                self.dismiss(gone);
                self.number += 1;
                let (bytes, since) = ([0; Cookie::LEN], Instant::now());
                self.silent.push(Silent { stream, ticket, bytes, got: 0, since, number: self.number });
            }
            // It is gone already, or nobody has knocked.
            Ok(_) => {}
            // Out of descriptors: those who wait without a word go first.
            Err(_) if !self.silent.is_empty() => {
                let gone = self.door.make_room(monotonic_ns());
                self.dismiss(gone);
            }
            Err(_) => rest(),
        }
    }
}

impl Silent {
    /// Reads on; true if the cookie is complete.
    fn read(&mut self) -> io::Result<bool> {
        match (&self.stream).read(&mut self.bytes[self.got..]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                self.got += n;
                let complete = self.got == self.bytes.len();
                if complete {
                    self.stream.set_nonblocking(false)?;
                }
                Ok(complete)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(e) => Err(e),
        }
    }
}
