//! What all modes have in common: a thread's work, what it starts with and what it leaves.

use super::captured::Replay;
use super::config::Config;
use super::output::Output;
use super::source::Cut;
use crate::check::{Joint, Received};
use crate::frame::Template;
use hdrhistogram::Histogram;
use linerate_port::{FaultPlan, RxQueue, TxQueue};
use linerate_result::Ledger;
use linerate_rt::Machine;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A thread's work.
pub(super) trait Job: Machine + Send {
    /// What it did, when it is done.
    fn finish(self: Box<Self>) -> Done;
}

/// One queue of a port, both ways.
pub(super) struct Lane {
    pub(super) index: u16,
    pub(super) tx: Option<TxQueue>,
    pub(super) rx: Option<RxQueue>,
}

/// What a thread starts with.
pub(super) struct Setup {
    pub(super) config: Arc<Config>,
    /// This run's number.
    pub(super) run: u16,
    /// What the frames have in common; the stream is the queue's.
    pub(super) template: Template,
    /// The frame that is sent instead, if it comes from a capture.
    pub(super) packet: Option<Arc<Vec<u8>>>,
    /// The capture that is replayed, taken by the one thread that does it.
    pub(super) replay: Mutex<Option<Box<Replay>>>,
    /// How frames are cut into slots.
    pub(super) cut: Cut,
    /// This thread's share of `-n` and `-R`; 0 is no limit.
    pub(super) count: u64,
    pub(super) rate: u64,
    /// What the receiver knows of the streams, if the sender is in this process: their number.
    pub(super) streams: Option<u16>,
    /// What the sender's port does to the frames on purpose, if it is in this process.
    pub(super) plan: Option<FaultPlan>,
    /// Where the receivers' shares of each stream are put together, if there are several.
    pub(super) joint: Option<Arc<Joint>>,
    pub(super) tally: Arc<Tally>,
    pub(super) output: Arc<Output>,
}

/// What a thread tells while it runs, written by it alone, once a batch. On lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    frames: AtomicU64,
    bytes: AtomicU64,
    events: AtomicU64,
    min_space: AtomicU64,
    come: AtomicU64,
}

/// A reading of some tallies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) events: u64,
    pub(super) min_space: u64,
    /// Of the frames, copies that this process sent.
    pub(super) come: u64,
}

/// No space was seen since the last reading.
const UNSEEN: u64 = u64::MAX;

impl Tally {
    pub(super) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { frames: zero(), bytes: zero(), events: zero(), min_space: AtomicU64::new(UNSEEN), come: zero() }
    }

    /// The totals so far.
    #[inline]
    pub(super) fn set(&self, frames: u64, bytes: u64, events: u64) {
        self.frames.store(frames, Relaxed);
        self.bytes.store(bytes, Relaxed);
        self.events.store(events, Relaxed);
    }

    /// So many copies that this process sent have come.
    #[inline]
    pub(super) fn came(&self, copies: u64) {
        self.come.store(copies, Relaxed);
    }

    /// A ring had so much room.
    #[inline]
    pub(super) fn space(&self, slots: u32) {
        if u64::from(slots) < self.min_space.load(Relaxed) {
            self.min_space.store(slots.into(), Relaxed);
        }
    }

    /// The totals, and the least room since the last reading.
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

/// What a thread did.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) events: u64,
    /// First and last moment of work, ns.
    pub(super) times: Option<(u64, u64)>,
    /// Frames and bytes that were there at the first moment: they took none of that time.
    pub(super) before: (u64, u64),
    pub(super) ledger: Ledger,
    pub(super) received: Option<Received>,
    pub(super) latency: Option<Histogram<u64>>,
    /// Of its port's queues, by name.
    pub(super) queues: Vec<(String, u64)>,
    /// Of its own, by name.
    pub(super) counters: Vec<(&'static str, u64)>,
    /// Why it did not do all it was asked, a line each.
    pub(super) failures: Vec<String>,
    /// What was left out of it, a line each: the rest is good.
    pub(super) left_out: Vec<String>,
    /// What one should know, a line each.
    pub(super) notes: Vec<String>,
}

impl Done {
    pub(super) fn count(&mut self, name: &'static str, n: u64) {
        self.counters.push((name, n));
    }

    /// Adds what a queue of its port counted: `tx0.batches`.
    pub(super) fn count_queue(&mut self, direction: &str, index: u16, what: &str, n: u64) {
        self.queues.push((format!("{direction}{index}.{what}"), n));
    }
}

/// Latencies from 1 ns to a minute, to three digits; recording allocates nothing.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order and the digits few")
}
