//! Mailbox of one socket: what has arrived for it, shared by the threads that run the host and those that read.
//!
//! A reader takes this lock alone, and a datagram wakes readers of its own socket alone: nobody who reads one socket
//! notices what comes for another, or waits for a host that handles a batch.

use linerate_stack::{Host, Inbox, SendError, UdpId};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Mailbox {
    letters: Mutex<Letters>,
    arrived: Condvar,
    /// True if there is an error to be reported, so that senders look without the lock.
    error: AtomicBool,
    /// Datagrams that somebody took as a whole and reads; there is a queue once it has been done.
    taken: Mutex<Taken>,
}

struct Letters {
    inbox: Inbox,
    /// Error about an earlier datagram; reported once, to a reader or a sender.
    error: Option<SendError>,
    /// Time for which a reader waits.
    timeout: Option<Duration>,
    /// Readers that sleep, and how many of them were called and are not up yet. Who is on its way is not called again,
    /// so that a datagram for a reader that is slow to wake costs no system call.
    asleep: usize,
    called: usize,
}

/// Datagrams that somebody took as a whole.
#[derive(Default)]
struct Taken {
    inbox: Option<Inbox>,
    /// One that lay at both ends of its queue.
    joined: Vec<u8>,
}

pub(super) enum Mail {
    /// A datagram: its length, as far as it fitted, and its sender.
    Datagram(usize, SocketAddr),
    /// An error about an earlier datagram.
    Error(SendError),
    /// Nothing within the time.
    Nothing,
}

impl Mailbox {
    /// With room for as much as this one holds.
    pub(super) fn new(inbox: Inbox) -> Self {
        let letters = Letters { inbox, error: None, timeout: None, asleep: 0, called: 0 };
        Self {
            letters: Mutex::new(letters),
            arrived: Condvar::new(),
            error: AtomicBool::new(false),
            taken: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a shard of the host has for the socket. Gives how many of its readers are to be woken.
    pub(super) fn fill(&self, host: &mut Host, id: UdpId) -> usize {
        let mut letters = self.lock();
        let (moved, error) = host.udp_hand_over(id, &mut letters.inbox);
        let told = usize::from(error.is_some());
        if error.is_some() {
            letters.error = error;
            // Relaxed, here and where it is read: what it stands for is read under the lock.
            self.error.store(true, Ordering::Relaxed);
        }
        let call = (moved + told).min(letters.asleep - letters.called);
        letters.called += call;
        call
    }

    /// Wakes so many readers.
    pub(super) fn wake(&self, readers: usize) {
        (0..readers).for_each(|_| self.arrived.notify_one());
    }

    /// Takes the error about an earlier datagram.
    #[inline]
    pub(super) fn error(&self) -> Option<SendError> {
        if self.error.load(Ordering::Relaxed) { self.take_error(&mut self.lock()) } else { None }
    }

    fn take_error(&self, letters: &mut Letters) -> Option<SendError> {
        self.error.store(false, Ordering::Relaxed);
        letters.error.take()
    }

    /// If there is nothing for a reader, and it would wait: for how long, or for ever.
    pub(super) fn must_wait(&self) -> Option<Option<Duration>> {
        let letters = self.lock();
        let waits = letters.inbox.is_empty() && letters.error.is_none() && letters.timeout != Some(Duration::ZERO);
        waits.then_some(letters.timeout)
    }

    /// Takes a datagram, waiting for it no longer than the time-out, which ends then for who has waited already.
    pub(super) fn read(&self, buffer: &mut [u8], mut until: Option<Instant>) -> Mail {
        let mut letters = self.lock();
        let timeout = letters.timeout;
        loop {
            if let Some((n, _, from)) = letters.inbox.pop(buffer) {
                return Mail::Datagram(n, from);
            }
            if let Some(error) = self.take_error(&mut letters) {
                return Mail::Error(error);
            }
            // Who finds something needs no clock.
            let left = match (timeout, until) {
                (Some(timeout), None) if timeout > Duration::ZERO => {
                    until = Instant::now().checked_add(timeout);
                    until.map(|_| timeout)
                }
                (timeout, until) => until.map(|until| until.saturating_duration_since(Instant::now())).or(timeout),
            };
            if left == Some(Duration::ZERO) {
                return Mail::Nothing;
            }
            letters.asleep += 1;
            letters = match left {
                None => self.arrived.wait(letters).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.arrived.wait_timeout(letters, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            // Who wakes by its time-out does as if it had been called. So one may be counted too few, who is called once
            // more in vain; too many would be somebody who is not called at all.
            letters.asleep -= 1;
            letters.called = letters.called.saturating_sub(1);
        }
    }

    /// Takes all datagrams that wait, where they lie. The host can bring others while they are looked at.
    pub(super) fn read_all(&self, mut look: impl FnMut(&[u8], SocketAddr)) -> usize {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let Taken { inbox, joined } = &mut *taken;
        let mut letters = self.lock();
        if letters.inbox.is_empty() && inbox.is_none() {
            return 0;
        }
        let inbox = inbox.get_or_insert_with(|| letters.inbox.another());
        // Something is left in it only if somebody's look has panicked, and is read first.
        if inbox.is_empty() {
            std::mem::swap(inbox, &mut letters.inbox);
        }
        drop(letters);
        let mut n = 0;
        while inbox.look(joined, &mut look) {
            n += 1;
        }
        n
    }

    pub(super) fn set_timeout(&self, timeout: Option<Duration>) {
        self.lock().timeout = timeout;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_stack::Config;
    use linerate_wire::MacAddr;

    /// Regression: who had processed what came for others until its time was over slept for as long again.
    #[test]
    fn who_has_waited_waits_for_the_rest_of_its_time() {
        let host = Host::new(&Config::new(MacAddr([2, 0, 0, 0, 0, 1]), 1)).unwrap();
        let mailbox = Mailbox::new(host.udp_inbox());
        mailbox.set_timeout(Some(Duration::from_secs(20)));
        assert_eq!(mailbox.must_wait(), Some(Some(Duration::from_secs(20))));
        let began = Instant::now();
        assert!(matches!(mailbox.read(&mut [0; 16], Some(began)), Mail::Nothing));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
