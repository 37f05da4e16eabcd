//! Doorbells: a sleeper sets a flag in shared memory, and only then does the other side spend a system call to wake it.
//!
//! Orderings: the sleeper stores `asleep`, then fences, then looks at the ring once more; the waker publishes, then
//! fences, then looks at `asleep`. Both fences are sequentially consistent, so at least one of the two sees the
//! other's store, and no wake-up is lost (Dekker's argument; the loom test explores it).

use crate::claim::next_id;
use crate::cursor::Counter;
use crate::sys::closing::Foreign;
use crate::sys::{self, doorbell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Wakes one sleeper; cheap to clone. Ringing and clearing never block, whatever another process does to its end.
#[derive(Clone, Debug)]
pub struct Bell(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// The sleeper and all who ring are in this process: an eventfd.
    Within(OwnedFd),
    /// The sleeper is in this process, and another process may ring.
    Near(doorbell::Inbox),
    /// The sleeper is in another process.
    Far(Foreign),
}

impl Bell {
    fn of(kind: Kind) -> Self {
        Self(Arc::new(Inner { id: next_id(), kind }))
    }

    /// Number of the bell's descriptor, of no other in this process, before or after it: while the number is the same, so
    /// is the open file behind the descriptor.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Makes a bell for a sleeper that only this process wakes.
    pub fn new() -> io::Result<Self> {
        Ok(Self::of(Kind::Within(sys::event()?)))
    }

    /// Makes a bell for a sleeper that another process may wake, too.
    pub fn between() -> io::Result<Self> {
        Ok(Self::of(Kind::Near(doorbell::Inbox::new()?)))
    }

    /// A descriptor with which another process rings from now on; a descriptor handed over before rings no more.
    ///
    /// # Errors
    /// Errors of the kernel; `Unsupported` for a bell not made by [`Bell::between`].
    pub fn hand_over(&self) -> io::Result<OwnedFd> {
        match &self.0.kind {
            Kind::Near(inbox) => inbox.hand_over(),
            Kind::Within(_) | Kind::Far(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// A bell for a sleeper in another process, and the descriptor on which that process sleeps ([`Bell::take_over`]).
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn apart() -> io::Result<(Self, OwnedFd)> {
        let (far, near) = doorbell::pair()?;
        Ok((Self::of(Kind::Far(far)), near))
    }

    /// Lets another process ring by the other end of this descriptor, which it made; a descriptor used before rings no
    /// more.
    ///
    /// # Errors
    /// Errors of the kernel; `InvalidData` for a descriptor of another kind; `Unsupported` for a bell not made by
    /// [`Bell::between`].
    pub fn take_over(&self, fd: Foreign) -> io::Result<()> {
        match &self.0.kind {
            Kind::Near(inbox) => inbox.take_over(fd),
            Kind::Within(_) | Kind::Far(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Lets no other process wake this sleeper, until the next [`Bell::hand_over`] or [`Bell::take_over`].
    pub fn detach(&self) {
        if let Kind::Near(inbox) = &self.0.kind {
            inbox.detach();
        }
    }

    /// The bell of a sleeper in another process, which handed over this descriptor.
    ///
    /// # Errors
    /// `InvalidData` for a descriptor of another kind: ringing it could block.
    pub fn from_fd(fd: Foreign) -> io::Result<Self> {
        doorbell::check_handed(&fd)?;
        Ok(Self::of(Kind::Far(fd)))
    }

    /// Wakes the sleeper, now or when it goes to sleep.
    pub fn ring(&self) {
        match &self.0.kind {
            Kind::Within(event) => sys::signal(event),
            Kind::Near(inbox) => inbox.ring(),
            Kind::Far(socket) => doorbell::ring(socket),
        }
    }

    /// Discards wake-ups that were delivered.
    pub fn clear(&self) {
        match &self.0.kind {
            Kind::Within(event) => sys::clear(event),
            Kind::Near(inbox) => inbox.clear(),
            // No sleeper in this process.
            Kind::Far(_) => {}
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0.kind {
            Kind::Within(event) => event.as_fd(),
            Kind::Near(inbox) => inbox.as_fd(),
            Kind::Far(socket) => socket.as_fd(),
        }
    }
}

/// Announces "I am about to sleep". The caller must then check its condition once more before it sleeps.
pub(crate) fn fall_asleep<C: Counter>(asleep: &C) {
    asleep.store(1, Relaxed);
    C::fence();
}

/// Announces "I am awake".
pub(crate) fn wake_up<C: Counter>(asleep: &C) {
    asleep.store(0, Relaxed);
}

/// To be asked after publishing: true if the other side must be woken. Taking the flag rings once for many batches.
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

    /// Either the sleeper sees the published value, or the waker sees that it sleeps.
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

    /// A sleeper that wakes by itself and sleeps again either sees the published value, or its bell has been rung since
    /// it was last cleared.
    #[test]
    fn nothing_is_lost_by_waking_and_sleeping_again() {
        loom::model(|| {
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = shared.clone();
            let waker = loom::thread::spawn(move || {
                Counter::store(&theirs.0, 1, std::sync::atomic::Ordering::Release);
                if must_ring(&theirs.1) {
                    // Models an eventfd: its reads and writes have one total order.
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
