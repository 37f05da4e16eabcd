//! Queues of an output, one for each traffic class, for frames that its ring has no room for.
//!
//! As long as there is room, frames go from ring to ring and no queue is touched. A frame that finds none takes a place in the
//! queue of its class, if the buffers' accounting ([`Pool`]) has one for it, and from then on all frames for that ring pass its
//! queues, so that none overtakes another of its class, until the queues are empty. What then leaves for the ring is chosen by
//! the table of classes ([`Turns`]).
//!
//! A frame without a place is lost and counted by reason, or, if its priority is lossless, waits in its sender's ring.

use super::buffer::{Account, Alpha, CELL, Pool, QueueDrop, QueueDrops, cells_for};
use super::cells::{Cells, Chain};
use super::congestion::{CongestionPoint, Ecn, Notice, Qcn};
use super::guard::Guard;
use super::headroom::Span;
use super::member::{Member, Outlet};
use super::pfc::Ingress;
use super::storm::{StormAction, Watch, Watchdog};
use super::table::PortId;
use super::{PortCounters, Switch};
use crate::chain::slots_for;
use crate::counters::DropReason;
use linerate_offload::{ClassTable, TrafficClass, Turns};
use linerate_ring::Meta;
use linerate_sum::SplitMix64;
use linerate_text::counters;
use linerate_wire::Priority;
use std::collections::VecDeque;

/// Buffers of a switch, and the classes whose queues share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of each queue's own part.
    pub reserved: u64,
    /// Factor of the threshold of the part that all queues share.
    pub alpha: Alpha,
    /// Class of each priority, when each class is served, and which priorities are lossless.
    pub classes: ClassTable,
    /// Links of the ports, for the headroom of lossless classes and the time of pauses.
    pub span: Span,
    /// Watchdog of lossless classes.
    pub watchdog: Option<Watchdog>,
    /// Marks of IP packets, by class.
    pub ecn: [Option<Ecn>; TrafficClass::MOST],
    /// Congestion points.
    pub qcn: Option<Qcn>,
    /// Seed of which frames are marked and sampled.
    pub seed: u64,
}

impl Default for Buffers {
    /// 16 MiB, of which each queue has 4 KiB of its own, of one class.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            reserved: 4 << 10,
            alpha: Alpha::default(),
            classes: ClassTable::default(),
            span: Span::default(),
            watchdog: None,
            ecn: [None; TrafficClass::MOST],
            qcn: None,
            seed: 0,
        }
    }
}

impl Buffers {
    /// Most bytes.
    pub const MOST: u64 = 16 << 30;

    /// Priorities that are lossless, one bit each.
    #[must_use]
    pub fn lossless(&self) -> u8 {
        Ingress::new(&self.classes, self.span).lossless()
    }
}

counters! {
    /// Counters of a traffic class at an output.
    pub struct ClassCounters {
        /// Copies that were given a place in the queue.
        pub queued: u64,
        /// Bytes of these copies.
        pub queued_bytes: u64,
        /// Copies that are in the queue now.
        pub waiting: u64,
        /// Bytes of the buffers that they have.
        pub waiting_bytes: u64,
        /// Times that the watchdog found the class stopped for too long.
        pub storms: u64,
        /// Frames that were marked for congestion (ECN) when they left it.
        pub marked: u64,
        /// Messages to the senders of its frames (QCN).
        pub notices: u64,
        /// Copies that were lost for want of a place.
        pub dropped: QueueDrops,
    }
}

/// What the queues of a switch have in common.
pub(super) struct Store {
    pub(super) pool: Pool,
    cells: Cells,
    pub(super) classes: ClassTable,
    pub(super) ingress: Ingress,
    pub(super) watchdog: Option<Watchdog>,
    /// Queues that have stood for too long: ports and classes.
    stood: Vec<(PortId, usize)>,
    /// Ports with frames in queues, or queues that are stopped.
    congested: Vec<PortId>,
    /// Time at which a queue that is stopped goes on, or is to be looked at: the first of all.
    resumes: Option<u64>,
    pub(super) ecn: [Option<Ecn>; TrafficClass::MOST],
    pub(super) qcn: Option<Qcn>,
    /// Messages that are to be sent.
    pub(super) notices: Vec<Notice>,
    /// Address of the switch's own frames.
    pub(super) mac: [u8; 6],
    pub(super) random: SplitMix64,
    /// The frame that leaves.
    pub(super) bytes: Vec<u8>,
}

/// A frame for a queue, in the form in which it leaves.
pub(super) struct Item<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) meta: Option<Meta>,
    pub(super) priority: Priority,
    /// Frames that it becomes.
    pub(super) copies: u64,
    /// Port in whose account it is, if it is lossless; none if it shall stop nobody.
    pub(super) from: Option<PortId>,
}

/// A frame in a queue.
struct Waiting {
    chain: Chain,
    meta: Option<Meta>,
    priority: Priority,
    copies: u64,
    /// Port in whose account it is, if it is lossless; else it is in the queue's.
    from: Option<PortId>,
}

/// The queues of one output ring.
pub(super) struct Queues {
    pub(super) classes: [Queue; TrafficClass::MOST],
    /// Classes with frames, one bit each.
    waiting: u8,
    turns: Turns,
    /// Time until which each class is stopped by the neighbour.
    held: [u64; TrafficClass::MOST],
}

/// One class's.
#[derive(Default)]
pub(super) struct Queue {
    frames: VecDeque<Waiting>,
    account: Account,
    /// Cells of all its frames, and their bytes.
    cells: u32,
    bytes: u64,
    point: CongestionPoint,
    pub(super) watch: Watch,
    pub(super) count: ClassCounters,
}

impl Queue {
    /// Ports that its frames came by, if they are lossless.
    pub(super) fn origins(&self) -> impl Iterator<Item = PortId> {
        self.frames.iter().filter_map(|frame| frame.from)
    }
}

impl Queues {
    /// Counters of a class.
    pub(super) fn counters(&self, class: usize) -> ClassCounters {
        let Queue { frames, cells, count, .. } = &self.classes[class];
        let waiting = frames.iter().map(|frame| frame.copies).sum();
        ClassCounters { waiting, waiting_bytes: u64::from(*cells) * CELL as u64, ..*count }
    }

    /// Classes that are stopped at this time, one bit each.
    fn held(&self, now: u64) -> u8 {
        self.held.iter().rev().fold(0, |set, until| set << 1 | u8::from(*until > now))
    }

    /// True if a frame could leave at this time, were there room.
    pub(super) fn wants_room(&self, now: u64) -> bool {
        self.waiting & !self.held(now) != 0
    }
}

impl Store {
    pub(super) fn new(buffers: &Buffers) -> Self {
        let cells = |bytes: u64| u32::try_from(bytes / CELL as u64).unwrap_or(u32::MAX);
        Self {
            pool: Pool::new(cells(buffers.bytes), cells(buffers.reserved), buffers.alpha),
            cells: Cells::new(cells(buffers.bytes)),
            classes: buffers.classes,
            ingress: Ingress::new(&buffers.classes, buffers.span),
            watchdog: buffers.watchdog,
            stood: Vec::new(),
            congested: Vec::new(),
            resumes: None,
            ecn: buffers.ecn,
            qcn: buffers.qcn,
            notices: Vec::new(),
            mac: [0; 6],
            random: SplitMix64::new(buffers.seed),
            bytes: Vec::new(),
        }
    }

    /// Queues for an output ring.
    pub(super) fn queues(&mut self) -> Queues {
        let used = Priority::ALL.map(|priority| self.classes.class(priority).index());
        let account = |class| if used.contains(&class) { self.pool.open() } else { Account::default() };
        let classes = [0, 1, 2, 3, 4, 5, 6, 7].map(account).map(|account| Queue { account, ..Queue::default() });
        Queues { classes, waiting: 0, turns: Turns::new(&self.classes), held: [0; TrafficClass::MOST] }
    }

    /// True if a frame of so many bytes that came by a port would find a place in a queue of this output.
    pub(super) fn has_place(&self, from: PortId, outlet: &Outlet, priority: Priority, bytes: usize) -> bool {
        let class = self.classes.class(priority).index();
        if self.ingress.of_class(class) != 0 {
            let Some(queues) = outlet.queues.as_deref() else { return false };
            return queues.classes[class].watch.storm
                || self.ingress.has_place(&self.pool, from, class, cells_for(bytes));
        }
        let account = outlet.queues.as_deref().map(|queues| &queues.classes[class].account);
        account.is_some_and(|account| self.pool.asks(account, cells_for(bytes)).is_ok())
    }

    /// Gives a frame a place in a queue of an output of a port.
    pub(super) fn admit(&mut self, to: PortId, outlet: &mut Outlet, item: &Item<'_>) -> Result<(), QueueDrop> {
        let Some(queues) = outlet.queues.as_deref_mut() else { return Err(QueueDrop::Buffers) };
        let class = self.classes.class(item.priority).index();
        let queue = &mut queues.classes[class];
        if self.storm_drops(queue.watch.storm, outlet.tx.ring.free()) {
            return Err(QueueDrop::Storm);
        }
        let cells = cells_for(item.bytes.len());
        let from = item.from.filter(|_| self.ingress.of_class(class) != 0);
        match from {
            Some(port) => self.ingress.take(&mut self.pool, port, class, cells)?,
            None => self.pool.take(&mut queue.account, cells)?,
        }
        let Some(chain) = self.cells.put(item.bytes) else {
            debug_assert!(false, "who was given cells finds them");
            return Err(QueueDrop::Buffers);
        };
        queue.cells += cells;
        queue.bytes += item.bytes.len() as u64;
        self.sample((to, class), queue.bytes, &mut queue.point, item);
        queue.frames.push_back(Waiting { chain, meta: item.meta, priority: item.priority, copies: item.copies, from });
        queue.count.queued += item.copies;
        queue.count.queued_bytes += item.bytes.len() as u64;
        queues.waiting |= 1 << class;
        if !std::mem::replace(&mut outlet.queued, true) {
            self.note(to);
        }
        Ok(())
    }

    /// Has the queues of a port looked at each turn.
    fn note(&mut self, port: PortId) {
        if !self.congested.contains(&port) {
            self.congested.push(port);
        }
    }

    /// Stops a class's queues at a port until this time.
    pub(super) fn hold(&mut self, port: PortId, member: &mut Member, class: usize, until: u64) {
        for Outlet { queues, queued, .. } in &mut member.outlets {
            if let Some(queues) = queues.as_deref_mut() {
                queues.held[class] = until;
                *queued = true;
            }
        }
        self.note(port);
    }

    /// True if a neighbour, or the sender of a frame, is to be told something at this time.
    #[inline]
    pub(super) fn has_news(&self, now: u64) -> bool {
        self.ingress.has_news(now) || !self.notices.is_empty()
    }

    /// Time at which there is something to do whatever arrives, in ns.
    pub(super) fn due(&self) -> Option<u64> {
        [self.resumes, self.ingress.due()].into_iter().flatten().min()
    }

    /// Counts copies that were lost because [`Store::admit`] had no place for them.
    pub(super) fn lost(&self, outlet: &mut Outlet, priority: Priority, reason: QueueDrop, copies: u64) {
        if let Some(queues) = outlet.queues.as_deref_mut() {
            queues.classes[self.classes.class(priority).index()].count.dropped.add(reason, copies);
        }
    }

    /// Takes the queues of a port that goes; their frames are lost.
    pub(super) fn close(&mut self, port: PortId, member: &mut Member) {
        self.congested.retain(|congested| *congested != port);
        let Member { outlets, count, .. } = member;
        for queues in outlets.iter_mut().filter_map(|outlet| outlet.queues.as_deref_mut()) {
            for class in 0..TrafficClass::MOST {
                self.discard(queues, class, |priority, copies| {
                    count.drop_copies(DropReason::PeerDied, priority, copies);
                });
                self.pool.close(std::mem::take(&mut queues.classes[class].account));
            }
        }
    }

    /// Takes all frames out of a queue, told one by one; returns the number of copies.
    pub(super) fn discard(&mut self, queues: &mut Queues, class: usize, mut lost: impl FnMut(Priority, u64)) -> u64 {
        let queue = &mut queues.classes[class];
        let mut all = 0;
        for Waiting { chain, priority, copies, from, .. } in queue.frames.drain(..) {
            lost(priority, copies);
            all += copies;
            match from {
                Some(port) => self.ingress.give(&mut self.pool, port, class, chain.cells()),
                None => self.pool.give(&mut queue.account, chain.cells()),
            }
            self.cells.release(chain);
        }
        (queue.cells, queue.bytes) = (0, 0);
        queues.waiting &= !(1 << class);
        all
    }

    /// Moves frames from the queues of a port into its rings, as far as there is room; true if one was moved.
    fn drain(&mut self, port: PortId, member: &mut Member, now: u64) -> bool {
        let mut moved = false;
        let Member { outlets, finisher, count, .. } = member;
        for outlet in outlets.iter_mut().filter(|outlet| outlet.queued) {
            outlet.refresh();
            let Outlet { tx, queues, .. } = &mut *outlet;
            let Some(queues) = queues.as_deref_mut() else { continue };
            let stopped = queues.held(now) & !self.passes(queues);
            let Queues { classes, waiting, turns, held } = queues;
            let (mut put_any, mut left) = (false, false);
            while tx.ring.free() > 0
                && let Some(class) = turns.next(*waiting & !stopped)
            {
                let Queue { frames, account, cells, bytes, count: of_class, .. } = &mut classes[class];
                let Some(front) = frames.front() else { break };
                self.bytes.clear();
                self.cells.read(&front.chain, &mut self.bytes);
                let plain = || slots_for(front.chain.len(), tx.ring.usable());
                let slots =
                    if front.meta.is_none() { plain() } else { finisher.slots(&tx.ring, &self.bytes, front.meta) };
                // What needs more slots than the ring has is put in as far as it goes.
                if slots.unwrap_or(1).min(tx.ring.slots() - 1) > tx.ring.free() {
                    break;
                }
                of_class.marked += u64::from(self.mark(class, *bytes));
                let room = tx.ring.free();
                let put = finisher.put(&mut tx.ring, room, &self.bytes, front.meta);
                put_any |= put.frames > 0;
                count.took(front.priority, &put, front.copies);
                turns.sent(class, front.chain.len());
                if let Some(Waiting { chain, from, .. }) = frames.pop_front() {
                    *cells -= chain.cells();
                    *bytes -= chain.len() as u64;
                    match from {
                        Some(port) => self.ingress.give(&mut self.pool, port, class, chain.cells()),
                        None => self.pool.give(account, chain.cells()),
                    }
                    self.cells.release(chain);
                }
                *waiting &= !(u8::from(frames.is_empty()) << class);
                left = true;
            }
            moved |= left;
            let until = held.iter().copied().filter(|until| *until > now).min();
            if *waiting & stopped != 0 {
                self.resumes = self.resumes.into_iter().chain(until).min();
            }
            outlet.queued = *waiting != 0 || until.is_some();
            if put_any {
                outlet.moved();
            }
            if let Some(watchdog) = self.watchdog {
                self.watch(&watchdog, port, outlet, count, left, now);
            }
        }
        moved
    }
}

impl Store {
    /// Classes whose frames leave in spite of a pause, one bit each.
    fn passes(&self, queues: &Queues) -> u8 {
        let storms = self.watchdog.filter(|watchdog| watchdog.action == StormAction::Forward).map(|_| &queues.classes);
        storms.into_iter().flatten().rev().fold(0, |set, queue| set << 1 | u8::from(queue.watch.storm))
    }

    /// Looks for storms at an output of a port, and their ends. `left`: frames have left for the ring in this turn.
    fn watch(
        &mut self,
        watchdog: &Watchdog,
        port: PortId,
        outlet: &mut Outlet,
        count: &mut PortCounters,
        left: bool,
        now: u64,
    ) {
        let full = !left && outlet.tx.ring.free() == 0;
        for class in 0..TrafficClass::MOST {
            let Some(queues) = outlet.queues.as_deref_mut() else { return };
            if self.ingress.of_class(class) == 0 {
                continue;
            }
            let Queues { classes, waiting, held, .. } = queues;
            let watch = &mut classes[class].watch;
            let stopped = Some(held[class]).filter(|until| *until > now).or(full.then_some(now));
            if watch.look(watchdog, now, stopped, *waiting & (1 << class) != 0) {
                self.stood.push((port, class));
            }
            self.resumes = self.resumes.into_iter().chain(watch.due(watchdog)).min();
            outlet.queued |= watch.storm;
            self.shed(outlet, class, count);
        }
    }
}

impl Switch {
    /// Has frames that find no room at an output wait in queues by class, in buffers of this size; without this they are lost,
    /// or wait in their sender's ring. Priorities that the table says are lossless wait at every port. To be called once, before
    /// there are frames.
    pub fn buffers(&mut self, buffers: &Buffers) {
        debug_assert!(self.store.is_none(), "what waits in queues would be lost");
        let mut store = Store::new(buffers);
        for (id, member) in (0..).zip(&mut self.members) {
            member.iter_mut().for_each(|member| member.give_queues(id, &mut store));
        }
        if self.mac == [0; 6] {
            self.mac = Guard::new().source();
        }
        store.mac = self.mac;
        self.store = Some(Box::new(store));
    }

    /// Frames that wait in queues.
    #[must_use]
    pub fn queued(&self) -> bool {
        self.store.as_deref().is_some_and(|store| !store.congested.is_empty())
    }

    /// Bytes of the frames that wait in queues, by the number of their port in the order of attachment, and by class.
    pub fn depths(&self) -> impl Iterator<Item = (u16, usize, u64)> {
        let congested = self.store.iter().flat_map(|store| &store.congested).copied();
        let member = |id: PortId| self.members.get(usize::from(id))?.as_ref().map(|member| (id, &member.outlets));
        congested.filter_map(member).flat_map(|(id, outlets)| {
            let bytes = move |class: usize| {
                let queues = outlets.iter().filter_map(|outlet| outlet.queues.as_deref());
                queues.map(|queues| queues.classes[class].bytes).sum::<u64>()
            };
            (0..TrafficClass::MOST).map(move |class| (id, class, bytes(class))).filter(|(.., bytes)| *bytes > 0)
        })
    }

    /// Moves frames from queues into rings that have room again; true if one was moved.
    #[inline]
    pub(super) fn drain(&mut self) -> bool {
        match self.store.as_deref() {
            Some(store) if !store.congested.is_empty() => self.drain_congested(),
            _ => false,
        }
    }

    #[cold]
    fn drain_congested(&mut self) -> bool {
        let Some(mut store) = self.store.take() else { return false };
        let (now, mut moved) = (self.now, false);
        let mut congested = std::mem::take(&mut store.congested);
        store.resumes = None;
        congested.retain(|port| {
            self.touch(*port);
            let Some(member) = self.members[usize::from(*port)].as_mut() else { return false };
            moved |= store.drain(*port, member, now);
            member.outlets.iter().any(|outlet| outlet.queued)
        });
        store.congested = congested;
        let stood = std::mem::take(&mut store.stood);
        self.begin_storms(&mut store, &stood);
        self.store = Some(store);
        moved || !stood.is_empty()
    }
}

impl Member {
    /// Gives its outputs queues, and makes the switch's lossless priorities its own.
    pub(super) fn give_queues(&mut self, id: PortId, store: &mut Store) {
        self.policy.pause |= store.ingress.lossless();
        store.ingress.open(&mut store.pool, id, self.largest);
        // Lossless frames have their turn in the queues, and so need no part of the ring.
        self.keeps = 0;
        self.outlets.iter_mut().for_each(|outlet| outlet.queues = Some(Box::new(store.queues())));
    }
}
