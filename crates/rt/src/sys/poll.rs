//! Sleeping until a descriptor is ready or a time has come, by epoll: registrations are kept from one sleep to the next,
//! so that a sleep costs what has changed.
//!
//! # What a kept registration is worth
//! The kernel keeps a registration for a descriptor and the open file behind it. When a descriptor is closed, its number
//! is given again, and the registration is gone, or, if the file is open elsewhere too, goes on reporting for a number
//! that means another file by then. So a number alone is never trusted. Either the sleeper gives the file's own number
//! ([`Sleep::file`]), and both are what they were; or the kernel is told once more, which fails if it has no registration
//! of the descriptor's present file. A registration that could not be removed is known by its generation when it
//! reports; then, or when there may be many such, the whole set is left behind with all that is in it.
//!
//! Registrations are level-triggered: a descriptor that is ready when a sleep begins ends it at once, whenever it became
//! ready. So nothing depends on what an earlier sleep has reported.

use linerate_port::{Interest, Sleep};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Reports read at a time; a sleep ends with the first one.
const REPORTS: usize = 16;
/// Registrations that could not be removed, beyond which the set is left behind.
const MOST_LEFT: usize = 64;

/// One descriptor, by its number.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Sleep for which it was last given.
    sleep: u64,
    /// Events and file wanted for that sleep.
    wanted: u32,
    file: Option<u64>,
    /// Events that the kernel knows, 0 for no registration, and the file that they were registered for.
    known: u32,
    known_file: Option<u64>,
    /// Number of the registration, which its reports carry.
    generation: u32,
}

/// Descriptors to sleep on, as plain numbers: whoever adds one keeps it open until the sleep ends.
pub(crate) struct PollSet {
    /// None before the first descriptor, and while the system has none to give.
    epoll: Option<OwnedFd>,
    entries: Vec<Entry>,
    /// Descriptors given for this sleep, and those registered.
    given: Vec<RawFd>,
    registered: Vec<RawFd>,
    /// Number of this sleep.
    sleep: u64,
    /// Registrations that may be left of closed descriptors.
    left: usize,
    /// Number of changes told to the kernel.
    changes: u64,
}

/// Entry of a descriptor.
fn index(fd: RawFd) -> usize {
    usize::try_from(fd).unwrap_or(0)
}

impl PollSet {
    pub(crate) fn new() -> Self {
        let (entries, given, registered) = (Vec::new(), Vec::new(), Vec::new());
        Self { epoll: None, entries, given, registered, sleep: 0, left: 0, changes: 0 }
    }

    /// Begins the preparation of a sleep: what was given for the last one is to be given again.
    pub(crate) fn begin(&mut self) {
        self.sleep += 1;
        self.given.clear();
    }

    /// Gives the descriptor of a sleep; false if it has none.
    pub(crate) fn add(&mut self, sleep: &Sleep<'_>) -> bool {
        let Some((fd, interest)) = sleep.on else { return false };
        let events = match interest {
            Interest::Readable => libc::EPOLLIN,
            Interest::Writable => libc::EPOLLOUT,
        };
        let (fd, events) = (fd.as_raw_fd(), events.cast_unsigned());
        if self.entries.len() <= index(fd) {
            self.entries.resize(index(fd) + 1, Entry::default());
        }
        let entry = &mut self.entries[index(fd)];
        if entry.sleep == self.sleep {
            // Two sleepers share it. Of one open file they would know one number.
            entry.file = entry.file.filter(|file| sleep.file == Some(*file));
            entry.wanted |= events;
        } else {
            (entry.sleep, entry.wanted, entry.file) = (self.sleep, events, sleep.file);
            self.given.push(fd);
        }
        true
    }

    /// Tells the kernel what has changed since the last sleep; false if it does not watch all that was given.
    pub(crate) fn watch(&mut self) -> bool {
        if self.left > MOST_LEFT {
            self.leave_behind();
        }
        let was = std::mem::take(&mut self.registered);
        for fd in &was {
            let entry = self.entries[index(*fd)];
            if entry.sleep != self.sleep && entry.known != 0 {
                self.forget(*fd);
            }
        }
        self.registered = was;
        self.registered.clear();
        let mut all = true;
        for at in 0..self.given.len() {
            let fd = self.given[at];
            let entry = self.entries[index(fd)];
            let kept = entry.known == entry.wanted && entry.file.is_some() && entry.file == entry.known_file;
            if kept || self.register(fd).is_ok() {
                self.registered.push(fd);
            } else {
                all = false;
            }
        }
        all
    }

    /// Registers a descriptor's present file for what is wanted.
    fn register(&mut self, fd: RawFd) -> io::Result<()> {
        let known = self.entries[index(fd)].known != 0;
        // A success proves that the registration is of the file that the descriptor means now.
        let changed =
            if known { self.control(libc::EPOLL_CTL_MOD, fd) } else { Err(io::Error::from_raw_os_error(libc::ENOENT)) };
        let done = match changed {
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => {
                self.left += usize::from(known);
                self.entries[index(fd)].generation += 1;
                self.control(libc::EPOLL_CTL_ADD, fd)
            }
            done => done,
        };
        let entry = &mut self.entries[index(fd)];
        (entry.known, entry.known_file) = if done.is_ok() { (entry.wanted, entry.file) } else { (0, None) };
        done
    }

    /// Removes a registration.
    fn forget(&mut self, fd: RawFd) {
        let removed = self.control(libc::EPOLL_CTL_DEL, fd);
        // Closed meanwhile, and mostly gone by that; what is left of it reports under this generation.
        self.left += usize::from(removed.is_err());
        let entry = &mut self.entries[index(fd)];
        (entry.known, entry.known_file) = (0, None);
        entry.generation += 1;
    }

    fn control(&mut self, what: libc::c_int, fd: RawFd) -> io::Result<()> {
        self.changes += 1;
        if self.epoll.is_none() {
            // SAFETY: no pointers; the descriptor that comes back is new and ours.
            let new = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
            if new < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: as above.
            self.epoll = Some(unsafe { OwnedFd::from_raw_fd(new) });
        }
        let Some(epoll) = &self.epoll else { return Err(io::ErrorKind::NotFound.into()) };
        let entry = self.entries[index(fd)];
        let token = u64::from(fd.cast_unsigned()) | u64::from(entry.generation) << 32;
        let mut event = libc::epoll_event { events: entry.wanted, u64: token };
        // SAFETY: the event is readable, and the call takes no other memory; a number that is no descriptor is an error.
        match unsafe { libc::epoll_ctl(epoll.as_raw_fd(), what, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sleeps until a descriptor is ready, the time has passed, or a signal is received. [`PollSet::watch`] comes before.
    pub(crate) fn sleep(&mut self, timeout: Option<Duration>) {
        let Some(epoll) = &self.epoll else {
            wait(&[], timeout);
            return;
        };
        let at_most = timeout.map(time);
        let at_most = at_most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut reports = [libc::epoll_event { events: 0, u64: 0 }; REPORTS];
        // SAFETY: room for as many reports as are said, a time that is null or outlives the call, no signal mask. By
        // number, because not every C library has the call.
        let got = unsafe {
            let room = libc::c_long::try_from(REPORTS).unwrap_or(1);
            let none = std::ptr::null::<libc::sigset_t>();
            libc::syscall(libc::SYS_epoll_pwait2, epoll.as_raw_fd(), reports.as_mut_ptr(), room, at_most, none, 0usize)
        };
        let Ok(got) = usize::try_from(got) else {
            // A kernel, or a filter of system calls, that does not know it. The set is a descriptor as well.
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                let set = libc::pollfd { fd: epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                wait(&[set], timeout);
            }
            return;
        };
        let strange = |report: &libc::epoll_event| {
            let token = report.u64;
            let (fd, generation) = (token & u64::from(u32::MAX), token >> 32);
            let entry = usize::try_from(fd).ok().and_then(|fd| self.entries.get(fd));
            entry.is_none_or(|entry| entry.known == 0 || u64::from(entry.generation) != generation)
        };
        if reports[..got].iter().any(strange) {
            self.leave_behind();
        }
    }

    /// Begins a new set: what the old one still watches of closed descriptors is left behind with it.
    fn leave_behind(&mut self) {
        self.epoll = None;
        self.left = 0;
        for fd in self.registered.drain(..) {
            let entry = &mut self.entries[index(fd)];
            (entry.known, entry.known_file) = (0, None);
        }
    }

    /// Number of changes told to the kernel so far.
    #[cfg(test)]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }
}

/// Sleeps until one of these is readable, the time has passed, or a signal is received; true if one is readable.
pub(crate) fn readable(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> bool {
    let poll = |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    wait(&fds.iter().map(poll).collect::<Vec<_>>(), timeout)
}

/// True if one of these is ready.
fn wait(fds: &[libc::pollfd], timeout: Option<Duration>) -> bool {
    let (mut fds, at_most) = (fds.to_vec(), timeout.map(time));
    let at_most = at_most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: all entries are valid, the time is null or outlives the call, no signal mask is given. Any result is fine:
    // the caller looks again in each case.
    unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, at_most, std::ptr::null()) > 0 }
}

fn time(of: Duration) -> libc::timespec {
    libc::timespec { tv_sec: of.as_secs().try_into().unwrap_or(libc::time_t::MAX), tv_nsec: of.subsec_nanos().into() }
}
