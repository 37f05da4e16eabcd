//! Waiting of a thread without work: it spins, or sleeps until a queue has something.
//!
//! A sleep loses no wake-up: each queue is told first ([`Sleeper::fall_asleep`]), and checks once more for work; then
//! the thread sleeps on the queues' descriptors, then each queue is told that the sleep is over. A spinning thread
//! occupies a core, and on a machine with no more cores than spinning threads that would be its peer's core: so it
//! yields now and then.

use crate::clock::Clock;
use crate::machine::Machine;
use crate::signal::Stop;
use crate::sys::poll::{PollSet, readable};
use crate::thread::cpus;
use linerate_text::saturating_ns;
use std::fmt;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitMode {
    /// Never sleep.
    Busy,
    /// Spin for a while, then sleep.
    #[default]
    Adaptive,
    /// Sleep immediately.
    Sleep,
}

impl WaitMode {
    pub const ALL: [(&'static str, Self); 3] =
        [("busy", Self::Busy), ("adaptive", Self::Adaptive), ("sleep", Self::Sleep)];
}

impl fmt::Display for WaitMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, mode)| mode == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// Counts of a thread's waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitStats {
    /// Number of polls of the queues.
    pub polls: u64,
    /// Number of polls that found no work.
    pub empty_polls: u64,
    pub sleeps: u64,
}

/// Time that an adaptive waiter spins before it sleeps, in ns: about the cost of a wake-up.
const SPIN_NS: u64 = 50_000;
/// Lateness of a sleep's end by default (timer slack), in ns; a thread that may spin wakes so much earlier and spins
/// the rest.
const SLACK_NS: u64 = 60_000;
/// Poll interval of a queue that has no descriptor to sleep on, or one that the system refuses to watch, in ns.
const BLIND_NS: u64 = 100_000;
/// Empty polls after which a spinning thread yields its core, if there are as many spinning threads as cores.
const YIELD_EVERY: u32 = 64;

/// Number of threads of this process that may be spinning.
static SPINNERS: AtomicUsize = AtomicUsize::new(0);

/// Waiter of one thread, made and dropped by that thread.
pub struct Waiter {
    mode: WaitMode,
    stats: WaitStats,
    /// Time at which the present idle period began; 0 if not idle.
    idle_since: u64,
    spins: u32,
    cores: usize,
    set: PollSet,
}

impl Waiter {
    #[must_use]
    pub fn new(mode: WaitMode) -> Self {
        if mode != WaitMode::Sleep {
            SPINNERS.fetch_add(1, Relaxed);
        }
        let cores = cpus().len();
        Self { mode, stats: WaitStats::default(), idle_since: 0, spins: 0, cores, set: PollSet::new() }
    }

    #[must_use]
    pub fn stats(&self) -> WaitStats {
        self.stats
    }

    /// To be called after a poll that found work.
    #[inline]
    pub fn worked(&mut self) {
        self.stats.polls += 1;
        self.idle_since = 0;
    }

    /// To be called after a poll without work: waits a moment, or until a queue of the machine, its time-out or `stop`
    /// ends the wait.
    pub fn idle<M: Machine + ?Sized>(&mut self, machine: &mut M, clock: &mut Clock, stop: Option<&Stop>) {
        self.stats.polls += 1;
        self.stats.empty_polls += 1;
        if self.mode == WaitMode::Busy {
            return self.spin();
        }
        let now = clock.now();
        if self.idle_since == 0 {
            self.idle_since = now;
        }
        let deadline = machine.poll_timeout();
        if self.mode == WaitMode::Adaptive {
            let soon = deadline.is_some_and(|at| at <= now + 2 * SLACK_NS);
            if soon || now < self.idle_since + SPIN_NS {
                return self.spin();
            }
        }
        self.sleep(machine, now, deadline, stop);
    }

    fn spin(&mut self) {
        self.spins = self.spins.wrapping_add(1);
        // The thread that watches and prints hardly runs, so it is no reason to yield.
        if self.spins.is_multiple_of(YIELD_EVERY) && SPINNERS.load(Relaxed) >= self.cores {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }

    fn sleep<M: Machine + ?Sized>(&mut self, machine: &mut M, now: u64, deadline: Option<u64>, stop: Option<&Stop>) {
        let set = &mut self.set;
        set.begin();
        if let Some(stop) = stop {
            set.add(&stop.sleep());
        }
        let (mut nothing, mut blind, mut due) = (true, false, None);
        machine.waits_for(&mut |queue| match queue.fall_asleep() {
            Some(sleep) => {
                blind |= !set.add(&sleep) && sleep.until.is_none();
                due = [due, sleep.until].into_iter().flatten().min();
            }
            None => nothing = false,
        });
        if nothing {
            // What the system refuses to watch is looked at now and then.
            blind |= !self.set.watch();
            let early = if self.mode == WaitMode::Adaptive { SLACK_NS } else { 0 };
            let due = due.map(|at| now + saturating_ns(at.saturating_duration_since(Instant::now())));
            let blind = blind.then_some(now + BLIND_NS);
            let until = [deadline.map(|at| at.saturating_sub(early)), due, blind].into_iter().flatten().min();
            self.stats.sleeps += 1;
            self.set.sleep(until.map(|at| Duration::from_nanos(at.saturating_sub(now))));
        }
        machine.waits_for(&mut |queue| queue.wake_up());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if self.mode != WaitMode::Sleep {
            SPINNERS.fetch_sub(1, Relaxed);
        }
    }
}

/// Sleeps until a time of [`crate::monotonic_ns`], or for ever, but at most until one of the stops is requested.
pub fn pause(stops: &[&Stop], until: Option<u64>) {
    let fds: Vec<_> = stops.iter().map(|stop| stop.as_fd()).collect();
    while !stops.iter().any(|stop| stop.asked()) {
        let now = crate::monotonic_ns();
        if until.is_some_and(|at| at <= now) {
            return;
        }
        readable(&fds, until.map(|at| Duration::from_nanos(at - now)));
    }
}

#[cfg(test)]
mod tests;
