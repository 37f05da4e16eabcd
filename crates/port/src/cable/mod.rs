//! `cable:NAME{ID` and `cable:NAME}ID`: the two ends of a virtual cable (netmap's pipe), in one process or in two.
//!
//! Both ends opened together are joined in memory. An end opened alone looks for the other end in other processes of
//! the same user ([`between`]), and waits for it if there is none.

mod between;
mod engine;
mod flight;
mod hold;
mod memory;
mod message;
mod side;
mod visitor;
mod watcher;
mod wire;

use crate::error::{Cause, OpenError};
use crate::info::{Caps, Info, Link};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::{Device, Parts};
use crate::queue::{RxQueue, TxQueue};
pub(crate) use between::{Trouble, check_user, join, knock, send_bells};
use engine::{CableRx, CableTx};
use linerate_ring::{Bell, Pipe, Region, RegionError, RingPair, RingSpot};

pub(crate) use memory::Memory;
pub(crate) use message::{Refusal, Words, bytes};
pub(crate) use side::Side;
use std::sync::Arc;
pub(crate) use visitor::{Visitor, Visitors, Wish};
use wire::Wire;

pub(crate) const KIND: Kind = Kind {
    name: "cable",
    about: "a virtual cable between two programs, or two ports of one (netmap's pipe)",
    example: "cable:NAME{ID and cable:NAME}ID",
    needs_name: true,
    is_path: false,
    queue_suffix: false,
    options: &[
        OptionRow { key: "queues", value: "N", about: "queues each way, 1 to 128 (1)" },
        OptionRow { key: "rate", value: "BIT/S", about: "rate of the wire, framing included (none)" },
        OptionRow {
            key: "length",
            value: "METRES",
            about: "a frame arrives 5 ns a metre after its last bit has left (none; with rate=, both ends in one program)",
        },
    ],
    demand,
    open,
};

/// One end of a cable: the cable's name, and which end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) cable: String,
    pub(crate) left: bool,
}

/// Most metres of a cable.
const LONGEST: u32 = 160_000;

/// Parameters that both ends must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) queues: u32,
    pub(crate) slots: u32,
    pub(crate) mtu: usize,
    pub(crate) buf_size: u32,
    pub(crate) rate: Option<u64>,
}

impl End {
    fn parse(spec: &Spec) -> Result<Self, OpenError> {
        let oops = || {
            spec.oops("that names no end of a cable", "write cable:NAME{ID for one end, cable:NAME}ID for the other")
        };
        let (at, brace) = spec.name.char_indices().find(|(_, c)| matches!(c, '{' | '}')).ok_or_else(oops)?;
        let (name, id) = (&spec.name[..at], &spec.name[at + 1..]);
        let fit = |s: &str| s.len() <= 64 && s.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c));
        if id.is_empty() || !fit(name) || !fit(id) {
            return Err(spec.oops("a cable's name and ID are letters, digits and ._-+", "write cable:lab{1"));
        }
        Ok(Self { cable: format!("{name}#{id}"), left: brace == '{' })
    }

    fn other(&self) -> Self {
        Self { cable: self.cable.clone(), left: !self.left }
    }

    fn key(&self) -> String {
        format!("{}{}", self.cable, if self.left { "{" } else { "}" })
    }
}

impl Shape {
    fn parse(spec: &Spec) -> Result<Self, OpenError> {
        Ok(Self {
            queues: spec.number("queues", 1, 1, 128)?,
            slots: spec.slots()?,
            mtu: spec.mtu()?,
            buf_size: spec.buf_size()?,
            rate: spec.rate()?,
        })
    }
}

/// Metres of the cable, if it has a length.
fn length(spec: &Spec) -> Result<Option<u32>, OpenError> {
    if spec.option("length").is_none() {
        return Ok(None);
    }
    if spec.rate()?.is_none() {
        return Err(spec.oops("a cable with a length has a rate", "give rate= too, as rate=10G,length=100"));
    }
    spec.number("length", 0, 0, LONGEST).map(Some)
}

/// True if the other end of a cable is opened in the same call.
pub(crate) fn both_ends_in(spec: &Spec, specs: &[Spec]) -> bool {
    let other = End::parse(spec).map(|end| end.other());
    specs.iter().filter(|s| s.kind.name == KIND.name).any(|s| End::parse(s).ok() == other.as_ref().ok().cloned())
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    End::parse(spec)?;
    let shape = Shape::parse(spec)?;
    length(spec)?;
    // The pairs of one direction; the end that comes first makes both directions, so the demand is counted twice
    // (`open_all`).
    let mut demand = Demand::rings(shape.queues, shape.queues, shape.slots, shape.buf_size);
    demand.buffers = shape.queues * shape.slots;
    Ok(demand)
}

/// The rings of both directions, one pair per queue, and the interfaces over them.
struct Pairs {
    /// Ring pairs from the left end to the right one.
    right: Vec<RingPair>,
    /// Ring pairs from the right end to the left one.
    left: Vec<RingPair>,
}

impl Pairs {
    fn new(region: &Arc<Region>, end: &End, shape: &Shape) -> Result<Self, RegionError> {
        let some = || -> Result<Vec<RingPair>, RegionError> {
            (0..shape.queues).map(|q| region.ring_pair(u16::try_from(q).unwrap_or(0), shape.slots)).collect()
        };
        let pairs = Self { right: some()?, left: some()? };
        for end in [end.clone(), end.other()] {
            let spots = |pairs: &[RingPair], tx: bool| -> Vec<RingSpot> {
                pairs.iter().map(|pair| if tx { pair.tx } else { pair.rx }).collect()
            };
            region.interface(&end.key(), &spots(pairs.out(end.left), true), &spots(pairs.out(!end.left), false))?;
        }
        Ok(pairs)
    }

    /// Ring pairs through which an end sends; it receives through the other end's.
    fn out(&self, left: bool) -> &[RingPair] {
        if left { &self.right } else { &self.left }
    }
}

/// An end that is ready to be used.
pub(crate) struct Ready {
    pub(crate) side: Arc<Side>,
    pub(crate) tx: Vec<TxQueue>,
    pub(crate) rx: Vec<RxQueue>,
}

/// Makes the queues of one end over existing rings.
pub(crate) fn queues(
    pipe: Pipe,
    region: &Arc<Region>,
    pairs: (&[RingPair], &[RingPair]),
    side: &Arc<Side>,
    far: &dyn Fn(bool, usize) -> Bell,
    wire: Option<&Wire>,
) -> Result<(Vec<TxQueue>, Vec<RxQueue>), RegionError> {
    let tx = pairs.0.iter().enumerate().map(|(q, pair)| {
        let (ring, pipe) = pipe.sender(region, pair, 0)?;
        // The consumer of these frames is woken by its receive bell.
        Ok(TxQueue::new(ring, Box::new(CableTx::new(pipe, side, q, far(false, q), wire.cloned()))))
    });
    let rx = pairs.1.iter().enumerate().map(|(q, pair)| {
        let (ring, pipe) = pipe.receiver(region, pair, 0)?;
        Ok(RxQueue::new(ring, Box::new(CableRx::new(pipe, side, q, far(true, q)))))
    });
    Ok((tx.collect::<Result<_, RegionError>>()?, rx.collect::<Result<_, RegionError>>()?))
}

/// Makes both ends at once, within this process.
fn both(spec: &Spec, region: &Arc<Region>, end: &End, shape: &Shape) -> Result<(Ready, Ready), OpenError> {
    let oops = |e: &dyn std::fmt::Display| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let count = shape.queues as usize;
    let pairs = Pairs::new(region, end, shape).map_err(|e| oops(&e))?;
    let mut sides = [Side::within(count).map_err(|e| oops(&e))?, Side::within(count).map_err(|e| oops(&e))?];
    let (clock, length) = (spec.clock(), length(spec)?);
    sides.iter_mut().for_each(|side| side.clock = clock.clone());
    let [near, far] = sides.map(Arc::new);
    near.hang_up(&far);
    far.hang_up(&near);
    let ready = |side: &Arc<Side>, other: &Arc<Side>, left: bool| {
        let bells = |tx, q| if tx { other.tx_bell(q) } else { other.rx_bell(q) };
        let wire = shape.rate.map(|rate| Wire::new(rate, clock.now()).of_length(length));
        let pairs = (pairs.out(left), pairs.out(!left));
        queues(Pipe::Within, region, pairs, side, &bells, wire.as_ref())
            .map(|(tx, rx)| Ready { side: side.clone(), tx, rx })
            .map_err(|e| oops(&e))
    };
    Ok((ready(&near, &far, end.left)?, ready(&far, &near, !end.left)?))
}

/// State that one end leaves for the other end opened in the same call.
struct Left {
    ready: Ready,
    shape: Shape,
    length: Option<u32>,
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let (end, shape, length) = (End::parse(spec)?, Shape::parse(spec)?, length(spec)?);
    if !both_ends_in(spec, context.specs) {
        if length.is_some() {
            let what = "a cable with a length is one within a program";
            return Err(spec.oops(what, "leave length= out, or open both ends together"));
        }
        return between::open(spec, &end, &shape);
    }
    let here = context.left.remove(&end.key()).and_then(|left| left.downcast::<Left>().ok());
    if let Some(left) = here {
        shape.agree(spec, &left.shape)?;
        if length.is_some() && length != left.length {
            let what = "the cable was opened with another length, or none, at its other end";
            return Err(OpenError::new(spec, Cause::Peer, what, "give both ends the same, or the first alone"));
        }
        return Ok(left.ready.parts(spec, &left.shape, "cable within this process".into()));
    }
    let (near, far) = both(spec, context.region, &end, &shape)?;
    if context.left.insert(end.other().key(), Box::new(Left { ready: far, shape, length })).is_some() {
        return Err(OpenError::new(
            spec,
            Cause::Busy,
            "this end is open already",
            "open the other end, or use another ID",
        ));
    }
    Ok(near.parts(spec, &shape, "cable within this process".into()))
}

impl Shape {
    /// Checks the second end's options: they may be absent, but must not contradict the first end's shape.
    fn agree(&self, spec: &Spec, first: &Shape) -> Result<(), OpenError> {
        let rate = |shape: &Shape| shape.rate.unwrap_or(0);
        for (key, mine, theirs) in [
            ("queues", u64::from(self.queues), u64::from(first.queues)),
            ("slots", self.slots.into(), first.slots.into()),
            ("mtu", self.mtu as u64, first.mtu as u64),
            ("buf", self.buf_size.into(), first.buf_size.into()),
            ("rate", rate(self), rate(first)),
        ] {
            if spec.option(key).is_some() && mine != theirs {
                let what = format!("the cable was opened with {key}={theirs} at its other end");
                return Err(OpenError::new(spec, Cause::Peer, what, format!("give {key}={theirs}, or leave it out")));
            }
        }
        Ok(())
    }
}

impl Ready {
    pub(crate) fn parts(self, spec: &Spec, shape: &Shape, path: String) -> Parts {
        let info = Info {
            name: spec.to_string(),
            path,
            mtu: shape.mtu,
            largest: shape.mtu + 22,
            mac: None,
            caps: Caps { scatter: true, metadata: true, pause: true, ..Caps::default() },
            tx_queues: self.tx.len(),
            rx_queues: self.rx.len(),
            slots: shape.slots,
            rate: shape.rate,
            notes: Vec::new(),
        };
        Parts { info, tx: self.tx, rx: self.rx, device: Box::new(Cable { side: self.side }) }
    }
}

struct Cable {
    side: Arc<Side>,
}

impl Device for Cable {
    fn link(&self) -> Link {
        self.side.link()
    }

    fn raw_counters(&self) -> Vec<(String, u64)> {
        let (pauses, time) = self.side.pauses();
        vec![("tx_pauses".into(), pauses), ("tx_paused_us".into(), time)]
    }
}

/// Parses a message of a handshake as either side would; a valid message must survive serialization.
#[cfg(fuzzing)]
pub(crate) fn fuzz(message: &[u8]) {
    if let Some(left) = message::read_hello(message) {
        assert_eq!(message::hello(left), message);
    }
    if let Some(Ok(offer)) = message::Offer::read(message) {
        assert!(offer.write() == message && message.len() <= message::LONGEST);
    }
}

#[cfg(test)]
mod tests;
