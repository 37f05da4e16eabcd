//! Time that cables and faults go by: the machine's, or one that a scheduler sets. With the latter a whole network runs in one
//! thread in virtual time, and what happens does not depend on the machine's load.

use linerate_text::saturating_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// No alarm.
const NEVER: u64 = u64::MAX;

/// Clock of a port ([`Spec::with_clock`](crate::Spec::with_clock)); by default the machine's.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Set>);

/// A clock that stands still until it is set.
#[derive(Clone, Debug)]
struct Set {
    origin: Instant,
    /// Nanoseconds since `origin`.
    now: Arc<AtomicU64>,
    /// Time at which a port is to be synced next, likewise.
    alarm: Arc<AtomicU64>,
}

impl Clock {
    /// Clock of virtual time: it shows 0, and later what it is [set](Self::set) to. Its ports are all used by one thread.
    #[must_use]
    pub fn of_virtual_time() -> Self {
        Self(Some(Set { origin: Instant::now(), now: Arc::default(), alarm: Arc::new(AtomicU64::new(NEVER)) }))
    }

    /// Clock that always shows the same time as this one, with an alarm of its own: for the ends of another cable.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self(self.0.as_ref().map(|set| Set { alarm: Arc::new(AtomicU64::new(NEVER)), ..set.clone() }))
    }

    /// Sets virtual time, in nanoseconds. The machine's clock stays as it is.
    pub fn set(&self, ns: u64) {
        if let Some(set) = &self.0 {
            set.now.store(ns, Relaxed);
        }
    }

    /// Time as its ports see it.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(set) => set.origin + Duration::from_nanos(set.now.load(Relaxed)),
        }
    }

    /// Virtual time in nanoseconds; 0 of the machine's clock.
    #[inline]
    #[must_use]
    pub fn ns(&self) -> u64 {
        self.0.as_ref().map_or(0, |set| set.now.load(Relaxed))
    }

    /// Asks the scheduler for a sync at this time. The machine's clock asks nobody: its threads sleep until then
    /// ([`Sleep::until`](crate::Sleep)).
    #[inline]
    pub(crate) fn wake_at(&self, at: impl FnOnce() -> Option<Instant>) {
        if let Some(set) = &self.0
            && let Some(at) = at()
        {
            set.alarm.fetch_min(saturating_ns(at.saturating_duration_since(set.origin)), Relaxed);
        }
    }

    /// Time in nanoseconds at which its ports are to be synced next, both ends of a cable; None if they wait for nothing but frames
    /// and room.
    #[inline]
    #[must_use]
    pub fn alarm(&self) -> Option<u64> {
        self.0.as_ref().map(|set| set.alarm.load(Relaxed)).filter(|at| *at != NEVER)
    }

    /// Forgets the alarm: its ports are about to be synced, and ask anew.
    #[inline]
    pub fn silence(&self) {
        if let Some(set) = &self.0 {
            set.alarm.store(NEVER, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_stands_still_and_the_earliest_alarm_counts() {
        let clock = Clock::of_virtual_time();
        let (other, start) = (clock.beside(), clock.now());
        clock.set(1500);
        let later = start + Duration::from_nanos(1500);
        assert_eq!((clock.now(), other.now(), other.ns()), (later, later, 1500));
        for ns in [700, 300, 900] {
            clock.wake_at(|| Some(start + Duration::from_nanos(ns)));
        }
        clock.wake_at(|| None);
        assert_eq!((clock.alarm(), other.alarm()), (Some(300), None));
        clock.silence();
        assert_eq!(clock.alarm(), None);
    }

    #[test]
    fn the_machines_clock_goes_on_and_has_no_alarm() {
        let (clock, before) = (Clock::default(), Instant::now());
        clock.set(5);
        clock.wake_at(|| unreachable!("nobody is to be asked"));
        assert!(clock.now() >= before && clock.beside().now() >= before);
        assert_eq!((clock.alarm(), clock.ns()), (None, 0));
    }
}
