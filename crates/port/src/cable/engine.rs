//! The engines of a cable's queues: a pipe, a bell for each side, a wire's rate.

use super::side::{FreshRx, FreshTx, Side};
use super::wire::Wire;
use crate::counters::{DropReason, RxCounters, TxCounters};
use crate::info::Link;
use crate::queue::{Interest, RxEngine, TxEngine};
use linerate_ring::{Bell, PipeRx, PipeTx, RxRing, TxRing};
use std::os::fd::{AsFd, BorrowedFd};
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
}

impl CableTx {
    pub(super) fn new(pipe: PipeTx, side: &Arc<Side>, queue: usize, far: Bell, wire: Option<Wire>) -> Self {
        let near = side.tx_bell(queue);
        Self { pipe, side: side.clone(), queue, seen: side.state(), near, far, wire }
    }

    #[cold]
    fn follow(&mut self, state: u32, ring: &mut TxRing, count: &mut TxCounters) {
        if self.seen & 1 == 1 {
            let (lost, start) = self.pipe.reset(ring);
            count.dropped.add(DropReason::PeerDied, lost);
            self.seen = self.seen.wrapping_add(1);
            self.side.report(true, self.queue, start);
        }
        if state & 1 == 1 {
            match self.side.desk().tx[self.queue].take() {
                Some(FreshTx::Bell(far)) => self.far = far,
                Some(FreshTx::Ends(ends, far)) => {
                    let (mut fresh, pipe) = *ends;
                    let left = fresh.carry_over(ring);
                    count.dropped.add(DropReason::TooLong, left.into());
                    (*ring, self.pipe, self.far) = (fresh, pipe, far);
                }
                None => {}
            }
            self.seen = state;
        }
    }
}

impl TxEngine for CableTx {
    #[inline]
    fn sync(&mut self, ring: &mut TxRing, count: &mut TxCounters) {
        let state = self.side.state();
        if state != self.seen {
            self.follow(state, ring, count);
        }
        if self.seen & 1 == 0 {
            return;
        }
        let moved = match &self.wire {
            None => self.pipe.sync(ring, |_| true),
            Some(wire) => wire.pass(Instant::now(), |admit| self.pipe.sync(ring, admit)),
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
        if self.pipe.lies() > 0 {
            self.side.accuse();
        }
    }

    fn link(&self) -> Link {
        self.side.link()
    }

    fn fall_asleep(&mut self) -> bool {
        self.near.clear();
        self.side.state() == self.seen && (self.seen & 1 == 0 || self.pipe.fall_asleep())
    }

    fn wake_up(&mut self) {
        self.pipe.wake_up();
    }

    fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)> {
        Some((self.near.as_fd(), Interest::Readable))
    }

    fn due(&self) -> Option<Instant> {
        self.wire.as_ref().map(Wire::free)
    }
}

pub(super) struct CableRx {
    pipe: PipeRx,
    side: Arc<Side>,
    queue: usize,
    seen: u32,
    near: Bell,
    far: Bell,
}

impl CableRx {
    pub(super) fn new(pipe: PipeRx, side: &Arc<Side>, queue: usize, far: Bell) -> Self {
        let near = side.rx_bell(queue);
        Self { pipe, side: side.clone(), queue, seen: side.state(), near, far }
    }

    /// False while frames of the last generation wait for the user.
    #[cold]
    fn follow(&mut self, state: u32, ring: &mut RxRing) -> bool {
        if self.seen & 1 == 1 {
            let Some(start) = self.pipe.reset(ring) else { return false };
            self.seen = self.seen.wrapping_add(1);
            self.side.report(false, self.queue, start);
        }
        if state & 1 == 1 {
            match self.side.desk().rx[self.queue].take() {
                Some(FreshRx::Bell(far)) => self.far = far,
                Some(FreshRx::Ends(ends, far)) => {
                    let (mut fresh, pipe) = *ends;
                    fresh.inherit(ring);
                    (*ring, self.pipe, self.far) = (fresh, pipe, far);
                }
                None => {}
            }
            self.seen = state;
        }
        true
    }
}

impl RxEngine for CableRx {
    #[inline]
    fn sync(&mut self, ring: &mut RxRing, count: &mut RxCounters) {
        let state = self.side.state();
        if state != self.seen && !self.follow(state, ring) {
            return;
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
        if self.pipe.lies() > 0 {
            self.side.accuse();
        }
    }

    fn link(&self) -> Link {
        self.side.link()
    }

    fn fall_asleep(&mut self) -> bool {
        self.near.clear();
        self.side.state() == self.seen && (self.seen & 1 == 0 || self.pipe.fall_asleep())
    }

    fn wake_up(&mut self) {
        self.pipe.wake_up();
    }

    fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)> {
        Some((self.near.as_fd(), Interest::Readable))
    }
}
