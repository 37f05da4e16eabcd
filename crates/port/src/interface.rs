//! Interfaces of the system that ports name, as the kernel describes them.

use crate::error::{Cause, OpenError};
use crate::info::Link;
use crate::kind::Spec;
use linerate_host::{Control, LinkState, Rtnetlink};
use linerate_text::saturating_ns;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Longest time, in ns, for which a link state read from the kernel is reused.
const FRESH_NS: u64 = 1_000_000;

/// The link states, in the order of the enumeration.
const STATES: [Link; 3] = [Link::Up, Link::Down, Link::Gone];

/// State of an interface's link, read from the kernel now and then: queues ask each time that they are polled, and a look is
/// two system calls.
pub(crate) struct Carrier {
    control: Control,
    /// The last link state known, by its place in [`STATES`].
    state: AtomicU8,
    made: Instant,
    /// Time of the last look, in units of [`FRESH_NS`] since it was made.
    looked: AtomicU64,
}

impl Carrier {
    pub(crate) fn new(control: Control) -> Self {
        let carrier = Self { control, state: AtomicU8::new(0), made: Instant::now(), looked: AtomicU64::new(0) };
        carrier.look();
        carrier
    }

    /// The interface's settings.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// State of the link, read at most every [`FRESH_NS`].
    pub(crate) fn link(&self) -> Link {
        let moment = saturating_ns(self.made.elapsed()) / FRESH_NS;
        if self.looked.swap(moment, Relaxed) != moment {
            return self.look();
        }
        STATES[usize::from(self.state.load(Relaxed))]
    }

    /// Takes over a state that a system call has told.
    pub(crate) fn set(&self, link: Link) {
        let state = link as u8;
        // The cache line stays shared as long as nothing changes.
        if self.state.load(Relaxed) != state {
            self.state.store(state, Relaxed);
        }
    }

    /// Reads the state from the kernel.
    pub(crate) fn look(&self) -> Link {
        let link = match self.control.running() {
            Ok(true) => Link::Up,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Link::Gone,
            Ok(false) | Err(_) => Link::Down,
        };
        self.set(link);
        link
    }

    /// Has the next [`Carrier::link`] read the state: the thread that asks may have slept until the link changed.
    pub(crate) fn forget(&self) {
        self.looked.store(u64::MAX, Relaxed);
    }
}

/// The interface that a port names.
pub(crate) fn find(spec: &Spec, links: &mut Rtnetlink) -> Result<LinkState, OpenError> {
    let missing = || OpenError::new(spec, Cause::Missing, "there is no such interface", "see the names in 'ip link'");
    links.link(&spec.name).map_err(|e| match e.cause {
        linerate_host::Cause::Missing => missing(),
        _ => OpenError::below(spec, e),
    })
}

/// MTU of an interface; None if it is gone.
pub(crate) fn mtu(links: &Mutex<Rtnetlink>, name: &str) -> Option<usize> {
    let state = links.lock().unwrap_or_else(PoisonError::into_inner).link(name);
    state.ok().map(|link| link.mtu as usize)
}

/// Kernel counters of an interface; empty if it is gone.
pub(crate) fn raw_counters(links: &Mutex<Rtnetlink>, name: &str) -> Vec<(String, u64)> {
    let state = links.lock().unwrap_or_else(PoisonError::into_inner).link(name);
    state.map_or_else(|_| Vec::new(), |link| link.stats.rows().map(|(key, n)| (format!("link_{key}"), n)).into())
}
