//! epoll, for sets with netmap's descriptors among their members. The kernel keeps these, too, for no event: it refuses what
//! cannot be, and forgets what is closed. What is watched of them is kept here.
//!
//! Members are told while they are ready, as poll tells them: EPOLLET is no different. A set is never changed. Another one takes
//! its place, and whoever waits on the old one is woken.

use crate::port::lock;
use crate::sys::{process, real};
use crate::{table, wait};
use linerate_ring::Bell;
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An epoll descriptor's open file.
pub(crate) struct Epoll {
    used: AtomicBool,
    /// Process that made it.
    generation: AtomicU32,
    set: Mutex<Option<Arc<Set>>>,
    /// Number of waits that found something: who is told first takes turns.
    turn: AtomicUsize,
}

struct Set {
    members: Vec<Arc<Member>>,
    /// Rung when another set takes this one's place.
    changed: Bell,
}

pub(crate) struct Member {
    pub(crate) fd: c_int,
    /// Number of the open file, so that another one with the same descriptor is no member.
    pub(crate) file: u32,
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// False once the only event of EPOLLONESHOT was told.
    armed: AtomicBool,
}

impl Member {
    pub(crate) fn new(fd: c_int, file: u32, events: u32, data: u64) -> Self {
        Self { fd, file, events, data, armed: AtomicBool::new(true) }
    }

    fn is_open(&self) -> bool {
        table::file(self.fd).is_some_and(|file| file.number() == self.file)
    }

    /// True if its event is to be told; of one that is told once only the first time.
    fn tell(&self) -> bool {
        if self.events & libc::EPOLLONESHOT.cast_unsigned() != 0 { self.armed.swap(false, AcqRel) } else { true }
    }

    fn entry(&self) -> libc::pollfd {
        // The events of epoll have the numbers of poll's.
        let events = u16::try_from(self.events & 0x7fff).unwrap_or(0).cast_signed();
        libc::pollfd { fd: self.fd, events, revents: 0 }
    }
}

impl Epoll {
    pub(crate) const fn new() -> Self {
        let (used, generation, turn) = (AtomicBool::new(false), AtomicU32::new(0), AtomicUsize::new(0));
        Self { used, generation, set: Mutex::new(None), turn }
    }

    /// Takes it for a descriptor; false if another has it.
    pub(crate) fn begin(&self) -> bool {
        let free = self.used.compare_exchange(false, true, AcqRel, Relaxed).is_ok();
        if free {
            self.generation.store(process::generation(), Relaxed);
        }
        free
    }

    /// True if a parent of this process made it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.generation.load(Relaxed) != process::generation()
    }

    /// Forgets all members.
    pub(crate) fn end(&self) {
        let set = lock(&self.set).take();
        set.iter().for_each(|set| set.changed.ring());
        self.used.store(false, Release);
    }

    /// Has `member` take the place of the member with its descriptor, if there is one; a member of no events leaves.
    pub(crate) fn change(&self, member: Member) -> Result<(), c_int> {
        let changed = Bell::new().map_err(|e| e.raw_os_error().unwrap_or(libc::ENOMEM))?;
        let mut place = lock(&self.set);
        let mut members = place.as_ref().map(|set| set.members.clone()).unwrap_or_default();
        members.retain(|one| one.fd != member.fd && one.is_open());
        members.extend((member.events != 0).then(|| Arc::new(member)));
        if let Some(old) = place.replace(Arc::new(Set { members, changed })) {
            old.changed.ring();
        }
        Ok(())
    }

    /// Waits as epoll_pwait2(2) does: the number of events told, or errno.
    pub(crate) fn wait(
        &self,
        fd: c_int,
        told: &mut [libc::epoll_event],
        timeout: Option<Duration>,
        mask: Option<&libc::sigset_t>,
    ) -> Result<usize, c_int> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let set = lock(&self.set).clone();
            let all = set.as_ref().map_or(&[][..], |set| &set.members);
            let members: Vec<&Member> = all
                .iter()
                .map(|member| &**member)
                .filter(|member| member.armed.load(Acquire) && member.is_open())
                .collect();
            let own = [Some(fd), set.as_ref().map(|set| set.changed.as_fd().as_raw_fd())];
            let own = own.into_iter().flatten().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
            let mut fds: Vec<_> = members.iter().map(|member| member.entry()).chain(own).collect();
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            wait::poll(&mut fds, left, mask)?;
            let kernel = fds[members.len()].revents;
            if kernel & libc::POLLNVAL != 0 {
                return Err(libc::EBADF);
            }
            let n = self.tell(fd, &members, &fds, kernel != 0, told);
            if n > 0 || end.is_some_and(|end| end <= Instant::now()) {
                return Ok(n);
            }
        }
    }

    /// Tells what is ready, members and what the kernel watches first by turns: there may be room for one of them only.
    fn tell(
        &self,
        fd: c_int,
        members: &[&Member],
        fds: &[libc::pollfd],
        kernel: bool,
        told: &mut [libc::epoll_event],
    ) -> usize {
        let (turn, mut n) = (self.turn.fetch_add(1, Relaxed), 0);
        if kernel && turn % 2 == 1 {
            n += real::epoll_now(fd, told);
        }
        for i in 0..members.len() {
            let at = (turn / 2 + i) % members.len();
            let events = u32::from((fds[at].revents & !libc::POLLNVAL).cast_unsigned());
            if n < told.len() && events != 0 && members[at].tell() {
                told[n] = libc::epoll_event { events, u64: members[at].data };
                n += 1;
            }
        }
        if kernel && turn % 2 == 0 {
            n += real::epoll_now(fd, &mut told[n..]);
        }
        n
    }
}
