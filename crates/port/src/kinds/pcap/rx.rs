//! The receive side of a capture file.

use super::Status;
use super::pace::Pace;
use crate::capture::{CaptureError, Reader, Stage};
use crate::chain::slots_for;
use crate::counters::{DropReason, RxCounters};
use crate::info::Link;
use crate::queue::RxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use linerate_ring::OwnRx;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Most steps of a sync: bounds the cost of a file full of damaged records.
const STEPS: usize = 4096;

pub(super) struct PcapRx {
    pub(super) reader: Reader,
    pub(super) status: Arc<Status>,
    pub(super) pace: Option<Pace>,
    /// Passes left after this one; None without end.
    pub(super) passes: Option<u64>,
    pub(super) state: State,
}

/// State of the replay.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Time at which the staged record is due.
    due: Option<Instant>,
    /// Frames found in this pass.
    found: u64,
    /// The pipe has nothing to read.
    dry: bool,
    over: bool,
}

impl PcapRx {
    /// Starts the next pass, if there is one and this one had any frame.
    fn again(&mut self) -> Result<bool, CaptureError> {
        if self.state.found == 0 || self.passes == Some(0) {
            return Ok(false);
        }
        self.passes = self.passes.map(|n| n - 1);
        self.state.found = 0;
        self.reader.rewind()?;
        self.status.passes.fetch_add(1, Relaxed);
        Ok(true)
    }

    /// Delivers the staged record; false if that must wait.
    fn deliver(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) -> bool {
        let Some(record) = self.reader.staged() else { return true };
        if let Some(pace) = &mut self.pace {
            let now = Instant::now();
            let due = *self.state.due.get_or_insert_with(|| pace.due(record.time_ns, now));
            if due > now {
                return false;
            }
        }
        match slots_for(record.data.len(), ring.usable()).filter(|slots| *slots < ring.slots()) {
            None => count.dropped.add(DropReason::TooLong, 1),
            Some(slots) if ring.deliver_copy(record.data, None) => count.slots += u64::from(slots),
            Some(_) => return false,
        }
        self.state.found += 1;
        self.state.due = None;
        self.reader.advance();
        true
    }

    fn step(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) -> Result<bool, CaptureError> {
        Ok(match self.reader.stage()? {
            Stage::Record => self.deliver(ring, count),
            Stage::Skipped => true,
            Stage::End => {
                self.state.over = !self.again()?;
                !self.state.over
            }
        })
    }
}

impl RxEngine for PcapRx {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        if self.state.over {
            return;
        }
        let (slots, reads) = (count.slots, self.reader.reads());
        self.state.dry = false;
        for _ in 0..STEPS {
            match self.step(ring, count) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.state.dry = error.is_later();
                    if !self.state.dry {
                        self.state.over = true;
                        self.status.fail(&error);
                    }
                    break;
                }
            }
        }
        let counts = self.reader.counts();
        count.batches += u64::from(count.slots > slots);
        count.syscalls += self.reader.reads() - reads;
        count.dropped.set(DropReason::BadRecord, counts.bad);
        self.status.truncated.store(counts.truncated, Relaxed);
        self.status.other.store(counts.other, Relaxed);
        self.status.set_rx(self.link());
    }

    fn link(&self) -> Link {
        if self.state.over { Link::Down } else { Link::Up }
    }

    fn ended(&self) -> bool {
        self.state.over
    }
}

impl Sleeper for PcapRx {
    /// A file has more frames until its end, unless the next one is not due yet.
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        let State { due: until, dry, over, .. } = self.state;
        let on = dry.then(|| (self.reader.source().as_fd(), Interest::Readable));
        (over || dry || until.is_some_and(|due| due > Instant::now())).then_some(Sleep {
            on,
            until,
            ..Sleep::default()
        })
    }
}
