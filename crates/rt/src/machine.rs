//! What a thread runs, and what it sleeps on.

use linerate_port::{Interest, RxQueue, TxQueue};
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// What a machine did when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something: ask again at once.
    Worked,
    /// Nothing: ask again when a queue or the time says so.
    Idle,
    /// All it will ever do.
    Done,
}

/// Work over some queues, a batch at a time, in one thread. Times are [`crate::monotonic_ns`]'s.
pub trait Machine {
    /// Does what can be done now.
    fn handle(&mut self, now: u64) -> Progress;

    /// When it wants to be asked again although no queue says so.
    fn poll_timeout(&self) -> Option<u64>;

    /// Shows the queues that it waits for, and no others: a queue that is always ready would keep it awake.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper));

    /// Told once that it shall come to an end; it goes on being asked until it is done.
    fn stop(&mut self, now: u64);
}

/// Something that can be slept on; see `linerate_port`'s queues.
pub trait Sleeper {
    /// Last look before the sleep: false if there is something to do after all.
    fn fall_asleep(&mut self) -> bool;
    /// The sleep is over.
    fn wake_up(&mut self);
    /// What to sleep on.
    fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)>;
    /// When there is something to do although nothing happens meanwhile.
    fn due(&self) -> Option<Instant>;
}

macro_rules! sleeper {
    ($queue:ty) => {
        impl Sleeper for $queue {
            fn fall_asleep(&mut self) -> bool {
                <$queue>::fall_asleep(self)
            }
            fn wake_up(&mut self) {
                <$queue>::wake_up(self);
            }
            fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)> {
                <$queue>::waits_on(self)
            }
            fn due(&self) -> Option<Instant> {
                <$queue>::due(self)
            }
        }
    };
}
sleeper!(TxQueue);
sleeper!(RxQueue);
