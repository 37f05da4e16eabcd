//! Requests to stop, by a signal or by another thread.

use crate::spawn;
use crate::sys::poll::readable;
use crate::sys::{signal, time};

use linerate_port::Sleep;
use linerate_ring::Bell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, OnceLock};

/// A request to stop, seen by all who hold a clone of it, asleep or not.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// 0 if not requested; otherwise the argument of the first [`Stop::ask`], plus one.
    why: AtomicU8,
    bell: Bell,
}

impl Stop {
    /// Makes a stop that is not requested yet.
    ///
    /// # Errors
    /// Errors of the kernel, if there can be no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(Inner { why: AtomicU8::new(0), bell: Bell::new()? })))
    }

    /// Requests the stop: because of a signal, or 0 for any other reason. The first reason is kept.
    pub fn ask(&self, signal: u8) {
        let _ = self.0.why.compare_exchange(0, signal.saturating_add(1), AcqRel, Acquire);
        self.0.bell.ring();
    }

    /// True if the stop was requested.
    #[inline]
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.why.load(Acquire) != 0
    }

    /// The signal that was the reason, if it was one.
    #[must_use]
    pub fn signal(&self) -> Option<u8> {
        self.0.why.load(Acquire).checked_sub(1).filter(|signal| *signal > 0)
    }
}

impl Stop {
    /// Condition of a sleep that the stop ends.
    pub(crate) fn sleep(&self) -> Sleep<'_> {
        Sleep::on_bell(&self.0.bell)
    }
}

/// Readable once the stop was requested.
impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }
}

static ASKED_BY_SIGNAL: OnceLock<Stop> = OnceLock::new();
/// The first signal received; 0 for none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Time of the first signal, CLOCK_MONOTONIC in ns.
static AT: AtomicU64 = AtomicU64::new(0);
/// Time in ns within which a second signal counts as the first: `timeout` sends one to the process and one to its
/// group.
const ONE_ASKING: u64 = 300_000_000;

/// Time in seconds that a program may take to end by itself after a signal. It may be blocked for ever: by a pipe that
/// nobody reads, or a disk that does not answer.
const GRACE_SECONDS: u32 = 10;

/// Makes SIGINT and SIGTERM request this stop. The second signal ends the process immediately, unless it comes with the
/// first one, and so does the first one if the process has not ended 10 seconds later. For the program's whole life:
/// only the first call's stop is ever requested.
pub fn forward_signals(stop: &Stop) -> io::Result<()> {
    ASKED_BY_SIGNAL.get_or_init(|| stop.clone());
    signal::catch(&[libc::SIGALRM], false, on_alarm)?;
    signal::catch(&[libc::SIGINT, libc::SIGTERM], false, on_signal)
}

static HANGUP: OnceLock<Bell> = OnceLock::new();

/// Has `run` called after each SIGHUP, by a thread of its own; several that come close together are one. For the program's
/// whole life: only the first call has an effect.
pub fn at_hangup(mut run: impl FnMut() + Send + 'static) -> io::Result<()> {
    let bell = Bell::new()?;
    if HANGUP.set(bell).is_err() {
        return Ok(());
    }
    spawn("hangup", &[], move || {
        while let Some(bell) = HANGUP.get() {
            readable(&[bell.as_fd()], None);
            bell.clear();
            run();
        }
    })?;
    signal::catch(&[libc::SIGHUP], true, on_hangup)
}

/// Signal handler: a write to an eventfd, which is safe here.
extern "C" fn on_hangup(_: libc::c_int) {
    if let Some(bell) = HANGUP.get() {
        signal::keeping_errno(|| bell.ring());
    }
}

/// Signal handler: only atomics, a write to an eventfd, clock_gettime(2) and alarm(2), which are safe here.
extern "C" fn on_signal(number: libc::c_int) {
    let Some(stop) = ASKED_BY_SIGNAL.get() else { return };
    signal::keeping_errno(|| {
        let now = time::monotonic();
        // The stop may have been requested for another reason before, so its own reason does not show a first signal.
        if CAME.swap(number, AcqRel) == 0 {
            AT.store(now, Release);
            signal::alarm(GRACE_SECONDS);
            stop.ask(u8::try_from(number).unwrap_or(u8::MAX - 1));
        } else if now.saturating_sub(AT.load(Acquire)) > ONE_ASKING {
            signal::die_of(number);
        }
    });
}

/// Signal handler, with the same restrictions.
extern "C" fn on_alarm(_: libc::c_int) {
    match CAME.load(Acquire) {
        0 => {}
        number => signal::die_of(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays() {
        let stop = Stop::new().unwrap();
        assert!(!stop.asked() && stop.signal().is_none());
        let other = stop.clone();
        other.ask(2);
        stop.ask(15);
        assert!(stop.asked());
        assert_eq!(stop.signal(), Some(2));
        let quiet = Stop::new().unwrap();
        quiet.ask(0);
        assert!(quiet.asked() && quiet.signal().is_none());
    }
}
