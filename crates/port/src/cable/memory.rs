//! The region between two processes: its rings, the offer that describes it, and the queues over it.

use super::engine::{CableRx, CableTx};
use super::message::Offer;
use super::side::Side;
use super::{End, Pairs, Ready, Shape, Wire};
use crate::queue::{RxQueue, TxQueue};
use crate::sys::seqpacket as socket;
use linerate_ring::{Bell, Foreign, Pipe, Region, RegionConfig, RegionError, RxRing, Sharing, TxRing};
use linerate_ring::{PipeRx, PipeTx};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// The rings of one end with their pipes, one of each per queue. A maker makes them before the other end may send,
/// because making them writes their slots.
pub(crate) struct Ends {
    pub(super) tx: Vec<(TxRing, PipeTx)>,
    pub(super) rx: Vec<(RxRing, PipeRx)>,
}

impl Ends {
    /// Makes the queues over the rings. `far`: bells of the other end (of its transmit queues, then of its receive
    /// queues); empty before it is there.
    pub(crate) fn ready(self, side: &Arc<Side>, rate: Option<u64>, far: &[Bell]) -> Ready {
        let (wire, queues) = (rate.map(|rate| Wire::new(rate, Instant::now())), self.tx.len());
        let mut ready = Ready { side: side.clone(), tx: Vec::new(), rx: Vec::new() };
        for (q, (ring, pipe)) in self.tx.into_iter().enumerate() {
            // Until the other end is there, this end's own bell stands in: nobody sleeps on the other side.
            let far = far.get(queues + q).cloned().unwrap_or_else(|| side.tx_bell(q));
            ready.tx.push(TxQueue::new(ring, Box::new(CableTx::new(pipe, side, q, far, wire.clone()))));
        }
        for (q, (ring, pipe)) in self.rx.into_iter().enumerate() {
            let far = far.get(q).cloned().unwrap_or_else(|| side.rx_bell(q));
            ready.rx.push(RxQueue::new(ring, Box::new(CableRx::new(pipe, side, q, far))));
        }
        ready
    }
}

/// The region and the positions of the rings in it.
pub(crate) struct Memory {
    pub(super) pipe: Pipe,
    pub(super) region: Arc<Region>,
    pub(super) pairs: Pairs,
}

impl Memory {
    /// Makes a region for both directions that can be handed over to another process.
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

    /// The rings of one end's queues, with their pipes.
    pub(crate) fn ends(&self, left: bool) -> Result<Ends, RegionError> {
        let tx = self.pairs.out(left).iter().map(|pair| self.pipe.sender(&self.region, pair, 0));
        let rx = self.pairs.out(!left).iter().map(|pair| self.pipe.receiver(&self.region, pair, 0));
        Ok(Ends { tx: tx.collect::<Result<_, _>>()?, rx: rx.collect::<Result<_, _>>()? })
    }

    /// Sends the offer of this region, and the address that the joiner is to send from.
    pub(crate) fn offer(&self, peer: &Foreign, shape: &Shape, mac: Option<[u8; 6]>) -> io::Result<()> {
        let offer = Offer {
            shape: *shape,
            mac,
            buf_area: self.region.buf_area(),
            buffers: self.region.buffers(),
            right: self.pairs.right.clone(),
            left: self.pairs.left.clone(),
        };
        let file = self.region.file().ok_or(io::ErrorKind::Unsupported)?;
        socket::send(peer, &offer.write(), &[file])
    }

    /// Rewrites, before use, the parts that the other process may have written since the offer.
    pub(crate) fn renew(&self) {
        self.pairs.right.iter().chain(&self.pairs.left).for_each(|pair| self.region.renew(pair, 0));
    }
}

impl Offer {
    pub(super) fn pairs(&self) -> Pairs {
        Pairs { right: self.right.clone(), left: self.left.clone() }
    }
}
