//! Turns of the switch: each awake port has one, those that wait for room before others, and all that was put into rings is
//! sent at the end.

use super::inlet::Received;
use super::member::{Outlet, Source};
use super::table::PortId;
use super::{BURST, Switch};
use crate::counters::DropReason;
use crate::info::Link;
use crate::sleep::Sleeper;

impl Switch {
    /// Forwards the frames that have arrived, queue by queue; true if there was something to do. `now`: monotonic, in ns.
    pub fn poll(&mut self, now: u64) -> bool {
        self.begin(now);
        self.tend();
        self.rouse();
        let mut worked = self.drain();
        self.share.begin();
        // Who is first takes what room there is: those that waited, and among them those that got something last come behind.
        let (waited, mut kept) = (self.waiting.len(), 0);
        for at in 0..waited + self.awake.len() {
            let early = at < waited;
            let from = if early { self.waiting[at] } else { self.awake[at - waited] };
            if !early && waited > 0 && self.waits(from) {
                continue;
            }
            let moved = self.serve(from);
            worked |= moved;
            if !self.cut {
                continue;
            }
            if early && !moved {
                self.waiting[kept] = from;
                kept += 1;
            } else {
                self.behind.push(from);
            }
        }
        self.waiting.truncate(kept);
        self.waiting.append(&mut self.behind);
        self.flush();
        self.share.end(now);
        if self.parks {
            self.parks = false;
            let members = &self.members;
            self.awake.retain(|id| members[usize::from(*id)].as_ref().is_some_and(|member| member.awake));
        }
        self.worked = worked;
        worked | self.reap()
    }

    /// True if a frame of a port waits for room at another one.
    #[inline]
    fn waits(&self, id: PortId) -> bool {
        self.members[usize::from(id)].as_ref().is_some_and(|member| member.waits)
    }

    /// Forwards what has arrived at one port; true if there was something to do.
    fn serve(&mut self, from: PortId) -> bool {
        self.cut = false;
        let Some(member) = self.members[usize::from(from)].as_mut() else { return false };
        let mut sources = std::mem::take(&mut member.sources);
        let parted = member.life.as_ref().is_some_and(|side| side.link() == Link::Down);
        let (mut worked, mut stir, mut waits) = (false, false, false);
        self.share.turn_of(from);
        for (queue, source) in sources.iter_mut().enumerate() {
            if source.parked.is_some() {
                continue;
            }
            source.rx.sync();
            if source.rx.ring.available() == 0 {
                // The far end of a cable is let in when the transmit queues, too, have left the last pairing.
                let generation = source.rx.link_generation();
                stir |= std::mem::replace(&mut source.generation, generation) != generation;
                // Parking was something to do: the next ones shall not wait for the next time that something happens.
                let life = self.members[usize::from(from)].as_ref().and_then(|member| member.life.as_deref());
                worked |= self.parked.park(source, (from, queue), life, self.now);
                continue;
            }
            source.since = self.now;
            let Source { rx, state, .. } = source;
            let most = rx.ring.slots() - 1;
            let mut inlet = Received { batch: rx.ring.batch(BURST), most };
            let before = self.share.frames();
            let passed = self.pass(from, state, &mut inlet);
            self.share.others(passed.frames - (self.share.frames() - before));
            let slots = passed.slots;
            // A frame whose end will never come.
            let rest = parted && slots == 0 && state.waits_for.is_none() && !state.deferred;
            let done = if rest { inlet.batch.len() } else { slots };
            waits |= state.waits_for.is_some();
            inlet.batch.release(done);
            worked |= done > 0 || state.deferred;
            if rest {
                self.count_mut(from).refused.add(DropReason::PeerDied, 1);
            }
        }
        if let Some(member) = self.members[usize::from(from)].as_mut() {
            member.awake = sources.is_empty() || sources.iter().any(|source| source.parked.is_none());
            self.parks |= !member.awake;
            member.waits = waits;
            member.sources = sources;
            if stir {
                member.outlets.iter_mut().for_each(Outlet::stir);
                self.touch(from);
            }
        }
        self.cut = waits;
        worked
    }

    /// Wakes the parked queues that were rung for, and once a second those at which something has arrived without.
    fn rouse(&mut self) {
        if !self.parked.begin(self.now, self.worked) {
            return;
        }
        let (members, awake, now) = (&mut self.members, &mut self.awake, self.now);
        let mut wake = |parked: &mut super::Parked, port: PortId, queue: usize| {
            let Some(member) = members.get_mut(usize::from(port)).and_then(Option::as_mut) else { return };
            let Some(source) = member.sources.get_mut(queue) else { return };
            parked.wake(source, now);
            if !member.awake {
                member.awake = true;
                let at = awake.partition_point(|id| *id < port);
                awake.insert(at, port);
            }
        };
        self.parked.take(&mut wake);
        if self.parked.looks_anyway(now) {
            for at in 0..self.live.len() {
                let id = self.live[at];
                self.look_at(id);
            }
        }
    }

    /// Looks at the parked queues of a port, and wakes it if something has arrived at one.
    fn look_at(&mut self, id: PortId) {
        let Some(member) = self.members[usize::from(id)].as_mut() else { return };
        for source in member.sources.iter_mut().filter(|source| source.parked.is_some()) {
            source.rx.sync();
            if source.rx.ring.available() > 0 {
                self.parked.wake(source, self.now);
            }
        }
        if !member.awake && member.sources.iter().any(|source| source.parked.is_none()) {
            member.awake = true;
            let at = self.awake.partition_point(|awake| *awake < id);
            self.awake.insert(at, id);
        }
    }

    /// Takes note that something was put, or was to be put, into a port's rings.
    #[inline]
    pub(super) fn touch(&mut self, id: PortId) {
        if let Some(member) = self.members[usize::from(id)].as_mut()
            && !member.touched
        {
            member.touched = true;
            self.touched.push(id);
        }
    }

    /// Sends the frames put into transmit rings. Ports that could not send all of them are asked again in the next turn.
    pub(super) fn flush(&mut self) {
        if self.store.as_deref().is_some_and(|store| store.has_news(self.now)) {
            self.notify_sources();
            self.ask_neighbours();
        }
        let (members, floods) = (&mut self.members, self.share.starts());
        self.touched.retain(|id| {
            let Some(member) = members[usize::from(*id)].as_mut() else { return false };
            member.outlets.iter_mut().for_each(Outlet::flush);
            member.tell_dropped();
            member.touched = member.outlets.iter().any(|outlet| outlet.tx.ring.pending() > 0);
            member.touched
        });
        self.share.spent(floods);
    }

    /// Removes ports whose other end is gone; true if there were any. A link that goes down rings the bells of its
    /// queues, so such a port is awake.
    pub(super) fn reap(&mut self) -> bool {
        let gone = |id: &PortId| self.members[usize::from(*id)].as_ref().is_some_and(|member| member.is_gone());
        let Some(id) = self.awake.iter().copied().find(gone) else { return false };
        self.remove(id);
        true
    }

    /// Visits all queues to wait for: instead of a queue whose next frame waits for room elsewhere, the queue without
    /// room; the rings that frames in queues wait for; for all that are parked, their set.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if self.parked.any() {
            visit(&mut self.parked);
        }
        let mut full = Vec::new();
        for id in &self.awake {
            let Some(member) = self.members[usize::from(*id)].as_mut() else { continue };
            for source in member.sources.iter_mut().filter(|source| source.parked.is_none()) {
                match source.state.waits_for {
                    None => visit(&mut source.rx),
                    Some(place) if !full.contains(&place) => full.push(place),
                    Some(_) => {}
                }
            }
        }
        let now = self.now;
        for (id, member) in self.members.iter_mut().enumerate() {
            for (queue, outlet) in member.iter_mut().flat_map(|member| &mut member.outlets).enumerate() {
                let waited_for = full.iter().any(|(port, q)| usize::from(*port) == id && *q == queue);
                let queued = outlet.queues.as_deref().is_some_and(|queues| queues.wants_room(now));
                if waited_for || queued || outlet.tx.ring.pending() > 0 {
                    visit(&mut outlet.tx);
                }
            }
        }
    }
}
