//! The region between two processes: the rings in it, the offer that describes it, the queues over it.

use super::engine::{CableRx, CableTx};
use super::message::{Offer, OfferedPair};
use super::side::Side;
use super::{End, Pairs, Ready, Shape, Wire};
use crate::queue::{RxQueue, TxQueue};
use crate::sys::seqpacket as socket;
use linerate_ring::{Bell, Foreign, Pipe, Region, RegionConfig, RegionError, RingPair, Sharing};
use std::io;
use std::sync::Arc;

/// The region and where the rings lie in it.
pub(crate) struct Memory {
    pub(super) pipe: Pipe,
    pub(super) region: Arc<Region>,
    pub(super) pairs: Pairs,
}

impl Memory {
    /// A region of this process, for both directions, that can be handed over.
    pub(crate) fn make(end: &End, shape: &Shape) -> Result<Self, RegionError> {
        let rings = 4 * shape.queues;
        let room = Region::ring_room(shape.slots) * rings as usize;
        let ring_bytes = room + 2 * Region::if_room(shape.queues, shape.queues);
        let buffers = 2 * shape.queues * shape.slots;
        let sharing = Sharing::Shared;
        let config = RegionConfig { buf_size: shape.buf_size, buffers, ring_bytes, sharing, huge: false };
        let region = Region::new(&config)?;
        let pairs = Pairs::new(&region, end, shape)?;
        Ok(Self { pipe: Pipe::Maker, region, pairs })
    }

    /// The queues of one end. `offer`: what the maker said, if this end joined; `far`: the other end's bells (transmit,
    /// receive), if it is there already.
    pub(crate) fn ready(
        &self,
        end: &End,
        shape: &Shape,
        side: &Arc<Side>,
        offer: Option<&Offer>,
        far: Option<(&[Bell], &[Bell])>,
    ) -> Result<Ready, RegionError> {
        let wire = shape.rate.map(Wire::new);
        let start = |left: bool, q: usize| offer.map_or(0, |offer| offer.out(left)[q].start);
        let mut ready = Ready { side: side.clone(), tx: Vec::new(), rx: Vec::new() };
        for (q, pair) in self.pairs.out(end.left).iter().enumerate() {
            let (ring, pipe) = self.pipe.sender(&self.region, pair, start(end.left, q))?;
            // Until the other end brings its own, the bell is this end's: nobody sleeps on the other side.
            let far = far.map_or_else(|| side.tx_bell(q), |(_, rx)| rx[q].clone());
            ready.tx.push(TxQueue::new(ring, Box::new(CableTx::new(pipe, side, q, far, wire.clone()))));
        }
        for (q, pair) in self.pairs.out(!end.left).iter().enumerate() {
            let (ring, pipe) = self.pipe.receiver(&self.region, pair, start(!end.left, q))?;
            let far = far.map_or_else(|| side.rx_bell(q), |(tx, _)| tx[q].clone());
            ready.rx.push(RxQueue::new(ring, Box::new(CableRx::new(pipe, side, q, far))));
        }
        Ok(ready)
    }

    /// Sends the offer of this region, with the cursors (transmit, receive) from which this end starts.
    pub(crate) fn offer(&self, peer: &Foreign, shape: &Shape, left: bool, start: (&[u32], &[u32])) -> io::Result<()> {
        let offered = |pairs: &[RingPair], start: &[u32]| -> Vec<OfferedPair> {
            pairs.iter().zip(start).map(|(pair, start)| OfferedPair { pair: *pair, start: *start }).collect()
        };
        let (right_start, left_start) = if left { start } else { (start.1, start.0) };
        let offer = Offer {
            shape: *shape,
            buf_area: self.region.buf_area(),
            buffers: self.region.buffers(),
            right: offered(&self.pairs.right, right_start),
            left: offered(&self.pairs.left, left_start),
        };
        let file = self.region.file().ok_or(io::ErrorKind::Unsupported)?;
        socket::send(peer, &offer.write(), &[file])
    }

    /// Writes anew, before a first pairing, what the other process may have written to since the offer.
    pub(crate) fn renew(&self) {
        self.pairs.right.iter().chain(&self.pairs.left).for_each(|pair| self.region.renew(pair, 0, None));
    }
}

impl Offer {
    pub(super) fn out(&self, left: bool) -> &[OfferedPair] {
        if left { &self.right } else { &self.left }
    }

    pub(super) fn pairs(&self) -> Pairs {
        let some = |offered: &[OfferedPair]| offered.iter().map(|o| o.pair).collect();
        Pairs { right: some(&self.right), left: some(&self.left) }
    }
}
