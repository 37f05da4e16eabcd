//! Runs a switch that other processes attach to: one thread, which forwards, admits new ports, and sleeps while there
//! is nothing to do.

use linerate_port::Sleeper;
use linerate_port::switch::{Listener, Switch};
use linerate_rt::control::Callee;
use linerate_rt::dcb::SwitchDcb;
use linerate_rt::{Machine, Progress, Stop, WaitMode, Waiter, run};

/// Time limit for published frames to be forwarded when the switch is told to stop, nanoseconds.
const FLUSH_NS: u64 = 200_000_000;
const SECOND_NS: u64 = 1_000_000_000;

pub struct SwitchJob {
    pub switch: Switch,
    /// Listener through which other processes attach.
    pub listener: Listener,
    /// Protocol that offers neighbours the switch's traffic classes.
    pub dcb: Option<SwitchDcb>,
}

impl SwitchJob {
    /// Forwards, and speaks to neighbours; true if there was something to do.
    fn poll(&mut self, now: u64) -> bool {
        let Self { switch, dcb, .. } = self;
        switch.poll(now) | dcb.as_mut().is_some_and(|dcb| dcb.turn(switch, now))
    }
}

struct Running<'a> {
    job: &'a mut SwitchJob,
    calls: &'a Callee<SwitchJob>,
    each_second: &'a mut dyn FnMut(&mut SwitchJob),
    next: u64,
    /// Time limit after a stop, whatever is still in transit.
    patience: Option<u64>,
    end: Option<u64>,
}

/// Runs until it is told to stop, or for `seconds` seconds; calls `each_second` about once a second, and serves calls from
/// other threads.
pub fn serve(
    job: &mut SwitchJob,
    calls: &Callee<SwitchJob>,
    seconds: Option<u64>,
    wait: WaitMode,
    stop: &Stop,
    each_second: &mut dyn FnMut(&mut SwitchJob),
) {
    let now = linerate_rt::monotonic_ns();
    let end = seconds.map(|seconds| now.saturating_add(seconds.saturating_mul(SECOND_NS)));
    let mut running = Running { job, calls, each_second, next: now + SECOND_NS, patience: None, end };
    run(&mut running, &mut Waiter::new(wait), stop);
}

impl Machine for Running<'_> {
    fn handle(&mut self, now: u64) -> Progress {
        let came = self.job.listener.admit(&mut self.job.switch);
        let worked = self.job.poll(now) | came | self.calls.serve(self.job);
        if now >= self.next {
            self.next = now + SECOND_NS;
            (self.each_second)(self.job);
        }
        if self.patience.is_none() && self.end.is_some_and(|end| now >= end) {
            self.stop(now);
        }
        match self.patience {
            // What waits in queues was taken from its senders: it is sent if somebody takes it in time.
            Some(patience) if !worked && !self.job.switch.queued() || now >= patience => Progress::Done,
            _ if worked => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let own = self.job.switch.due().into_iter().chain(self.job.dcb.as_ref().map(SwitchDcb::due));
        Some(own.fold(self.next, u64::min).min(self.end.unwrap_or(u64::MAX)).min(self.patience.unwrap_or(u64::MAX)))
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut &self.job.listener);
        visit(&mut self.calls.sleep());
        self.job.switch.waits_for(visit);
    }

    fn stop(&mut self, now: u64) {
        if self.patience.is_none() {
            self.job.dcb.iter_mut().for_each(SwitchDcb::stop);
            self.patience = Some(now + FLUSH_NS);
        }
    }
}
