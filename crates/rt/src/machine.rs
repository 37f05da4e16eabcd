//! What a thread runs, and what it sleeps on.

pub use linerate_port::Sleeper;

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
