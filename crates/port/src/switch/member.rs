//! A port of the switch, seen from inside: where its frames come in, where they go out, what it may, what it did.

use super::table::PortId;
use super::vlan::Vlans;
use crate::cable::Side;
use crate::class::{CLASSES, PATIENCE, queue_of};
use crate::counters::{DropReason, Drops};
use crate::info::{Caps, Link};
use crate::port::Port;
use crate::queue::{RxQueue, TxQueue};
use std::sync::Arc;

/// What a port wants of the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its VLANs.
    pub vlans: Vlans,
    /// A bit a class: frames of that class wait for room at this port, in their sender's ring; those of others are
    /// dropped.
    pub pause: u8,
}

impl Policy {
    /// Reads a mask of classes: 0 to 255, or 0x00 to 0xff.
    #[must_use]
    pub fn parse_pause(text: &str) -> Option<u8> {
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u8::from_str_radix(hex, 16).ok())
    }
}

/// One class of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Copies that reached the port's ring.
    pub sent: u64,
    /// Copies that did not.
    pub dropped: u64,
    /// Times that a sender had to wait.
    pub waits: u64,
}

/// What a port did, seen from the switch: it receives what the port's user sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames that came from the port and went on.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Those of them that went to all ports of their VLAN.
    pub flooded: u64,
    /// Frames with the address of a station at another port, which is held there.
    pub held: u64,
    /// Copies that they were to become: one a destination, and one a monitor.
    pub copies: u64,
    /// Frames that came from the port and did not go on.
    pub refused: Drops,
    /// Copies put into the port's ring.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Copies meant for the port that did not get into its ring.
    pub dropped: Drops,
    /// The same by class.
    pub classes: [ClassCounters; CLASSES],
}

impl PortCounters {
    /// Both together.
    pub(super) fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.flooded += other.flooded;
        self.held += other.held;
        self.copies += other.copies;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.refused.merge(&other.refused);
        self.dropped.merge(&other.dropped);
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            mine.sent += theirs.sent;
            mine.dropped += theirs.dropped;
            mine.waits += theirs.waits;
        }
    }

    #[inline]
    pub(super) fn drop_copies(&mut self, reason: DropReason, class: usize, n: u64) {
        self.dropped.add(reason, n);
        self.classes[class].dropped += n;
    }
}

/// One queue in.
pub(super) struct Source {
    pub(super) rx: RxQueue,
    pub(super) state: SourceState,
}

/// What a queue in remembers from batch to batch.
#[derive(Default)]
pub(super) struct SourceState {
    /// The rest of a chain that was refused is still to come.
    pub(super) refusing: bool,
    /// The port and queue for whose room its next frame waits.
    pub(super) waits_for: Option<(PortId, usize)>,
}

/// One queue out: the output queue of one or more classes.
pub(super) struct Outlet {
    pub(super) tx: TxQueue,
    /// It was synced in this round.
    pub(super) synced: bool,
    /// Something was put since its last sync.
    pub(super) dirty: bool,
    /// Since when a frame waits for room here, in ns; 0: none does.
    waits_since: u64,
}

impl Outlet {
    /// Slots free for a class. Those that may be dropped leave a quarter to those that must not, where there are such.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32, keep: bool) -> u32 {
        if !self.synced && self.tx.ring.free() < wanted + self.tx.ring.slots() / 4 {
            self.tx.sync();
            (self.synced, self.dirty) = (true, false);
        }
        let kept = if keep { self.tx.ring.slots() / 4 } else { 0 };
        self.tx.ring.free().saturating_sub(kept)
    }

    /// There is no room: whether to go on waiting. A receiver that takes nothing for too long has its pause count no more
    /// until it has taken something.
    pub(super) fn wait(&mut self, now: u64) -> bool {
        if self.waits_since == 0 {
            self.waits_since = now.max(1);
        }
        now.saturating_sub(self.waits_since) < PATIENCE
    }

    /// Something found room.
    #[inline]
    pub(super) fn moved(&mut self) {
        (self.dirty, self.waits_since) = (true, 0);
    }

    /// Sends what was put.
    #[inline]
    pub(super) fn flush(&mut self) {
        if self.dirty || self.tx.ring.pending() > 0 {
            self.tx.sync();
        }
        (self.dirty, self.synced) = (false, false);
    }
}

/// See the module's text.
pub(super) struct Member {
    pub(super) name: String,
    /// How it is reached, in words.
    pub(super) path: String,
    pub(super) policy: Policy,
    pub(super) caps: Caps,
    /// Longest frame, without FCS.
    pub(super) largest: usize,
    pub(super) sources: Vec<Source>,
    pub(super) outlets: Vec<Outlet>,
    /// Gets copies only, and sends nothing.
    pub(super) monitor: bool,
    /// Who gets a copy of what comes from this port, and of what goes to it.
    pub(super) copy_in: Vec<PortId>,
    pub(super) copy_out: Vec<PortId>,
    pub(super) count: PortCounters,
    /// It goes when this link goes down.
    pub(super) life: Option<Arc<Side>>,
    /// How many drops its user knows of.
    pub(super) told: u64,
    /// What has to live as long as its queues.
    pub(super) _keep: Option<Port>,
}

impl Member {
    /// Which of its queues a class leaves through.
    #[inline]
    pub(super) fn queue_of(&self, class: usize) -> usize {
        queue_of(class, self.outlets.len())
    }

    #[inline]
    pub(super) fn pauses(&self, class: usize) -> bool {
        self.policy.pause >> class & 1 == 1
    }

    /// Whether frames of a class have to leave room to others.
    #[inline]
    pub(super) fn keeps_room(&self, class: usize) -> bool {
        self.policy.pause != 0 && !self.pauses(class)
    }

    /// Whether its other end is gone and all that it had sent is read.
    pub(super) fn is_gone(&self) -> bool {
        self.life.as_ref().is_some_and(|side| side.link() == Link::Down)
            && self.sources.iter().all(|source| source.rx.ring.available() == 0)
    }

    /// Tells its user, at its first queue, what was dropped on the way to it.
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

    /// What it did, the rings' own refusals included.
    pub(super) fn counters(&self) -> PortCounters {
        let mut count = self.count;
        self.sources.iter().for_each(|source| count.refused.merge(&source.rx.counters().dropped));
        count
    }

    /// What became of the copies that were put into its rings.
    pub(super) fn fate(&self) -> Fate {
        let mut fate = Fate::default();
        for Outlet { tx, .. } in &self.outlets {
            let count = tx.counters();
            fate.carried += count.frames;
            fate.lost.merge(&count.dropped);
            fate.in_ring += u64::from(tx.ring.outstanding());
        }
        fate
    }
}

/// What became of the copies that were put into a port's rings, as its engine counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Frames that the engine handed on.
    pub carried: u64,
    /// Frames that it could not hand on, or whose receiver went before it took them (`peer_died`, counted as carried
    /// before).
    pub lost: Drops,
    /// Slots not yet given back.
    pub in_ring: u64,
}

impl Fate {
    /// Of so many copies put: those not known to be carried, lost or in the rings, or known twice.
    pub(super) fn unexplained(&self, put: u64) -> u64 {
        let refused = self.lost.total() - self.lost.of(DropReason::PeerDied);
        let known = self.carried + refused;
        if known > put { known - put } else { (put - known).saturating_sub(self.in_ring) }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.carried += other.carried;
        self.lost.merge(&other.lost);
        self.in_ring += other.in_ring;
    }
}

impl Outlet {
    pub(super) fn new(tx: TxQueue) -> Self {
        Self { tx, synced: false, dirty: false, waits_since: 0 }
    }
}

impl Source {
    pub(super) fn new(rx: RxQueue) -> Self {
        Self { rx, state: SourceState::default() }
    }
}
