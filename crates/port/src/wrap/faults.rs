//! `faults=drop:P/dup:P/reorder:P/corrupt:P/delay:TIME/seed:N`: simulates a bad network for the frames that are sent.
//!
//! The fate of a frame depends on the seed, its queue and its number in the queue alone, so it is the same in every
//! run.
//!
//! - `drop`: the frame is not sent.
//! - `dup`: the frame is sent twice.
//! - `reorder`: the frame is sent after the next frame that is sent. If none comes within 10 ms it is sent in order,
//!   and is counted as `fault_in_order` instead of `fault_reordered`. The overtaking frame is not reordered itself.
//! - `corrupt`: one bit of the frame is flipped, anywhere; a duplicate is not corrupted. (The port then offers no
//!   checksum offload, which would hide the damage.)
//! - `delay`: the frame is sent later by this time. Delayed frames stay in the ring: with N slots and a delay of T no
//!   more than N/T slots a second pass.
//!
//! The frames are copied once more, into the inner ring. A slot comes back when that ring has sent its copies, so when
//! nothing is outstanding, exactly: committed + `fault_duplicated` = sent + dropped.

mod fate;

use super::{Beside, Tells, Wrapper};
use crate::chain::{self, Unit};
use crate::clock::Clock;
use crate::counters::{DropReason, TxCounters};
use crate::error::{Cause, OpenError};
use crate::info::Link;
use crate::kind::{Demand, OptionRow, Spec};
use crate::port::Parts;
use crate::queue::{TxEngine, TxQueue};
use crate::sleep::{Sleep, Sleeper};
use fate::{Fate, Fates, Settings};
pub use fate::{FaultPlan, Planned};
use linerate_ring::{OwnTx, Region, TxRing, flags};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longest time for which a frame waits to be overtaken.
const HOLD: Duration = Duration::from_millis(10);

pub(super) const WRAPPER: Wrapper = Wrapper {
    option: OptionRow {
        key: "faults",
        value: "drop:P/dup:P/reorder:P/corrupt:P/delay:TIME/seed:N",
        about: "do this to sent frames: P from 0 to 1, TIME as 1ms or 20us (none; seed 1)",
    },
    demand,
    wrap,
};

/// One more ring for each transmit ring of the kind.
fn demand(spec: &Spec, kind: Demand) -> Result<Demand, OpenError> {
    Settings::parse(spec)?;
    Ok(Demand { ring_bytes: 2 * kind.ring_bytes, buffers: 2 * kind.buffers, ..kind })
}

fn wrap(spec: &Spec, region: &Arc<Region>, mut parts: Parts) -> Result<Parts, OpenError> {
    let settings = Settings::parse(spec)?;
    let tally = Arc::new(Tally::default());
    let mut tx = Vec::new();
    for (queue, inner) in (0..).zip(parts.tx) {
        // The far end of a cable may have made longer rings than requested here.
        let ring = TxRing::new(region, queue, inner.ring.slots().min(spec.slots()?))
            .map_err(|e| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings"))?;
        tx.push(TxQueue::new(ring, Box::new(Faults::new(inner, settings, queue, tally.clone(), spec.clock().clone()))));
    }
    parts.tx = tx;
    if settings.corrupts() {
        parts.info.caps.checksum = false;
        parts.info.caps.gso = false;
        parts.info.caps.uso = false;
    }
    parts.info.path = format!("{}, with faults {}", parts.info.path, spec.option("faults").unwrap_or_default());
    parts.device = Box::new(Beside { inner: parts.device, own: tally });
    Ok(parts)
}

/// Frames of all queues by their fault.
#[derive(Debug, Default)]
struct Tally {
    dropped: AtomicU64,
    duplicated: AtomicU64,
    reordered: AtomicU64,
    in_order: AtomicU64,
    corrupted: AtomicU64,
    delayed: AtomicU64,
}

impl Tells for Tally {
    fn counters(&self) -> Vec<(String, u64)> {
        let all = [
            ("fault_dropped", &self.dropped),
            ("fault_duplicated", &self.duplicated),
            ("fault_reordered", &self.reordered),
            ("fault_in_order", &self.in_order),
            ("fault_corrupted", &self.corrupted),
            ("fault_delayed", &self.delayed),
        ];
        all.into_iter().map(|(name, n)| (name.to_owned(), n.load(Relaxed))).collect()
    }
}

/// A committed frame of the user's ring.
#[derive(Debug)]
struct PlannedFrame {
    slots: u32,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// To be sent when due.
    Waits { due: Instant, fate: Fate },
    /// All copies are in the inner ring; the frame is finished when that ring has completed `mark` slots.
    Sent { mark: u64 },
    /// Finished: nothing (more) is sent.
    Gone,
}

impl PlannedFrame {
    /// True if a copy was sent, and another is still to be.
    fn is_begun(&self) -> bool {
        matches!(self.stage, Stage::Waits { fate: Fate { again: true, .. }, .. })
    }

    fn be_overtaken(&mut self) {
        if let Stage::Waits { fate, .. } = &mut self.stage {
            fate.overtaken = false;
        }
    }
}

struct Faults {
    ring: TxRing,
    inner: Box<dyn TxEngine>,
    fates: Fates,
    delay: Duration,
    tally: Arc<Tally>,
    /// The user's pending frames, oldest first.
    plans: VecDeque<PlannedFrame>,
    /// Number of their slots.
    planned: u32,
    /// Slots ever committed to the inner ring.
    committed: u64,
    /// Time at which the next frame is due.
    due: Option<Instant>,
    clock: Clock,
}

impl Faults {
    fn new(inner: TxQueue, settings: Settings, queue: u16, tally: Arc<Tally>, clock: Clock) -> Self {
        Self {
            ring: inner.ring,
            inner: inner.engine,
            fates: Fates::new(settings, queue),
            delay: settings.delay,
            tally,
            plans: VecDeque::new(),
            planned: 0,
            committed: 0,
            due: None,
            clock,
        }
    }

    /// Decides on the new frames.
    fn plan(&mut self, user: &TxRing, now: Instant, count: &mut TxCounters) {
        while let Some(unit) = chain::unit(user, self.planned) {
            let mut stage = Stage::Gone;
            match unit {
                Unit::Void { .. } => {}
                Unit::TooMany { .. } => count.dropped.add(DropReason::TooManyFragments, 1),
                Unit::Frame { bytes, .. } => match self.fates.next(bytes) {
                    None => {
                        count.dropped.add(DropReason::Fault, 1);
                        self.tally.dropped.fetch_add(1, Relaxed);
                    }
                    Some(fate) => {
                        self.tally.delayed.fetch_add(u64::from(!self.delay.is_zero()), Relaxed);
                        stage = Stage::Waits { due: now + self.delay, fate };
                    }
                },
            }
            self.plans.push_back(PlannedFrame { slots: unit.slots(), stage });
            self.planned += unit.slots();
        }
    }

    /// Sends the frames that are due, as far as the inner ring has room.
    fn send(&mut self, user: &mut OwnTx<'_>, now: Instant, count: &mut TxCounters) {
        self.due = None;
        // The one frame that waits to be overtaken: index of its plan, and its first slot.
        let mut held = None;
        let mut at = 0;
        for i in 0..self.plans.len() {
            let slots = self.plans[i].slots;
            if let Stage::Waits { due, fate } = &mut self.plans[i].stage {
                if *due > now {
                    self.due = Some(self.due.map_or(*due, |other| other.min(*due)));
                    break;
                }
                let patience = *due + HOLD;
                if fate.overtaken && patience > now && held.is_none() {
                    self.due = Some(patience);
                    held = Some((i, at));
                } else {
                    if fate.overtaken {
                        fate.overtaken = false;
                        self.tally.in_order.fetch_add(1, Relaxed);
                    }
                    let all = self.copy(user, i, at, count);
                    // The first copy overtakes, even if there is no room for the second.
                    let passed = held.take_if(|_| all || self.plans[i].is_begun());
                    if let Some((first, _)) = passed {
                        self.due = None;
                        self.plans[first].be_overtaken();
                        self.tally.reordered.fetch_add(1, Relaxed);
                    }
                    if !all || passed.is_some_and(|(first, from)| !self.copy(user, first, from, count)) {
                        break;
                    }
                }
            }
            at += slots;
        }
    }

    /// Sends the copies of plan `i`, whose first pending slot is `at`; false if the inner ring has no room.
    fn copy(&mut self, user: &mut OwnTx<'_>, i: usize, at: u32, count: &mut TxCounters) -> bool {
        let PlannedFrame { slots, stage: Stage::Waits { fate, .. } } = &mut self.plans[i] else { return true };
        while fate.copies > 0 {
            let mut batch = self.ring.reserve(*slots);
            if batch.len() < *slots {
                return false;
            }
            let (mut fits, mut before, mut flips) = (true, 0, None);
            for k in 0..*slots {
                let meta = user.pending_meta(at + k);
                // Another process that has the region mapped may have changed the slot since it was planned, and may do
                // so at any time: it is read once, and the value read is passed on.
                let (len, word) = match user.pending_look(at + k) {
                    Some((frame, word)) => {
                        fits &= batch.frame(k).copy_from(&frame);
                        (frame.len(), word)
                    }
                    None => (0, 0),
                };
                batch.set(k, len, word & (flags::MOREFRAG | flags::REPORT));
                if let Some(meta) = meta {
                    batch.set_meta(k, meta);
                }
                let inside = fate.flip.and_then(|bit| (bit / 8).checked_sub(before)).filter(|byte| *byte < len);
                flips = flips.or(inside.map(|byte| (k, byte)));
                before += len;
            }
            if !fits {
                count.dropped.add(DropReason::TooLong, 1);
                self.plans[i].stage = Stage::Gone;
                return true;
            }
            if let (Some(bit), Some((k, byte))) = (fate.flip.take(), flips) {
                let mut frame = batch.frame(k);
                let mut value = [0];
                let flipped = frame.read(byte, &mut value) && frame.write(byte, &[value[0] ^ 1 << (bit % 8)]);
                self.tally.corrupted.fetch_add(flipped.into(), Relaxed);
            }
            batch.commit(*slots);
            self.committed += u64::from(*slots);
            self.tally.duplicated.fetch_add(u64::from(fate.again), Relaxed);
            fate.again = true;
            fate.copies -= 1;
        }
        self.plans[i].stage = Stage::Sent { mark: self.committed };
        true
    }

    /// Gives back the slots of finished frames.
    fn finish(&mut self, user: &mut OwnTx<'_>) {
        let completed = self.committed.saturating_sub(self.ring.outstanding().into());
        let mut slots = 0;
        while let Some(plan) = self.plans.front() {
            match plan.stage {
                Stage::Gone => {}
                Stage::Sent { mark } if mark <= completed => {}
                _ => break,
            }
            slots += plan.slots;
            self.plans.pop_front();
        }
        if slots > 0 {
            self.planned -= slots;
            user.take(slots);
            user.complete(slots);
        }
    }
}

impl TxEngine for Faults {
    fn sync(&mut self, user: &mut OwnTx<'_>, count: &mut TxCounters) {
        if user.pending() > 0 {
            let now = self.clock.now();
            self.plan(user, now, count);
            self.send(user, now, count);
            self.clock.wake_at(|| self.due);
        }
        self.inner.serve(&mut self.ring, count);
        self.finish(user);
    }

    fn set_priorities(&mut self, priorities: u8) {
        self.inner.set_priorities(priorities);
    }

    fn link(&self) -> Link {
        self.inner.link()
    }
}

impl Sleeper for Faults {
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        Some(&mut *self.inner)
    }

    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        if self.due.is_some_and(|due| due <= self.clock.now()) {
            return None;
        }
        let sleep = self.inner.fall_asleep()?;
        Some(sleep.until([self.due, sleep.until].into_iter().flatten().min()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ring::layout::SLOTS_OFFSET;
    use linerate_ring::{RegionConfig, Sharing};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// Sends nothing: the test can look at the frames in its ring.
    struct Keep;

    impl Sleeper for Keep {}
    impl TxEngine for Keep {}

    /// Regression: the bit to flip was looked up beyond the frame's slots, and beyond the ring's.
    #[test]
    fn a_frame_that_another_process_cuts_while_it_waits_goes_on_as_it_was_committed() {
        let ring_bytes = 6 * Region::ring_room(64);
        let config = RegionConfig { buf_size: 512, buffers: 6 * 64, ring_bytes, sharing: Sharing::Shared, huge: false };
        let region = Region::new(&config).unwrap();
        let memory = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
        let settings = Settings::parse(&Spec::parse("null:,faults=corrupt:1/delay:1ms").unwrap()).unwrap();
        for cut in [[0u16, 0], [0, 1], [1, 0]] {
            let (mut user, behind) = (TxRing::new(&region, 0, 64).unwrap(), TxRing::new(&region, 1, 64).unwrap());
            let (tally, mut count, clock) =
                (Arc::new(Tally::default()), TxCounters::default(), Clock::of_virtual_time());
            let mut faults =
                Faults::new(TxQueue::new(behind, Box::new(Keep)), settings, 0, tally.clone(), clock.clone());
            let mut batch = user.reserve(2);
            for (k, flags) in [(0, flags::MOREFRAG), (1, 0)] {
                assert!(batch.put(k, &[7; 200]));
                batch.set(k, 200, flags);
            }
            batch.commit(2);
            faults.serve(&mut user, &mut count);
            assert_eq!(faults.ring.pending(), 0, "it waits");
            for (k, len) in (0..).zip(cut) {
                let at = user.spot().ring + SLOTS_OFFSET as u64 + 16 * k + 4;
                memory.write_all_at(&len.to_le_bytes(), at).unwrap();
            }
            clock.set(2_000_000);
            faults.serve(&mut user, &mut count);
            let sent: Vec<u16> = faults.ring.pending_words().map(|word| word.len()).collect();
            assert_eq!((sent, tally.corrupted.load(Relaxed)), (vec![200, 200], 1));
        }
    }
}
