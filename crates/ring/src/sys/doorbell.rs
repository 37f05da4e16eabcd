//! Doorbells between processes. A descriptor that two processes hold has one set of status flags, which either may
//! change: an eventfd that the other process made blocking, and filled, would block whoever rings it. So another
//! process rings by a datagram to a socket of the sleeper's, with MSG_DONTWAIT in each call, and gets no other
//! descriptor.

use super::closing::Foreign;
use super::{check, message};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Most datagrams read at a time: a peer that sends more only wakes its own partner again.
const MOST: usize = 64;
/// Tries, a millisecond apart, while the kernel has no memory.
const NO_MEMORY_TRIES: u32 = 50;

/// Readable after a ring by this process, or by the process that holds the other end of its socket.
#[derive(Debug)]
pub struct Inbox {
    set: set::Set,
    /// Socket whose queue another process fills.
    socket: Mutex<Option<Foreign>>,
}

impl Inbox {
    /// Makes an inbox that only this process can ring so far.
    pub fn new() -> io::Result<Self> {
        Ok(Self { set: set::Set::new()?, socket: Mutex::default() })
    }

    /// A descriptor with which another process can ring and do nothing else. The holder of the previous one rings no
    /// more.
    pub fn hand_over(&self) -> io::Result<OwnedFd> {
        let [near, far] = message::datagrams()?;
        self.attach(near.into())?;
        Ok(far)
    }

    /// Lets another process, which made the socket, ring by its other end; the holder of the previous one rings no
    /// more.
    pub fn take_over(&self, near: Foreign) -> io::Result<()> {
        check_handed(&near)?;
        self.attach(near)
    }

    fn attach(&self, near: Foreign) -> io::Result<()> {
        message::refuse_descriptors(&near);
        self.set.watch(near.as_fd())?;
        let old = self.socket.lock().unwrap_or_else(PoisonError::into_inner).replace(near);
        if let Some(old) = old {
            self.set.unwatch(old.as_fd());
        }
        Ok(())
    }

    /// Rings the inbox from this process.
    pub fn ring(&self) {
        self.set.light();
    }

    /// Discards rings that were delivered.
    pub fn clear(&self) {
        self.set.quench();
        let mut held = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(socket) = &*held {
            for _ in 0..MOST {
                match message::receive(socket, 0) {
                    Ok(_) => {}
                    // A datagram longer than a doorbell's, discarded.
                    Err(e) if e.kind() == io::ErrorKind::InvalidData => {}
                    Err(_) => break,
                }
            }
            if message::is_shut(socket) {
                // A shut socket would stay readable for ever.
                self.set.unwatch(socket.as_fd());
                *held = None;
            }
        }
    }

    /// Lets no other process ring any more.
    pub fn detach(&self) {
        if let Some(socket) = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.set.unwatch(socket.as_fd());
        }
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

/// Makes two ends: one rings a sleeper of another process, which sleeps on the other. Nothing can be sent the other
/// way.
pub fn pair() -> io::Result<(Foreign, OwnedFd)> {
    let [near, far] = message::datagrams()?;
    message::hear_nothing(&far)?;
    Ok((far.into(), near))
}

/// Refuses a descriptor that is not an end of a doorbell's socket.
pub fn check_handed(fd: &Foreign) -> io::Result<()> {
    if message::is_datagram(fd.as_fd()) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a doorbell that is no datagram socket"))
}

/// Rings another process. A full queue means that it was rung already; if it is gone, its link goes down anyway. If the
/// kernel has no memory for the datagram, sending is retried for a while: the sleeper's flag was taken, and nobody else
/// rings.
pub fn ring(fd: &Foreign) {
    insist(|| message::send(fd, &[], &[]).map(drop));
}

/// Retries `send` for a while as long as the kernel has no memory for it.
fn insist(mut send: impl FnMut() -> io::Result<()>) {
    for _ in 0..NO_MEMORY_TRIES {
        match send() {
            Err(e) if is_no_memory(&e) => std::thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// True if the kernel had no memory for a datagram. On other systems ENOBUFS means that the queue is full.
fn is_no_memory(e: &io::Error) -> bool {
    cfg!(target_os = "linux") && matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

#[test]
#[cfg(target_os = "linux")]
fn a_doorbell_is_rung_again_for_want_of_memory_alone() {
    let tries = [libc::ENOBUFS, libc::ENOMEM, libc::EAGAIN, libc::ECONNREFUSED, libc::EPIPE].map(|error| {
        let mut tries = 0;
        insist(|| {
            tries += 1;
            Err(io::Error::from_raw_os_error(error))
        });
        tries
    });
    assert_eq!(tries, [NO_MEMORY_TRIES, NO_MEMORY_TRIES, 1, 1, 1]);
}

#[cfg(target_os = "linux")]
mod set {
    use super::*;
    use std::os::fd::{AsRawFd, FromRawFd, RawFd};

    /// An epoll instance: its own descriptor is readable while one of its members is.
    ///
    /// Of these members one is an eventfd that is always readable, which this process has the set watch or not. Each set
    /// has one of its own: the kernel counts the ways from a file through sets that watch sets to those who sleep, and
    /// allows 100 of three steps. One eventfd for all would be at the end of as many as there are bells.
    #[derive(Debug)]
    pub(super) struct Set {
        epoll: OwnedFd,
        lit: OwnedFd,
    }

    impl Set {
        pub(super) fn new() -> io::Result<Self> {
            // SAFETY: no pointers; the descriptor that comes back is new and ours.
            let epoll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
            // SAFETY: as above.
            let lit = unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(1, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?) };
            let set = Self { epoll, lit };
            // Added at the start: adding needs kernel memory, which is limited for each user, and may fail.
            set.control(libc::EPOLL_CTL_ADD, set.lit.as_raw_fd(), 0)?;
            Ok(set)
        }

        fn control(&self, what: libc::c_int, fd: RawFd, events: libc::c_int) -> io::Result<()> {
            let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: 0 };
            // SAFETY: the event is readable.
            check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &raw mut event) }).map(drop)
        }

        pub(super) fn watch(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
            self.control(libc::EPOLL_CTL_ADD, socket.as_raw_fd(), libc::EPOLLIN)
        }

        pub(super) fn unwatch(&self, socket: BorrowedFd<'_>) {
            let _ = self.control(libc::EPOLL_CTL_DEL, socket.as_raw_fd(), 0);
        }

        /// Makes the set readable. Cannot fail: it changes an existing entry.
        pub(super) fn light(&self) {
            let _ = self.control(libc::EPOLL_CTL_MOD, self.lit.as_raw_fd(), libc::EPOLLIN);
        }

        /// Makes the set unreadable. Cannot fail either.
        pub(super) fn quench(&self) {
            let _ = self.control(libc::EPOLL_CTL_MOD, self.lit.as_raw_fd(), 0);
        }
    }

    impl AsFd for Set {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.epoll.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod set {
    use super::*;
    use std::mem::zeroed;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::ptr::{null, null_mut};

    /// A kqueue: its own descriptor is readable while it has an event.
    #[derive(Debug)]
    pub(super) struct Set(OwnedFd);

    impl Set {
        pub(super) fn new() -> io::Result<Self> {
            // SAFETY: no arguments; the descriptor that comes back is new and ours.
            let set = Self(unsafe { OwnedFd::from_raw_fd(check(libc::kqueue())?) });
            set.change(0, libc::EVFILT_USER, libc::EV_ADD | libc::EV_CLEAR, 0)?;
            Ok(set)
        }

        fn change(&self, ident: usize, filter: i16, flags: u16, fflags: u32) -> io::Result<()> {
            // SAFETY: a `kevent` is plain data, for which zeros are fine.
            let mut event: libc::kevent = unsafe { zeroed() };
            (event.ident, event.filter, event.flags, event.fflags) = (ident, filter, flags, fflags);
            // SAFETY: one readable change, no room for events.
            check(unsafe { libc::kevent(self.0.as_raw_fd(), &raw const event, 1, null_mut(), 0, null()) }).map(drop)
        }

        pub(super) fn watch(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
            let fd = usize::try_from(socket.as_raw_fd()).map_err(io::Error::other)?;
            self.change(fd, libc::EVFILT_READ, libc::EV_ADD, 0)
        }

        pub(super) fn unwatch(&self, socket: BorrowedFd<'_>) {
            if let Ok(fd) = usize::try_from(socket.as_raw_fd()) {
                let _ = self.change(fd, libc::EVFILT_READ, libc::EV_DELETE, 0);
            }
        }

        pub(super) fn light(&self) {
            let _ = self.change(0, libc::EVFILT_USER, 0, libc::NOTE_TRIGGER);
        }

        /// Clears events: those read here are reset (EV_CLEAR).
        pub(super) fn quench(&self) {
            // SAFETY: `kevent`s and a `timespec` are plain data, for which zeros are fine.
            let (mut events, now): ([libc::kevent; 2], libc::timespec) = unsafe { (zeroed(), zeroed()) };
            // SAFETY: room for two events, and a time-out of nothing.
            unsafe { libc::kevent(self.0.as_raw_fd(), null(), 0, events.as_mut_ptr(), 2, &raw const now) };
        }
    }

    impl AsFd for Set {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}
