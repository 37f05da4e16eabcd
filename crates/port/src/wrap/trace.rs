//! `trace=FILE`: every frame that the port sends or receives is written to a pcapng file, with its direction
//! (`epb_flags`) and queue (`epb_queue`).
//!
//! Received frames are written when the port delivers them, sent ones when the port gets them: a frame that the port
//! then drops is in the trace, and in the port's drops. Frames of more than 256 KiB are cut. A trace that cannot be
//! written drops no frame of the port: frames missing in the trace are counted.

use super::{Beside, Tells, Wrapper};
use crate::capture::{CaptureError, Direction, LONGEST, NgWriter, real_time_ns};
use crate::chain::{self, Unit};
use crate::counters::TxCounters;
use crate::error::{Cause, OpenError};
use crate::info::Link;
use crate::kind::{Demand, OptionRow, Spec};
use crate::look;
use crate::port::Parts;
use crate::queue::{TxEngine, TxQueue};
use crate::sleep::Sleeper;
use linerate_ring::{Gathered, Region, RxRing, TxRing};
use linerate_text::path::from_text;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) const WRAPPER: Wrapper = Wrapper {
    option: OptionRow {
        key: "trace",
        value: "FILE",
        about: "write all frames to this pcapng file, with direction and queue (none)",
    },
    demand: |_, demand: Demand| Ok(demand),
    wrap,
};

fn wrap(spec: &Spec, _: &Arc<Region>, mut parts: Parts) -> Result<Parts, OpenError> {
    let file = spec.option("trace").unwrap_or_default();
    let oops = |e: CaptureError| {
        let cause = if matches!(e, CaptureError::Busy { .. }) { Cause::Busy } else { Cause::System };
        OpenError::new(spec, cause, format!("trace={}", e.what()), e.mend())
    };
    let writer = NgWriter::create(&from_text(file), &parts.info.name).map_err(oops)?;
    let trace = Arc::new(Trace(Mutex::new(Inside { writer, refused: 0, trouble: None })));
    let tx = (0..).zip(parts.tx).map(|(queue, tx)| {
        TxQueue::new(tx.ring, Box::new(TraceTx { inner: tx.engine, trace: trace.clone(), queue, traced: 0 }))
    });
    parts.tx = tx.collect();
    let rx = (0..).zip(parts.rx).map(|(queue, rx)| {
        let mut trace = TraceRx { trace: trace.clone(), queue, untraced: 0, bytes: Vec::new() };
        look::shown(rx, move |ring, new| trace.write(ring, new))
    });
    parts.rx = rx.collect();
    parts.info.notes.push(format!("all frames are traced to {file}"));
    parts.device = Box::new(Beside { inner: parts.device, own: trace });
    Ok(parts)
}

/// The file that all queues of a port write.
struct Trace(Mutex<Inside>);

struct Inside {
    writer: NgWriter,
    /// Frames that a pipe had no room for.
    refused: u64,
    trouble: Option<String>,
}

impl Trace {
    fn open(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn add(&mut self, now: u64, way: Direction, queue: u32, len: usize, fill: impl FnOnce(&mut Vec<u8>, usize)) {
        let kept = len.min(LONGEST);
        let result = self.writer.append(now, way, queue, (len, kept), |to| fill(to, kept));
        self.refused += u64::from(result.is_err_and(|e| e.is_later()));
    }

    /// Flushes the file, so that it can be read while the port runs, and is complete if the program dies.
    fn flush(&mut self) {
        if self.trouble.is_none()
            && let Err(error) = self.writer.out.flush()
            && !error.is_later()
        {
            self.trouble = Some(format!("trace: {error}"));
        }
    }
}

impl Tells for Trace {
    fn counters(&self) -> Vec<(String, u64)> {
        let inside = self.open();
        let done = inside.writer.out.done;
        vec![("trace_frames".into(), done.records), ("trace_missed".into(), done.lost + inside.refused)]
    }

    fn trouble(&self) -> Option<String> {
        self.open().trouble.clone()
    }
}

struct TraceTx {
    inner: Box<dyn TxEngine>,
    trace: Arc<Trace>,
    queue: u32,
    /// Pending slots that are in the trace already, but that the port has not taken yet.
    traced: u32,
}

impl TraceTx {
    /// Writes whole new frames. They must be read before the port has them: it may pass their buffers on.
    fn write(&mut self, ring: &mut TxRing) {
        let now = real_time_ns();
        let mut inside = self.trace.open();
        while let Some(unit) = chain::unit(ring, self.traced) {
            if let Unit::Frame { slots, bytes } = unit {
                let from = self.traced;
                inside.add(now, Direction::Out, self.queue, bytes, |to, kept| {
                    let begin = to.len();
                    ring.append_pending(from, slots, to);
                    to.truncate(begin + kept);
                });
            }
            self.traced += unit.slots();
        }
        inside.flush();
    }
}

impl TxEngine for TraceTx {
    fn serve(&mut self, ring: &mut TxRing, count: &mut TxCounters) {
        let before = ring.pending();
        if before > self.traced {
            self.write(ring);
        }
        self.inner.serve(ring, count);
        self.traced = self.traced.saturating_sub(before.saturating_sub(ring.pending()));
    }

    fn is_held_up(&self, ring: &TxRing) -> bool {
        self.inner.is_held_up(ring)
    }

    fn set_priorities(&mut self, priorities: u8) {
        self.inner.set_priorities(priorities);
    }

    fn link(&self) -> Link {
        self.inner.link()
    }
}

impl Sleeper for TraceTx {
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        Some(&mut *self.inner)
    }
}

struct TraceRx {
    trace: Arc<Trace>,
    queue: u32,
    /// Last delivered slots that are not in the trace, because the end of their frame has not come.
    untraced: u32,
    bytes: Vec<u8>,
}

impl TraceRx {
    /// Writes the last `new` delivered slots, and those left before, as far as they are whole frames.
    fn write(&mut self, ring: &mut RxRing, new: u32) {
        let new = new + self.untraced.min(ring.available() - new);
        let now = real_time_ns();
        let mut inside = self.trace.open();
        let available = ring.available();
        let mut batch = ring.batch(available);
        let mut at = available - new;
        while at < available {
            self.bytes.clear();
            // Slots that form no frame here form none for the user of the ring either. (A bad slot, which only another
            // process can make, is counted at each look.)
            match batch.gather(at, usize::MAX, &mut self.bytes) {
                Gathered::Whole { slots } => {
                    inside.add(now, Direction::In, self.queue, self.bytes.len(), |to, kept| {
                        to.extend_from_slice(&self.bytes[..kept]);
                    });
                    at += slots;
                }
                Gathered::Spoiled { slots } | Gathered::TooLong { slots } => at += slots,
                Gathered::Later => break,
            }
        }
        self.untraced = available - at;
        inside.flush();
    }
}
