//! A port as the switch sees it: its receive queues, its transmit queues, its policy, its counters.

use super::pfc::PfcCounters;
use super::queues::{ClassCounters, Queues};
use super::table::PortId;
use super::vlan::Vlans;
use crate::cable::Side;
use crate::class::{PATIENCE, queue_of};
use crate::counters::{DropReason, Drops};
use crate::finish::{Finished, Finisher, Put};
use crate::info::{Caps, Link};
use crate::port::Port;
use crate::queue::{RxQueue, TxQueue};
use linerate_offload::TrafficClass;
use linerate_text::counters;
use linerate_wire::Priority;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Capabilities of a program's port: between programs, what a frame's metadata asks for stays asked.
pub(super) const PROGRAM: Caps =
    Caps { checksum: true, gso: true, uso: true, scatter: true, metadata: true, pause: false, filters: false };

/// Policy of a port at the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its VLANs.
    pub vlans: Vlans,
    /// Priorities that pause, one bit each: frames of such a priority wait for room at this port, in their sender's ring;
    /// those of others are dropped.
    pub pause: u8,
}

impl Policy {
    /// Parses a mask of priorities: 0 to 255, or 0x00 to 0xff.
    #[must_use]
    pub fn parse_pause(text: &str) -> Option<u8> {
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u8::from_str_radix(hex, 16).ok())
    }
}

counters! {
    /// Counters of one priority of a port.
    pub struct PriorityCounters {
        /// Copies that reached the port's ring.
        pub sent: u64,
        /// Copies that did not.
        pub dropped: u64,
        /// Times that a sender had to wait.
        pub waits: u64,
    }
}

counters! {
    /// Counters of a port, from the switch's side: it receives what the port's user sends.
    pub struct PortCounters {
        /// Frames from the port that were forwarded.
        pub received: u64,
        /// Bytes of these frames.
        pub received_bytes: u64,
        /// Frames among them that were flooded to all ports of their VLAN.
        pub flooded: u64,
        /// Frames whose source address is held at another port.
        pub held: u64,
        /// Copies to be made of them: one per destination, and one per monitor.
        pub copies: u64,
        /// Frames that the switch itself made for the port: probes, queries, and what is sent by [`Switch::send_by`](super::Switch::send_by).
        pub own: u64,
        /// Frames from the port that were for the switch itself ([`Switch::take_news`](super::Switch::take_news)).
        pub kept: u64,
        /// Frames from the port that were refused.
        pub refused: Drops,
        /// Copies put into the port's ring.
        pub sent: u64,
        /// Bytes of these copies.
        pub sent_bytes: u64,
        /// Copies meant for the port that did not get into its ring.
        pub dropped: Drops,
        /// Requests in the metadata of these copies that were carried out, because the port does not.
        pub finished: Finished,
        /// Counters by priority.
        pub priorities: [PriorityCounters; Priority::COUNT],
    }
}

impl PortCounters {
    #[inline]
    pub(super) fn drop_copies(&mut self, reason: DropReason, priority: Priority, n: u64) {
        self.dropped.add(reason, n);
        self.priorities[priority.index()].dropped += n;
    }

    /// Counts what became of a frame that was put into a ring, of which `copies` were to be made.
    pub(super) fn took(&mut self, priority: Priority, put: &Put, copies: u64) {
        let sent = u64::from(put.frames);
        self.sent += sent;
        self.sent_bytes += put.bytes;
        self.priorities[priority.index()].sent += sent;
        if let Some((reason, dropped)) = put.dropped {
            // A frame that was refused as a whole is lost with all that it was to become.
            let least = if sent == 0 { copies } else { 0 };
            self.drop_copies(reason, priority, least.max(dropped.into()));
        }
    }
}

/// One receive queue.
pub(super) struct Source {
    pub(super) rx: RxQueue,
    pub(super) state: SourceState,
    /// Its descriptor, if it is parked.
    pub(super) parked: Option<RawFd>,
    /// Time in ns since which it is idle.
    pub(super) since: u64,
    /// The pairing of its link that the port's transmit queues have been synced in.
    pub(super) generation: u32,
}

/// State of a receive queue between batches.
#[derive(Default)]
pub(super) struct SourceState {
    /// The rest of a refused chain is still to come.
    pub(super) refusing: bool,
    /// The port and queue in which its next frame waits for room.
    pub(super) waits_for: Option<(PortId, usize)>,
    /// Its next frame is for several ports, and waits for its share of the switch's time.
    pub(super) deferred: bool,
}

/// One transmit queue: the output queue of one or more priorities.
pub(super) struct Outlet {
    pub(super) tx: TxQueue,
    /// The queue was synced in this round.
    pub(super) synced: bool,
    /// Frames were put since its last sync.
    pub(super) dirty: bool,
    /// Frames wait in its queues, so that none goes past them.
    pub(super) queued: bool,
    /// Time in ns since which a frame waits for room here; 0 if none does.
    waits_since: u64,
    /// Queues by class, at a switch that has buffers.
    pub(super) queues: Option<Box<Queues>>,
}

impl Outlet {
    /// Free slots for a priority; none while frames wait in queues. Droppable priorities leave a quarter to the pausing
    /// priorities, if there are any.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32, keep: bool) -> u32 {
        if self.queued { 0 } else { self.free(wanted, keep) }
    }

    /// Free slots for a priority, whatever waits in queues.
    #[inline]
    pub(super) fn free(&mut self, wanted: u32, keep: bool) -> u32 {
        if !self.synced && self.tx.ring.free() < wanted + self.tx.ring.slots() / 4 {
            self.refresh();
        }
        let kept = if keep { self.tx.ring.slots() / 4 } else { 0 };
        self.tx.ring.free().saturating_sub(kept)
    }

    /// Syncs the queue, so that its ring has all the room that there is.
    #[inline]
    pub(super) fn refresh(&mut self) {
        self.tx.sync();
        (self.synced, self.dirty) = (true, false);
    }

    /// Takes note of a lack of room; true if the frame shall go on waiting. If a receiver takes nothing for too long,
    /// its pause has no effect until it has taken something.
    pub(super) fn wait(&mut self, now: u64) -> bool {
        if self.waits_since == 0 {
            self.waits_since = now.max(1);
        }
        now.saturating_sub(self.waits_since) < PATIENCE
    }

    /// Takes note that a frame found room.
    #[inline]
    pub(super) fn moved(&mut self) {
        (self.dirty, self.waits_since) = (true, 0);
    }

    /// Has the next flush sync the queue, even if nothing is put into its ring.
    pub(super) fn stir(&mut self) {
        self.dirty = true;
    }

    /// Sends the frames put into the ring.
    #[inline]
    pub(super) fn flush(&mut self) {
        if self.dirty || self.tx.ring.pending() > 0 {
            self.tx.sync();
        }
        (self.dirty, self.synced) = (false, false);
    }
}

/// A port of the switch; see the module's text.
pub(super) struct Member {
    pub(super) name: String,
    /// Path to the port, in words.
    pub(super) path: String,
    pub(super) policy: Policy,
    pub(super) finisher: Finisher,
    /// Longest frame, without FCS.
    pub(super) largest: usize,
    pub(super) sources: Vec<Source>,
    pub(super) outlets: Vec<Outlet>,
    /// Priorities that leave room in rings to others, one bit each.
    pub(super) keeps: u8,
    /// Its neighbour is paused by a mask: it is the other end of a cable.
    pub(super) masks: bool,
    pub(super) pfc: Box<PfcCounters>,
    /// The port is a monitor: it gets copies only, and sends nothing.
    pub(super) monitor: bool,
    /// Name of the port that this one is joined to outside of the switch: it is blocked.
    pub(super) blocked: Option<String>,
    /// The port takes no part in forwarding: it is a monitor, or blocked.
    pub(super) apart: bool,
    /// The link was up at the last look.
    pub(super) was_up: bool,
    /// Monitors that get a copy of frames from this port, and of frames to it.
    pub(super) copy_in: Vec<PortId>,
    pub(super) copy_out: Vec<PortId>,
    pub(super) count: PortCounters,
    /// Link whose loss removes the port.
    pub(super) life: Option<Arc<Side>>,
    /// Number of drops that have been reported to its user.
    pub(super) told: u64,
    /// Turns visit it.
    pub(super) awake: bool,
    /// A frame of it waits for room at another port.
    pub(super) waits: bool,
    /// Something was put into its rings since the last flush.
    pub(super) touched: bool,
    /// Port that has to live as long as its queues.
    pub(super) _keep: Option<Port>,
}

impl Member {
    /// Index of the queue that a priority uses.
    #[inline]
    pub(super) fn queue_of(&self, priority: Priority) -> usize {
        queue_of(priority, self.outlets.len())
    }

    #[inline]
    pub(super) fn pauses(&self, priority: Priority) -> bool {
        self.policy.pause & priority.bit() != 0
    }

    /// True if frames of a priority have to leave room for others.
    #[inline]
    pub(super) fn keeps_room(&self, priority: Priority) -> bool {
        self.keeps & priority.bit() != 0
    }

    /// True if the other end is gone and all frames that it had sent are read.
    pub(super) fn is_gone(&self) -> bool {
        self.life.as_ref().is_some_and(|side| side.link() == Link::Down)
            && self.sources.iter().all(|source| source.parked.is_none() && source.rx.ring.available() == 0)
    }

    /// Reports to its user, through its first queue, the drops on the way to it.
    #[inline]
    pub(super) fn tell_dropped(&mut self) {
        let dropped = self.count.dropped.total();
        if dropped != self.told
            && let Some(outlet) = self.outlets.first_mut()
        {
            self.told = dropped;
            outlet.tx.tell_dropped(&self.count.dropped);
        }
    }

    /// Counters of the port, including the rings' own refusals.
    pub(super) fn counters(&self) -> PortCounters {
        let mut count = self.count;
        count.finished = self.finisher.done();
        self.sources.iter().for_each(|source| count.refused += source.rx.counters().dropped);
        count
    }

    /// Counters of its traffic classes, of all its rings; None at a switch without buffers.
    pub(super) fn classes(&self) -> Option<[ClassCounters; TrafficClass::MOST]> {
        let queues = self.outlets.iter().filter_map(|outlet| outlet.queues.as_deref());
        let each = queues.map(|queues| [0, 1, 2, 3, 4, 5, 6, 7].map(|class| queues.counters(class)));
        each.reduce(|mut sum, classes| {
            sum.iter_mut().zip(classes).for_each(|(sum, class)| *sum += class);
            sum
        })
    }

    /// Fate of the copies that were put into its rings.
    pub(super) fn fate(&self) -> Fate {
        let mut fate = Fate::default();
        for Outlet { tx, .. } in &self.outlets {
            let count = tx.counters();
            fate.carried += count.frames;
            fate.lost += count.dropped;
            fate.in_ring += u64::from(tx.ring.outstanding());
        }
        fate
    }
}

counters! {
    /// Fate of the copies that were put into a port's rings, from the counts of its engine.
    pub struct Fate {
        /// Frames that the engine sent on.
        pub carried: u64,
        /// Frames that the engine could not send on, or whose receiver went before it took them (`peer_died`, counted as
        /// carried before).
        pub lost: Drops,
        /// Slots not yet given back.
        pub in_ring: u64,
    }
}

impl Fate {
    /// Number of `put` copies that are neither carried, lost nor in the rings, or are counted twice.
    pub(super) fn unexplained(&self, put: u64) -> u64 {
        let refused = self.lost.total() - self.lost.of(DropReason::PeerDied);
        let known = self.carried + refused;
        if known > put { known - put } else { (put - known).saturating_sub(self.in_ring) }
    }
}

impl Outlet {
    pub(super) fn new(tx: TxQueue) -> Self {
        Self { tx, synced: false, dirty: false, queued: false, waits_since: 0, queues: None }
    }
}

impl Source {
    pub(super) fn new(rx: RxQueue, now: u64) -> Self {
        let generation = rx.link_generation();
        Self { rx, state: SourceState::default(), parked: None, since: now, generation }
    }
}
