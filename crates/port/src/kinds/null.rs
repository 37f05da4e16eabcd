//! `null:` discards sent frames and always has frames to receive: it measures the cost of the program itself.

use crate::counters::{RxCounters, TxCounters};
use crate::error::{Cause, OpenError};
use crate::info::{Caps, Info};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::{Device, Parts};
use crate::queue::{RxEngine, RxQueue, TxEngine, TxQueue};
use crate::sleep::Sleeper;
use linerate_ring::{OwnRx, OwnTx, RxRing, TxRing, flags};

pub(crate) const KIND: Kind = Kind {
    name: "null",
    about: "a sink and source, to measure linerate's own overhead",
    example: "null:",
    needs_name: false,
    is_path: false,
    queue_suffix: false,
    options: &[
        OptionRow { key: "queues", value: "N", about: "queues each way, 1 to 128 (1)" },
        OptionRow { key: "size", value: "BYTES", about: "bytes of each received frame, 14 to the MTU and 14 (60)" },
    ],
    demand,
    open,
};

fn queues(spec: &Spec) -> Result<u32, OpenError> {
    spec.number("queues", 1, 1, 128)
}

fn size(spec: &Spec) -> Result<usize, OpenError> {
    let most = (spec.mtu()? + 14).min(spec.buf_size()? as usize - linerate_ring::HEADROOM);
    spec.number("size", 60, 14, most as u64).map(|n| usize::try_from(n).unwrap_or(60))
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    size(spec)?;
    let queues = queues(spec)?;
    Ok(Demand::rings(queues, queues, spec.slots()?, spec.buf_size()?))
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let (queues, slots, size) = (queues(spec)?, spec.slots()?, size(spec)?);
    let oops = |e| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for id in (0..queues).map(|q| u16::try_from(q).unwrap_or(0)) {
        tx.push(TxQueue::new(TxRing::new(context.region, id, slots).map_err(oops)?, Box::new(Sink)));
        rx.push(RxQueue::new(RxRing::new(context.region, id, slots).map_err(oops)?, Box::new(Source { size })));
    }
    let info = Info {
        name: spec.to_string(),
        path: "null, in memory".into(),
        mtu: spec.mtu()?,
        largest: spec.mtu()? + 14,
        mac: None,
        caps: Caps { scatter: true, ..Caps::default() },
        tx_queues: tx.len(),
        rx_queues: rx.len(),
        slots,
        rate: None,
        notes: Vec::new(),
    };
    Ok(Parts { info, tx, rx, device: Box::new(Null) })
}

struct Null;

impl Device for Null {}

struct Sink;

impl Sleeper for Sink {}

impl TxEngine for Sink {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        let (mut whole, mut frames, mut bytes, mut open) = (0, 0, 0, 0);
        for (i, word) in (1..).zip(ring.pending_words()) {
            open += u64::from(word.len());
            if word.has(flags::MOREFRAG) {
                continue;
            }
            // Void slots have no bytes and are no frames.
            frames += u64::from(open > 0);
            bytes += open;
            (whole, open) = (i, 0);
        }
        count.frames += frames;
        count.bytes += bytes;
        count.batches += u64::from(whole > 0);
        ring.take(whole);
        ring.complete(whole);
    }
}

struct Source {
    size: usize,
}

impl Sleeper for Source {}

impl RxEngine for Source {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        let n = ring.room();
        for i in 0..n {
            ring.set_free(i, self.size, 0, None);
        }
        ring.deliver(n);
        count.slots += u64::from(n);
        count.batches += u64::from(n > 0);
    }
}
