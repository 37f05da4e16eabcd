//! A set of descriptors, each of which reports once that it is readable. The set has a descriptor of its own, readable
//! while a report waits.

use linerate_ring::next_id;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Reports taken at a time.
pub(crate) const REPORTS: usize = 64;

/// The set; see the module's text.
pub(crate) struct ReadySet {
    set: OwnedFd,
    id: u64,
}

impl ReadySet {
    /// Number of the open file behind the set's descriptor.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl AsFd for ReadySet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

#[cfg(target_os = "linux")]
impl ReadySet {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        let new = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if new < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(Self { set: unsafe { OwnedFd::from_raw_fd(new) }, id: next_id() })
    }

    /// Puts a descriptor into the set: it reports `token` once, now or later, and stays until it is removed. The call looks
    /// at the descriptor, so that what came before it is reported.
    ///
    /// # Errors
    /// Errors of the kernel; also for a descriptor that is in the set.
    pub(crate) fn arm(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<RawFd> {
        let events = (libc::EPOLLIN | libc::EPOLLONESHOT).cast_unsigned();
        let (fd, mut event) = (fd.as_raw_fd(), libc::epoll_event { events, u64: token });
        // SAFETY: the event is readable.
        match unsafe { libc::epoll_ctl(self.set.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            0 => Ok(fd),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Removes a descriptor, which has not been closed since it was put in.
    pub(crate) fn disarm(&self, fd: RawFd) {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: as above.
        unsafe { libc::epoll_ctl(self.set.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, &raw mut event) };
    }

    /// Takes reports that wait, without waiting for any; returns their number.
    pub(crate) fn take(&self, tokens: &mut [u64; REPORTS]) -> usize {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; REPORTS];
        let room = libc::c_int::try_from(REPORTS).unwrap_or(1);
        // SAFETY: room for as many events as are said.
        let got = unsafe { libc::epoll_wait(self.set.as_raw_fd(), events.as_mut_ptr(), room, 0) };
        let got = usize::try_from(got).unwrap_or(0).min(REPORTS);
        tokens.iter_mut().zip(&events[..got]).for_each(|(token, event)| *token = event.u64);
        got
    }
}

#[cfg(not(target_os = "linux"))]
impl ReadySet {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no arguments; the descriptor that comes back is new and ours.
        let new = unsafe { libc::kqueue() };
        if new < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(Self { set: unsafe { OwnedFd::from_raw_fd(new) }, id: next_id() })
    }

    fn change(&self, fd: RawFd, flags: u16, token: u64) -> io::Result<()> {
        // SAFETY: a `kevent` is plain data, for which zeros are fine.
        let mut event: libc::kevent = unsafe { std::mem::zeroed() };
        event.ident = usize::try_from(fd).map_err(io::Error::other)?;
        (event.filter, event.flags) = (libc::EVFILT_READ, flags);
        event.udata = std::ptr::without_provenance_mut(usize::try_from(token).map_err(io::Error::other)?);
        let none = std::ptr::null_mut();
        // SAFETY: one readable change, no room for events.
        match unsafe { libc::kevent(self.set.as_raw_fd(), &raw const event, 1, none, 0, std::ptr::null()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn arm(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<RawFd> {
        let fd = fd.as_raw_fd();
        self.change(fd, libc::EV_ADD | libc::EV_ENABLE | libc::EV_DISPATCH, token).map(|()| fd)
    }

    pub(crate) fn disarm(&self, fd: RawFd) {
        let _ = self.change(fd, libc::EV_DELETE, 0);
    }

    pub(crate) fn take(&self, tokens: &mut [u64; REPORTS]) -> usize {
        // SAFETY: `kevent`s and a `timespec` are plain data, for which zeros are fine.
        let (mut events, now): ([libc::kevent; REPORTS], libc::timespec) = unsafe { std::mem::zeroed() };
        let room = libc::c_int::try_from(REPORTS).unwrap_or(1);
        let (none, at) = (std::ptr::null(), events.as_mut_ptr());
        // SAFETY: room for as many events as are said, and a time-out of nothing.
        let got = unsafe { libc::kevent(self.set.as_raw_fd(), none, 0, at, room, &raw const now) };
        let got = usize::try_from(got).unwrap_or(0).min(REPORTS);
        tokens.iter_mut().zip(&events[..got]).for_each(|(token, event)| *token = event.udata.addr() as u64);
        got
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ring::Bell;

    #[test]
    fn a_descriptor_reports_once_whenever_it_became_readable() {
        let (set, bell, mut tokens) = (ReadySet::new().unwrap(), Bell::new().unwrap(), [0; REPORTS]);
        let fd = set.arm(bell.as_fd(), 7).unwrap();
        assert!(set.take(&mut tokens) == 0 && set.arm(bell.as_fd(), 8).is_err(), "it is in the set");
        bell.ring();
        assert_eq!((set.take(&mut tokens), tokens[0], set.take(&mut tokens)), (1, 7, 0));
        set.disarm(fd);
        // Rung before.
        set.arm(bell.as_fd(), 9).unwrap();
        assert_eq!((set.take(&mut tokens), tokens[0]), (1, 9));
        set.disarm(fd);
        bell.clear();
        set.arm(bell.as_fd(), 10).unwrap();
        assert_eq!(set.take(&mut tokens), 0);
        set.disarm(fd);
        bell.ring();
        assert_eq!(set.take(&mut tokens), 0, "it is not in the set");
    }

    /// Bells of other processes are sets themselves, and a thread's set watches this one: Linux allows 500 ways of two
    /// steps from one file to its sleepers, and 100 of three.
    #[test]
    fn a_set_of_many_bells_of_other_processes_can_be_slept_on() {
        let (set, outer, mut tokens) = (ReadySet::new().unwrap(), ReadySet::new().unwrap(), [0; REPORTS]);
        let bells: Vec<Bell> = (0..150).map(|_| Bell::between().unwrap()).collect();
        for (bell, token) in bells.iter().zip(0..) {
            set.arm(bell.as_fd(), token).unwrap();
        }
        outer.arm(set.as_fd(), 1).unwrap();
        assert_eq!(outer.take(&mut tokens), 0);
        bells[149].ring();
        assert_eq!((outer.take(&mut tokens), tokens[0]), (1, 1));
        assert_eq!((set.take(&mut tokens), tokens[0]), (1, 149));
    }
}
