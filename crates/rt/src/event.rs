//! Event loop of one thread.

use crate::clock::Clock;
use crate::machine::{Machine, Progress};
use crate::signal::Stop;
use crate::wait::{WaitStats, Waiter};

/// Runs a machine until it is done. Returns the counts of its waiting.
pub fn run<M: Machine + ?Sized>(machine: &mut M, waiter: &mut Waiter, stop: &Stop) -> WaitStats {
    let mut clock = Clock::new();
    let mut stopping = false;
    loop {
        let now = clock.now();
        if !stopping && stop.asked() {
            stopping = true;
            machine.stop(now);
        }
        match machine.handle(now) {
            Progress::Worked => waiter.worked(),
            Progress::Idle => waiter.idle(machine, &mut clock, (!stopping).then_some(stop)),
            Progress::Done => return waiter.stats(),
        }
    }
}
