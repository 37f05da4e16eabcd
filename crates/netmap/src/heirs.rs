//! The side of fork that opened a file: a child holds what its parent had open, and hands its syncs and polls over (`parents.rs`) by a
//! socket of its own to a thread here, which carries them out as any other thread of the process does. Head, tail and frames are
//! in memory that both map. When the process ends while children are left, one of its kind stays in its place until they have gone.

use crate::file::{self, File};
use crate::parents::{Answer, Call, bytes, what, words};
use crate::sys::process::{self, PerProcess, lock, quietly};
use crate::sys::{real, user};
use crate::table::{self, Held};
use crate::{control, port};
use linerate_ring::sys::message::{receive, send};
use linerate_ring::{Bell, Foreign};
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Longest time that an end of the process waits for its successor.
const PATIENCE: Duration = Duration::from_secs(5);
/// This process's ends of the sockets, one more each; 0 is none. A child closes them: an end that it kept would hide its parent's.
static ENDS: [AtomicI32; 256] = [const { AtomicI32::new(0) }; 256];
/// Children that hold something.
static HEIRS: AtomicUsize = AtomicUsize::new(0);
static SERVICE: PerProcess<Service> = PerProcess::new();

/// The thread, as others see it.
struct Service {
    jobs: Sender<Job>,
    bell: Bell,
}

enum Job {
    Adopt(Heir),
    /// Leave a successor, and tell.
    Succeed(Sender<()>),
}

/// A child, or a child of a child.
struct Heir {
    way: UnixStream,
    held: Vec<Held>,
    asleep: Vec<Waiting>,
}

/// A thread of a child that sleeps until a file has events.
struct Waiting {
    thread: u32,
    file: &'static File,
    events: i16,
    bell: OwnedFd,
}

impl Heir {
    /// None with too many children.
    fn new(way: UnixStream, held: Vec<Held>) -> Option<Self> {
        let end = way.as_raw_fd() + 1;
        ENDS.iter().find(|place| place.compare_exchange(0, end, Relaxed, Relaxed).is_ok())?;
        HEIRS.fetch_add(1, Relaxed);
        Some(Self { way, held, asleep: Vec::new() })
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        let end = self.way.as_raw_fd() + 1;
        let _ = ENDS.iter().find(|place| place.compare_exchange(end, 0, Relaxed, Relaxed).is_ok());
        HEIRS.fetch_sub(1, Relaxed);
    }
}

/// Has the thread, which is started if need be, serve a child that is about to be: its end of the socket; None if that cannot be.
pub(crate) fn expect() -> Option<c_int> {
    let held = table::hold_all();
    if held.is_empty() {
        return None;
    }
    let service = SERVICE.get(Service::start).ok()?;
    let (ours, theirs) = UnixStream::pair().ok()?;
    service.ask(Job::Adopt(Heir::new(ours, held)?));
    Some(OwnedFd::from(theirs).into_raw_fd())
}

/// In a child: closes what is its parent's.
pub(crate) fn forget() {
    HEIRS.store(0, Relaxed);
    for end in ENDS.iter().map(|end| end.swap(0, Relaxed)).filter(|end| *end > 0) {
        real::close(end - 1);
    }
}

/// Before the process ends: leaves a successor if there are children that hold something.
pub(crate) fn succeed() {
    let Some(service) = SERVICE.known().filter(|_| HEIRS.load(Relaxed) > 0) else { return };
    let (tell, told) = channel();
    service.ask(Job::Succeed(tell));
    let _ = told.recv_timeout(PATIENCE);
}

impl Service {
    fn start() -> Result<Self, c_int> {
        let (jobs, todo) = channel();
        let bell = Bell::new().map_err(|e| e.raw_os_error().unwrap_or(libc::ENOMEM))?;
        let (own, thread) = (bell.clone(), std::thread::Builder::new().name("children".into()));
        let run = move || Turn { heirs: Vec::new(), succeeds: false }.run(&todo, &own);
        quietly(|| thread.spawn(run)).map_err(|e| e.raw_os_error().unwrap_or(libc::ENOMEM))?;
        Ok(Self { jobs, bell })
    }

    fn ask(&self, job: Job) {
        // The thread stays as long as the process.
        let _ = self.jobs.send(job);
        self.bell.ring();
    }
}

/// State of the thread that answers children.
struct Turn {
    heirs: Vec<Heir>,
    /// The process that it was started in has ended.
    succeeds: bool,
}

impl Turn {
    fn run(&mut self, todo: &Receiver<Job>, bell: &Bell) {
        loop {
            bell.clear();
            for job in todo.try_iter() {
                match job {
                    Job::Adopt(heir) => self.heirs.push(heir),
                    Job::Succeed(tell) => {
                        self.succeed();
                        let _ = tell.send(());
                    }
                }
            }
            let mut new = Vec::new();
            self.heirs.retain_mut(|heir| heir.serve(&mut new));
            self.heirs.append(&mut new);
            self.heirs.iter_mut().for_each(Heir::wake);
            if self.succeeds && self.heirs.is_empty() {
                file::drain(&file::all_tx());
                process::end_now(0);
            }
            self.sleep(bell);
        }
    }

    fn sleep(&self, bell: &Bell) {
        let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut set = vec![entry(bell.as_fd().as_raw_fd(), libc::POLLIN)];
        set.extend(self.heirs.iter().map(|heir| entry(heir.way.as_raw_fd(), libc::POLLIN)));
        let (mut until, mut asleep, mut sleeps) = (None, Vec::new(), true);
        for waiting in self.heirs.iter().flat_map(|heir| &heir.asleep) {
            if let Some(bound) = waiting.file.bound() {
                sleeps &= bound.sleep_on(waiting.events, &mut set, &mut until, &mut asleep);
            }
        }
        sleeps &= file::carry_on(&file::all_tx(), &mut set, &mut until, &mut asleep);
        if sleeps {
            let left = until.map(|until: Instant| until.saturating_duration_since(Instant::now()));
            // Signals are blocked; a failure is a sleep that was short.
            let _ = real::ppoll(&mut set, left, None);
        }
        asleep.into_iter().for_each(file::Asleep::end);
    }

    /// Goes on in a copy of the process, in which this is the only thread. What another one is amid is waited for: the copy has no
    /// thread that would end it.
    fn succeed(&mut self) {
        let ports = port::ports();
        let tx: Vec<_> = ports.iter().flat_map(|port| &port.tx).map(lock).collect();
        let pools: Vec<_> = port::known_state().map(|state| lock(&state.area.pool)).into_iter().collect();
        let rx: Vec<_> = ports.iter().flat_map(|port| &port.rx).map(lock).collect();
        let here = process::split();
        drop((pools, tx, rx));
        drop(ports);
        if here {
            self.succeeds = true;
            table::close_all();
        }
    }
}

impl Heir {
    /// Answers what the child asks for; false when it has ended.
    fn serve(&mut self, new: &mut Vec<Self>) -> bool {
        loop {
            let (message, fds) = match receive(&self.way, size_of::<Call>()) {
                Ok(message) => message,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            };
            let Some(call @ [_, _, _, process, _, number]) = words(&message) else { return false };
            let done = user::of(process, || self.carry_out(call, fds.into_iter().next(), new));
            let answer: Answer = [number, done.unwrap_or_else(|errno| -errno).cast_unsigned()];
            // A child that has gone is told of by the next receive, and one that holds nothing has no more to ask.
            let _ = send(&self.way, &bytes(&answer), &[]);
            if self.held.is_empty() {
                return false;
            }
        }
    }

    fn carry_out(
        &mut self,
        [what, file, events, _, thread, _]: Call,
        with: Option<Foreign>,
        new: &mut Vec<Self>,
    ) -> Result<i32, c_int> {
        if what == what::FORK {
            let way = UnixStream::from(with.ok_or(libc::EINVAL)?.trusted());
            new.push(Self::new(way, self.held.clone()).ok_or(libc::EMFILE)?);
            return Ok(0);
        }
        if what != what::SLEEP {
            self.asleep.retain(|one| one.thread != thread);
        }
        let at = self.held.iter().position(|held| held.file().number() == file).ok_or(libc::ENXIO)?;
        let (file, events) = (self.held[at].file(), i16::try_from(events).unwrap_or(0));
        match what {
            what::TXSYNC | what::RXSYNC => control::sync(file, what == what::TXSYNC).map(|()| 0),
            what::READY => Ok(file.bound().map_or(libc::POLLERR, |bound| bound.ready(events)).into()),
            what::SLEEP => {
                let bell = with.ok_or(libc::EINVAL)?.trusted();
                self.asleep.push(Waiting { thread, file, events, bell });
                Ok(0)
            }
            what::CLOSE => {
                self.asleep.retain(|one| one.file.number() != file.number());
                self.held.swap_remove(at);
                Ok(0)
            }
            _ => Err(libc::EINVAL),
        }
    }

    /// Wakes threads of the child for whose events it is time.
    fn wake(&mut self) {
        self.asleep.retain(|one| {
            let come = one.file.bound().is_none_or(|bound| bound.ready(one.events) != 0);
            if come {
                real::ring(one.bell.as_fd().as_raw_fd());
            }
            !come
        });
    }
}
