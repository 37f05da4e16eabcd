//! The engines of a packet port's queues.

use super::link;
use crate::chain::set_frame;
use crate::counters::{DropReason, RxCounters, TxCounters};
use crate::frames::{Outgoing, SendPlan};
use crate::info::Link;
use crate::queue::{RxEngine, TxEngine};
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::packet::{Arrived, Receiver};
use crate::sys::socket::{MOST, Messages};
use linerate_host::Control;
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{Meta, OwnRx, OwnTx};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval before another attempt on an interface whose queue was full: about the time that a 10 Gb/s link takes for
/// 64 frames.
const FULL: Duration = Duration::from_micros(50);
/// Time after which an interface that is up but has had no room counts as stuck: no link's queue takes so long to
/// drain.
const HOPELESS: Duration = Duration::from_millis(200);

pub(super) struct PacketTx {
    /// Socket for frames without offload requests: bypasses the queueing discipline.
    plain: OwnedFd,
    /// Socket for frames that request a checksum or segmentation: with virtio headers, and through the queueing
    /// discipline, because past it the kernel drops frames that the driver cannot segment itself.
    asking: OwnedFd,
    control: Arc<Control>,
    plan: SendPlan,
    messages: Messages,
    /// The frames sent last had offload requests.
    asked: bool,
    /// Time of the next attempt after the interface's queue was full: there is no notification of room.
    again: Option<Instant>,
    /// Time since which it has been full.
    full_since: Option<Instant>,
}

impl PacketTx {
    pub(super) fn new(plain: OwnedFd, asking: OwnedFd, control: &Arc<Control>, largest: usize) -> Self {
        let (plan, messages) = (SendPlan::new(largest, true), Messages::new());
        Self { plain, asking, control: control.clone(), plan, messages, asked: false, again: None, full_since: None }
    }
}

/// True if a frame requests an offload of the kernel.
fn asks(frame: &Outgoing) -> bool {
    frame.meta.is_some_and(|meta| meta.gso_type != 0 || meta.flags & Meta::NEEDS_CSUM != 0)
}

impl TxEngine for PacketTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        self.again = None;
        let before = count.frames;
        loop {
            let frames = self.plan.make(ring, count, MOST);
            if frames.is_empty() {
                break;
            }
            count.syscalls += 1;
            self.asked = asks(&frames[0]);
            let alike = frames.iter().position(|frame| asks(frame) != self.asked).unwrap_or(frames.len());
            let socket = if self.asked { &self.asking } else { &self.plain };
            let error = match self.messages.send(socket.as_fd(), ring, &frames[..alike], self.asked) {
                Ok(n) => {
                    self.full_since = None;
                    self.plan.sent(ring, count, n);
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                // The socket's buffer is full; poll reports when it has room.
                Some(libc::EAGAIN | libc::EINTR) => break,
                Some(libc::ENOBUFS) if link(&self.control) == Link::Up => {
                    let now = Instant::now();
                    if now - *self.full_since.get_or_insert(now) < HOPELESS {
                        self.again = Some(now + FULL);
                        break;
                    }
                    self.full_since = None;
                    self.plan.drop_first(ring, count, DropReason::Refused);
                }
                Some(libc::ENOBUFS | libc::ENETDOWN | libc::ENXIO) => {
                    self.plan.drop_all(ring, count, DropReason::NoReceiver);
                }
                Some(libc::EMSGSIZE) => self.plan.drop_first(ring, count, DropReason::TooLong),
                _ => self.plan.drop_first(ring, count, DropReason::Refused),
            }
        }
        count.batches += u64::from(count.frames > before);
    }

    fn link(&self) -> Link {
        link(&self.control)
    }
}

impl Sleeper for PacketTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        let socket = if self.asked { &self.asking } else { &self.plain };
        let on = self.again.is_none().then(|| (socket.as_fd(), Interest::Writable));
        Some(Sleep { on, until: self.again })
    }
}

pub(super) struct PacketRx {
    socket: Receiver,
    control: Arc<Control>,
    /// Slots for the longest frame.
    longest: u32,
    /// While it is not 0, frames are read one by one, each into as many slots as the longest may need; a frame that needs
    /// several sets it, each other one counts it down. At 0 a batch is read, a slot each, and what does not fit is copied
    /// out and in again ([`PacketRx::keep`]).
    long: u32,
    /// Frames that have been read and wait for room in the ring, in order.
    late: VecDeque<(Vec<u8>, Option<Meta>)>,
    /// Memory of earlier ones, to be used again.
    spare: Vec<Vec<u8>>,
    /// What stands behind a frame's tag.
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

impl PacketRx {
    pub(super) fn new(socket: Receiver, control: &Arc<Control>, longest: u32) -> Self {
        let (late, spare, untagged) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { socket, control: control.clone(), longest, long: 0, late, spare, untagged, run: 0 }
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

impl RxEngine for PacketRx {
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
        link(&self.control)
    }
}

impl Sleeper for PacketRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.late.is_empty().then(|| Sleep::on(self.socket.as_fd(), Interest::Readable))
    }
}
