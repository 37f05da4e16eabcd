//! Common beginning of workloads that are measured at the same time.

use linerate_rt::{Stop, monotonic_ns, pause};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time for all to be set up.
const READY: Duration = Duration::from_secs(30);

/// Common beginning of workloads.
pub(crate) struct Start {
    /// Number of those that are not set up yet.
    awaited: AtomicUsize,
    go: Stop,
    /// Times at which they began, ns.
    began: Vec<Mutex<u64>>,
}

/// Turn of one of them.
pub(crate) struct Turn<'a> {
    start: &'a Start,
    place: usize,
}

impl Start {
    /// A beginning of so many workloads.
    pub(crate) fn of(workloads: usize) -> Result<Self, String> {
        let go = Stop::new().map_err(|e| e.to_string())?;
        let began = (0..workloads).map(|_| Mutex::default()).collect();
        Ok(Self { awaited: AtomicUsize::new(workloads), go, began })
    }

    pub(crate) fn turn(&self, place: usize) -> Turn<'_> {
        Turn { start: self, place }
    }

    pub(crate) fn began(&self) -> Vec<u64> {
        self.began.iter().map(|at| *at.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

impl Turn<'_> {
    /// Port of a server that has this one if it is alone.
    pub(crate) fn port(&self, alone: u16) -> u16 {
        // There are few places.
        alone + u16::try_from(self.place).unwrap_or_default()
    }

    /// True if no other workload is measured at the same time.
    pub(crate) fn is_alone(&self) -> bool {
        self.start.began.len() == 1
    }

    /// Waits until all others are set up, too, or until a stop; whoever is late is found out by the times.
    pub(crate) fn wait(&self, stop: &Stop) {
        if self.start.awaited.fetch_sub(1, Relaxed) == 1 {
            self.start.go.ask(0);
        }
        pause(&[&self.start.go, stop], Some(monotonic_ns().saturating_add(linerate_text::saturating_ns(READY))));
    }

    /// Notes that the data begin to flow now.
    pub(crate) fn begins(&self) {
        *self.start.began[self.place].lock().unwrap_or_else(PoisonError::into_inner) = monotonic_ns();
    }
}
