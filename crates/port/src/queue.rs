//! Queues: a ring used by one thread, and the engine that moves its frames.

use crate::counters::{DropReason, Drops, RxCounters, TxCounters};
use crate::info::Link;
use crate::sleep::Sleeper;
use linerate_ring::{OwnRx, OwnTx, RxRing, TxRing};

/// Engine of a transmit queue: carries the frames of its ring.
pub trait TxEngine: Sleeper + Send {
    /// Takes committed slots, sends the frames that can be sent now, and completes those that have been sent. Never
    /// sleeps.
    fn sync(&mut self, _ring: &mut OwnTx<'_>, _count: &mut TxCounters) {}

    /// Does the work of [`TxEngine::sync`] over any ring. An engine that carries frames through a pipe, or delegates to
    /// another engine, implements this one instead: `sync` sees only rings without a pipe.
    #[inline]
    fn serve(&mut self, ring: &mut TxRing, count: &mut TxCounters) {
        if let Some(mut ring) = ring.own() {
            self.sync(&mut ring, count);
        }
    }

    /// Sets the priorities that the queue carries, one bit each: it stops while the far end pauses one of them, if the far
    /// end can.
    fn set_priorities(&mut self, _priorities: u8) {}

    /// Reports to the far end the drops of frames that were meant for it but did not get into this ring, if there is a
    /// way.
    fn tell_dropped(&mut self, _dropped: &Drops) {}

    /// True if frames need another sync to go on. Where the far end takes them and gives their slots back by itself, only those do
    /// that it has no room for: nobody need be woken for the others.
    #[inline]
    fn is_held_up(&self, ring: &TxRing) -> bool {
        ring.outstanding() > 0
    }

    /// State of the link.
    fn link(&self) -> Link {
        Link::Up
    }
}

/// Engine of a receive queue: fills its ring.
pub trait RxEngine: Sleeper + Send {
    /// Takes back released slots and delivers the frames that have arrived. Never sleeps.
    fn sync(&mut self, _ring: &mut OwnRx<'_>, _count: &mut RxCounters) {}

    /// Does the work of [`RxEngine::sync`] over any ring; see [`TxEngine::serve`].
    #[inline]
    fn serve(&mut self, ring: &mut RxRing, count: &mut RxCounters) {
        if let Some(mut ring) = ring.own() {
            self.sync(&mut ring, count);
        }
    }

    /// Asks the far end to hold back frames of these priorities, one bit each, from now on. Does nothing without
    /// [`Caps::pause`](crate::Caps::pause).
    fn pause(&mut self, _priorities: u8) {}

    /// Updates counts that are kept elsewhere (the kernel's drops); a sync does so only now and then.
    fn refresh(&mut self, _count: &mut RxCounters) {}

    /// State of the link.
    fn link(&self) -> Link {
        Link::Up
    }

    /// Number that changes whenever the link does, even if it is back in its former state.
    fn link_generation(&self) -> u32 {
        u32::from(self.link() == Link::Up)
    }

    /// True if nothing will ever arrive any more: a file's end.
    fn ended(&self) -> bool {
        false
    }
}

/// A transmit queue.
pub struct TxQueue {
    /// The ring: reserve, fill, commit.
    pub ring: TxRing,
    pub(crate) engine: Box<dyn TxEngine>,
    pub(crate) count: TxCounters,
    priorities: u8,
}

/// A receive queue.
pub struct RxQueue {
    /// The ring: look at a batch, release it.
    pub ring: RxRing,
    pub(crate) engine: Box<dyn RxEngine>,
    pub(crate) count: RxCounters,
}

impl TxQueue {
    /// Queue of a ring and its engine; it carries all priorities at first.
    #[must_use]
    pub fn new(ring: TxRing, engine: Box<dyn TxEngine>) -> Self {
        Self { ring, engine, count: TxCounters::default(), priorities: 0xff }
    }

    /// Priorities of 802.1Q that the queue carries, one bit each: those of its traffic class, of which a port with N queues
    /// has N, and 8 at most ([`linerate_offload::TrafficClass`]).
    #[must_use]
    pub fn priorities(&self) -> u8 {
        self.priorities
    }

    /// Sets the priorities that the queue carries: a queue of one priority does not stop for a pause of another.
    pub fn set_priorities(&mut self, priorities: u8) {
        self.priorities = priorities;
        self.engine.set_priorities(priorities);
    }

    /// Sends committed frames, as far as possible now, and gets the slots of sent ones back.
    #[inline]
    pub fn sync(&mut self) {
        self.engine.serve(&mut self.ring, &mut self.count);
    }

    /// True if frames need another [`TxQueue::sync`] to go on: the last one could not send them.
    #[inline]
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        self.engine.is_held_up(&self.ring)
    }

    /// See [`TxEngine::tell_dropped`].
    pub(crate) fn tell_dropped(&mut self, dropped: &Drops) {
        self.engine.tell_dropped(dropped);
    }

    /// Counters of the queue so far.
    #[must_use]
    pub fn counters(&self) -> TxCounters {
        self.count
    }

    /// State of the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.engine.link()
    }
}

impl RxQueue {
    /// Queue of a ring and its engine.
    #[must_use]
    pub fn new(ring: RxRing, engine: Box<dyn RxEngine>) -> Self {
        Self { ring, engine, count: RxCounters::default() }
    }

    /// Gives released slots back and receives the frames that have arrived.
    #[inline]
    pub fn sync(&mut self) {
        self.engine.serve(&mut self.ring, &mut self.count);
    }

    /// Asks the transmit queue at the far end to hold back frames of these priorities, one bit each, from now on; 0 ends
    /// the pause. Frames already sent still arrive. A queue of several priorities stops for each of them. A pause lasts
    /// one second from the first frame that waits, unless it is renewed, and ends when the far end is replaced.
    ///
    /// Does nothing without [`Caps::pause`](crate::Caps::pause).
    pub fn pause(&mut self, priorities: u8) {
        self.engine.pause(priorities);
    }

    /// See [`RxEngine::ended`].
    #[must_use]
    pub fn ended(&self) -> bool {
        self.engine.ended()
    }

    /// See [`RxEngine::refresh`].
    pub fn refresh(&mut self) {
        self.engine.refresh(&mut self.count);
    }

    /// Counters of the queue so far, including the slots that the ring refused.
    #[must_use]
    pub fn counters(&self) -> RxCounters {
        let mut count = self.count;
        let bad = self.ring.stats();
        count.dropped.add(DropReason::BadIndex, bad.bad_index);
        count.dropped.add(DropReason::BadLength, bad.bad_length);
        count
    }

    /// State of the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.engine.link()
    }

    /// See [`RxEngine::link_generation`]. Whoever sees a new one syncs the port's transmit queues too, even if there is
    /// nothing to send: the next peer of a cable is let in when all queues have left the last one.
    #[must_use]
    pub fn link_generation(&self) -> u32 {
        self.engine.link_generation()
    }
}

impl Sleeper for TxQueue {
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        Some(&mut *self.engine)
    }
}

impl Sleeper for RxQueue {
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        Some(&mut *self.engine)
    }
}
