//! Queues: a ring in the hands of one thread, and the engine that joins it to what carries the frames.

use crate::counters::{DropReason, Drops, RxCounters, TxCounters};
use crate::info::Link;
use crate::sleep::Sleeper;
use linerate_ring::{OwnRx, OwnTx, RxRing, TxRing};

/// What carries a transmit ring's frames.
pub trait TxEngine: Sleeper + Send {
    /// Takes committed slots, sends what can be sent now, completes what has been sent. Never sleeps.
    fn sync(&mut self, _ring: &mut OwnTx<'_>, _count: &mut TxCounters) {}

    /// The same over whatever ring the queue has. An engine that carries through a pipe, or leaves that to another, has this
    /// instead of [`TxEngine::sync`], which sees rings without a pipe alone: a pipe's would stand still.
    #[inline]
    fn serve(&mut self, ring: &mut TxRing, count: &mut TxCounters) {
        if let Some(mut ring) = ring.own() {
            self.sync(&mut ring, count);
        }
    }

    /// The queue carries these classes, a bit each: it stands still while the far end pauses one of them, if that can
    /// tell it so.
    fn set_classes(&mut self, _classes: u8) {}

    /// Tells the far end what was meant for it and did not get into this ring, if there is a way to tell it.
    fn tell_dropped(&mut self, _dropped: &Drops) {}

    /// Whether frames can pass.
    fn link(&self) -> Link {
        Link::Up
    }
}

/// What fills a receive ring.
pub trait RxEngine: Sleeper + Send {
    /// Takes back released slots and delivers what has arrived. Never sleeps.
    fn sync(&mut self, _ring: &mut OwnRx<'_>, _count: &mut RxCounters) {}

    /// The same over whatever ring the queue has; see [`TxEngine::serve`].
    #[inline]
    fn serve(&mut self, ring: &mut RxRing, count: &mut RxCounters) {
        if let Some(mut ring) = ring.own() {
            self.sync(&mut ring, count);
        }
    }

    /// Asks the far end to hold back frames of these classes, a bit each, from now on. Does nothing where
    /// [`Caps::pause`](crate::Caps::pause) is not said.
    fn pause(&mut self, _classes: u8) {}

    /// Brings counts that somebody else keeps (the kernel's drops) up to date; a sync does so only now and then.
    fn refresh(&mut self, _count: &mut RxCounters) {}

    /// Whether frames can pass.
    fn link(&self) -> Link {
        Link::Up
    }

    /// Whether nothing will ever arrive any more: a file's end.
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
    classes: u8,
}

/// A receive queue.
pub struct RxQueue {
    /// The ring: look at a batch, release it.
    pub ring: RxRing,
    pub(crate) engine: Box<dyn RxEngine>,
    pub(crate) count: RxCounters,
}

impl TxQueue {
    /// A queue of a ring and what carries it: of all classes, until it is told otherwise.
    #[must_use]
    pub fn new(ring: TxRing, engine: Box<dyn TxEngine>) -> Self {
        Self { ring, engine, count: TxCounters::default(), classes: 0xff }
    }

    /// The traffic classes that leave through it, a bit each: priorities of 802.1Q. Of a port's N queues, class c has
    /// queue c*N/8.
    #[must_use]
    pub fn classes(&self) -> u8 {
        self.classes
    }

    /// Says which classes leave through it, where that is known better: a queue of one class stands still for no other's
    /// pause.
    pub fn set_classes(&mut self, classes: u8) {
        self.classes = classes;
        self.engine.set_classes(classes);
    }

    /// Sends what was committed, as far as it can be sent now, and gets sent slots back.
    #[inline]
    pub fn sync(&mut self) {
        self.engine.serve(&mut self.ring, &mut self.count);
    }

    /// See [`TxEngine::tell_dropped`].
    pub(crate) fn tell_dropped(&mut self, dropped: &Drops) {
        self.engine.tell_dropped(dropped);
    }

    /// What it did so far.
    #[must_use]
    pub fn counters(&self) -> TxCounters {
        self.count
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.engine.link()
    }
}

impl RxQueue {
    /// A queue of a ring and what fills it.
    #[must_use]
    pub fn new(ring: RxRing, engine: Box<dyn RxEngine>) -> Self {
        Self { ring, engine, count: RxCounters::default() }
    }

    /// Gives released slots back and gets what has arrived.
    #[inline]
    pub fn sync(&mut self) {
        self.engine.serve(&mut self.ring, &mut self.count);
    }

    /// Asks the transmit queue at the far end to hold back frames of these classes, a bit each, from now on; 0 ends it.
    /// Frames that have left already arrive. A queue of several classes stands still for each of them. It holds for a
    /// second from the first frame that waits, unless it is asked for again, and is over when the far end is another.
    ///
    /// Does nothing where [`Caps::pause`](crate::Caps::pause) is not said.
    pub fn pause(&mut self, classes: u8) {
        self.engine.pause(classes);
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

    /// What it did so far, with the slots that the ring refused.
    #[must_use]
    pub fn counters(&self) -> RxCounters {
        let mut count = self.count;
        let bad = self.ring.stats();
        count.dropped.add(DropReason::BadIndex, bad.bad_index);
        count.dropped.add(DropReason::BadLength, bad.bad_length);
        count
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.engine.link()
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
