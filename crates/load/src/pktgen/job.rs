//! Common part of all modes: a thread's work, its input and its result.

use super::captured::Replay;
use super::config::Config;
use super::output::Output;
use super::pace::up_to;
use super::source::Cut;
use crate::check::{Joint, Received};
use crate::frame::{Stamp, Template};
use hdrhistogram::Histogram;
use linerate_port::{FaultPlan, RxQueue, TxQueue};
use linerate_result::Ledger;
use linerate_rt::Machine;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Work of a thread.
pub(super) trait Job: Machine + Send {
    /// Result of the work, when it is done.
    fn finish(self: Box<Self>) -> Done;
}

/// One queue pair of a port, transmit and receive.
pub(super) struct Lane {
    pub(super) index: u16,
    pub(super) tx: Option<TxQueue>,
    pub(super) rx: Option<RxQueue>,
}

/// Input of a thread.
pub(super) struct Setup {
    pub(super) config: Arc<Config>,
    /// Number of this run.
    pub(super) run: u16,
    /// Template of the frames; the stream is the queue's.
    pub(super) template: Template,
    /// Frame that is sent instead, if it comes from a capture.
    pub(super) packet: Option<Arc<Vec<u8>>>,
    /// Capture that is replayed, taken by the one thread that replays it.
    pub(super) replay: Mutex<Option<Box<Replay>>>,
    /// Division of frames into slots.
    pub(super) cut: Cut,
    /// Share of this thread in `-n` and `-R`; 0 for no limit.
    pub(super) count: u64,
    pub(super) rate: u64,
    /// Number of streams that the receiver expects, if the sender is in this process.
    pub(super) streams: Option<u16>,
    /// Faults that the sender's port injects, if it is in this process.
    pub(super) plan: Option<FaultPlan>,
    /// Place where the receivers' shares of each stream are merged, if there are several.
    pub(super) joint: Option<Arc<Joint>>,
    /// Count of `-n`, if several threads receive it together.
    pub(super) wanted: Option<Arc<Wanted>>,
    pub(super) tally: Arc<Tally>,
    pub(super) output: Arc<Output>,
}

/// Counters that a thread publishes while it runs, written by it alone, once per batch. They have cache lines of their
/// own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    frames: AtomicU64,
    bytes: AtomicU64,
    events: AtomicU64,
    min_space: AtomicU64,
    come: AtomicU64,
}

/// Sum of some tallies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) events: u64,
    pub(super) min_space: u64,
    /// Arrivals of frames that this process sent.
    pub(super) come: u64,
}

/// Value if no space was recorded since the last reading.
const UNSEEN: u64 = u64::MAX;

impl Tally {
    pub(super) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { frames: zero(), bytes: zero(), events: zero(), min_space: AtomicU64::new(UNSEEN), come: zero() }
    }

    /// Publishes the totals so far.
    #[inline]
    pub(super) fn set(&self, frames: u64, bytes: u64, events: u64) {
        self.frames.store(frames, Relaxed);
        self.bytes.store(bytes, Relaxed);
        self.events.store(events, Relaxed);
    }

    /// Publishes the number of arrivals of frames that this process sent.
    #[inline]
    pub(super) fn came(&self, copies: u64) {
        self.come.store(copies, Relaxed);
    }

    /// Records the free space of a ring.
    #[inline]
    pub(super) fn space(&self, slots: u32) {
        if u64::from(slots) < self.min_space.load(Relaxed) {
            self.min_space.store(slots.into(), Relaxed);
        }
    }

    /// Reads the totals, and the least space since the last reading.
    pub(super) fn read(&self) -> Reading {
        let space = self.min_space.swap(UNSEEN, Relaxed);
        Reading {
            frames: self.frames.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            events: self.events.load(Relaxed),
            min_space: if space == UNSEEN { 0 } else { space },
            come: self.come.load(Relaxed),
        }
    }
}

/// Number of frames that the receiving threads of a port still want together, however the frames are spread over them.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Frames that no thread has claimed.
    unclaimed: AtomicU64,
    /// Frames that no thread has received.
    missing: AtomicU64,
}

impl Wanted {
    pub(super) fn new(frames: u64) -> Self {
        Self { unclaimed: AtomicU64::new(frames), missing: AtomicU64::new(frames) }
    }

    /// Claims up to `most` frames; what is not received is handed back by [`Wanted::received`].
    pub(super) fn claim(&self, most: u32) -> u32 {
        let left = self.unclaimed.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(most.into())));
        up_to(most, left.unwrap_or(0))
    }

    pub(super) fn received(&self, claimed: u32, frames: u64) {
        self.unclaimed.fetch_add(u64::from(claimed) - frames, Relaxed);
        self.missing.fetch_sub(frames, Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.missing.load(Relaxed) == 0
    }
}

/// Result of a thread.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) events: u64,
    /// Begin and end of the work, ns.
    pub(super) times: Option<(u64, u64)>,
    /// Frames and bytes present at the beginning, which took none of that time.
    pub(super) before: (u64, u64),
    pub(super) ledger: Ledger,
    pub(super) received: Option<Received>,
    pub(super) latency: Option<Latencies>,
    /// Counters of the port's queues, by name.
    pub(super) queues: Vec<(String, u64)>,
    /// Counters of the thread, by name.
    pub(super) counters: Vec<(&'static str, u64)>,
    /// Failures, one per line.
    pub(super) failures: Vec<String>,
    /// Parts that were left out, one per line; the rest is good.
    pub(super) left_out: Vec<String>,
    /// Remarks, one per line.
    pub(super) notes: Vec<String>,
}

impl Done {
    pub(super) fn count(&mut self, name: &'static str, n: u64) {
        self.counters.push((name, n));
    }

    /// Adds a counter of a queue of its port, such as `tx0.batches`.
    pub(super) fn count_queue(&mut self, direction: &str, index: u16, what: &str, n: u64) {
        self.queues.push((format!("{direction}{index}.{what}"), n));
    }
}

/// Latencies of frames, by what was timed.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    /// From just before a frame's own transmission to its arrival, of tagged frames; of ping, to its echo.
    pub(super) own: Histogram<u64>,
    /// From the writing of a frame to its arrival, so with the time in its burst, of all others.
    pub(super) burst: Histogram<u64>,
}

impl Latencies {
    pub(super) fn new() -> Self {
        Self { own: histogram(), burst: histogram() }
    }

    #[inline]
    pub(super) fn record(&mut self, stamp: Stamp, arrived: u64) {
        let of = if stamp.tagged { &mut self.own } else { &mut self.burst };
        of.saturating_record(arrived.saturating_sub(stamp.ns));
    }

    pub(super) fn add(&mut self, more: &Self) {
        for (all, more) in [(&mut self.own, &more.own), (&mut self.burst, &more.burst)] {
            all.add(more).expect("both have the same bounds");
        }
    }
}

/// Histogram of latencies from 1 ns to a minute, to three digits; recording allocates nothing.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order and the digits few")
}
