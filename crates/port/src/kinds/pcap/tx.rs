//! The transmit side of a capture file.

use super::Status;
use crate::capture::{LONGEST, Writer, real_time_ns};
use crate::chain::{self, Unit};
use crate::counters::{DropReason, TxCounters};
use crate::info::Link;
use crate::queue::TxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use linerate_ring::OwnTx;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Writes frames as they are sent. Each sync ends with a flush, so that counted frames are in the file.
pub(super) struct PcapTx {
    pub(super) writer: Writer,
    pub(super) status: Arc<Status>,
    /// Slots whose frames the writer has, and may not have written yet.
    pub(super) held: u32,
}

impl PcapTx {
    /// Moves frames to the writer, as many as it accepts; returns the number of slots.
    fn fill(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) -> u32 {
        let now = real_time_ns();
        let mut at = 0;
        while let Some(unit) = chain::unit(ring, at) {
            match unit {
                Unit::Void { .. } => {}
                Unit::TooMany { .. } => count.dropped.add(DropReason::TooManyFragments, 1),
                Unit::Frame { bytes, .. } if bytes < 14 => count.dropped.add(DropReason::TooShort, 1),
                Unit::Frame { bytes, .. } if bytes > LONGEST => count.dropped.add(DropReason::TooLong, 1),
                Unit::Frame { slots, bytes } => {
                    let taken = self.writer.append(now, bytes, bytes, |to| ring.append_pending(at, slots, to));
                    match taken {
                        Err(error) if error.is_later() => break,
                        // A failure is counted and reported at the end of the sync.
                        _ => {}
                    }
                }
            }
            at += unit.slots();
        }
        at
    }
}

impl TxEngine for PcapTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        if ring.pending() == 0 && !self.writer.out.has_waiting() {
            return;
        }
        let before = self.writer.out.done;
        let n = self.fill(ring, count);
        ring.take(n);
        self.held += n;
        if let Err(error) = self.writer.flush()
            && !error.is_later()
        {
            self.status.fail(&error);
        }
        // A reader of a pipe may be slow: who waits for the end of its frames waits for that.
        if !self.writer.out.has_waiting() {
            ring.complete(std::mem::take(&mut self.held));
        }
        let done = self.writer.out.done;
        count.frames += done.records - before.records;
        count.bytes += done.bytes - before.bytes;
        count.syscalls += done.writes - before.writes;
        count.dropped.add(DropReason::Refused, done.lost - before.lost);
        count.batches += u64::from(n > 0);
        self.status.set_tx(self.link());
    }

    fn link(&self) -> Link {
        if self.writer.out.has_failed() { Link::Down } else { Link::Up }
    }
}

impl Sleeper for PcapTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        let on = self.writer.out.has_waiting().then(|| (self.writer.as_fd(), Interest::Writable));
        Some(Sleep { on, until: None, ..Sleep::default() })
    }
}
