//! The answering side: a socket, and a thread that sleeps while nobody asks.

use super::client::{is_nobody, true_name};
use super::name;
use super::session::{Session, Turn};
use crate::event::run;
use crate::machine::{Machine, Progress, Sleeper};
use crate::signal::Stop;
use crate::spawn;
use crate::sys::socket::{connect_at_once, is_of_this_user, listen_alone, peer_process};
use crate::wait::{WaitMode, Waiter};
use linerate_port::{Admission, DirLock, Interest, Limits, Origin, Sleep, Ticket, runtime_dir};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most clients at a time.
const MOST: usize = 16;
/// Time for which a client that takes its answer is not dropped for another one, however little it takes.
pub(super) const QUIET: Duration = Duration::from_millis(100);
/// Most processes of one name.
const MOST_NAMESAKES: usize = 64;
/// Most clients let in before those that are there have their turn.
const AT_ONCE: usize = 64;
/// Time for which a place is tried for whose holder may be about to go, or whose directory is locked.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time without accepting when the system has no descriptors for it, ns.
const PAUSE: u64 = 50_000_000;

/// A control socket that is served; dropped, it is closed and its file removed.
pub struct Server {
    name: String,
    path: PathBuf,
    stop: Stop,
}

impl Server {
    /// Listens as a process of this kind (letters) and name (any text). A socket that a killed process left behind is
    /// replaced. Another process of the same name keeps it, and this one is `NAME#2` ([`Server::name`]).
    ///
    /// `handler` gets the words of each request, one request after the other, in a thread of its own.
    ///
    /// # Errors
    /// Errors of the system: there is no directory for sockets, or no room in it.
    pub fn listen(
        kind: &str,
        name: &str,
        handler: impl FnMut(&[&str]) -> Result<String, String> + Send + 'static,
    ) -> io::Result<Self> {
        let (mut desk, path) = Desk::open(kind, name, handler)?;
        let stop = Stop::new()?;
        let server = Self { name: desk.name.clone(), path, stop: stop.clone() };
        spawn("control", &[], move || run(&mut desk, &mut Waiter::new(WaitMode::Sleep), &stop))?;
        Ok(server)
    }

    /// Name under which the process is asked.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The file may be removed already; that is no error.
        let _ = std::fs::remove_file(&self.path);
        self.stop.ask(0);
    }
}

/// Takes the first free place of a name.
fn place(dir: &Path, kind: &str, name: &str) -> io::Result<(String, PathBuf, UnixListener)> {
    let deadline = Instant::now() + PATIENCE;
    for n in 1..=MOST_NAMESAKES {
        let name = if n == 1 { name.to_owned() } else { format!("{name}#{n}") };
        let path = name::path(dir, kind, &name);
        loop {
            match take(dir, &path) {
                Ok(Some(listener)) => return Ok((name, path, listener)),
                // A holder that says nothing may be a process that is being killed.
                Ok(None) if true_name(&path).is_some() || Instant::now() >= deadline => break,
                Err(e) if e.kind() != ErrorKind::WouldBlock || Instant::now() >= deadline => return Err(e),
                Ok(None) | Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
    Err(io::Error::new(ErrorKind::AddrInUse, format!("there are {MOST_NAMESAKES} of that name")))
}

/// Listens at a path, unless somebody does: then None. `WouldBlock` if another process has the directory's lock.
fn take(dir: &Path, path: &Path) -> io::Result<Option<UnixListener>> {
    // Nobody else replaces the socket meanwhile.
    let _lock = DirLock::take(dir)?;
    match connect_at_once(path) {
        Err(e) if is_nobody(&e) => {
            if e.kind() == ErrorKind::ConnectionRefused {
                std::fs::remove_file(path)?;
            }
            listen_alone(path).map(Some)
        }
        Err(e) if e.kind() != ErrorKind::WouldBlock => Err(e),
        _ => Ok(None),
    }
}

/// Machine of the server's thread.
pub(super) struct Desk<H> {
    name: String,
    listener: UnixListener,
    handler: H,
    door: Admission,
    sessions: Vec<(Ticket, Session)>,
    /// Nobody is let in before: the system has no descriptors.
    paused: Option<u64>,
    stopping: bool,
}

impl<H: FnMut(&[&str]) -> Result<String, String>> Desk<H> {
    /// Listens; with the path of the socket.
    pub(super) fn open(kind: &str, name: &str, handler: H) -> io::Result<(Self, PathBuf)> {
        let (name, path, listener) = place(&runtime_dir()?, kind, name)?;
        let door = Admission::new(Limits::new(MOST).quiet(QUIET));
        Ok((Self { name, listener, handler, door, sessions: Vec::new(), paused: None, stopping: false }, path))
    }

    /// Takes a session as far as it goes; None when it is over.
    fn serve(&mut self, now: u64, mut session: Session) -> Option<Session> {
        loop {
            match session.turn() {
                Turn::Waits => return Some(session),
                Turn::Over => return None,
                Turn::Asked(line) => {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    // No words ask for the name, which the file's name may not hold.
                    let answer = if words.is_empty() { Ok(self.name.clone()) } else { (self.handler)(&words) };
                    session.answer(now.max(crate::monotonic_ns()), answer);
                }
            }
        }
    }

    /// Drops a session.
    fn leave(&mut self, of: Ticket) {
        self.door.leave(of);
        self.sessions.retain(|(ticket, _)| *ticket != of);
    }

    /// Lets clients in. Most have sent their request already, and are served at once: those that only connect drop each
    /// other, and nobody else.
    fn let_in(&mut self, now: u64) -> bool {
        if self.paused.is_some_and(|paused| now < paused) {
            return false;
        }
        self.paused = None;
        for n in 0..AT_ONCE {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return n > 0,
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
                Err(_) => {
                    self.paused = Some(now + PAUSE);
                    return n > 0;
                }
            };
            if !is_of_this_user(stream.as_fd()) || stream.set_nonblocking(true).is_err() {
                continue;
            }
            let origin = Origin::Process(peer_process(stream.as_fd()));
            if let Some(session) = self.serve(now, Session::new(stream, now)) {
                let Ok((ticket, gone)) = self.door.admit(now, origin) else { continue };
                gone.into_iter().for_each(|gone| self.leave(gone));
                self.sessions.push((ticket, session));
            }
        }
        true
    }
}

impl<H: FnMut(&[&str]) -> Result<String, String>> Machine for Desk<H> {
    fn handle(&mut self, now: u64) -> Progress {
        if self.stopping {
            return Progress::Done;
        }
        for (ticket, session) in std::mem::take(&mut self.sessions) {
            let before = session.sent();
            match Some(session).filter(|session| now < session.until).and_then(|session| self.serve(now, session)) {
                None => self.door.leave(ticket),
                Some(session) => {
                    // What the socket takes at first needs nobody who reads it.
                    if before > 0 && session.sent() > before {
                        self.door.proved(ticket, now);
                    }
                    self.sessions.push((ticket, session));
                }
            }
        }
        if self.let_in(now) { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.sessions.iter().map(|(_, session)| session.until).chain(self.paused).min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if self.paused.is_none() {
            visit(&mut Sleep::on(self.listener.as_fd(), Interest::Readable));
        }
        self.sessions.iter().for_each(|(_, session)| visit(&mut session.sleep()));
    }

    fn stop(&mut self, _: u64) {
        self.stopping = true;
    }
}
