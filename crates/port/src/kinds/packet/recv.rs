//! Reception by recvmmsg (`rx=recv`): frames are read straight into slots.

use crate::chain::set_frame;
use crate::counters::{DropReason, RxCounters};
use crate::info::Link;
use crate::interface::Carrier;
use crate::queue::RxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::packet::{Arrived, Receiver};
use crate::sys::socket::MOST;
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{Meta, OwnRx};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;

pub(super) struct RecvRx {
    socket: Receiver,
    carrier: Arc<Carrier>,
    /// Slots for the longest frame.
    longest: u32,
    /// While it is not 0, frames are read one by one, each into as many slots as the longest may need; a frame that needs
    /// several sets it, each other one counts it down. At 0 a batch is read, a slot each, and what does not fit is copied
    /// out and in again ([`RecvRx::keep`]).
    long: u32,
    /// Frames that have been read and wait for room in the ring, in order.
    late: VecDeque<(Vec<u8>, Option<Meta>)>,
    /// Memory of earlier ones, to be used again.
    spare: Vec<Vec<u8>>,
    /// Bytes behind a frame's tag.
    untagged: Vec<u8>,
    /// Full batches in succession.
    run: u32,
}

/// Most frames of one system call.
const MOST_FRAMES: u32 = {
    assert!(MOST == 64);
    64
};
/// Bytes of the two addresses, behind which a tag stands.
const ADDRESSES: usize = 12;
/// Short frames in succession after which batches are read again: one more system call for a short frame costs less than
/// one more copy of a long one.
const LONG: u32 = 16;
/// Full batches after which the kernel may have dropped frames.
const BUSY: u32 = 64;

impl RecvRx {
    pub(super) fn new(socket: Receiver, carrier: &Arc<Carrier>, longest: u32) -> Self {
        let (late, spare, untagged) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { socket, carrier: carrier.clone(), longest, long: 0, late, spare, untagged, run: 0 }
    }

    /// Reads frames into free slots; false if there are no more, or no room for more.
    fn read(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) -> bool {
        let (slots, most) = if self.long > 0 { (self.longest, 1) } else { (1, ring.room().min(MOST_FRAMES)) };
        if ring.room() < slots {
            return false;
        }
        count.syscalls += 1;
        let got = self.socket.read(ring, slots, most);
        let mut used = 0;
        for i in 0..got {
            let frame = self.socket.arrived(i);
            if frame.truncated {
                count.dropped.add(DropReason::Truncated, 1);
                // The slot that it was read into stays void, if others follow it.
                used += if self.late.is_empty() { set_frame(ring, used, 0, None) } else { 0 };
            } else if !self.late.is_empty()
                || frame.len > slots as usize * ring.usable()
                || !self.tag(ring, used, &frame)
            {
                self.keep(ring, i, slots, &frame);
            } else {
                let len = frame.len + frame.tag.map_or(0, |tag| tag.len());
                used += set_frame(ring, used, len, frame.meta);
                self.long = if len > ring.usable() { LONG } else { self.long.saturating_sub(1) };
            }
        }
        ring.deliver(used);
        self.run = if got == most { self.run + 1 } else { 0 };
        got == most
    }

    /// Puts the tag back, if there was one, into a frame that lies in the slots from `slot` on; false if it does not fit into
    /// the first of them.
    fn tag(&mut self, ring: &mut OwnRx<'_>, slot: u32, frame: &Arrived) -> bool {
        let Some(tag) = frame.tag else { return true };
        let Some(mut there) = ring.free_frame(slot) else { return false };
        if frame.len < ADDRESSES || frame.len + tag.len() > there.len() {
            return false;
        }
        self.untagged.resize(frame.len - ADDRESSES, 0);
        there.read(ADDRESSES, &mut self.untagged)
            && there.write(ADDRESSES, &tag)
            && there.write(ADDRESSES + tag.len(), &self.untagged)
    }

    /// Takes the `i`th frame of the last reading out of its slots.
    #[cold]
    fn keep(&mut self, ring: &mut OwnRx<'_>, i: u32, slots: u32, frame: &Arrived) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        for slot in i * slots..(i + 1) * slots {
            let Some(part) = ring.free_frame(slot) else { break };
            let n = part.len().min(frame.len - bytes.len());
            let from = bytes.len();
            bytes.resize(from + n, 0);
            let whole = part.read(0, &mut bytes[from..]);
            debug_assert!(whole, "no more than there is");
        }
        bytes.extend_from_slice(self.socket.spilled(i, frame.len - bytes.len()));
        if let Some(tag) = frame.tag.filter(|_| bytes.len() >= ADDRESSES) {
            bytes.splice(ADDRESSES..ADDRESSES, tag);
        }
        self.late.push_back((bytes, frame.meta));
    }

    /// Delivers frames that wait for room; false if some still do.
    #[cold]
    fn deliver_late(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) -> bool {
        let most = ring.usable() * MAX_FRAGS.min(ring.slots() as usize - 1);
        while let Some((bytes, meta)) = self.late.front() {
            if bytes.len() > most {
                count.dropped.add(DropReason::TooLong, 1);
            } else if !ring.deliver_copy(bytes, *meta) {
                return false;
            }
            self.long = if bytes.len() > ring.usable() { LONG } else { self.long.saturating_sub(1) };
            self.spare.extend(self.late.pop_front().map(|(bytes, _)| bytes));
        }
        true
    }
}

impl RxEngine for RecvRx {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        let before = ring.available();
        while (self.late.is_empty() || self.deliver_late(ring, count)) && self.read(ring, count) {}
        let new = ring.available() - before;
        count.slots += u64::from(new);
        count.batches += u64::from(new > 0);
        if self.run >= BUSY {
            self.run = 0;
            self.refresh(count);
        }
    }

    fn refresh(&mut self, count: &mut RxCounters) {
        count.syscalls += 1;
        count.dropped.add(DropReason::NoRoom, self.socket.dropped());
    }

    fn link(&self) -> Link {
        self.carrier.link()
    }
}

impl Sleeper for RecvRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.carrier.forget();
        self.late.is_empty().then(|| Sleep::on(self.socket.as_fd(), Interest::Readable))
    }
}
