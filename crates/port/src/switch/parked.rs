//! Receive queues that have nothing to say, so that a turn of the switch costs what its busy ports cost.
//!
//! A queue that was idle for [`IDLE`] is *parked*: it falls asleep as before a sleep of the thread (it announces that it
//! sleeps, and looks once more), its descriptor goes into a set, and it stays so while the switch works for others or
//! sleeps. Turns do not visit it. What is sent to it rings its bell, the set reports its descriptor, and it is awake again.
//!
//! No wake-up is lost: whoever publishes after the queue's last look sees the announcement and rings. The descriptor
//! is readable from then on, as the bell was cleared before the announcement and nobody clears it while the queue is parked;
//! and it is put into the set after that look, which finds it readable if it is, or else is told. The set's descriptor is
//! readable until the report is taken. The switch takes reports in its turns, and sleeps on the set's descriptor.
//!
//! A queue whose sleep ends at a time, or that has no descriptor, is never parked, nor is one whose link to another process
//! is down, or one with a frame that waits. A
//! neighbour that rings without reason wakes its own queue once in [`IDLE`]; one that does not ring waits for the
//! second's look.

use super::member::Source;
use crate::cable::Side;
use crate::info::Link;
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::ready::{REPORTS, ReadySet};
use std::os::fd::AsFd;

/// Time in ns without frames after which a queue is parked: much longer than a parking and a wake-up take.
const IDLE: u64 = 1_000_000;
/// Most queues parked in one turn, which must not take long.
const PER_TURN: usize = 4;
/// Times in ns between two looks at the set: while frames are forwarded, and while there are none. A look is a system
/// call, and the delay of a frame that wakes its port.
const BUSY: u64 = 20_000;
const QUIET: u64 = 1_000;
/// Time in ns between two looks at all parked queues, whatever their bells say.
const ANYWAY: u64 = 1_000_000_000;

/// The parked queues of a switch.
#[derive(Default)]
pub(super) struct Parked {
    /// None before the first, and while the system has none to give.
    set: Option<ReadySet>,
    /// Number of parked queues.
    count: usize,
    /// Number of queues parked in this turn.
    now: usize,
    /// The thread has slept: it may be for one of these that it woke.
    slept: bool,
    looked: u64,
    looked_at_all: u64,
    #[cfg(test)]
    never_looks_anyway: bool,
}

/// Names a queue of a port in a report.
fn token(port: u16, queue: usize) -> u64 {
    u64::from(port) | (queue as u64) << 16
}

/// Port and queue of a report.
fn named(token: u64) -> (u16, usize) {
    let [a, b, c, d, ..] = token.to_le_bytes();
    (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]).into())
}

impl Parked {
    /// Parks a queue of a port that has been idle for long enough, at time `now`; true if it did. `life`: the port's end,
    /// if another process has the other one.
    pub(super) fn park(
        &mut self,
        source: &mut Source,
        (port, queue): (u16, usize),
        life: Option<&Side>,
        now: u64,
    ) -> bool {
        if now.saturating_sub(source.since) < IDLE || self.now == PER_TURN || queue > usize::from(u16::MAX) {
            return false;
        }
        if self.set.is_none() {
            self.set = ReadySet::new().ok();
        }
        // Refused, or with something to do: it is asked again after as long.
        source.since = now;
        let Some(set) = &self.set else { return false };
        let parked = match source.rx.fall_asleep() {
            // The link is asked last: what went down before the bell was cleared is seen here, and what goes down later rings.
            Some(Sleep { on: Some((fd, Interest::Readable)), until: None, .. })
                if life.is_none_or(|side| side.link() == Link::Up) =>
            {
                set.arm(fd, token(port, queue)).ok()
            }
            _ => None,
        };
        if parked.is_none() {
            source.rx.wake_up();
            return false;
        }
        source.parked = parked;
        (self.count, self.now) = (self.count + 1, self.now + 1);
        true
    }

    /// Wakes a parked queue.
    pub(super) fn wake(&mut self, source: &mut Source, now: u64) {
        let Some(fd) = source.parked.take() else { return };
        if let Some(set) = &self.set {
            set.disarm(fd);
        }
        self.count -= 1;
        source.rx.wake_up();
        source.since = now;
    }

    /// Begins a turn; true if reports are to be taken. `worked`: the last turn forwarded frames.
    pub(super) fn begin(&mut self, now: u64, worked: bool) -> bool {
        self.now = 0;
        let every = if worked { BUSY } else { QUIET };
        // A clock that stands still says nothing about the time since the last look.
        let due = self.slept || now == self.looked || now.saturating_sub(self.looked) >= every;
        if self.count == 0 || !due {
            return false;
        }
        (self.slept, self.looked) = (false, now);
        true
    }

    /// Calls `each` with the port and queue of each report.
    pub(super) fn take(&mut self, mut each: impl FnMut(&mut Self, u16, usize)) {
        let mut tokens = [0; REPORTS];
        loop {
            let got = self.set.as_ref().map_or(0, |set| set.take(&mut tokens));
            for token in &tokens[..got] {
                let (port, queue) = named(*token);
                each(self, port, queue);
            }
            if got < REPORTS {
                return;
            }
        }
    }

    /// True once a second: all parked queues are to be looked at.
    pub(super) fn looks_anyway(&mut self, now: u64) -> bool {
        let due = self.count > 0 && now.saturating_sub(self.looked_at_all) >= ANYWAY;
        #[cfg(test)]
        let due = due && !self.never_looks_anyway;
        if due {
            self.looked_at_all = now;
        }
        due
    }

    #[cfg(test)]
    pub(super) fn never_looks_anyway(&mut self) {
        self.never_looks_anyway = true;
    }

    /// True if there are parked queues to sleep for.
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }
}

impl Sleeper for Parked {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        let set = self.set.as_ref();
        Some(set.map_or(Sleep::default(), |set| Sleep {
            file: Some(set.id()),
            ..Sleep::on(set.as_fd(), Interest::Readable)
        }))
    }

    fn wake_up(&mut self) {
        self.slept = true;
    }
}
