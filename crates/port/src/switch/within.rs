//! A switch within this process: the sender forwards, within its sync, as in VALE. No thread, no second hop: frames are
//! copied from the sender's ring into the receivers', under the switch's lock, batch by batch.

use super::inlet::Committed;
use super::member::{PROGRAM, Policy, SourceState};
use super::table::PortId;
use super::vale::Address;
use super::{Passed, Plug, Switch};
use crate::cable::{self, Ready, Shape, Side};
use crate::counters::TxCounters;
use crate::error::{Cause, OpenError};
use crate::info::Link;
use crate::kind::{Context, Spec};
use crate::port::Parts;
use crate::queue::{TxEngine, TxQueue};
use crate::sleep::{Sleep, Sleeper};
use linerate_ring::{OwnTx, Pipe, RingPair, RingSpot, TxRing};
use linerate_text::saturating_ns;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval after which a sender that waits for a receiver's room tries again: it gets no notification.
const AGAIN: Duration = Duration::from_micros(50);

/// A switch and its clock, as its ports share it.
struct Shared {
    switch: Mutex<Switch>,
    origin: Instant,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Switch> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a port of a switch that lives as long as its ports.
pub(super) fn open(
    spec: &Spec,
    context: &mut Context<'_>,
    address: &Address<'_>,
    policy: Policy,
    shape: &Shape,
) -> Result<Parts, OpenError> {
    let oops = |e: &dyn std::fmt::Display| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let key = format!("vale:{}", address.switch);
    let shared = context.left.get(&key).and_then(|left| left.downcast_ref::<Arc<Shared>>()).cloned();
    let shared = shared.unwrap_or_else(|| {
        let shared = Arc::new(Shared { switch: Mutex::new(Switch::new()), origin: Instant::now() });
        context.left.insert(key, Box::new(shared.clone()));
        shared
    });
    let (region, queues) = (context.region, shape.queues as usize);
    let pairs = (0..shape.queues).map(|q| region.ring_pair(u16::try_from(q).unwrap_or(0), shape.slots));
    let pairs: Vec<RingPair> = pairs.collect::<Result<_, _>>().map_err(|e| oops(&e))?;
    let sides = [Side::within(queues).map_err(|e| oops(&e))?, Side::within(queues).map_err(|e| oops(&e))?];
    let [near, far] = sides.map(Arc::new);
    near.hang_up(&far);
    far.hang_up(&near);
    let bells = |side: &Arc<Side>| {
        let side = side.clone();
        move |tx, q| if tx { side.tx_bell(q) } else { side.rx_bell(q) }
    };
    // `near` is the user's side, `far` the switch's.
    let (out, _) =
        cable::queues(Pipe::Within, region, (&pairs, &[]), &far, &bells(&near), None).map_err(|e| oops(&e))?;
    let (_, rx) =
        cable::queues(Pipe::Within, region, (&[], &pairs), &near, &bells(&far), None).map_err(|e| oops(&e))?;
    let plug = Plug {
        name: address.port.to_owned(),
        path: "within this process".into(),
        policy,
        caps: PROGRAM,
        largest: shape.mtu + 22,
        rx: Vec::new(),
        tx: out,
        life: Some(far),
        keep: None,
    };
    let port = shared.lock().plug(plug).map_err(|refused| refused.named(&spec.to_string()))?;
    let mut ready = Ready { side: near.clone(), tx: Vec::new(), rx };
    for id in (0..shape.queues).map(|q| u16::try_from(q).unwrap_or(0)) {
        let ring = TxRing::new(region, id, shape.slots).map_err(|e| oops(&e))?;
        let engine = ValeTx { shared: shared.clone(), side: near.clone(), port, state: SourceState::default() };
        ready.tx.push(TxQueue::new(ring, Box::new(engine)));
    }
    let spots = |tx: bool| -> Vec<RingSpot> {
        if tx {
            ready.tx.iter().map(|q| q.ring.spot()).collect()
        } else {
            ready.rx.iter().map(|q| q.ring.spot()).collect()
        }
    };
    region.interface(&spec.name, &spots(true), &spots(false)).map_err(|e| oops(&e))?;
    let mut parts = ready.parts(spec, shape, format!("port of switch {} within this process", address.switch));
    // The sender forwards: nobody would send the frames that a pause had held back.
    parts.info.caps.pause = false;
    Ok(parts)
}

/// Transmit engine of a port: forwards in the sender's thread.
struct ValeTx {
    shared: Arc<Shared>,
    side: Arc<Side>,
    port: PortId,
    state: SourceState,
}

impl TxEngine for ValeTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        if ring.pending() == 0 {
            return;
        }
        let now = saturating_ns(self.shared.origin.elapsed());
        let mut switch = self.shared.lock();
        let Passed { slots, frames, bytes, refused } =
            switch.send(self.port, &mut self.state, &mut Committed(ring), now);
        drop(switch);
        ring.take(slots);
        ring.complete(slots);
        count.frames += frames;
        count.bytes += bytes;
        count.batches += u64::from(slots > 0);
        count.dropped += refused;
    }

    fn link(&self) -> Link {
        self.side.link()
    }
}

impl Sleeper for ValeTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(Sleep::default().until(self.state.waits_for.map(|_| Instant::now() + AGAIN)))
    }
}

impl Switch {
    /// Forwards the frames that a sender of this process has committed.
    fn send(&mut self, from: PortId, state: &mut SourceState, inlet: &mut Committed<'_, '_>, now: u64) -> Passed {
        self.begin(now);
        while self.reap() {}
        let passed = self.pass(from, state, inlet);
        self.flush();
        passed
    }
}
