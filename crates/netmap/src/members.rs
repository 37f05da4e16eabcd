//! Members that epoll descriptors have of netmap's. A set is never changed: another one takes its place, and whoever waits on the
//! old one is woken.
//!
//! Orderings: `end` stores Release into `used`, and `begin` takes it with AcqRel, so a new owner sees that the set is gone. `armed` is
//! taken by AcqRel, so one of several waits tells an only event; the set itself is behind its lock.

use crate::sys::process;
use crate::sys::process::lock;
use linerate_ring::Bell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

/// Members that an epoll descriptor has of netmap's.
pub(crate) struct Members {
    used: AtomicBool,
    /// Process that made it.
    generation: AtomicU32,
    set: Mutex<Option<Arc<Set>>>,
    /// Number of waits that found something: who is told first takes turns.
    pub(crate) turn: AtomicUsize,
}

pub(crate) struct Set {
    pub(crate) members: Vec<Arc<Member>>,
    /// Rung when another set takes this one's place.
    pub(crate) changed: Bell,
}

pub(crate) struct Member {
    pub(crate) fd: c_int,
    /// Number of the open file, so that another one with the same descriptor is no member.
    pub(crate) file: u32,
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// False once the only event of EPOLLONESHOT was told.
    pub(crate) armed: AtomicBool,
}

impl Member {
    pub(crate) fn new(fd: c_int, file: u32, events: u32, data: u64) -> Self {
        Self { fd, file, events, data, armed: AtomicBool::new(true) }
    }

    /// True if its event is to be told; of one that is told once only the first time.
    pub(crate) fn tell(&self) -> bool {
        if self.events & libc::EPOLLONESHOT.cast_unsigned() != 0 { self.armed.swap(false, AcqRel) } else { true }
    }

    pub(crate) fn entry(&self) -> libc::pollfd {
        // The events of epoll have the numbers of poll's.
        let events = u16::try_from(self.events & 0x7fff).unwrap_or(0).cast_signed();
        libc::pollfd { fd: self.fd, events, revents: 0 }
    }
}

impl Members {
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

    /// The set as it is; None before the first member.
    pub(crate) fn set(&self) -> Option<Arc<Set>> {
        lock(&self.set).clone()
    }

    /// Has `member` take the place of the member with its descriptor, if there is one, and of those that are no longer open; a
    /// member of no events leaves.
    pub(crate) fn change(&self, member: Member, is_open: impl Fn(&Member) -> bool) -> Result<(), c_int> {
        let changed = Bell::new().map_err(|e| e.raw_os_error().unwrap_or(libc::ENOMEM))?;
        let mut place = lock(&self.set);
        let mut members = place.as_ref().map(|set| set.members.clone()).unwrap_or_default();
        members.retain(|one| one.fd != member.fd && is_open(one));
        members.extend((member.events != 0).then(|| Arc::new(member)));
        if let Some(old) = place.replace(Arc::new(Set { members, changed })) {
            old.changed.ring();
        }
        Ok(())
    }
}
