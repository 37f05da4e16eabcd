//! The engines of a cable's queues: a pipe, a bell for each end, a wire's rate and length, the far end's pause.

use super::flight::Flight;
use super::hold::Hold;
use super::side::{NEVER, Side};
use super::wire::Wire;
use crate::counters::{DropReason, Drops, RxCounters, TxCounters};
use crate::info::Link;
use crate::queue::{RxEngine, TxEngine};
use crate::sleep::{Sleep, Sleeper};
use linerate_ring::{Bell, PipeRx, PipeTx, RxRing, TxRing};
use std::sync::Arc;
use std::time::Instant;

pub(super) struct CableTx {
    pipe: PipeTx,
    side: Arc<Side>,
    queue: usize,
    /// The state of the link that this queue has acted on.
    seen: u32,
    near: Bell,
    far: Bell,
    wire: Option<Wire>,
    /// The wire was not free for a frame in the last sync.
    waits: bool,
    /// Frames on their way, on a cable with a length.
    flight: Option<Flight>,
    hold: Hold,
    /// Frames were held back in the last sync.
    held: bool,
    /// Protocol violations counted before this pairing.
    violations_before: u64,
}

impl CableTx {
    pub(super) fn new(pipe: PipeTx, side: &Arc<Side>, queue: usize, far: Bell, wire: Option<Wire>) -> Self {
        let near = side.tx_bell(queue);
        let seen = side.enter(|handover| handover.tx[queue].claimed = true);
        let (flight, hold) = (wire.as_ref().and_then(Wire::flight), Hold::default());
        Self {
            pipe,
            side: side.clone(),
            queue,
            seen,
            near,
            far,
            wire,
            waits: false,
            flight,
            hold,
            held: false,
            violations_before: 0,
        }
    }

    /// Leaves the last pairing and enters the next.
    #[cold]
    fn follow(&mut self, ring: &mut TxRing, count: &mut TxCounters) {
        let mut handover = self.side.handover();
        // Read only with the handover locked: the link goes down, and reports are requested, under the same lock.
        let state = self.side.state();
        let entry = &mut handover.tx[self.queue];
        let entered = self.seen & 1 == 1;
        if entered {
            let (lost, _) = self.pipe.reset(ring);
            count.dropped.add(DropReason::PeerDied, lost);
            entry.let_go = true;
        }
        if let Some((ends, wire)) = entry.fresh.ends.take() {
            self.wire = wire;
            change(ring, &mut self.pipe, *ends, count);
        }
        if !entered && entry.own.is_some() {
            // A pairing began and ended between two syncs.
            self.pipe.reset(ring);
            entry.let_go = true;
        }
        if let Some(own) = entry.own.take() {
            change(ring, &mut self.pipe, *own, count);
        }
        if let Some(far) = entry.fresh.far.take() {
            self.far = far;
        }
        entry.claimed = true;
        self.hold.end();
        self.flight.iter_mut().for_each(Flight::end);
        self.side.reported();
        self.violations_before = self.pipe.violations();
        self.seen = state;
    }

    /// Sends what may be sent now. `held`: no more frames are to depart; those on their way arrive.
    #[inline]
    fn send(&mut self, ring: &mut TxRing, count: &mut TxCounters, held: bool) {
        let moved = match (&self.wire, &mut self.flight) {
            (None, _) => self.pipe.sync(ring, |_| true),
            (Some(wire), None) => wire.pass(self.side.clock.now(), |admit| {
                self.waits = false;
                self.pipe.sync(ring, |len| {
                    let may = admit(len).is_some();
                    self.waits |= !may;
                    may
                })
            }),
            (Some(wire), Some(flight)) => {
                let now = self.side.clock.now();
                self.waits = !held && flight.depart(ring, now, wire);
                let moved = self.pipe.sync(ring, |_| flight.arrive(now));
                flight.arrived(moved.slots);
                moved
            }
        };
        if moved.slots > 0 {
            count.frames += u64::from(moved.frames);
            count.bytes += moved.bytes;
            count.batches += 1;
            count.dropped.add(DropReason::TooManyFragments, moved.too_many_fragments.into());
            if self.pipe.must_wake() {
                count.syscalls += 1;
                self.far.ring();
            }
        }
    }
}

impl CableTx {
    /// Time of the next sync even if nothing happens: an arrival, the end of a pause, or the wire is free. What departs later than it
    /// might have is on the wire from when that was free, so an arrival is early enough for those behind it.
    fn due(&self) -> Option<Instant> {
        let arrival = self.flight.as_ref().and_then(Flight::next);
        let free = || self.wire.as_ref().filter(|_| self.waits && arrival.is_none()).map(Wire::free);
        [arrival, self.hold.due().or_else(free)].into_iter().flatten().min()
    }
}

/// Continues over other rings, with the frames that are committed and not yet sent.
fn change(ring: &mut TxRing, pipe: &mut PipeTx, (mut fresh, mut other): (TxRing, PipeTx), count: &mut TxCounters) {
    let (left, open) = fresh.carry_over(ring);
    count.dropped.add(DropReason::TooLong, left.into());
    other.inherit(pipe, open);
    (*ring, *pipe) = (fresh, other);
}

impl Drop for CableTx {
    fn drop(&mut self) {
        self.side.handover().tx[self.queue].leave();
        self.side.reported();
    }
}

impl TxEngine for CableTx {
    #[inline]
    fn serve(&mut self, ring: &mut TxRing, count: &mut TxCounters) {
        if self.side.state() != self.seen {
            self.follow(ring, count);
        }
        if self.seen & 1 == 0 {
            return;
        }
        let asked = self.pipe.pause();
        let held = self.hold.concerns(asked) && {
            let waiting = ring.pending() > self.flight.as_ref().map_or(0, Flight::slots);
            self.hold.holds(self.side.clock.now(), asked, waiting, &self.side)
        };
        if held != self.held {
            self.held = held;
            self.wire.iter().for_each(Wire::rest);
        }
        if held && self.flight.is_none() {
            self.pipe.reclaim(ring);
            self.waits = false;
        } else {
            self.send(ring, count, held);
        }
        if held || self.wire.is_some() {
            self.side.clock.wake_at(|| self.due());
        }
        if self.pipe.violations() > self.violations_before {
            self.side.report_violation(self.seen);
        }
    }

    #[inline]
    fn is_held_up(&self, ring: &TxRing) -> bool {
        ring.pending() > 0
    }

    fn set_priorities(&mut self, priorities: u8) {
        self.hold.priorities = priorities;
    }

    fn tell_dropped(&mut self, dropped: &Drops) {
        self.pipe.tell(dropped.numbers());
    }

    fn link(&self) -> Link {
        self.side.link()
    }
}

impl Sleeper for CableTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.near.clear();
        let sleeps = self.side.state() == self.seen && (self.seen & 1 == 0 || self.pipe.fall_asleep());
        let until = self.due();
        sleeps.then(|| Sleep::on_bell(&self.near).until(until))
    }

    fn wake_up(&mut self) {
        self.pipe.wake_up();
    }
}

pub(super) struct CableRx {
    pipe: PipeRx,
    side: Arc<Side>,
    queue: usize,
    seen: u32,
    near: Bell,
    far: Bell,
    /// Protocol violations counted before this pairing.
    violations_before: u64,
    /// Drops before this pairing: those that the sender reported, of frames that did not get into the ring, and frames of
    /// which it published a part only.
    told: Drops,
    /// Priorities that the far end is to pause.
    paused: u8,
}

impl CableRx {
    pub(super) fn new(pipe: PipeRx, side: &Arc<Side>, queue: usize, far: Bell) -> Self {
        let near = side.rx_bell(queue);
        let seen = side.enter(|handover| handover.rx[queue].claimed = true);
        Self {
            pipe,
            side: side.clone(),
            queue,
            seen,
            near,
            far,
            violations_before: 0,
            told: Drops::default(),
            paused: 0,
        }
    }

    /// Leaves the last pairing and enters the next. False while frames of the last one wait for the user.
    #[cold]
    fn follow(&mut self, ring: &mut RxRing) -> bool {
        let mut handover = self.side.handover();
        // Read only with the handover locked: the link goes down, and reports are requested, under the same lock.
        let state = self.side.state();
        let entry = &mut handover.rx[self.queue];
        let entered = self.seen & 1 == 1;
        if entered {
            let told = Drops::from_numbers(self.pipe.told());
            if self.pipe.reset(ring).is_none() {
                return false;
            }
            self.told += told;
            self.told.add(DropReason::PeerDied, self.pipe.take_lost());
            entry.let_go = true;
            // From here on the last pairing is left, whether or not the rest succeeds.
            self.seen = NEVER;
        }
        if !entered && ring.available() > 0 {
            // Frames of a pairing that began and ended between two syncs, as below.
            return false;
        }
        if let Some((ends, _)) = entry.fresh.ends.take() {
            let (mut fresh, pipe) = *ends;
            fresh.inherit(ring);
            (*ring, self.pipe) = (fresh, pipe);
        }
        if !entered && entry.own.is_some() {
            // A pairing began and ended between two syncs; frames published in it are still delivered.
            let told = Drops::from_numbers(self.pipe.told());
            if self.pipe.reset(ring).is_none() {
                return false;
            }
            self.told += told;
            self.told.add(DropReason::PeerDied, self.pipe.take_lost());
            entry.let_go = true;
        }
        if let Some(own) = entry.own.take() {
            let (mut fresh, pipe) = *own;
            fresh.inherit(ring);
            (*ring, self.pipe) = (fresh, pipe);
        }
        if let Some(far) = entry.fresh.far.take() {
            self.far = far;
        }
        entry.claimed = true;
        self.side.reported();
        self.violations_before = self.pipe.violations();
        self.seen = state;
        if self.paused != 0 && state & 1 == 1 {
            self.pipe.pause(self.paused);
        }
        true
    }

    /// True if this queue's pairing still stands: no other process writes to the shared lines.
    fn is_paired(&self) -> bool {
        self.seen & 1 == 1 && self.side.state() == self.seen
    }
}

impl Drop for CableRx {
    fn drop(&mut self) {
        if self.paused != 0 {
            self.pause(0);
        }
        self.side.handover().rx[self.queue].leave();
        self.side.reported();
    }
}

impl RxEngine for CableRx {
    #[inline]
    fn serve(&mut self, ring: &mut RxRing, count: &mut RxCounters) {
        if self.side.state() != self.seen {
            let before = ring.available();
            let followed = self.follow(ring);
            // Frames that a departed sender had published.
            count.slots += u64::from(ring.available().saturating_sub(before));
            if !followed {
                return;
            }
        }
        if self.seen & 1 == 0 {
            return;
        }
        let released = self.pipe.release(ring);
        let new = self.pipe.look(ring);
        if released > 0 && self.pipe.must_wake() {
            count.syscalls += 1;
            self.far.ring();
        }
        count.slots += u64::from(new);
        count.batches += u64::from(new > 0);
        if self.pipe.violations() > self.violations_before {
            self.side.report_violation(self.seen);
        }
    }

    fn pause(&mut self, priorities: u8) {
        self.paused = priorities;
        if self.is_paired() {
            self.pipe.pause(priorities);
            if self.pipe.must_wake() {
                self.far.ring();
            }
        }
    }

    fn refresh(&mut self, count: &mut RxCounters) {
        count.dropped = self.told;
        if self.seen & 1 == 1 {
            count.dropped += Drops::from_numbers(self.pipe.told());
        }
    }

    fn link(&self) -> Link {
        self.side.link()
    }

    fn link_generation(&self) -> u32 {
        self.side.state()
    }
}

impl Sleeper for CableRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.near.clear();
        let sleeps = self.side.state() == self.seen && (self.seen & 1 == 0 || self.pipe.fall_asleep());
        sleeps.then(|| Sleep::on_bell(&self.near))
    }

    fn wake_up(&mut self) {
        self.pipe.wake_up();
    }
}
