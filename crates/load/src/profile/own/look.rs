//! Probes, and the clock that they read.

use crate::profile::Span;
use linerate_rt::{monotonic_ns, ticks};
use linerate_stack::{Probe, STAGES, Stage};
use std::hint::black_box;

/// One batch in so many is stamped.
pub(super) const EVERY: usize = 8;

/// Measuring point for the packets of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Nowhere,
    /// Read the counter there.
    Stamp(Stage),
    /// Return there.
    Back(Stage),
    /// Return there, once all up to there is done, for something of the path follows nevertheless: reads the counter, too.
    Settled(Stage),
}

/// A probe for the packets of a batch.
pub(super) trait Watch: Probe {
    /// A probe of a batch that begins with this counter value.
    fn new(look: Look, start: u64) -> Self;
    /// Ticks of all packets from the start of each to the measuring point.
    fn reached(&self) -> u64;
    /// Waits for a packet's end, where the path does not ([`Probe::done`]).
    fn ended(&mut self);
}

/// Probe for all kinds of measurement. It is one type, so that stamped, returned and whole packets run the same code.
pub(super) struct Looker {
    after: usize,
    reads: bool,
    back: bool,
    end: u64,
    reached: u64,
}

impl Probe for Looker {
    #[inline]
    fn passed<M: ?Sized>(&mut self, stage: Stage, made: &M) -> bool {
        if stage as usize != self.after {
            return true;
        }
        black_box(made);
        if self.reads {
            self.reached = self.reached.wrapping_add(ticks().wrapping_sub(self.end));
        }
        !self.back
    }

    #[inline]
    fn done(&mut self) {
        self.end = black_box(ticks());
    }
}

impl Watch for Looker {
    fn new(look: Look, start: u64) -> Self {
        let (after, reads, back) = match look {
            Look::Nowhere => (STAGES.len(), false, false),
            Look::Stamp(stage) => (stage as usize, true, false),
            Look::Back(stage) => (stage as usize, false, true),
            Look::Settled(stage) => (stage as usize, true, true),
        };
        Self { after, reads, back, end: start, reached: 0 }
    }

    fn reached(&self) -> u64 {
        self.reached
    }

    #[inline]
    fn ended(&mut self) {
        self.done();
    }
}

/// The probe that does nothing, which the compiler knows: the code that is measured is the one that is in use.
impl Watch for () {
    fn new(_: Look, _: u64) -> Self {}

    fn reached(&self) -> u64 {
        0
    }

    #[inline]
    fn ended(&mut self) {
        black_box(ticks());
    }
}

/// The same, of a path that itself tells of each packet's end: it waits for it.
pub(super) struct Bare;

impl Probe for Bare {
    #[inline(always)]
    fn passed<M: ?Sized>(&mut self, _: Stage, _: &M) -> bool {
        true
    }

    #[inline(always)]
    fn done(&mut self) {
        black_box(ticks());
    }
}

impl Watch for Bare {
    fn new(_: Look, _: u64) -> Self {
        Self
    }

    fn reached(&self) -> u64 {
        0
    }

    fn ended(&mut self) {
        self.done();
    }
}

/// Cost of waiting for each packet's end alone, nanoseconds, in batches of `batch`.
pub(super) fn nothing(time: Span<'_>, batch: u32) -> Result<f64, String> {
    let (ticks0, ns0) = (ticks(), monotonic_ns());
    let until = time.until(ns0);
    let mut batches = Vec::new();
    while batches.is_empty() || time.goes_on(until, monotonic_ns()) {
        let start = ticks();
        for _ in 0..batch {
            black_box(ticks());
        }
        batches.push(ticks().wrapping_sub(start));
    }
    Ok(each(&mut batches, scale(ticks0, ns0)?, batch))
}

/// Nanoseconds per packet: the median of batches, which are so short that a neighbour on the processor spoils few.
pub(super) fn each(batches: &mut [u64], scale: f64, batch: u32) -> f64 {
    batches.sort_unstable();
    batches.get(batches.len() / 2).map_or(f64::NAN, |middle| *middle as f64 * scale / f64::from(batch))
}

/// Nanoseconds per tick, over the time since these readings.
pub(super) fn scale(ticks0: u64, ns0: u64) -> Result<f64, String> {
    match (ticks().wrapping_sub(ticks0), monotonic_ns().saturating_sub(ns0)) {
        (0, _) | (_, 0) => Err("this processor has no counter to take time-stamps from".into()),
        (ticks, ns) => Ok(ns as f64 / ticks as f64),
    }
}
