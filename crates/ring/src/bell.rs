//! Doorbells: a sleeper says so in shared memory, and only then does the other side spend a system call to wake it.
//!
//! Orderings: the sleeper stores `asleep`, then fences, then looks at the ring once more; the waker publishes, then
//! fences, then looks at `asleep`. Both fences are sequentially consistent, so at least one of the two sees the
//! other's store, and no wake-up is lost (Dekker's argument; the loom test explores it).

use crate::cursor::Counter;
use crate::sys;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// An eventfd that wakes one sleeper; cheap to clone and to hand to another process.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A new one.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(sys::event()?)))
    }

    /// One that came from another process. Refuses what is no eventfd: ringing it could block or raise a signal.
    ///
    /// The other process keeps the same open file. It can make it block again and fill its counter, which stops whoever
    /// rings; being of the same user, it can do the same with SIGSTOP.
    pub fn from_fd(fd: OwnedFd) -> std::io::Result<Self> {
        sys::check_event(&fd)?;
        Ok(Self(Arc::new(fd)))
    }

    /// Wakes the sleeper, now or when it goes to sleep.
    pub fn ring(&self) {
        sys::signal(&self.0);
    }

    /// Forgets wake-ups that were delivered.
    pub fn clear(&self) {
        sys::clear(&self.0);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Says "I am about to sleep". After that the caller must look once more before it does.
pub(crate) fn fall_asleep<C: Counter>(asleep: &C) {
    asleep.store(1, Relaxed);
    C::fence();
}

/// Says "I am awake".
pub(crate) fn wake_up<C: Counter>(asleep: &C) {
    asleep.store(0, Relaxed);
}

/// After publishing: whether the other side must be woken. Taking the flag makes one bell of many batches.
#[inline]
pub(crate) fn must_ring<C: Counter>(asleep: &C) -> bool {
    C::fence();
    asleep.load(Relaxed) != 0 && asleep.swap(0, Relaxed) != 0
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;

    /// Either the sleeper sees what was published, or the waker sees that it sleeps.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = shared.clone();
            let waker = loom::thread::spawn(move || {
                Counter::store(&theirs.0, 1, std::sync::atomic::Ordering::Release);
                must_ring(&theirs.1)
            });
            fall_asleep(&shared.1);
            let seen = Counter::load(&shared.0, std::sync::atomic::Ordering::Acquire) == 1;
            let rang = waker.join().unwrap();
            assert!(seen || rang);
        });
    }

    /// A sleeper that wakes by itself and sleeps again either sees what was published, or its bell has been rung since
    /// it was last cleared.
    #[test]
    fn nothing_is_lost_by_waking_and_sleeping_again() {
        loom::model(|| {
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = shared.clone();
            let waker = loom::thread::spawn(move || {
                Counter::store(&theirs.0, 1, std::sync::atomic::Ordering::Release);
                if must_ring(&theirs.1) {
                    // An eventfd: reading and writing it are one total order.
                    theirs.2.swap(1, std::sync::atomic::Ordering::SeqCst);
                }
            });
            let mut seen = false;
            for _ in 0..2 {
                wake_up(&shared.1);
                shared.2.swap(0, std::sync::atomic::Ordering::SeqCst);
                fall_asleep(&shared.1);
                seen |= Counter::load(&shared.0, std::sync::atomic::Ordering::Acquire) == 1;
            }
            waker.join().unwrap();
            assert!(seen || shared.2.load(std::sync::atomic::Ordering::SeqCst) == 1);
        });
    }
}
