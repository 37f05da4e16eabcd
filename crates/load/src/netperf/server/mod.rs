//! The server: takes clients in at one port, several at a time, each in a session of its own.
//!
//! A session has limits of its own in time, and all of them together one of memory; when there is no place for one more, one that
//! moves no data gives way ([`Places`]). So a client that lies, stalls or vanishes costs its own session only.

mod accepted;
mod session;
mod test;

use super::control::Control;
use super::fault::Fault;
use crate::socket::{Own, Place, Site, TcpListener, TcpStream};
use linerate_port::Limits;
use linerate_rt::{Places, Stop, spawn};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Greatest number of sessions.
const SESSIONS: usize = 64;
/// Greatest number of bytes that all sessions send from and receive to.
const MEMORY: usize = 512 << 20;
/// Time for sessions to end when the server is told to.
const LEAVES: Duration = Duration::from_secs(5);

pub struct Server {
    site: Site,
    listener: TcpListener,
    serially: bool,
    threads: bool,
}

/// State that all sessions share.
struct ServerState {
    site: Site,
    /// True if the processor time of a test is that of its threads.
    threads: bool,
    stop: Stop,
    memory: AtomicUsize,
    sessions: Places,
    log: Box<dyn Fn(&str) + Send + Sync>,
}

impl Server {
    /// Listens at a place, of the kernel or of a host of our own; port 0 is any.
    pub fn listen(place: &Place, own: Option<&Own>) -> Result<Self, Fault> {
        Self::at(Site::open(place, own).map_err(Fault::Port)?)
    }

    pub(super) fn at(site: Site) -> Result<Self, Fault> {
        let listener = site.listen().and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let listener = listener.map_err(|e| Fault::Listen(site.place().port, e))?;
        Ok(Self { site, listener, serially: false, threads: false })
    }

    /// Serves one client after the other.
    #[must_use]
    pub fn serially(mut self) -> Self {
        self.serially = true;
        self
    }

    /// Has the processor time of a test be that of its threads, of which nobody else in this process takes any.
    pub(super) fn of_threads(mut self) -> Self {
        self.threads = true;
        self
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves clients until the stop is requested. `log` gets a line about each session that fails.
    ///
    /// # Errors
    /// Errors of the system, if it cannot wait for clients any more.
    pub fn run(&self, stop: &Stop, log: impl Fn(&str) + Send + Sync + 'static) -> Result<(), Fault> {
        let (memory, sessions) = (AtomicUsize::new(0), Places::new(Limits::new(SESSIONS)));
        let state = ServerState {
            site: self.site.clone(),
            threads: self.threads,
            stop: stop.clone(),
            memory,
            sessions,
            log: Box::new(log),
        };
        let state = Arc::new(state);
        while !stop.asked() {
            if let Some((stream, from)) = self.listener.next(stop, None).map_err(Fault::System)? {
                state.take(stream, from.ip(), self.serially);
            }
        }
        state.sessions.end(LEAVES);
        Ok(())
    }
}

impl ServerState {
    /// Takes a client in. One that has no place hears the end of its connection at once.
    fn take(self: &Arc<Self>, stream: TcpStream, from: IpAddr, serially: bool) {
        let place = match self.sessions.admit(from) {
            Ok(place) => place,
            Err(why) => return (self.log)(&format!("{from}: refused: {why}")),
        };
        let state = self.clone();
        let serve = move || {
            // Who is served alone is ended by nobody else.
            let stop = if serially { &state.stop } else { place.stop() };
            let control = Control::new(stream, stop).map(Arc::new);
            let served = control.and_then(|control| session::serve(&state, place.moves(), &control));
            match served {
                Err(Fault::Stopped) if place.gives_way() => {
                    (state.log)(&format!("{from}: it moves no data, and another client needs its place"));
                }
                // A client that has what it wants goes.
                Ok(()) | Err(Fault::Closed | Fault::Stopped) => {}
                Err(fault) => (state.log)(&format!("{from}: {fault}")),
            }
        };
        if serially {
            serve();
        } else if let Err(e) = spawn("netperf-session", &[], serve) {
            (self.log)(&format!("{from}: {e}"));
        }
    }

    fn reserve(&self, bytes: usize) -> Result<Reserved<'_>, Fault> {
        let taken = self.memory.fetch_add(bytes, SeqCst);
        let reserved = Reserved { state: self, bytes };
        if taken + bytes <= MEMORY {
            Ok(reserved)
        } else {
            Err(Fault::System(std::io::Error::from_raw_os_error(libc::ENOMEM)))
        }
    }
}

/// Memory, given back when dropped.
struct Reserved<'a> {
    state: &'a ServerState,
    bytes: usize,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.state.memory.fetch_sub(self.bytes, SeqCst);
    }
}
