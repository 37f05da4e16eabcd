//! State machines run by a thread, and the queues they sleep on.

pub use linerate_port::Sleeper;

/// Result of a call of [`Machine::handle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Some work was done: call again at once.
    Worked,
    /// No work: call again when a queue or the time-out is due.
    Idle,
    /// All work is finished.
    Done,
}

/// Work on some queues, a batch at a time, in one thread. Times are those of [`crate::monotonic_ns`].
pub trait Machine {
    /// Does the work that is possible now.
    fn handle(&mut self, now: u64) -> Progress;

    /// Time of the next call of [`Machine::handle`] even if no queue is ready.
    fn poll_timeout(&self) -> Option<u64>;

    /// Visits the queues that it waits for, and no others: a queue that is always ready would keep it awake.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper));

    /// Called once to request the end; `handle` is called further on until it returns [`Progress::Done`].
    fn stop(&mut self, now: u64);
}
