//! Gate of a connection or a listener: its users wait there until something is new.

use super::queue::Queue;
use crate::clock::monotonic_ns;
use linerate_ring::Bell;
use linerate_text::saturating_ns;
use std::io::Result;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::AcqRel};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Number of the times that something was new, and who waits for the next.
#[derive(Default)]
pub(super) struct Gate {
    news: Mutex<News>,
    opened: Condvar,
    /// For those who poll.
    chime: OnceLock<Chime>,
}

/// A bell that is rung once until it is cleared: users who have polled once, and only wait from then on, cost no system calls.
struct Chime {
    bell: Bell,
    rung: AtomicBool,
}

impl Chime {
    fn ring(&self) {
        // Release: pairs with the Acquire of a later `clear`, whose user then finds what was new before this. Acquire: pairs
        // with the Release of an earlier `clear`, which discards no ring of a bell that comes after it.
        if !self.rung.swap(true, AcqRel) {
            self.bell.ring();
        }
    }

    /// Clears it: who looks after this finds what was new before, and what is new from now on rings.
    fn clear(&self) {
        self.bell.clear();
        // Acquire: pairs with the Release of `ring`, of whoever found it rung and left it at that. Release: pairs with the
        // Acquire of the next `ring`, so that the bell was cleared before that one rings it.
        self.rung.swap(false, AcqRel);
    }
}

#[derive(Default)]
struct News {
    count: u64,
    asleep: usize,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is new.
    pub(super) fn open(&self) {
        let mut news = self.lock();
        news.count += 1;
        let asleep = news.asleep;
        drop(news);
        if asleep > 0 {
            self.opened.notify_all();
        }
        if let Some(chime) = self.chime.get() {
            chime.ring();
        }
    }

    /// Descriptor that becomes readable when something is new; a look without waiting that finds nothing makes it unreadable.
    pub(super) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        if self.chime.get().is_none() {
            let chime = Chime { bell: Bell::new()?, rung: AtomicBool::new(false) };
            // Whatever was new before nobody has looked for.
            chime.ring();
            let _ = self.chime.set(chime);
        }
        self.chime.get().map(|chime| chime.bell.as_fd()).ok_or_else(|| std::io::ErrorKind::OutOfMemory.into())
    }

    /// Tries until there is a result, waiting in between for something new, no longer than the time. None: the time is over,
    /// or is zero and there was nothing. Who waits takes turns of a queue before it goes to sleep.
    pub(super) fn wait<T>(
        &self,
        queue: &Queue,
        time: Option<Duration>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        if let Some(done) = attempt() {
            return Some(done);
        }
        if time == Some(Duration::ZERO) {
            // What comes from now on rings; what has come before is looked for once more.
            let chime = self.chime.get();
            chime.map(Chime::clear);
            let done = attempt();
            // There may be more of it.
            if done.is_some() {
                chime.map(Chime::ring);
            }
            return done;
        }
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let ends = time.map(|time| monotonic_ns().saturating_add(saturating_ns(time)));
        loop {
            // First the number, then the look: what is new after the look changes the number.
            let before = self.lock().count;
            if let Some(done) = attempt() {
                return Some(done);
            }
            // Whatever is new all the time, and is no result.
            if ends.is_some_and(|ends| monotonic_ns() >= ends) {
                return None;
            }
            queue.turn_until(ends, || self.lock().count != before);
            let mut news = self.lock();
            while news.count == before {
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                if left == Some(Duration::ZERO) {
                    return None;
                }
                news.asleep += 1;
                news = match left {
                    None => self.opened.wait(news).unwrap_or_else(PoisonError::into_inner),
                    Some(left) => self.opened.wait_timeout(news, left).unwrap_or_else(PoisonError::into_inner).0,
                };
                news.asleep -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::poll::readable;

    fn is_readable(bell: &Bell) -> bool {
        readable(&[bell.as_fd()], Some(Duration::ZERO))
    }

    /// A chime that was not cleared is not rung again, and one that was is.
    #[test]
    fn a_chime_is_rung_once_until_it_is_cleared() {
        let chime = Chime { bell: Bell::new().unwrap(), rung: AtomicBool::new(false) };
        for _ in 0..2 {
            chime.ring();
            assert!(is_readable(&chime.bell));
            chime.clear();
            assert!(!is_readable(&chime.bell));
        }
        chime.ring();
        chime.bell.clear();
        chime.ring();
        assert!(!is_readable(&chime.bell), "the second ring was a system call");
    }
}
