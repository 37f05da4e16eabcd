//! Time of a test: a thread that waits for its end, so that the lanes look at a flag and at no clock.

use super::cpu::{Meter, Reading};
use linerate_rt::{Stop, monotonic_ns, pause, spawn};
use linerate_text::saturating_ns;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks at the other end.
const LOOKS: Duration = Duration::from_millis(200);

/// A call that ends another one that blocks.
type Wake = Box<dyn FnOnce() + Send>;

/// The timer's state as flows see it, and the amounts that they have moved so far.
#[derive(Default)]
pub(super) struct Shared {
    /// Time at which it began, ns; 0 while it waits for that.
    begun: AtomicU64,
    due: AtomicBool,
    over: AtomicBool,
    /// Bytes or transactions so far.
    pub(super) units: AtomicU64,
    at_due: Mutex<Option<Reading>>,
    wake: Mutex<Option<Wake>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Has the time begin now, if it has not yet.
    pub(super) fn begin(&self) {
        let _ = self.begun.compare_exchange(0, monotonic_ns(), Relaxed, Relaxed);
    }

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
        lock(&self.at_due).clone()
    }

    /// Has a call woken when the time is over, at once if it is over already.
    pub(super) fn wake_by(&self, wake: impl FnOnce() + Send + 'static) {
        *lock(&self.wake) = Some(Box::new(wake));
        if self.is_over() {
            self.end();
        }
    }

    fn end(&self) {
        self.over.store(true, Relaxed);
        let wake = lock(&self.wake).take();
        if let Some(wake) = wake {
            wake();
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// Time until it is due; `None`: only a stop ends it.
    pub(super) due: Option<Duration>,
    /// Time after that until it is over.
    pub(super) grace: Duration,
    /// True if the processors are read when it is due.
    pub(super) cores: bool,
    /// Longest time for which it waits to be told that it begins; 0: it begins at once.
    pub(super) waits: Duration,
}

/// Figures in between: the time between two, and what is done with the units and the seconds of each.
pub(super) type Interim<'a> = (Duration, Box<dyn FnMut(u64, f64) + Send + 'a>);

/// A look at the other end: true once it is gone, which ends the time.
pub(super) type Look = Box<dyn FnMut() -> bool + Send>;

/// A running timer, which ends when it is dropped.
pub(super) struct Timer {
    pub(super) shared: Arc<Shared>,
    cancel: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    pub(super) fn start(
        times: Times,
        stop: &Stop,
        interim: Option<Interim<'static>>,
        look: Option<Look>,
    ) -> io::Result<Self> {
        let (shared, cancel) = (Arc::new(Shared::default()), Stop::new()?);
        let waits = Waits { shared: shared.clone(), times, stop: stop.clone(), cancel: cancel.clone(), interim, look };
        if times.waits.is_zero() {
            shared.begin();
        }
        let begin = monotonic_ns();
        let thread = spawn("netperf-timer", &[], move || waits.run(begin))?;
        Ok(Self { shared, cancel, thread: Some(thread) })
    }
}

/// Events that the thread waits for.
struct Waits {
    shared: Arc<Shared>,
    times: Times,
    stop: Stop,
    cancel: Stop,
    interim: Option<Interim<'static>>,
    look: Option<Look>,
}

impl Waits {
    fn run(mut self, begin: u64) {
        let meter = if self.times.cores { &Meter::System } else { &Meter::Off };
        let after = |from: u64, time: Duration| from.saturating_add(saturating_ns(time));
        let begins = after(begin, self.times.waits);
        let (mut last, mut units) = (begin, 0);
        let mut tells = self.interim.as_ref().map_or(u64::MAX, |(every, _)| after(begin, *every));
        let mut looks = if self.look.is_some() { after(begin, LOOKS) } else { u64::MAX };
        loop {
            let begun = self.shared.begun.load(Relaxed);
            let due = self.times.due.filter(|_| begun > 0).map_or(u64::MAX, |due| after(begun, due));
            let over = after(due, self.times.grace);
            let waits = if begun > 0 { u64::MAX } else { begins };
            let at = if self.shared.is_due() { over } else { due }.min(tells).min(looks).min(waits);
            pause(&[&self.stop, &self.cancel], (at < u64::MAX).then_some(at));
            let now = monotonic_ns();
            if now >= waits {
                self.shared.begin();
            }
            let (mut ends, canceled) = (self.stop.asked(), self.cancel.asked());
            if now >= looks && !canceled {
                looks = after(now, LOOKS);
                ends |= self.look.as_mut().is_some_and(|look| look());
            }
            let says = now >= tells || (ends || canceled || now >= due) && tells < u64::MAX;
            if says && let Some((every, say)) = &mut self.interim {
                let all = self.shared.units.load(Relaxed);
                if now > last {
                    say(all - units, (now - last) as f64 / 1e9);
                }
                (last, units, tells) = (now, all, after(now, *every));
            }
            if canceled {
                return;
            }
            if now >= due || ends {
                tells = u64::MAX;
                if !self.shared.is_due() {
                    *lock(&self.shared.at_due) = Some(Reading::now(meter));
                    self.shared.due.store(true, Relaxed);
                }
            }
            if now >= over || ends {
                self.shared.end();
                return;
            }
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
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_test_is_due_and_then_over() {
        let stop = Stop::new().unwrap();
        let (soon, late) = (Duration::from_millis(50), Duration::from_secs(3600));
        let timer = |due, grace| {
            Timer::start(Times { due: Some(due), grace, cores: true, waits: Duration::ZERO }, &stop, None, None)
                .unwrap()
        };
        let shared = &timer(late, soon).shared;
        assert!(!shared.is_due() && shared.at_due().is_none());
        let shared = &timer(soon, late).shared;
        until(|| shared.is_due());
        assert!(!shared.is_over() && shared.at_due().is_some());
        let shared = &timer(soon, soon).shared;
        until(|| shared.is_over());
        assert!(shared.is_due());
    }

    #[test]
    fn a_test_that_waits_is_due_only_once_it_has_begun() {
        let stop = Stop::new().unwrap();
        let (soon, late) = (Duration::from_millis(50), Duration::from_secs(3600));
        let timer = |waits| {
            let times = Times { due: Some(soon), grace: late, cores: false, waits };
            Timer::start(times, &stop, None, Some(Box::new(|| false))).unwrap()
        };
        let waiting = timer(late);
        std::thread::sleep(8 * soon);
        assert!(!waiting.shared.is_due());
        waiting.shared.begin();
        until(|| waiting.shared.is_due());
        // Nobody has told it.
        let alone = timer(soon);
        until(|| alone.shared.is_due());
    }

    #[test]
    fn a_stop_ends_it_at_once_and_so_does_dropping_it() {
        let stop = Stop::new().unwrap();
        let timer = Timer::start(Times::default(), &stop, None, None).unwrap();
        stop.ask(2);
        until(|| timer.shared.is_over());
        let begin = Instant::now();
        drop(Timer::start(Times::default(), &Stop::new().unwrap(), None, None).unwrap());
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn figures_in_between_add_up() {
        let (stop, said) = (Stop::new().unwrap(), Arc::new(Mutex::new((0, Vec::new()))));
        let to = said.clone();
        let say = move |units, seconds: f64| {
            let mut said = to.lock().unwrap();
            said.0 += units;
            said.1.push(seconds);
        };
        let interim: Interim<'static> = (Duration::from_millis(20), Box::new(say));
        let timer = Timer::start(Times::default(), &stop, Some(interim), None).unwrap();
        timer.shared.units.store(77, Relaxed);
        until(|| said.lock().unwrap().1.len() >= 3);
        stop.ask(2);
        until(|| timer.shared.is_over());
        let (units, seconds) = &*said.lock().unwrap();
        let (last, whole) = seconds.split_last().unwrap();
        assert!(*units == 77 && *last > 0.0 && whole.iter().all(|time| *time >= 0.02), "{units} {seconds:?}");
    }

    #[test]
    fn whoever_is_blocked_is_woken_at_the_end_and_when_the_other_end_is_gone() {
        let (stop, woken) = (Stop::new().unwrap(), Arc::new(AtomicU64::new(0)));
        let wakes = || {
            let woken = woken.clone();
            move || {
                woken.fetch_add(1, Relaxed);
            }
        };
        let look: Look = Box::new(|| true);
        let timer = Timer::start(Times::default(), &stop, None, Some(look)).unwrap();
        timer.shared.wake_by(wakes());
        until(|| timer.shared.is_over() && woken.load(Relaxed) == 1);
        timer.shared.wake_by(wakes());
        assert_eq!(woken.load(Relaxed), 2, "it is over already");
    }
}
