//! Sources of frames: received slots of a port's queue, or a sender's own committed slots.

use linerate_ring::{Alike, BadSlot, Frame, Meta, OwnTx, RxBatch, TxBatch, TxRing};

/// Content of one slot.
pub(super) enum Part<'a> {
    /// A frame or a part of one, with the slot's flags.
    Frame(Frame<'a>, u16),
    /// No frame.
    Void,
    /// An invalid slot, which the ring has counted.
    Bad,
}

/// Slots to be forwarded; their content is not trusted.
pub(super) trait Inlet {
    /// Number of slots.
    fn len(&self) -> u32;

    /// Most slots at a time.
    fn most(&self) -> u32;

    /// The `i`th slot as it is now; another call may see something else.
    fn part(&mut self, i: u32) -> Part<'_>;

    /// Metadata of the `i`th slot.
    fn meta(&mut self, i: u32) -> Option<Meta>;

    /// Slots and bytes of the frame that begins at the `i`th slot, if its buffers can be exchanged with those of a ring; see
    /// [`RxBatch::chain`].
    fn chain_for(&self, i: u32, to: &TxRing) -> Option<(u32, usize)>;

    /// Moves a frame of any kind by exchanging buffers; see [`RxBatch::move_chain`].
    fn move_chain(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32) -> Option<u32>;

    /// Moves a run of similar frames; see [`RxBatch::move_run`].
    fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64);
}

/// Received slots, and the number of slots that the ring can hold.
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

    fn chain_for(&self, i: u32, to: &TxRing) -> Option<(u32, usize)> {
        self.batch.exchanges_with(to).then(|| self.batch.chain(i))?
    }

    fn move_chain(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32) -> Option<u32> {
        self.batch.move_chain(i, to, at)
    }

    #[inline]
    fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        self.batch.move_run(i, to, at, alike)
    }
}

/// Committed slots of a transmit ring, forwarded in place.
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

    /// The sender's slots are its own, and copied.
    fn chain_for(&self, _: u32, _: &TxRing) -> Option<(u32, usize)> {
        None
    }

    fn move_chain(&mut self, _: u32, _: &mut TxBatch<'_>, _: u32) -> Option<u32> {
        None
    }

    #[inline]
    fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        self.0.copy_pending_run(i, to, at, alike)
    }
}
