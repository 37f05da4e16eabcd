//! Time of a test: a thread that waits for its end, so that the lanes look at a flag and at no clock.

use super::cpu::Reading;
use linerate_port::saturating_ns;
use linerate_rt::{Stop, monotonic_ns, pause, spawn};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What lanes see of the time, and what they have moved so far.
#[derive(Debug, Default)]
pub(super) struct Shared {
    due: AtomicBool,
    over: AtomicBool,
    /// Bytes or transactions so far.
    pub(super) units: AtomicU64,
    at_due: Mutex<Option<Reading>>,
}

impl Shared {
    /// True once the time that was asked for is over.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due.load(Relaxed)
    }

    /// True once nothing is moved any more.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Time and processors when the time that was asked for was over.
    pub(super) fn at_due(&self) -> Option<Reading> {
        self.at_due.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Times of a test.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// Time until it is due; `None`: only a stop ends it.
    pub(super) due: Option<Duration>,
    /// Time after that until it is over.
    pub(super) grace: Duration,
    /// True if the processors are read when it is due.
    pub(super) cores: bool,
}

/// Figures in between: the time between two, and what is done with the units and the seconds of each.
pub(super) type Interim<'a> = (Duration, Box<dyn FnMut(u64, f64) + Send + 'a>);

/// A running timer, which ends when it is dropped.
pub(super) struct Timer {
    pub(super) shared: Arc<Shared>,
    cancel: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    /// Starts the time.
    pub(super) fn start(times: Times, stop: &Stop, interim: Option<Interim<'static>>) -> io::Result<Self> {
        let (shared, cancel) = (Arc::new(Shared::default()), Stop::new()?);
        let begin = monotonic_ns();
        let (of_thread, stop, canceled) = (shared.clone(), stop.clone(), cancel.clone());
        let thread = spawn("netperf-timer", &[], move || wait(&of_thread, times, begin, interim, &stop, &canceled))?;
        Ok(Self { shared, cancel, thread: Some(thread) })
    }
}

fn wait(shared: &Shared, times: Times, begin: u64, mut interim: Option<Interim<'_>>, stop: &Stop, cancel: &Stop) {
    let due = times.due.map_or(u64::MAX, |due| begin.saturating_add(saturating_ns(due)));
    let over = due.saturating_add(saturating_ns(times.grace));
    let (mut last, mut units) = (begin, 0);
    let mut next = interim.as_ref().map_or(u64::MAX, |(every, _)| begin.saturating_add(saturating_ns(*every)));
    loop {
        let at = if shared.is_due() { over } else { due }.min(next);
        pause(&[stop, cancel], (at < u64::MAX).then_some(at));
        let now = monotonic_ns();
        let ends = stop.asked() || cancel.asked();
        let says = now >= next || (ends || now >= due) && next < u64::MAX;
        if says && let Some((every, say)) = &mut interim {
            let all = shared.units.load(Relaxed);
            if now > last {
                say(all - units, (now - last) as f64 / 1e9);
            }
            (last, units, next) = (now, all, now.saturating_add(saturating_ns(*every)));
        }
        if cancel.asked() {
            return;
        }
        if now >= due || stop.asked() {
            next = u64::MAX;
            if !shared.is_due() {
                let reading = Reading::now(times.cores);
                *shared.at_due.lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
                shared.due.store(true, Relaxed);
            }
        }
        if now >= over || stop.asked() {
            shared.over.store(true, Relaxed);
            return;
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.cancel.ask(0);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn until(done: impl Fn() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(begin.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_test_is_due_and_then_over() {
        let stop = Stop::new().unwrap();
        let (due, grace) = (Some(Duration::from_millis(50)), Duration::from_millis(300));
        let timer = Timer::start(Times { due, grace, cores: true }, &stop, None).unwrap();
        assert!(!timer.shared.is_due() && timer.shared.at_due().is_none());
        until(|| timer.shared.is_due());
        assert!(!timer.shared.is_over() && timer.shared.at_due().is_some());
        until(|| timer.shared.is_over());
    }

    #[test]
    fn a_stop_ends_it_at_once_and_so_does_dropping_it() {
        let stop = Stop::new().unwrap();
        let timer = Timer::start(Times::default(), &stop, None).unwrap();
        stop.ask(2);
        until(|| timer.shared.is_over());
        let begin = Instant::now();
        drop(Timer::start(Times::default(), &Stop::new().unwrap(), None).unwrap());
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn figures_in_between_add_up() {
        let (stop, said) = (Stop::new().unwrap(), Arc::new(Mutex::new((0, 0))));
        let to = said.clone();
        let say = move |units, seconds: f64| {
            let mut said = to.lock().unwrap();
            *said = (said.0 + units, said.1 + 1);
            assert!(seconds > 0.0);
        };
        let interim: Interim<'static> = (Duration::from_millis(20), Box::new(say));
        let due = Some(Duration::from_millis(110));
        let timer = Timer::start(Times { due, ..Times::default() }, &stop, Some(interim)).unwrap();
        timer.shared.units.store(77, Relaxed);
        until(|| timer.shared.is_over());
        let said = *said.lock().unwrap();
        assert!(said.0 == 77 && (2..=6).contains(&said.1), "{said:?}");
    }
}
