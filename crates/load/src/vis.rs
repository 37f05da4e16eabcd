//! Runs an adapter whose virtual interfaces other processes take: one thread, which moves frames, lets programs in, and
//! sleeps while there is nothing to do.

use linerate_nic::Guests;
use linerate_port::Sleeper;
use linerate_port::switch::Listener;
use linerate_rt::control::Callee;
use linerate_rt::dcb::SharedDcb;
use linerate_rt::{Machine, Progress, Stop, WaitMode, Waiter, run};

/// Time limit for published frames to be forwarded when the adapter is told to stop, nanoseconds.
const FLUSH_NS: u64 = 200_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// An adapter with programs at its interfaces, and their listener, which lets them in from the first [`AdapterJob::change`] on.
pub struct AdapterJob {
    /// The programs.
    pub guests: Guests,
    /// Listener through which they come.
    pub listener: Listener,
    /// Protocol that says which traffic classes there are.
    pub dcb: Option<SharedDcb>,
}

impl AdapterJob {
    /// Changes interfaces, and then what is granted at the listener.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Guests) -> T) -> T {
        let done = change(&mut self.guests);
        self.listener.grant(self.guests.grants());
        done
    }
}

struct Running<'a> {
    job: &'a mut AdapterJob,
    callee: Option<&'a Callee<AdapterJob>>,
    each_second: &'a mut dyn FnMut(&mut AdapterJob),
    next: u64,
    /// Time limit after a stop, whatever is still in transit.
    patience: Option<u64>,
    end: Option<u64>,
}

/// Runs until it is told to stop, or for `seconds` seconds; calls `each_second` about once a second, and does what is called
/// at `callee`.
pub fn serve(
    job: &mut AdapterJob,
    callee: Option<&Callee<AdapterJob>>,
    seconds: Option<u64>,
    wait: WaitMode,
    stop: &Stop,
    each_second: &mut dyn FnMut(&mut AdapterJob),
) {
    let now = linerate_rt::monotonic_ns();
    let end = seconds.map(|seconds| now.saturating_add(seconds.saturating_mul(SECOND_NS)));
    let mut running = Running { job, callee, each_second, next: now + SECOND_NS, patience: None, end };
    run(&mut running, &mut Waiter::new(wait), stop);
}

impl Machine for Running<'_> {
    fn handle(&mut self, now: u64) -> Progress {
        let called = self.callee.is_some_and(|callee| callee.serve(self.job));
        let AdapterJob { guests, listener, dcb } = self.job;
        let spoke = dcb.as_mut().is_some_and(|dcb| dcb.turn(guests, now));
        let held_up = dcb.as_ref().is_some_and(|dcb| dcb.client().is_held_up());
        let came = guests.admit(listener) | called | spoke;
        let worked = guests.poll(now) | came;
        let pressed = guests.is_pressed();
        if now >= self.next {
            self.next = now + SECOND_NS;
            (self.each_second)(self.job);
        }
        if self.patience.is_none() && self.end.is_some_and(|end| now >= end) {
            self.stop(now);
        }
        match self.patience {
            Some(patience) if !(worked || held_up) || now >= patience => Progress::Done,
            _ if worked || pressed => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let dcb = self.job.dcb.as_ref().map_or(u64::MAX, |dcb| dcb.client().due());
        let due = self.job.guests.due().unwrap_or(u64::MAX).min(dcb);
        Some(self.next.min(due).min(self.end.unwrap_or(u64::MAX)).min(self.patience.unwrap_or(u64::MAX)))
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut &self.job.listener);
        if let Some(callee) = self.callee {
            visit(&mut callee.sleep());
        }
        self.job.guests.waits_for(visit);
    }

    fn stop(&mut self, now: u64) {
        if self.patience.is_none() {
            self.job.dcb.iter_mut().for_each(SharedDcb::stop);
            self.patience = Some(now + FLUSH_NS);
        }
    }
}
