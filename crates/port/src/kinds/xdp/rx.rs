//! The receive engine: released buffers to the fill ring, received descriptors to slots.

use super::MOST_SLOTS;
use super::device::Socket;
use super::moderation::Moderation;
use super::opened::Opened;
use crate::counters::{DropReason, RxCounters};
use crate::info::Link;
use crate::queue::RxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::umem::{Lent, Umem};
use crate::sys::xsk_ring::{Consumer, Desc, Producer};
use linerate_ring::{Buffer, HEADROOM, OwnRx, RxRing, flags};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Syncs between two reads of the kernel's counters: when the kernel has been without buffers, and otherwise.
const LOOK_SOON: u32 = 256;
const LOOK_ANYWAY: u32 = 4096;

/// Part of a frame: the buffer of one descriptor.
pub(super) struct Part {
    pub(super) buffer: Buffer,
    /// Offset of the data in the buffer.
    offset: usize,
    pub(super) len: usize,
    more: bool,
}

pub(super) struct XdpRx {
    socket: Arc<Socket>,
    rx: Consumer<Desc>,
    fill: Producer<u64>,
    umem: Umem,
    lent: Lent,
    /// Parts of the current frame; empty between frames.
    parts: Vec<Part>,
    /// Syncs since the kernel's counters were read.
    since: u32,
    /// The kernel has been without buffers since then, so it may have dropped frames.
    dry: bool,
    moderation: Moderation,
    scratch: Box<[u8]>,
    /// Frames may arrive with checksums that are open, and nothing says so.
    open: Option<Opened>,
}

impl XdpRx {
    /// Engine of a queue; gives the kernel all buffers of the ring at once.
    pub(super) fn new(
        socket: &Arc<Socket>,
        (rx, fill): (Consumer<Desc>, Producer<u64>),
        umem: &Umem,
        ring: &mut RxRing,
        open: bool,
    ) -> Self {
        let mut engine = Self {
            socket: socket.clone(),
            rx,
            fill,
            umem: umem.clone(),
            lent: Lent::new(umem),
            parts: Vec::with_capacity(ring.slots() as usize),
            since: 0,
            dry: false,
            moderation: Moderation::new(Instant::now()),
            scratch: vec![0; ring.usable()].into(),
            open: open.then(Opened::default),
        };
        if let Some(mut ring) = ring.own() {
            engine.refill(&mut ring);
        }
        engine
    }

    /// Lends released buffers to the kernel. The fill ring has an entry for each buffer of the ring, so there is room.
    #[inline]
    fn refill(&mut self, ring: &mut OwnRx<'_>) {
        while let Some(buffer) = ring.take_buffer() {
            self.lend(buffer);
        }
        self.fill.publish();
    }

    #[inline]
    fn lend(&mut self, buffer: Buffer) {
        // A buffer of another region cannot be among ours: rings refuse to swap it in.
        if let Ok(addr) = self.lent.lend(buffer) {
            debug_assert!(self.lent.count() <= self.fill.size(), "more buffers than entries");
            self.fill.put(addr);
        }
    }

    /// Delivers whole frames as long as there is room; returns the number of slots.
    #[inline]
    fn deliver(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) -> u32 {
        let n = self.rx.available();
        let (mut at, mut delivered) = (0, 0);
        while at < n {
            let Some(last) = (at..n).find(|i| !self.rx.peek(*i).has_more()) else { break };
            let slots = last + 1 - at;
            let mut verdict = Ok(());
            if slots > MOST_SLOTS || slots >= ring.slots() {
                verdict = Err(DropReason::TooManyFragments);
            } else if slots > ring.room() {
                break;
            }
            for i in at..=last {
                verdict = verdict.and(self.collect(self.rx.peek(i), ring.usable()));
            }
            match verdict {
                Ok(()) => delivered += self.hand_over(ring),
                Err(reason) => self.refuse(reason, count),
            }
            at = last + 1;
        }
        self.rx.release(at);
        // All lent buffers have come back filled: the kernel has none to receive into.
        self.dry |= self.lent.count() == n - at;
        delivered
    }

    /// Takes back the buffer of a descriptor, if that is valid: a lent buffer, and data inside it.
    #[inline]
    fn collect(&mut self, desc: Desc, usable: usize) -> Result<(), DropReason> {
        let Some((buffer, offset)) = self.lent.take_back(desc.addr) else {
            self.socket.unknown_buffers.fetch_add(1, Relaxed);
            return Err(DropReason::BadIndex);
        };
        let len = desc.len as usize;
        self.parts.push(Part { buffer, offset, len, more: desc.has_more() });
        let fits = (1..=usable).contains(&len) && offset + len <= self.umem.chunk() as usize;
        if fits { Ok(()) } else { Err(DropReason::BadLength) }
    }

    /// Delivers the collected frame, for which there is room; returns the number of slots.
    #[inline]
    fn hand_over(&mut self, ring: &mut OwnRx<'_>) -> u32 {
        for Part { buffer, offset, len, .. } in &mut self.parts {
            if *offset != HEADROOM {
                // The driver put data of its own before the frame (a time-stamp, say).
                self.umem.realign(buffer, *offset, *len, &mut self.scratch);
            }
        }
        let mut meta = self.open.as_mut().and_then(|open| open.request(&self.umem, &mut self.parts));
        if meta.is_some() {
            self.socket.open_checksums.fetch_add(1, Relaxed);
        }
        let mut delivered = 0;
        for Part { buffer, len, more, .. } in self.parts.drain(..) {
            let done = ring.deliver_buffer(buffer, len, if more { flags::MOREFRAG } else { 0 }, meta.take());
            debug_assert!(done.is_ok(), "free slots have no buffers, for all were lent");
            delivered += u32::from(done.is_ok());
        }
        delivered
    }

    /// Drops the collected frame; its buffers go back to the kernel.
    #[cold]
    fn refuse(&mut self, reason: DropReason, count: &mut RxCounters) {
        count.dropped.add(reason, 1);
        while let Some(part) = self.parts.pop() {
            self.lend(part.buffer);
        }
        self.fill.publish();
    }

    /// Counts the frames that the kernel dropped for lack of a buffer or of room.
    #[cold]
    fn look(&mut self, count: &mut RxCounters) {
        (self.since, self.dry) = (0, false);
        count.syscalls += 1;
        if let Ok(kernel) = self.socket.xsk.statistics() {
            count.dropped.set(DropReason::NoRoom, kernel.rx_dropped + kernel.rx_ring_full);
        }
    }
}

impl RxEngine for XdpRx {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        let now = Instant::now();
        if !self.moderation.may_look(now) {
            return;
        }
        self.refill(ring);
        let delivered = self.deliver(ring, count);
        self.moderation.found(now, delivered);
        if self.fill.wants_kick() {
            count.syscalls += 1;
            // An error means that the driver cannot look now; the next sync asks again.
            let _ = self.socket.xsk.kick_rx();
        }
        count.slots += u64::from(delivered);
        count.batches += u64::from(delivered > 0);
        self.since += 1;
        if self.since >= if self.dry { LOOK_SOON } else { LOOK_ANYWAY } {
            self.look(count);
        }
    }

    fn refresh(&mut self, count: &mut RxCounters) {
        self.look(count);
    }

    fn link(&self) -> Link {
        self.socket.interface.carrier.link()
    }
}

impl Sleeper for XdpRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.socket.interface.carrier.forget();
        (self.rx.available() == 0).then(|| Sleep::on(self.socket.xsk.as_fd(), Interest::Readable))
    }
}
