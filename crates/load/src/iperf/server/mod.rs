//! The server: takes clients in at one port, several at a time, each connection in a session of its own.
//!
//! A session has limits of its own in time and memory, and gives way where there is no place for one more and no data move in it
//! ([`Places`]). So a client that lies, stalls or vanishes costs its own session only. A client that awaits connections back (`-d`, `-r`) is such a server too, for one address, whose data have no
//! header.

mod back;
mod reverse;
mod session;
mod tcp;
mod udp;
mod waiting;

pub(super) use back::Back;

use super::config::Serving;
use super::lane::Outcome;
use super::link::{Sizes, told};
use super::report::{EndSettings, Reporter, ServerSettings};
use super::settings::Transport;
use crate::socket::{Options, Site, TcpListener, UdpSocket, given};
use linerate_port::Limits;
use linerate_rt::{Place, Places, Stop, monotonic_ns, pause, raise_descriptors, spawn};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Greatest number of sessions; fewer if blocks are large, so that these hold [`MEMORY`] bytes at most.
const SESSIONS: usize = 256;
const MEMORY: usize = 1 << 30;
/// Descriptors for each session: who has none for a new one would send honest clients away, and keep those that say nothing.
const DESCRIPTORS: usize = 8;
/// Time for sessions to end when the server is told to.
const LEAVES: Duration = Duration::from_secs(3);
/// Longest wait for a connection while lines may be due.
const LOOKS: Duration = Duration::from_millis(50);

pub(super) enum Listener {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Listener {
    /// Opens the listener, with the options that its connections inherit.
    pub(super) fn open(site: &Site, serving: &Serving) -> Result<Self, String> {
        let failed = |e| format!("listener bind failed: {e}");
        match serving.transport {
            Transport::Tcp => {
                let listener = site.listen().map_err(failed)?;
                if let Some(fd) = listener.kernel() {
                    let v4 = listener.local_addr().is_ok_and(|at| at.is_ipv4());
                    options(serving).set(fd, serving.transport, v4).map_err(told)?;
                }
                listener.set_nonblocking(true).map_err(failed)?;
                Ok(Self::Tcp(listener))
            }
            Transport::Udp => udp::socket(site, serving).map(Self::Udp).map_err(failed),
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Udp(socket) => socket.local_addr().ok(),
        }
    }

    pub(super) fn settings(&self, site: &Site, serving: &Serving, reporter: &Reporter) -> String {
        let place = site.place();
        let fd = match self {
            Self::Tcp(listener) => listener.kernel(),
            Self::Udp(socket) => socket.kernel(),
        };
        let v4 = self.address().is_none_or(|at| at.is_ipv4());
        let own = || Sizes::own(serving.transport, &options(serving), site.segment(v4).unwrap_or(0), false);
        let sizes = fd.map_or_else(own, |fd| Sizes::of(fd, false));
        let text = ServerSettings {
            port: self.address().map_or(place.port, |at| at.port()),
            bind: place.bind.as_deref(),
            transport: serving.transport,
            block: serving.block,
            tos: serving.tos,
            end: EndSettings {
                window: (serving.window, sizes.buffer),
                segment: (serving.mss, sizes.segment),
                congestion: serving.congestion.as_deref(),
            },
        };
        text.text(&reporter.form)
    }
}

fn options(serving: &Serving) -> Options {
    Options {
        receive: given(serving.window),
        segment: given(serving.mss),
        no_delay: serving.no_delay,
        service: given(serving.tos),
        congestion: serving.congestion.clone(),
        ..Options::default()
    }
}

/// State that all sessions share.
pub(super) struct ServerState {
    pub(super) site: Site,
    pub(super) serving: Serving,
    pub(super) reporter: Arc<Reporter>,
    /// The only address of clients, which say nothing of the test.
    pub(super) only: Option<IpAddr>,
    /// Sessions that go on, and those that ever began.
    sessions: Places,
    began: AtomicU32,
    /// Outcomes of all flows, if a program asked for them.
    kept: Option<Mutex<Vec<Outcome>>>,
}

impl ServerState {
    pub(super) fn new(site: &Site, serving: &Serving, reporter: &Arc<Reporter>, only: Option<IpAddr>) -> Arc<Self> {
        let descriptors = raise_descriptors().map_or(1024, |all| usize::try_from(all).unwrap_or(usize::MAX));
        let most = SESSIONS.min(MEMORY / serving.block.max(1)).min(descriptors / DESCRIPTORS).max(1);
        let limits = Limits::new(most);
        Arc::new(Self {
            site: site.clone(),
            serving: serving.clone(),
            reporter: reporter.clone(),
            only,
            sessions: Places::new(if only.is_some() { Limits { share: most, ..limits } } else { limits }),
            began: AtomicU32::new(0),
            kept: only.map(|_| Mutex::default()),
        })
    }

    /// Serves clients until a stop is requested, the time is over, or as many have come as were wanted.
    pub(super) fn serve(self: &Arc<Self>, listener: &Listener, stop: &Stop) -> Result<(), String> {
        let until = self.serving.time.map(|time| Instant::now() + time);
        let mut udp = udp::Knocks::default();
        while !stop.asked() && !self.is_full() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            let next = self.reporter.tick(monotonic_ns());
            let due = next.map(|at| Duration::from_nanos(at.saturating_sub(monotonic_ns())));
            // A flow that begins now has lines sooner than is known.
            let looks = self.reporter.form.interval.map(|interval| interval.min(LOOKS));
            let looks = looks.filter(|_| self.sessions.count() > 0);
            let wait = [left, due, looks].into_iter().flatten().min();
            match listener {
                Listener::Tcp(listener) => tcp::accept(self, listener, stop, wait)?,
                Listener::Udp(socket) => udp.accept(self, socket, stop, wait)?,
            }
        }
        self.empty(stop, until);
        Ok(())
    }

    /// True if as many clients have come as were wanted.
    fn is_full(&self) -> bool {
        self.serving.clients > 0 && self.began.load(SeqCst) >= self.serving.clients
    }

    /// Starts a session. What its body returns is a fault.
    fn session(
        self: &Arc<Self>,
        who: SocketAddr,
        body: impl FnOnce(&Arc<Self>, &Place) -> Result<(), String> + Send + 'static,
    ) {
        let place = match self.sessions.admit(who.ip()) {
            Ok(place) => place,
            Err(why) => return self.reporter.error(&format!("{who}: refused: {why}")),
        };
        self.began.fetch_add(1, SeqCst);
        let state = self.clone();
        let started = spawn("iperf-session", &[], move || match body(&state, &place) {
            _ if place.gives_way() => {
                state.reporter.error(&format!("{who}: it moves no data, and another client needs its place"));
            }
            Err(fault) => state.reporter.error(&format!("{who}: {fault}")),
            Ok(()) => {}
        });
        if let Err(e) = started {
            self.reporter.error(&format!("{who}: no thread is left: {e}"));
        }
    }

    /// Waits for the sessions: those of the last clients to their end, and otherwise until they have said their last.
    fn empty(&self, stop: &Stop, until: Option<Instant>) {
        let over = || until.is_some_and(|until| Instant::now() >= until);
        while self.sessions.count() > 0 && !stop.asked() && !over() && self.is_full() {
            self.reporter.tick(monotonic_ns());
            pause(&[stop], Some(monotonic_ns() + 10_000_000));
        }
        self.sessions.end(LEAVES);
    }

    /// Keeps what came of flows; the first fault of theirs.
    fn keep(&self, outcomes: Vec<Outcome>) -> Result<(), String> {
        let fault = outcomes.iter().find_map(|outcome| outcome.fault.clone());
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend(outcomes);
        }
        fault.map_or(Ok(()), Err)
    }
}
