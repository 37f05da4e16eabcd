//! The server: takes clients in at one port, several at a time, each in a session of its own.
//!
//! Connections say by their cookie whose they are. One that says nothing waits without a thread, and gives way to newer
//! ones; a session has limits of its own in time and memory, and gives way where there is no place for one more and no data move in
//! it ([`Places`]). So a client that lies, stalls or vanishes costs its own session only.

mod datagrams;
mod listener;
mod session;
mod table;

use super::VERSION;
use super::config::{Config, TestLimits};
use super::fault::Fault;
use super::login::Guard;
use super::protocol::State;
use crate::Output;
use crate::socket::sys::system;
use crate::socket::{Site, TcpListener, TcpStream, plain};
use datagrams::Datagrams;
use linerate_port::Limits;
use linerate_rt::{Places, Stop, spawn};
use listener::{Arrival, Listener};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use table::Table;

/// Greatest number of sessions, and of streams in all of them.
const SESSIONS: usize = 64;
const STREAMS: usize = 1024;
/// Time for sessions to end when the server is told to.
const LEAVES: Duration = Duration::from_secs(5);

/// State that all sessions share.
struct ServerState {
    config: Config,
    output: Arc<Output>,
    stop: Stop,
    once: bool,
    /// True once the only session has begun.
    spent: AtomicBool,
    guard: Option<Guard>,
    limits: TestLimits,
    site: Site,
    table: Table,
    datagrams: Datagrams,
    /// Sessions that go on, and those that ever began.
    sessions: Places,
    began: AtomicUsize,
    /// Number of the test that was announced last.
    announced: AtomicUsize,
    /// Requested when the only session has ended, and its fault.
    done: Stop,
    fault: Mutex<Option<String>>,
}

/// Serves clients until the stop is requested, or only one; those that a guard refuses do not count.
///
/// # Errors
/// One line, in iperf3's words.
pub(super) fn run(
    config: &Config,
    site: &Site,
    listener: TcpListener,
    (once, guard, limits): (bool, Option<&Guard>, &TestLimits),
    stop: &Stop,
    output: &Arc<Output>,
) -> Result<(), String> {
    let system = |e| format!("error - {}", Fault::Listen(e));
    // A file that is written to has one writer.
    let most = if once || config.file.is_some() { 1 } else { SESSIONS };
    let state = Arc::new(ServerState {
        config: config.clone(),
        output: output.clone(),
        stop: stop.clone(),
        once,
        spent: AtomicBool::new(false),
        guard: guard.cloned(),
        limits: limits.clone(),
        site: site.clone(),
        table: Table::default(),
        datagrams: Datagrams::new(site, stop),
        sessions: Places::new(Limits { weight: STREAMS, ..Limits::new(most) }),
        began: AtomicUsize::new(0),
        announced: AtomicUsize::new(0),
        done: Stop::new().map_err(system)?,
        fault: Mutex::new(None),
    });
    state.announce();
    let mut listener = Listener::new(listener).map_err(system)?;
    let mut since = Instant::now();
    // Who has come is waited for as long as it takes.
    let until = |since: Instant| limits.idle.filter(|_| !state.spent.load(SeqCst)).map(|idle| since + idle);
    while let Some(arrival) = listener.next(&[stop, &state.done], || until(since)).map_err(system)? {
        state.take(arrival);
        since = Instant::now();
    }
    state.sessions.end(LEAVES);
    if stop.asked() {
        return Err(format!("interrupt - {}", Fault::ServerTerminated));
    }
    let fault = state.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
    fault.map_or(Ok(()), Err)
}

impl ServerState {
    /// Says that clients are taken in.
    fn announce(&self) {
        let (port, number) = (self.config.place.port, self.began.load(SeqCst) + 1);
        // Of sessions that went on at once, the first one's end has said it.
        if self.config.form.json || self.announced.swap(number, SeqCst) == number {
            return;
        }
        if self.config.form.verbose {
            self.output.print(&self.config.form.stamped(&format!("{VERSION}\n{}\n", system())));
        }
        let rule = "-----------------------------------------------------------";
        let text = format!("{rule}\nServer listening on {port} (test #{number})\n{rule}\n");
        self.output.print(&self.config.form.stamped(&text));
    }

    /// Takes in a connection: a stream that a session waits for, or a client.
    fn take(self: &Arc<Self>, arrival: Arrival) {
        let Some(arrival) = self.table.deliver(arrival) else { return };
        let from = peer(&arrival.stream).map(|peer| peer.ip());
        let place = from.filter(|_| !self.spent.load(SeqCst)).and_then(|from| self.sessions.admit(from).ok());
        let Some(place) = place else {
            // It does not wait: the buffer of a new connection has room.
            let _ = (&arrival.stream).write_all(&[State::AccessDenied.byte()]);
            return;
        };
        self.began.fetch_add(1, SeqCst);
        self.spent.store(self.once, SeqCst);
        let state = self.clone();
        let started = spawn("stream-session", &[], move || {
            let (fault, refused) = session::serve(&state, &place, arrival);
            state.leave(fault, refused);
        });
        if let Err(e) = started {
            self.leave(Some(format!("error - {}", Fault::Create(e))), false);
        }
    }

    /// A session has ended; as if it had not been, if its client was refused by the guard.
    fn leave(&self, fault: Option<String>, refused: bool) {
        let last = self.once && !refused;
        match fault {
            Some(line) if last => *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(line),
            Some(line) => self.output.error(&line),
            None => {}
        }
        if !last && !self.stop.asked() {
            self.announce();
        }
        self.spent.store(last, SeqCst);
        if last {
            self.done.ask(0);
        }
    }
}

/// Address of the other end, for reports.
fn peer(of: &TcpStream) -> Option<std::net::SocketAddr> {
    of.peer_addr().ok().map(plain)
}
