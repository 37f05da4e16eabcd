//! The transmit engine: slots to the transmit ring, completions back to slots.

use super::MOST_SLOTS;
use super::device::Socket;
use crate::counters::{DropReason, TxCounters};
use crate::info::Link;
use crate::queue::TxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::umem::Umem;
use crate::sys::xsk::Request;
use crate::sys::xsk_ring::{Consumer, Desc, Producer};
use linerate_ring::{Meta, OwnTx, TxRing, flags};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Bytes of the shortest frame: an Ethernet header.
const SHORTEST: usize = 14;
/// Interval after which to look for completions, which come without notification.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// Number of buffers in which a chain may be given to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One buffer.
    One,
    /// Up to 17 buffers: the kernel makes a socket buffer of them (MAX_SKB_FRAGS; xsk_build_skb refuses more, and then
    /// *keeps* them, so more must never be given).
    Socket,
    /// As few buffers as hold the frame: the driver's limit is unknown here, but it takes its largest frame.
    Few,
}

impl Shape {
    pub(super) fn new(zero_copy: bool, fragments: bool) -> Self {
        match (fragments, zero_copy) {
            (false, _) => Self::One,
            (true, false) => Self::Socket,
            (true, true) => Self::Few,
        }
    }

    /// Most buffers for a frame of `bytes` bytes.
    fn most(self, bytes: usize, usable: usize) -> usize {
        match self {
            Self::One => 1,
            Self::Socket => 17,
            Self::Few => bytes.div_ceil(usable),
        }
    }
}

/// State of a taken slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The kernel has its buffer.
    Out,
    /// Sent, or part of a frame that was sent.
    Sent,
    /// Void or dropped.
    Skipped,
}

pub(super) struct XdpTx {
    socket: Arc<Socket>,
    tx: Producer<Desc>,
    completion: Consumer<u64>,
    umem: Umem,
    shape: Shape,
    /// The kernel or the driver completes checksums on request.
    requests: bool,
    largest: usize,
    /// For each buffer: the slot that waits for its completion.
    slot_of: Box<[u32]>,
    /// For each slot: its state. Completions may come in another order than the frames were sent.
    state: Box<[State]>,
    /// The oldest slot not completed, and the next to take.
    done: u32,
    taken: u32,
    /// In the middle of a frame of more than 64 slots, which is dropped slot by slot.
    skipping: bool,
    scratch: Vec<u8>,
}

const NONE: u32 = u32::MAX;

impl XdpTx {
    pub(super) fn new(
        socket: &Arc<Socket>,
        (tx, completion): (Producer<Desc>, Consumer<u64>),
        umem: &Umem,
        slots: u32,
        largest: usize,
        (shape, requests): (Shape, bool),
    ) -> Self {
        Self {
            socket: socket.clone(),
            tx,
            completion,
            umem: umem.clone(),
            shape,
            requests,
            largest,
            slot_of: vec![NONE; umem.buffers() as usize].into(),
            state: vec![State::Skipped; slots as usize].into(),
            done: 0,
            taken: 0,
            skipping: false,
            scratch: Vec::with_capacity(largest),
        }
    }

    /// Index of the `i`th pending slot.
    #[inline]
    fn index(&self, i: u32) -> usize {
        self.taken.wrapping_add(i) as usize & (self.state.len() - 1)
    }

    /// Marks pending slots that the kernel does not get.
    #[inline]
    fn skip(&mut self, slots: std::ops::Range<u32>, as_what: State) {
        for i in slots {
            let k = self.index(i);
            self.state[k] = as_what;
        }
    }

    /// Puts the `i`th pending slot's buffer into the transmit ring. A request goes with the first buffer of a frame.
    #[inline]
    fn send(&mut self, ring: &TxRing, i: u32, len: usize, more: bool, request: Option<Request>) {
        let buffer = ring.pending_word(i).buf_idx();
        let k = self.index(i);
        self.state[k] = State::Out;
        self.slot_of[buffer as usize] = u32::try_from(k).unwrap_or(NONE);
        let mut options = if more { Desc::MORE } else { 0 };
        if let Some(request) = request {
            self.umem.write_request(ring, i, request);
            options |= Desc::REQUEST;
        }
        self.tx.put(Desc { addr: self.umem.addr(buffer), len: u32::try_from(len).unwrap_or(0), options });
    }

    /// Moves whole frames from the ring's pending slots to the transmit ring; returns the number of slots taken.
    ///
    /// The transmit ring has as many entries as there are slots, so there is always room.
    #[inline]
    fn load(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) -> u32 {
        let pending = ring.pending();
        // An unfinished frame of so many slots can never be sent.
        let hopeless = MOST_SLOTS.min(ring.slots() - 1);
        let mut i = 0;
        while i < pending {
            let word = ring.pending_word(i);
            if !word.has(flags::MOREFRAG) && !self.skipping {
                let len = usize::from(word.len());
                let asked = match self.fits(len, count) {
                    false => None,
                    // Hardly any frame has a request.
                    true if !word.has(flags::META) => Some(None),
                    true => self.asked(ring, i, len, count),
                };
                match asked {
                    Some(request) => self.send(ring, i, len, false, request),
                    None => self.skip(i..i + 1, State::Skipped),
                }
                i += 1;
                continue;
            }
            let end = (i..pending).find(|k| !ring.pending_word(*k).has(flags::MOREFRAG));
            let slots = end.map_or(pending, |end| end + 1) - i;
            if self.skipping || slots > MOST_SLOTS || (end.is_none() && slots >= hopeless) {
                if !self.skipping {
                    count.dropped.add(DropReason::TooManyFragments, 1);
                }
                self.skip(i..i + slots, State::Skipped);
                self.skipping = end.is_none();
            } else if end.is_none() {
                break;
            } else {
                self.load_chain(ring, i, slots, count);
            }
            i += slots;
        }
        self.tx.publish();
        ring.take(i);
        self.taken = self.taken.wrapping_add(i);
        i
    }

    /// True if a frame of `len` bytes can be sent; otherwise it is counted, unless it is void.
    #[inline]
    fn fits(&self, len: usize, count: &mut TxCounters) -> bool {
        if (SHORTEST..=self.largest).contains(&len) {
            return true;
        }
        match len {
            0 => {}
            1..SHORTEST => count.dropped.add(DropReason::TooShort, 1),
            _ => count.dropped.add(DropReason::TooLong, 1),
        }
        false
    }

    /// Offload request of the frame at the `i`th pending slot for kernel or driver, if it lies within the `first`
    /// bytes; None, and counted, if it can never be met.
    #[cold]
    fn asked(&self, ring: &TxRing, i: u32, first: usize, count: &mut TxCounters) -> Option<Option<Request>> {
        let Some(meta) = ring.pending_meta(i) else { return Some(None) };
        if meta.gso_type != 0 {
            // AF_XDP has no segmentation.
            count.dropped.add(DropReason::Unfinished, 1);
            return None;
        }
        if !self.requests || meta.flags & Meta::NEEDS_CSUM == 0 {
            return Some(None);
        }
        let request = Request { start: meta.csum_start, offset: meta.csum_offset };
        if request.end() > first {
            count.dropped.add(DropReason::Refused, 1);
            return None;
        }
        Some(Some(request))
    }

    /// Loads a whole frame of several slots.
    fn load_chain(&mut self, ring: &mut OwnTx<'_>, first: u32, slots: u32, count: &mut TxCounters) {
        let all = first..first + slots;
        // Another process that has the region mapped may change lengths at any time: each is read once.
        let mut lens = [0; MOST_SLOTS as usize];
        for (len, i) in lens.iter_mut().zip(all.clone()) {
            *len = usize::from(ring.pending_word(i).len());
        }
        let lens = &lens[..slots as usize];
        let bytes: usize = lens.iter().sum();
        let filled = lens.iter().filter(|len| **len > 0).count();
        let usable = ring.usable();
        let most = self.shape.most(bytes, usable);
        // A chain is never void: its slots announce more.
        if bytes == 0 {
            count.dropped.add(DropReason::TooShort, 1);
        }
        if !self.fits(bytes, count) {
            return self.skip(all, State::Skipped);
        }
        if bytes.div_ceil(usable) > most {
            count.dropped.add(DropReason::TooLong, 1);
            return self.skip(all, State::Skipped);
        }
        let Some(mut request) = self.asked(ring, first, bytes.min(usable), count) else {
            return self.skip(all, State::Skipped);
        };
        // The part that carries the request has to hold all bytes that it names.
        let foremost = lens.iter().copied().find(|len| *len > 0).unwrap_or(0);
        let apart = filled <= most && request.is_none_or(|request| request.end() <= foremost);
        // Slots without data come back with the rest.
        self.skip(all.clone(), State::Sent);
        if apart {
            let mut left = bytes;
            for (i, &len) in all.zip(lens) {
                // The kernel refuses descriptors of no bytes.
                if len > 0 {
                    left -= len;
                    self.send(ring, i, len, left > 0, request.take());
                }
            }
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        ring.append_pending(first, slots, &mut scratch);
        for (i, part) in (first..).zip(scratch.chunks(usable)) {
            self.umem.write_pending(ring, i, part);
        }
        let parts = scratch.chunks(usable).len();
        for (n, (i, part)) in (first..).zip(scratch.chunks(usable)).enumerate() {
            self.send(ring, i, part.len(), n + 1 < parts, request.take());
        }
        self.scratch = scratch;
    }

    /// Has the kernel send what it has not read yet, as long as it makes progress. Old kernels send 32 frames per call.
    #[inline]
    fn kick(&mut self, count: &mut TxCounters) {
        let mut unread = self.tx.unread();
        while unread > 0 && self.tx.wants_kick() {
            count.syscalls += 1;
            let sent = self.socket.xsk.kick_tx();
            match sent.as_ref().map_err(std::io::Error::raw_os_error) {
                // EAGAIN, EBUSY, ENOBUFS: enough for now. Other errors leave entries unread.
                Ok(()) => self.socket.interface.carrier.set(Link::Up),
                Err(Some(libc::ENETDOWN | libc::ENXIO)) => return self.socket.interface.carrier.set(Link::Down),
                Err(_) => {}
            }
            let left = self.tx.unread();
            if left >= unread {
                return;
            }
            unread = left;
        }
    }

    /// Takes completions, and gives slots back in order as far as they are complete; returns their number.
    #[inline]
    fn reap(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) -> u32 {
        let n = self.completion.available();
        for i in 0..n {
            let buffer = self.umem.split(self.completion.peek(i)).map(|(buffer, _)| buffer as usize);
            match buffer.map(|buffer| std::mem::replace(&mut self.slot_of[buffer], NONE)) {
                Some(slot) if slot != NONE => self.state[slot as usize] = State::Sent,
                _ => {
                    self.socket.unknown_buffers.fetch_add(1, Relaxed);
                }
            }
        }
        self.completion.release(n);
        let in_flight = ring.in_flight();
        let mut back = 0;
        while back < in_flight {
            let cursor = self.done.wrapping_add(back);
            match self.state[cursor as usize & (self.state.len() - 1)] {
                State::Out => break,
                State::Sent => {
                    let word = ring.slot_word(cursor);
                    count.bytes += u64::from(word.len());
                    count.frames += u64::from(!word.has(flags::MOREFRAG));
                }
                State::Skipped => {}
            }
            back += 1;
        }
        if back > 0 {
            self.done = self.done.wrapping_add(back);
            ring.complete(back);
        }
        back
    }
}

impl TxEngine for XdpTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        let taken = self.load(ring, count);
        self.kick(count);
        let back = self.reap(ring, count);
        count.batches += u64::from(taken + back > 0);
    }

    fn link(&self) -> Link {
        self.socket.interface.carrier.link()
    }
}

impl Sleeper for XdpTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        if self.completion.available() > 0 {
            return None;
        }
        // The kernel reports the socket writable when it has read half of the ring, and does not report completions.
        let half = u32::try_from(self.state.len() / 2).unwrap_or(0);
        let on = (self.tx.unread() > half).then(|| (self.socket.xsk.as_fd(), Interest::Writable));
        Some(Sleep { on, until: (self.done != self.taken).then(|| Instant::now() + LOOK_AGAIN), ..Sleep::default() })
    }
}
