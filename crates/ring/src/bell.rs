//! Doorbells: a sleeper says so in shared memory, and only then does the other side spend a system call to wake it.
//!
//! Orderings: the sleeper stores `asleep`, then fences, then looks at the ring once more; the waker publishes, then
//! fences, then looks at `asleep`. Both fences are sequentially consistent, so at least one of the two sees the
//! other's store, and no wake-up is lost (Dekker's argument; the loom test explores it).

use crate::cursor::Counter;
use crate::sys::closing::Foreign;
use crate::sys::{self, doorbell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Wakes one sleeper; cheap to clone. Ringing and clearing never block, whatever another process does to its end.
#[derive(Clone, Debug)]
pub struct Bell(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    /// The sleeper and all who ring are of this process: an eventfd.
    Within(OwnedFd),
    /// The sleeper is of this process, and another one may ring.
    Near(doorbell::Inbox),
    /// The sleeper is of another process.
    Far(Foreign),
}

impl Bell {
    /// One for a sleeper that this process alone wakes.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(Kind::Within(sys::event()?))))
    }

    /// One for a sleeper that another process is to wake, too.
    pub fn between() -> io::Result<Self> {
        Ok(Self(Arc::new(Kind::Near(doorbell::Inbox::new()?))))
    }

    /// A descriptor for another process, which rings by it from then on; whoever got one before rings no more.
    ///
    /// # Errors
    /// The kernel's; and for a bell that was not made by [`Bell::between`].
    pub fn hand_over(&self) -> io::Result<OwnedFd> {
        match &*self.0 {
            Kind::Near(inbox) => inbox.hand_over(),
            Kind::Within(_) | Kind::Far(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// A bell for a sleeper of another process, and the descriptor on which that one is to sleep ([`Bell::take_over`]).
    ///
    /// # Errors
    /// The kernel's.
    pub fn apart() -> io::Result<(Self, OwnedFd)> {
        let (far, near) = doorbell::pair()?;
        Ok((Self(Arc::new(Kind::Far(far))), near))
    }

    /// Another process rings by the other end of this descriptor, which it made; whoever rang before does so no more.
    ///
    /// # Errors
    /// The kernel's; for what is no such descriptor; and for a bell that was not made by [`Bell::between`].
    pub fn take_over(&self, fd: Foreign) -> io::Result<()> {
        match &*self.0 {
            Kind::Near(inbox) => inbox.take_over(fd),
            Kind::Within(_) | Kind::Far(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// No other process wakes this sleeper any more, until one is let again.
    pub fn detach(&self) {
        if let Kind::Near(inbox) = &*self.0 {
            inbox.detach();
        }
    }

    /// The bell of a sleeper in another process, which handed this over.
    ///
    /// # Errors
    /// For what is no such descriptor: ringing it could block.
    pub fn from_fd(fd: Foreign) -> io::Result<Self> {
        doorbell::check_handed(&fd)?;
        Ok(Self(Arc::new(Kind::Far(fd))))
    }

    /// Wakes the sleeper, now or when it goes to sleep.
    pub fn ring(&self) {
        match &*self.0 {
            Kind::Within(event) => sys::signal(event),
            Kind::Near(inbox) => inbox.ring(),
            Kind::Far(socket) => doorbell::ring(socket),
        }
    }

    /// Forgets wake-ups that were delivered.
    pub fn clear(&self) {
        match &*self.0 {
            Kind::Within(event) => sys::clear(event),
            Kind::Near(inbox) => inbox.clear(),
            // Nobody of this process sleeps on it.
            Kind::Far(_) => {}
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &*self.0 {
            Kind::Within(event) => event.as_fd(),
            Kind::Near(inbox) => inbox.as_fd(),
            Kind::Far(socket) => socket.as_fd(),
        }
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
