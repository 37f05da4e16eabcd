//! Forwarding: from one port's slots into other ports' rings.
//!
//! Successive frames with the same destination are carried as a run: one decision, one reservation, one publication,
//! and where both rings are in one region of this process, buffers are exchanged, not copied. All others go frame by
//! frame: chains and frames with metadata, super-frames among them, by exchange too where their receiver takes them as they
//! are; those for several ports, or with a tag or a checksum to be changed, through a buffer.

use super::buffer::QueueDrop;
use super::flood::{Flooded, is_flood};
use super::inlet::{Inlet, Part};
use super::member::{Member, SourceState};
use super::queues::{Item, Store};
use super::rewrite::{Whole, retag};
use super::snoop::Spread;
use super::table::{Key, PortId};
use super::vlan::{Leave, TPID};
use super::{Switch, pfc, probe};
use crate::chain::{MAX_SLOTS, slots_for};
use crate::counters::{DropReason, Drops};
use crate::finish::Put;
use linerate_ring::{Alike, flags};
use linerate_wire::{Priority, VlanTag};
use std::time::Instant;

/// Longest frame: a super-frame of 64 KiB with its headers and tags.
pub(super) const LONGEST: usize = 65_536 + 64;
/// Most bytes of headers: Ethernet, two tags, IPv4 and TCP with options; IPv6 with extensions.
const HEADERS: usize = 256;
/// Every bit of the first 16 bytes' second word but the two bytes behind the Ethertype.
pub(super) const UNTAGGED: u64 = !0xffff;

/// Addresses, Ethertype and tag from a frame's first 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) dst: u64,
    pub(super) src: u64,
    pub(super) tag: Option<u16>,
}

impl Head {
    /// Parses the first 16 bytes, given as two numbers.
    #[inline]
    pub(super) fn new(first: u64, second: u64) -> Self {
        let [.., t0, t1, c0, c1] = second.to_be_bytes();
        let tag = (u16::from_be_bytes([t0, t1]) == TPID).then(|| u16::from_be_bytes([c0, c1]));
        Self { dst: first >> 16, src: (first & 0xffff) << 32 | second >> 32, tag }
    }

    #[inline]
    pub(super) fn priority(self) -> Priority {
        VlanTag(self.tag.unwrap_or(0)).priority()
    }
}

/// Bytes of the two numbers.
#[inline]
pub(super) fn sixteen(first: u64, second: u64) -> [u8; 16] {
    (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
}

/// True if an address is a group address.
#[inline]
pub(super) fn is_group(mac: u64) -> bool {
    mac >> 40 & 1 == 1
}

/// True if an address is one of 01-80-C2-00-00-00 to 0F, which are for the neighbour on the link: spanning tree, PAUSE,
/// LACP, 802.1X, LLDP (IEEE 802.1Q-2022, table 8-1).
#[inline]
pub(super) fn is_reserved(mac: u64) -> bool {
    mac >> 4 == 0x0180_c200_0000 >> 4
}

/// Destination of a run of frames that can be carried unchanged.
struct Destination {
    from: PortId,
    to: PortId,
    priority: Priority,
    flooded: bool,
    /// The source's address is held at another port.
    held: bool,
}

/// Result of forwarding a batch.
pub(super) struct Passed {
    /// Slots consumed.
    pub(super) slots: u32,
    /// Frames forwarded, including those dropped at their destination, and their bytes.
    pub(super) frames: u64,
    pub(super) bytes: u64,
    /// Frames refused.
    pub(super) refused: Drops,
}

/// Slots of a run that are done, and what was done beyond its ring's room: frames and their bytes.
struct Rest {
    slots: u32,
    frames: u64,
    bytes: u64,
}

/// Result of forwarding one frame.
enum Came {
    /// The frame is finished; it had this number of slots.
    Done(u32),
    /// The frame has to wait: for room, or for its other slots.
    Wait,
}

impl Switch {
    /// Forwards the frames of an inlet, until one has to wait.
    pub(super) fn pass<I: Inlet>(&mut self, from: PortId, state: &mut SourceState, inlet: &mut I) -> Passed {
        let n = inlet.len();
        let before = *self.count_mut(from);
        let mut i = 0;
        (state.waits_for, state.deferred) = (None, false);
        while i < n {
            let (first, second, slot) = match inlet.part(i) {
                Part::Frame(frame, slot) => (frame.read_u64(0), frame.read_u64(8), slot),
                Part::Void | Part::Bad => {
                    state.refusing = false;
                    i += 1;
                    continue;
                }
            };
            if state.refusing {
                state.refusing = slot & flags::MOREFRAG != 0;
                i += 1;
                continue;
            }
            if slot & (flags::MOREFRAG | flags::META) == 0
                && let (Some(first), Some(second)) = (first, second)
            {
                if let Some(way) = self.way(from, Head::new(first, second)) {
                    let done = self.run(from, state, inlet, i, &way, (first, second));
                    if done > 0 {
                        i += done;
                        continue;
                    }
                    if state.waits_for.is_some() {
                        break;
                    }
                }
                match self.flood(from, state, inlet, i, (first, second)) {
                    Flooded::Done(slots) => {
                        i += slots;
                        continue;
                    }
                    Flooded::Later => break,
                    Flooded::No => {}
                }
            }
            match self.single(from, state, inlet, i) {
                Came::Done(slots) => i += slots,
                Came::Wait => break,
            }
        }
        let count = self.count_mut(from);
        let (frames, bytes) = (count.received - before.received, count.received_bytes - before.received_bytes);
        Passed { slots: i, frames, bytes, refused: count.refused.since(&before.refused) }
    }

    /// Destination of a frame, if that is one port that gets it unchanged, and no monitor watches.
    #[inline]
    fn way(&mut self, from: PortId, head: Head) -> Option<Destination> {
        let source = self.members[usize::from(from)].as_ref()?;
        let vid = source.policy.vlans.enter(head.tag)?;
        if source.apart || !source.copy_in.is_empty() {
            return None;
        }
        let held = !self.learn(from, head.src, vid);
        let known = match is_group(head.dst) {
            true if is_reserved(head.dst) || self.own.looks_into(head.dst) => return None,
            true => None,
            false => self.table.find(Key::new(head.dst, vid)),
        };
        let to = known.or_else(|| self.only_other(from, vid, head.tag))?;
        let member = self.members[usize::from(to)].as_ref()?;
        let simple = to != from
            && !member.apart
            && member.copy_out.is_empty()
            && member.policy.vlans.leave(vid, head.tag) == Leave::AsItCame;
        simple.then(|| Destination { from, to, priority: head.priority(), flooded: known.is_none(), held })
    }

    /// Learns the port of a frame's source address, if it has one; false if that is held at another port.
    #[inline]
    pub(super) fn learn(&mut self, from: PortId, mac: u64, vid: u16) -> bool {
        is_group(mac) || mac == 0 || self.table.learn(Key::new(mac, vid), from)
    }

    /// The only port besides `from` in a VLAN, if there is exactly one.
    fn only_other(&self, from: PortId, vid: u16, tag: Option<u16>) -> Option<PortId> {
        let mut found = None;
        for (port, member) in self.others(from) {
            if member.policy.vlans.leave(vid, tag) != Leave::Not && found.replace(port).is_some() {
                return None;
            }
        }
        found
    }

    /// All ports that take part in forwarding, except one.
    fn others(&self, from: PortId) -> impl Iterator<Item = (PortId, &Member)> {
        let members = self.live.iter().filter_map(|port| Some((*port, self.members[usize::from(*port)].as_ref()?)));
        members.filter(move |(port, member)| *port != from && !member.apart)
    }

    /// Carries frames from the `i`th on that have the same head; returns the number of slots consumed. If it is 0 and
    /// nothing has to wait, this frame cannot be part of a run.
    fn run<I: Inlet>(
        &mut self,
        from: PortId,
        state: &mut SourceState,
        inlet: &mut I,
        i: u32,
        way: &Destination,
        (first, second): (u64, u64),
    ) -> u32 {
        let n = inlet.len() - i;
        self.touch(way.to);
        let Some(member) = self.members[usize::from(way.to)].as_mut() else { return 0 };
        let (queue, pauses, keep) =
            (member.queue_of(way.priority), member.pauses(way.priority), member.keeps_room(way.priority));
        let Some(outlet) = member.outlets.get_mut(queue) else { return 0 };
        let room = outlet.room(n, keep);
        if room == 0 && pauses && self.store.is_none() && outlet.wait(self.now) {
            member.count.priorities[way.priority.index()].waits += u64::from(state.waits_for.is_none());
            state.waits_for = Some((way.to, queue));
            return 0;
        }
        let fits = member.largest.min(outlet.tx.ring.usable());
        let mask = if Head::new(first, second).tag.is_some() { u64::MAX } else { UNTAGGED };
        let alike = Alike::new(sixteen(first, second), sixteen(u64::MAX, mask), fits);
        let mut batch = outlet.tx.ring.reserve(room.min(n));
        let (mut slots, mut put, mut sent_bytes) = (0, 0, 0u64);
        while put < batch.len() {
            let (done, bytes) = inlet.move_run(i + slots, &mut batch, put, &alike);
            if done == 0 {
                break;
            }
            (slots, put, sent_bytes) = (slots + done, put + done, sent_bytes + bytes);
        }
        let full = put == batch.len();
        batch.commit(put);
        let sent = u64::from(put);
        if put > 0 {
            outlet.moved();
        }
        let count = &mut member.count;
        count.sent += sent;
        count.sent_bytes += sent_bytes;
        count.priorities[way.priority.index()].sent += sent;
        let (mut frames, mut bytes) = (sent, sent_bytes);
        if full && slots < n && (!pauses || self.store.is_some()) {
            let rest = self.rest(state, inlet, (i, slots), way, (first, second), (mask, fits));
            (slots, frames, bytes) = (rest.slots, frames + rest.frames, bytes + rest.bytes);
        }
        let count = self.count_mut(from);
        count.received += frames;
        count.received_bytes += bytes;
        count.copies += frames;
        count.flooded += if way.flooded { frames } else { 0 };
        count.held += if way.held { frames } else { 0 };
        slots
    }

    /// Gives the rest of a run, for which the ring has no room, places in the queue, as far as there are any and there is a
    /// queue. What has none is lost, or waits. The run began at the `i`th slot, and `slots` of it are done.
    #[cold]
    fn rest<I: Inlet>(
        &mut self,
        state: &mut SourceState,
        inlet: &mut I,
        (i, mut slots): (u32, u32),
        way: &Destination,
        (first, second): (u64, u64),
        (mask, fits): (u64, usize),
    ) -> Rest {
        let (mut frames, mut bytes, mut lost) = (0, 0, 0);
        let Some(member) = self.members[usize::from(way.to)].as_mut() else { return Rest { slots, frames, bytes } };
        let (queue, pauses) = (member.queue_of(way.priority), member.pauses(way.priority));
        let Some(outlet) = member.outlets.get_mut(queue) else { return Rest { slots, frames, bytes } };
        while i + slots < inlet.len() {
            let Part::Frame(frame, slot) = inlet.part(i + slots) else {
                slots += 1;
                continue;
            };
            let len = frame.len();
            let head = if self.store.is_some() {
                // A copy, as its sender may still write to it.
                self.whole.clear();
                self.whole.add(&frame, LONGEST);
                self.whole.head()
            } else {
                frame.read_u64(0).zip(frame.read_u64(8))
            };
            let same = head.is_some_and(|(one, two)| one == first && (two ^ second) & mask == 0)
                && slot & (flags::MOREFRAG | flags::META) == 0
                && len <= fits;
            if !same {
                break;
            }
            if let Some(store) = self.store.as_deref_mut() {
                let item = Item {
                    bytes: &self.whole.bytes,
                    meta: None,
                    priority: way.priority,
                    copies: 1,
                    from: Some(way.from),
                };
                match store.admit(way.to, outlet, &item) {
                    Ok(()) => {}
                    Err(reason) if pauses && reason != QueueDrop::Storm && outlet.wait(self.now) => {
                        if slots == 0 {
                            member.count.priorities[way.priority.index()].waits += 1;
                            state.waits_for = Some((way.to, queue));
                        }
                        break;
                    }
                    Err(reason) => {
                        store.lost(outlet, way.priority, reason, 1);
                        lost += 1;
                    }
                }
            } else {
                lost += 1;
            }
            (slots, frames, bytes) = (slots + 1, frames + 1, bytes + len as u64);
        }
        member.count.drop_copies(DropReason::NoRoom, way.priority, lost);
        Rest { slots, frames, bytes }
    }

    /// Carries one frame of one or more slots, of any kind.
    #[cold]
    fn single<I: Inlet>(&mut self, from: PortId, state: &mut SourceState, inlet: &mut I, i: u32) -> Came {
        if let Some(slots) = self.exchange(from, inlet, i) {
            return Came::Done(slots);
        }
        let n = inlet.len() - i;
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        whole.meta = inlet.meta(i);
        let mut slots = 0;
        let mut came = None;
        while came.is_none() {
            if slots == n || slots == MAX_SLOTS {
                // Unfinished: the frame waits for its rest, if more slots are possible.
                let hopeless = slots == MAX_SLOTS || slots >= inlet.most();
                if hopeless {
                    self.refuse(from, DropReason::TooManyFragments);
                    state.refusing = true;
                }
                came = Some(if hopeless { Came::Done(slots) } else { Came::Wait });
                break;
            }
            slots += 1;
            match inlet.part(i + slots - 1) {
                Part::Frame(frame, slot) => {
                    whole.add(&frame, LONGEST);
                    if slot & flags::MOREFRAG == 0 {
                        break;
                    }
                }
                Part::Void => break,
                // The ring has counted the slot, which counts as its frame.
                Part::Bad => came = Some(Came::Done(slots)),
            }
        }
        let came = came.unwrap_or_else(|| match self.carry(from, state, &mut whole) {
            true => Came::Done(slots),
            false => Came::Wait,
        });
        self.whole = whole;
        came
    }

    /// Carries one frame of any kind by exchanging its buffers, if it is for one port that takes it as it is, and there is room;
    /// returns the number of its slots. None, with nothing done: it has to be gathered.
    fn exchange<I: Inlet>(&mut self, from: PortId, inlet: &mut I, i: u32) -> Option<u32> {
        let meta = inlet.meta(i);
        let Part::Frame(frame, _) = inlet.part(i) else { return None };
        let (first, second) = (frame.read_u64(0)?, frame.read_u64(8)?);
        let mut head = [0; HEADERS];
        let head = &mut head[..frame.len().min(HEADERS)];
        if !frame.read(0, head) {
            return None;
        }
        let way = self.way(from, Head::new(first, second))?;
        self.touch(way.to);
        let member = self.members[usize::from(way.to)].as_mut()?;
        let (queue, keep) = (member.queue_of(way.priority), member.keeps_room(way.priority));
        let outlet = member.outlets.get_mut(queue)?;
        let (slots, bytes) = inlet.chain_for(i, &outlet.tx.ring)?;
        if bytes > LONGEST || !member.finisher.passes(head, bytes, meta) || outlet.room(slots, keep) < slots {
            return None;
        }
        let mut batch = outlet.tx.ring.reserve(slots);
        inlet.move_chain(i, &mut batch, 0)?;
        batch.commit(slots);
        outlet.moved();
        let count = &mut member.count;
        count.sent += 1;
        count.sent_bytes += bytes as u64;
        count.priorities[way.priority.index()].sent += 1;
        let count = self.count_mut(from);
        count.received += 1;
        count.received_bytes += bytes as u64;
        count.copies += 1;
        count.flooded += u64::from(way.flooded);
        count.held += u64::from(way.held);
        Some(slots)
    }

    /// Counts a frame that is not carried; true, for it is finished.
    fn refuse(&mut self, from: PortId, reason: DropReason) -> bool {
        self.count_mut(from).refused.add(reason, 1);
        true
    }

    /// Carries one gathered frame; false if it has to wait for room.
    fn carry(&mut self, from: PortId, state: &mut SourceState, whole: &mut Whole) -> bool {
        if whole.too_long {
            return self.refuse(from, DropReason::TooLong);
        }
        whole.tag_inside();
        let Some((first, second)) = whole.head() else {
            return self.refuse(from, DropReason::TooShort);
        };
        let head = Head::new(first, second);
        // Before all else: a probe of this switch is not the port's frame.
        if head.dst == probe::GROUP && self.hear_probe(from, whole) {
            return true;
        }
        if head.dst == pfc::GROUP {
            self.hear_pause(from, whole);
        }
        let Some(source) = self.members[usize::from(from)].as_ref() else { return true };
        if let Some(kept) = self.own.kept.as_mut().filter(|kept| kept.may_be(head.dst) && !source.monitor)
            && kept.take(from, whole)
        {
            self.count_mut(from).kept += 1;
            return true;
        }
        let vid = match (source.policy.vlans.enter(head.tag), source.apart) {
            (Some(vid), false) => vid,
            (_, true) if source.monitor => return self.refuse(from, DropReason::Monitor),
            (_, true) => return self.refuse(from, DropReason::Blocked),
            (None, _) => return self.refuse(from, DropReason::Vlan),
        };
        let held = !self.learn(from, head.src, vid);
        if is_reserved(head.dst) && !self.forwards_reserved {
            self.count_mut(from).held += u64::from(held);
            return self.refuse(from, DropReason::Reserved);
        }
        let known = if is_group(head.dst) { None } else { self.table.find(Key::new(head.dst, vid)) };
        if known == Some(from) {
            self.count_mut(from).held += u64::from(held);
            return self.refuse(from, DropReason::SamePort);
        }
        let spread = if self.own.looks_into(head.dst) { self.spread(from, vid, head, whole) } else { Spread::All };
        let mut targets = std::mem::take(&mut self.targets);
        self.collect(from, known, vid, head.tag, &mut targets);
        if let Spread::Only(ports) = spread {
            targets.retain(|target| ports.contains(target.to));
        }
        self.watch(from, &mut targets);
        let there = targets.iter().any(|target| !target.watches);
        let floods = is_flood(&targets);
        state.deferred = floods && !self.share.admits(from, self.now);
        let go = there && !state.deferred && !self.must_wait(from, &targets, whole.len(), head.priority(), state);
        if !there {
            self.refuse(from, DropReason::NoReceiver);
        }
        if go {
            let count = self.count_mut(from);
            count.received += 1;
            count.received_bytes += whole.len() as u64;
            count.copies += targets.len() as u64;
            count.flooded += u64::from(known.is_none() && spread == Spread::All);
            let began = floods.then(Instant::now);
            for target in &targets {
                // One of several ports must not stop the sender for all, nor a monitor.
                let account = Some(from).filter(|_| !floods && !target.watches);
                let more = self.put(account, target, whole, head);
                self.count_mut(from).copies += more;
            }
            if let Some(began) = began {
                self.share.flooded(1, began);
            }
        }
        self.targets = targets;
        let done = go || !there;
        self.count_mut(from).held += u64::from(held && done);
        done
    }

    /// Collects the receivers of a frame, and the form in which each gets it.
    pub(super) fn collect(
        &self,
        from: PortId,
        known: Option<PortId>,
        vid: u16,
        tag: Option<u16>,
        targets: &mut Vec<Target>,
    ) {
        targets.clear();
        let leave = |member: &Member| member.policy.vlans.leave(vid, tag);
        for (to, member) in self.others(from) {
            let leave = leave(member);
            if leave != Leave::Not && known.is_none_or(|known| known == to) {
                targets.push(Target { to, leave, watches: false });
            }
        }
    }

    /// Adds the monitors that see a frame of these receivers.
    pub(super) fn watch(&self, from: PortId, targets: &mut Vec<Target>) {
        let watchers = |targets: &mut Vec<Target>, list: &[PortId]| {
            targets.extend(list.iter().map(|to| Target { to: *to, leave: Leave::AsItCame, watches: true }));
        };
        for at in 0..targets.len() {
            let Some(member) = self.members[usize::from(targets[at].to)].as_ref() else { continue };
            watchers(targets, &member.copy_out);
        }
        if let Some(member) = self.members[usize::from(from)].as_ref()
            && !targets.is_empty()
        {
            watchers(targets, &member.copy_in);
        }
    }

    /// True if a frame has to wait for its destination. A frame with several destinations never waits: one of them must
    /// not hold up the others.
    fn must_wait(
        &mut self,
        from: PortId,
        targets: &[Target],
        len: usize,
        priority: Priority,
        state: &mut SourceState,
    ) -> bool {
        let mut real = targets.iter().filter(|target| !target.watches);
        let (Some(one), None) = (real.next(), real.next()) else { return false };
        let now = self.now;
        self.touch(one.to);
        let Some(member) = self.members[usize::from(one.to)].as_mut() else { return false };
        if !member.pauses(priority) {
            return false;
        }
        let queue = member.queue_of(priority);
        let Some(outlet) = member.outlets.get_mut(queue) else { return false };
        // A tag may be inserted.
        let needed = slots_for(len + 4, outlet.tx.ring.usable()).filter(|needed| *needed < outlet.tx.ring.slots());
        let Some(needed) = needed else { return false };
        let store = self.store.as_deref();
        if outlet.room(needed, false) >= needed
            || store.is_some_and(|store| store.has_place(from, outlet, priority, len + 4))
            || !outlet.wait(now)
        {
            return false;
        }
        member.count.priorities[priority.index()].waits += 1;
        state.waits_for = Some((one.to, queue));
        true
    }

    /// Puts a copy into a port's ring, or counts the reason that it cannot; returns the number of copies that there are to
    /// be besides, if it is a super-frame.
    pub(super) fn put(&mut self, from: Option<PortId>, target: &Target, whole: &Whole, head: Head) -> u64 {
        self.touch(target.to);
        let Some(member) = self.members[usize::from(target.to)].as_mut() else { return 0 };
        let priority = head.priority();
        let form = Form { from, priority, leave: target.leave, tagged: head.tag.is_some() };
        let put = member.put((target.to, self.store.as_deref_mut()), form, whole, &mut self.changed);
        member.count.took(priority, &put, 1);
        // What was refused as a whole is one copy; all else is counted independently of what was put.
        let refused = put.frames == 0 && put.dropped.is_some_and(|(_, dropped)| dropped == 1);
        if refused { 0 } else { member.finisher.frames(&whole.bytes, whole.meta) - 1 }
    }
}

impl Member {
    /// Puts a copy of a frame into a ring, in its outgoing form, or gives it a place in the queue. `changed`: buffer for a
    /// changed frame.
    fn put(
        &mut self,
        (to, store): (PortId, Option<&mut Store>),
        Form { from, priority, leave, tagged }: Form,
        whole: &Whole,
        changed: &mut Vec<u8>,
    ) -> Put {
        let mut meta = whole.meta;
        let bytes = if leave == Leave::AsItCame {
            &whole.bytes
        } else {
            retag(changed, &whole.bytes, &mut meta, leave, tagged);
            &*changed
        };
        let (queue, keep) = (self.queue_of(priority), self.keeps_room(priority));
        let Some(outlet) = self.outlets.get_mut(queue) else { return Put::none(DropReason::NoReceiver) };
        let ring = &outlet.tx.ring;
        // A super-frame may become as many frames as there is room for.
        let is_super = meta.is_some_and(|meta| meta.gso_type != 0);
        let wanted = if is_super { ring.slots() } else { slots_for(bytes.len(), ring.usable()).unwrap_or(1) };
        let room = outlet.room(wanted, keep);
        if let Some(store) = store
            && self.finisher.slots(&outlet.tx.ring, bytes, meta).is_some_and(|needed| needed > room)
        {
            let item = Item { bytes, meta, priority, copies: self.finisher.frames(bytes, meta), from };
            return match store.admit(to, outlet, &item) {
                Ok(()) => Put::default(),
                Err(reason) => {
                    store.lost(outlet, priority, reason, 1);
                    Put::none(DropReason::NoRoom)
                }
            };
        }
        let put = self.finisher.put(&mut outlet.tx.ring, room, bytes, meta);
        if put.frames > 0 {
            outlet.moved();
        }
        put
    }
}

/// Form in which a copy leaves.
struct Form {
    /// Port in whose account it is in a queue, if it is lossless.
    from: Option<PortId>,
    priority: Priority,
    leave: Leave,
    /// The frame has a tag.
    tagged: bool,
}

/// Receiver of a copy.
pub(super) struct Target {
    pub(super) to: PortId,
    pub(super) leave: Leave,
    /// The receiver is a monitor.
    pub(super) watches: bool,
}
