//! Where frames come from: received slots of a port's queue, or a sender's own committed slots.

use linerate_ring::{Alike, BadSlot, Frame, Meta, OwnTx, RxBatch, TxBatch};

/// One slot.
pub(super) enum Part<'a> {
    /// A frame or its part, with the slot's flags.
    Frame(Frame<'a>, u16),
    /// No frame.
    Void,
    /// Nonsense, which the ring has counted now.
    Bad,
}

/// Slots to be forwarded; nothing in them is trusted.
pub(super) trait Inlet {
    /// Slots there are.
    fn len(&self) -> u32;

    /// Slots there can be at a time.
    fn most(&self) -> u32;

    /// The `i`th, looked at now; another look may see something else.
    fn part(&mut self, i: u32) -> Part<'_>;

    /// Its metadata.
    fn meta(&mut self, i: u32) -> Option<Meta>;

    /// Moves frames that are alike; see [`RxBatch::move_run`].
    fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64);
}

/// Received slots, and how many the ring can hold.
pub(super) struct Received<'a> {
    pub(super) batch: RxBatch<'a>,
    pub(super) most: u32,
}

impl Inlet for Received<'_> {
    #[inline]
    fn len(&self) -> u32 {
        self.batch.len()
    }

    fn most(&self) -> u32 {
        self.most
    }

    #[inline]
    fn part(&mut self, i: u32) -> Part<'_> {
        match self.batch.look(i) {
            Ok((frame, flags)) => Part::Frame(frame, flags),
            Err(BadSlot::Void) => Part::Void,
            Err(_) => Part::Bad,
        }
    }

    fn meta(&mut self, i: u32) -> Option<Meta> {
        self.batch.meta(i)
    }

    #[inline]
    fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        self.batch.move_run(i, to, at, alike)
    }
}

/// A transmit ring's committed slots, taken where they lie.
pub(super) struct Committed<'a, 'r>(pub(super) &'a mut OwnTx<'r>);

impl Inlet for Committed<'_, '_> {
    #[inline]
    fn len(&self) -> u32 {
        self.0.pending()
    }

    fn most(&self) -> u32 {
        self.0.slots() - 1
    }

    #[inline]
    fn part(&mut self, i: u32) -> Part<'_> {
        self.0.pending_look(i).map_or(Part::Void, |(frame, flags)| Part::Frame(frame, flags))
    }

    fn meta(&mut self, i: u32) -> Option<Meta> {
        self.0.pending_meta(i)
    }

    #[inline]
    fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        self.0.copy_pending_run(i, to, at, alike)
    }
}
