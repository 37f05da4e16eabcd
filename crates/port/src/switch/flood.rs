//! Frames for several ports: a run of them is gathered once and copied to one port after the other, so that each ring is
//! reserved, published and woken once for the run; and floods share the switch's time with all else.
//!
//! A flood to N ports costs N copies and N wake-ups a run. While other frames move, floods get half of the time: after a
//! run, which lasts as long as it lasts, the switch works as long for others before the next one. What has to wait is not
//! dropped: it stays in its sender's ring, and so does what stands behind it there. Floods alone have all the time.

use super::Switch;
use super::forward::Target;
use super::forward::{Head, LONGEST, UNTAGGED, is_group, is_reserved, sixteen};
use super::inlet::{Inlet, Part};
use super::member::SourceState;
use super::queues::Item;
use super::table::{Key, PortId};
use super::vlan::Leave;
use crate::counters::DropReason;
use linerate_ring::flags;
use linerate_text::saturating_ns;
use std::time::Instant;

/// Most frames of a run, their bytes, and copies made of them.
const FRAMES: u32 = 64;
const BYTES: usize = 65_536;
const COPIES: usize = 8192;
/// Time in ns since others' last frame after which floods have all the time.
const ALONE: u64 = 1_000_000;
/// Most time in ns of floods in one turn.
const TURN: u64 = 200_000;

/// Shares of the switch's time.
#[derive(Default)]
pub(super) struct Share {
    /// Work takes no time: none is shared.
    timeless: bool,
    /// The switch is in a turn; outside of turns senders flood in their own time.
    turn: bool,
    /// Beginning of the turn, if there are debts to pay.
    began: Option<Instant>,
    /// Time in ns that floods have had in advance of others.
    debt: u64,
    /// Time in ns of floods in this turn.
    floods: u64,
    /// Number of frames flooded.
    frames: u64,
    /// Frames of others moved in this turn; time of the last turn in which one did.
    moved: bool,
    others: Option<u64>,
    /// Port whose flood waits longest.
    next: Option<PortId>,
}

impl Share {
    /// Shares of a switch in virtual time.
    pub(super) fn timeless() -> Self {
        Self { timeless: true, ..Self::default() }
    }

    /// Begins a turn.
    pub(super) fn begin(&mut self) {
        (self.turn, self.floods, self.moved) = (!self.timeless, 0, false);
        self.began = (self.debt > 0).then(Instant::now);
    }

    /// Lets a turn have begun so much earlier.
    #[cfg(test)]
    pub(super) fn has_lasted(&mut self, time: std::time::Duration) {
        self.began = self.began.and_then(|at| at.checked_sub(time));
    }

    /// Ends a turn: the time of all else in it pays debts.
    pub(super) fn end(&mut self, now: u64) {
        if self.moved {
            self.others = Some(now);
        }
        self.turn = false;
        let Some(began) = self.began else { return };
        let all_else = saturating_ns(began.elapsed()).saturating_sub(self.floods);
        self.debt = self.debt.saturating_sub(all_else);
    }

    /// Begins the turn of one port.
    pub(super) fn turn_of(&mut self, port: PortId) {
        self.next = self.next.filter(|next| *next != port);
    }

    /// Number of frames flooded so far.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Takes note of frames of others.
    pub(super) fn others(&mut self, frames: u64) {
        self.moved |= frames > 0;
    }

    /// Forgets a port.
    pub(super) fn forget(&mut self, port: PortId) {
        self.turn_of(port);
    }

    /// True if a port may flood now, at time `now`; else its flood has to wait.
    pub(super) fn admits(&mut self, port: PortId, now: u64) -> bool {
        if !self.turn {
            return true;
        }
        let alone = !self.moved && self.others.is_none_or(|at| now.saturating_sub(at) > ALONE);
        let due = self.debt == 0 && self.next.is_none();
        let admitted = self.floods < TURN && (alone || due);
        if !admitted {
            self.next.get_or_insert(port);
        }
        admitted
    }

    /// Beginning of a piece of work, if it is one of floods: the wake-ups after them count too.
    pub(super) fn starts(&self) -> Option<Instant> {
        (self.turn && self.floods > 0).then(Instant::now)
    }

    /// Takes note of the time that floods took since then.
    pub(super) fn spent(&mut self, since: Option<Instant>) {
        if let Some(since) = since {
            let ns = saturating_ns(since.elapsed()).max(1);
            (self.floods, self.debt) = (self.floods + ns, self.debt + ns);
        }
    }

    /// Takes note of frames that were flooded since `began`.
    pub(super) fn flooded(&mut self, frames: u64, began: Instant) {
        self.frames += frames;
        if self.turn {
            self.spent(Some(began));
        }
    }
}

/// Outcome of an attempt to flood.
pub(super) enum Flooded {
    /// The frame is none for several ports, or none of a run.
    No,
    /// The frame has to wait for its share.
    Later,
    /// So many frames of one slot each are finished.
    Done(u32),
}

/// A run of frames of one slot each, as they were when they were gathered: a sender may write to its slots still.
#[derive(Default)]
pub(super) struct Flock {
    bytes: Vec<u8>,
    /// End of each frame.
    ends: Vec<usize>,
    longest: usize,
}

impl Flock {
    /// Takes the frames from the `i`th on whose first 16 bytes equal `head` under the mask.
    fn fill<I: Inlet>(&mut self, inlet: &mut I, i: u32, most: u32, (head, mask): (u128, u128)) {
        self.bytes.clear();
        self.ends.clear();
        self.longest = 0;
        for at in i..inlet.len().min(i.saturating_add(most)) {
            let from = self.bytes.len();
            match inlet.part(at) {
                Part::Frame(frame, slot) if slot & (flags::MOREFRAG | flags::META) == 0 && frame.len() <= LONGEST => {
                    frame.append_to(&mut self.bytes);
                }
                _ => return,
            }
            let same = self.bytes[from..].first_chunk().is_some_and(|b| (u128::from_be_bytes(*b) ^ head) & mask == 0);
            if !same {
                self.bytes.truncate(from);
                return;
            }
            self.ends.push(self.bytes.len());
            self.longest = self.longest.max(self.bytes.len() - from);
            if self.bytes.len() > BYTES {
                return;
            }
        }
    }

    fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(from, to)| &self.bytes[from..*to])
    }
}

impl Switch {
    /// Carries frames from the `i`th on that have the same head and are for several ports. Never inlined: the loop beside it, of
    /// frames for one port, would lose its registers to it.
    #[inline(never)]
    pub(super) fn flood<I: Inlet>(
        &mut self,
        from: PortId,
        state: &mut SourceState,
        inlet: &mut I,
        i: u32,
        (first, second): (u64, u64),
    ) -> Flooded {
        let head = Head::new(first, second);
        let Some(source) = self.members[usize::from(from)].as_ref().filter(|source| !source.apart) else {
            return Flooded::No;
        };
        // Probes, and groups that the switch listens to.
        if self.own.looks_into(head.dst) {
            return Flooded::No;
        }
        let Some(vid) = source.policy.vlans.enter(head.tag) else { return Flooded::No };
        let reserved = is_reserved(head.dst) && !self.forwards_reserved;
        if reserved || (!is_group(head.dst) && self.table.find(Key::new(head.dst, vid)).is_some()) {
            return Flooded::No;
        }
        let mut targets = std::mem::take(&mut self.targets);
        self.collect(from, None, vid, head.tag, &mut targets);
        self.watch(from, &mut targets);
        let flooded = if !is_flood(&targets) {
            Flooded::No
        } else if !self.share.admits(from, self.now) {
            state.deferred = true;
            Flooded::Later
        } else {
            let began = Instant::now();
            let mask = if head.tag.is_some() { u64::MAX } else { UNTAGGED };
            let alike = (u128::from_be_bytes(sixteen(first, second)), u128::from_be_bytes(sixteen(u64::MAX, mask)));
            let most = u32::try_from(COPIES / targets.len()).unwrap_or(FRAMES).clamp(1, FRAMES);
            let mut flock = std::mem::take(&mut self.flock);
            flock.fill(inlet, i, most, alike);
            let held = !self.learn(from, head.src, vid);
            let n = self.scatter(from, &flock, &targets, head, held);
            self.flock = flock;
            self.share.flooded(n.into(), began);
            if n == 0 { Flooded::No } else { Flooded::Done(n) }
        };
        self.targets = targets;
        flooded
    }

    /// Copies a run to all its receivers; returns the number of frames.
    fn scatter(&mut self, from: PortId, flock: &Flock, targets: &[Target], head: Head, held: bool) -> u32 {
        let frames = flock.ends.len() as u64;
        let count = self.count_mut(from);
        count.received += frames;
        count.received_bytes += flock.bytes.len() as u64;
        count.copies += frames * targets.len() as u64;
        count.flooded += frames;
        count.held += if held { frames } else { 0 };
        for target in targets {
            if !self.put_flock(target, flock, head) {
                // Not as they came, or longer than a slot: one by one.
                let mut whole = std::mem::take(&mut self.whole);
                for frame in flock.frames() {
                    whole.clear();
                    whole.bytes.extend_from_slice(frame);
                    let more = self.put(None, target, &whole, head);
                    self.count_mut(from).copies += more;
                }
                self.whole = whole;
            }
        }
        u32::try_from(frames).unwrap_or(0)
    }

    /// Copies a run into a port's ring as far as there is room, and the rest into its queue; false, with nothing done, if it has to go frame by frame.
    fn put_flock(&mut self, target: &Target, flock: &Flock, head: Head) -> bool {
        self.touch(target.to);
        let Some(member) = self.members[usize::from(target.to)].as_mut() else { return true };
        let priority = head.priority();
        let (queue, keep, largest) = (member.queue_of(priority), member.keeps_room(priority), member.largest);
        let Some(outlet) = member.outlets.get_mut(queue) else { return false };
        if target.leave != Leave::AsItCame || flock.longest > largest.min(outlet.tx.ring.usable()) {
            return false;
        }
        let n = u32::try_from(flock.ends.len()).unwrap_or(0);
        let room = outlet.room(n, keep).min(n);
        let mut batch = outlet.tx.ring.reserve(room);
        let (mut put, mut bytes) = (0, 0);
        for frame in flock.frames().take(batch.len() as usize) {
            if !batch.put(put, frame) {
                break;
            }
            (put, bytes) = (put + 1, bytes + frame.len() as u64);
        }
        batch.commit(put);
        if put > 0 {
            outlet.moved();
        }
        let mut lost = u64::from(n - put);
        if lost > 0
            && let Some(store) = self.store.as_deref_mut()
        {
            for bytes in flock.frames().skip(put as usize) {
                match store.admit(target.to, outlet, &Item { bytes, meta: None, priority, copies: 1, from: None }) {
                    Ok(()) => lost -= 1,
                    Err(reason) => store.lost(outlet, priority, reason, 1),
                }
            }
        }
        let count = &mut member.count;
        count.sent += u64::from(put);
        count.sent_bytes += bytes;
        count.priorities[priority.index()].sent += u64::from(put);
        count.drop_copies(DropReason::NoRoom, priority, lost);
        true
    }
}

/// True if there are several receivers beside monitors.
pub(super) fn is_flood(targets: &[Target]) -> bool {
    targets.iter().filter(|target| !target.watches).nth(1).is_some()
}
