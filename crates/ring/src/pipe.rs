//! A pipe: slots committed to a transmit ring arrive in a receive ring, slot by slot, without a copy of the frames.
//!
//! Slot k of the transmit ring corresponds to slot k of the receive ring, and both start with the same buffer. The
//! producer writes the receive ring's slots and publishes them by batch; the consumer gives them back by batch. A slot
//! comes back with its own buffer unless the consumer swapped it (BUF_CHANGED).
//!
//! # Trust
//! In one process both sides may swap buffers. Between two processes the region's maker may swap and accepts no swap;
//! the other side accepts any buffer inside the region and may not swap. So the maker always knows where each of its
//! buffers is, whatever the other side does. A transmit ring's frames leave with the lengths and flags that this
//! process wrote, not with those in the shared slots: they are kept privately too, so the sender's counts are right.
//!
//! In one process frames are borrowed, so safe code must not be able to give one buffer two holders: each half of a
//! pair is taken once, from cursor 0; a pipe serves only its own ring, and that ring has no other engine; and nothing
//! is reset while the other half lives. Between processes none of this can be enforced, and frames are copied.

use crate::bell;
use crate::cell::{SlotCell, SlotWord};
use crate::claim::{Claim, Half, next_id};
use crate::cursor::{Consumer, Producer, were_swapped};
use crate::error::RegionError;
use crate::layout::{MAX_FRAGS, flags};
use crate::pause::Pause;
use crate::region::{BUFFERS_RESERVED, PipeLines, Region, RingPair, Sharing, TOLD};
use crate::ring::Raw;
use crate::{RxRing, TxRing};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Side of a region that this process is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Both sides are of this process.
    Within,
    /// This process made the region.
    Maker,
    /// Another process made the region.
    Joiner,
}

/// Counts of what one sync moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Slots handed over.
    pub slots: u32,
    /// Frames handed over.
    pub frames: u32,
    /// Bytes of those frames.
    pub bytes: u64,
    /// Frames refused because they had more than 64 fragments.
    pub too_many_fragments: u32,
}

struct Lines {
    at: NonNull<PipeLines>,
    _region: Arc<Region>,
}

// SAFETY: the lines are atomics in the region that is kept alive.
unsafe impl Send for Lines {}

impl Lines {
    #[inline]
    fn get(&self) -> &PipeLines {
        // SAFETY: checked to lie inside the region; all fields are atomics.
        unsafe { self.at.as_ref() }
    }
}

/// The producer's side of a pipe; the engine behind a [`TxRing`].
pub struct PipeTx {
    lines: Lines,
    /// The far ring, which this side writes.
    far: Raw,
    producer: Producer,
    accept_swaps: bool,
    /// The rest of a refused chain is still to come.
    refusing: bool,
    /// Pause request of the consumer, as last read.
    pause: Pause,
    violations: u64,
    id: u64,
}

/// The consumer's side of a pipe; the engine behind an [`RxRing`].
pub struct PipeRx {
    lines: Lines,
    consumer: Consumer,
    pause: Pause,
    violations: u64,
    id: u64,
    /// The producer is gone, and its counter was read for the last time.
    ended: bool,
    /// Frames that were lost because the producer went before it had published their last slots.
    lost: u64,
}

impl Pipe {
    fn may_swap(self) -> bool {
        self != Self::Joiner
    }

    fn accepts_swaps(self) -> bool {
        self != Self::Maker
    }

    fn claim(self, region: &Region, pair: &RingPair, half: Half, start: u32) -> Result<Option<Claim>, RegionError> {
        if self != Self::Within && region.sharing() == Sharing::Private {
            return Err(RegionError::Foreign("a private region between processes"));
        }
        region.check_pair(pair)?;
        region.claim(pair, half, start)
    }

    /// Makes the sender's half of a pair, from cursor `start` on.
    ///
    /// In a private region each half can be taken once, and only from cursor 0.
    pub fn sender(self, region: &Arc<Region>, pair: &RingPair, start: u32) -> Result<(TxRing, PipeTx), RegionError> {
        let claim = self.claim(region, pair, Half::Sender, start)?;
        let mut ring = TxRing::over(region.clone(), pair.tx, pair.first_buf);
        (ring.head, ring.taken, ring.done) = (start, start, start);
        ring.may_swap = self.may_swap();
        (ring.raw.pipe, ring.raw.claim) = (next_id(), claim);
        let far = Raw::new(region.clone(), pair.rx, pair.first_buf);
        if self == Self::Joiner {
            // The maker takes only buffers that it knows of.
            for k in 0..pair.rx.slots {
                let buf = far.slot(k).word().buf_idx();
                if (BUFFERS_RESERVED..region.buffers()).contains(&buf) {
                    ring.raw.set_buf(k, buf);
                }
            }
        }
        ring.reset_slots();
        let engine = PipeTx {
            lines: Lines { at: region.lines_at(pair.lines), _region: region.clone() },
            far,
            producer: Producer { published: start, released: start },
            accept_swaps: self.accepts_swaps(),
            refusing: false,
            pause: Pause::default(),
            violations: 0,
            id: ring.raw.pipe,
        };
        Ok((ring, engine))
    }

    /// Makes the receiver's half of a pair, from cursor `start` on.
    ///
    /// In a private region each half can be taken once, and only from cursor 0.
    pub fn receiver(self, region: &Arc<Region>, pair: &RingPair, start: u32) -> Result<(RxRing, PipeRx), RegionError> {
        let claim = self.claim(region, pair, Half::Receiver, start)?;
        let mut ring = RxRing::over(region.clone(), pair.rx, pair.first_buf);
        (ring.head, ring.tail, ring.back) = (start, start, start);
        (ring.may_swap, ring.accept_swaps) = (self.may_swap(), self.accepts_swaps());
        (ring.raw.pipe, ring.raw.claim) = (next_id(), claim);
        // A joiner may find slots that the maker has published already.
        if self != Self::Joiner {
            ring.reset_slots();
        }
        let engine = PipeRx {
            ended: false,
            lost: 0,
            lines: Lines { at: region.lines_at(pair.lines), _region: region.clone() },
            consumer: Consumer { seen: start, released: start },
            pause: Pause::default(),
            violations: 0,
            id: ring.raw.pipe,
        };
        Ok((ring, engine))
    }
}

impl PipeTx {
    /// Takes back the slots that the consumer released. Does nothing to a ring that is not this pipe's.
    #[inline]
    pub fn reclaim(&mut self, ring: &mut TxRing) {
        if ring.raw.pipe != self.id {
            return;
        }
        let lines = self.lines.get();
        let Ok(back) = self.producer.reclaim(&lines.consumer.released) else {
            self.violations += 1;
            return;
        };
        if back == 0 {
            return;
        }
        if were_swapped(&lines.consumer.swaps) {
            self.take_swapped(ring, back);
        }
        ring.give_back(back);
    }

    #[cold]
    fn take_swapped(&mut self, ring: &mut TxRing, back: u32) {
        for i in 0..back {
            let cursor = ring.done.wrapping_add(i);
            let word = self.far.slot(cursor).word();
            if !word.has(flags::BUF_CHANGED) {
                continue;
            }
            let buf = word.buf_idx();
            if self.accept_swaps && (BUFFERS_RESERVED..ring.raw.region.buffers()).contains(&buf) {
                ring.raw.set_buf(cursor, buf);
                ring.raw.set_word(cursor, SlotWord::new(buf, 0, flags::BUF_CHANGED));
            } else {
                self.violations += 1;
            }
        }
    }

    /// Reclaims, then hands over all committed whole frames that `admit` lets pass: it is called with each frame's
    /// length in bytes, in order, and ends the batch by returning false. Does nothing to a ring that is not this
    /// pipe's.
    #[inline]
    pub fn sync(&mut self, ring: &mut TxRing, mut admit: impl FnMut(usize) -> bool) -> Reclaimed {
        let mut moved = Reclaimed::default();
        if ring.raw.pipe != self.id {
            return moved;
        }
        self.reclaim(ring);
        let pending = ring.pending();
        if self.refusing {
            moved.slots = self.refuse(ring, 0, pending);
        }
        let (mut i, mut fragments, mut bytes) = (moved.slots, 0, 0usize);
        while i < pending {
            if bytes == 0 && fragments == 0 {
                let plain = self.hand_over_plain(ring, i, pending, &mut admit);
                moved.frames += plain.0;
                moved.bytes += plain.1;
                i += plain.0;
                moved.slots = i;
                if i == pending {
                    break;
                }
            }
            // The slot that ended the run: not a plain one, or not admitted now, or the first after the ring's end.
            let cursor = ring.taken.wrapping_add(i);
            let word = ring.word(cursor);
            i += 1;
            bytes += usize::from(word.len());
            self.hand_over(ring, cursor, word);
            if word.has(flags::MOREFRAG) {
                fragments += 1;
                // A chain that fills the ring can never be finished.
                if fragments < MAX_FRAGS.min(ring.raw.mask as usize) {
                    continue;
                }
                i = self.refuse(ring, moved.slots, pending);
                moved.too_many_fragments += 1;
            } else if bytes == 0 {
                // Void: handed over, because slots correspond one to one, but not counted as a frame.
            } else if admit(bytes) {
                moved.frames += 1;
                moved.bytes += bytes as u64;
            } else {
                break;
            }
            (fragments, bytes) = (0, 0);
            moved.slots = i;
        }
        if moved.slots > 0 {
            ring.advance(moved.slots);
            self.producer.publish(&self.lines.get().producer.published, moved.slots);
        }
        moved
    }

    /// Hands over slots from the `i`th on as long as they are plain and admitted, up to the ring's end; returns their
    /// number and their bytes.
    #[inline]
    fn hand_over_plain(
        &self,
        ring: &TxRing,
        i: u32,
        pending: u32,
        admit: &mut impl FnMut(usize) -> bool,
    ) -> (u32, u64) {
        let cursor = ring.taken.wrapping_add(i);
        let usable = ring.raw.usable;
        let (far, _) = self.far.run(cursor, pending - i);
        if ring.raw.keeps_words() {
            return copy_plain(ring.raw.kept(cursor, pending - i), far, usable, admit);
        }
        let (slots, own) = ring.raw.run(cursor, pending - i);
        let words = slots.iter().zip(own).map(|(slot, buf)| slot.word().with_buf(*buf));
        copy_plain(words, far, usable, admit)
    }

    #[inline]
    fn hand_over(&mut self, ring: &TxRing, cursor: u32, word: SlotWord) {
        let slot: &SlotCell = self.far.slot(cursor);
        slot.set(word.with_flags(word.flags() & !flags::BUF_CHANGED));
        if word.has(flags::META) {
            self.far.set_meta(cursor, ring.raw.meta(cursor));
        }
    }

    /// Makes void the slots committed from `from` up to and including the frame's last one, which may not be committed
    /// yet; returns the slot after it.
    #[cold]
    fn refuse(&mut self, ring: &TxRing, from: u32, pending: u32) -> u32 {
        let mut i = from;
        self.refusing = true;
        while self.refusing && i < pending {
            let cursor = ring.taken.wrapping_add(i);
            let word = ring.word(cursor);
            self.far.slot(cursor).set(SlotWord::new(word.buf_idx(), 0, 0));
            self.refusing = word.has(flags::MOREFRAG);
            i += 1;
        }
        i
    }

    /// Takes over from the pipe that this one replaces: the rest of a refused chain stays refused, and so does the rest
    /// of a chain that was left behind (`open`).
    pub fn inherit(&mut self, from: &Self, open: bool) {
        self.refusing = from.refusing || open;
    }

    /// True if the consumer sleeps and must be woken now; true once for each sleep.
    #[inline]
    pub fn must_wake(&mut self) -> bool {
        bell::must_ring(&self.lines.get().consumer_asleep.asleep)
    }

    /// Announces that the producer sleeps until slots come back or the pause request changes. False: one of these has
    /// happened meanwhile, do not sleep.
    pub fn fall_asleep(&mut self) -> bool {
        let lines = self.lines.get();
        bell::fall_asleep(&lines.producer_asleep.asleep);
        let sleep = lines.consumer.released.load(Acquire) == self.producer.released
            && Pause::look(&lines.consumer.pause) == self.pause;
        if !sleep {
            self.wake_up();
        }
        sleep
    }

    /// Announces that the producer is awake.
    pub fn wake_up(&mut self) {
        bell::wake_up(&self.lines.get().producer_asleep.asleep);
    }

    /// Pause request of the consumer. It is a request, not enforced: a sync moves every frame that it is told to.
    #[inline]
    pub fn pause(&mut self) -> Pause {
        self.pause = Pause::look(&self.lines.get().consumer.pause);
        self.pause
    }

    /// Tells the consumer numbers beside the frames (of frames dropped for lack of room, for example). The consumer may
    /// see some of them sooner than others.
    pub fn tell(&mut self, numbers: &[u64; TOLD]) {
        let told = &self.lines.get().told.0;
        told.iter().zip(numbers).for_each(|(cell, number)| cell.store(*number, Relaxed));
    }

    /// Next slot to be published.
    #[must_use]
    pub fn cursor(&self) -> u32 {
        self.producer.published
    }

    /// Number of invalid cursors and buffer swaps written by the other side.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// To be called when the consumer is gone for good: takes all slots back with the buffers that were lent, and
    /// resets the lines for a new consumer on these rings, if there is to be one. Returns the number of frames that
    /// were on their way, and the cursor from which the new consumer must start. While the consumer lives in this
    /// process, or if the ring is not this pipe's, nothing is taken back and nothing lost.
    pub fn reset(&mut self, ring: &mut TxRing) -> (u64, u32) {
        if ring.raw.pipe != self.id || !ring.raw.is_alone() {
            return (0, self.producer.published);
        }
        self.reclaim(ring);
        let lost = (0..ring.in_flight())
            .filter(|i| {
                let word = ring.word(ring.done.wrapping_add(*i));
                !word.has(flags::MOREFRAG) && !word.is_empty()
            })
            .count();
        if !ring.raw.shared {
            // Swapped but never released: the slots hold the other buffers all the same.
            self.take_swapped(ring, ring.in_flight());
        }
        ring.give_back(ring.in_flight());
        let start = ring.taken;
        self.producer = Producer { published: start, released: start };
        self.lines.get().renew(start);
        (lost as u64, start)
    }
}

/// Writes words into slots as long as they are plain and admitted; returns their number and their bytes.
#[inline]
fn copy_plain(
    words: impl Iterator<Item = SlotWord>,
    far: &[SlotCell],
    usable: u16,
    admit: &mut impl FnMut(usize) -> bool,
) -> (u32, u64) {
    let (mut frames, mut bytes) = (0, 0);
    for (word, far) in words.zip(far) {
        if !word.is_plain(usable) || !admit(word.len().into()) {
            break;
        }
        far.set(word.without(flags::BUF_CHANGED));
        bytes += u64::from(word.len());
        frames += 1;
    }
    (frames, bytes)
}

impl PipeRx {
    /// Gives back the slots that the user released, then looks for new ones; returns the number of new slots.
    #[inline]
    pub fn sync(&mut self, ring: &mut RxRing) -> u32 {
        self.release(ring);
        self.look(ring)
    }

    /// Looks for new slots; returns their number, 0 for a ring that is not this pipe's.
    #[inline]
    pub fn look(&mut self, ring: &mut RxRing) -> u32 {
        if ring.raw.pipe != self.id {
            return 0;
        }
        let Ok(new) = self.consumer.look(&self.lines.get().producer.published, ring.raw.mask) else {
            self.violations += 1;
            return 0;
        };
        if new > 0 {
            ring.tail = ring.tail.wrapping_add(new);
            ring.raw.show(ring.head, ring.tail);
        }
        new
    }

    /// Gives back the slots that the user released; returns their number, 0 for a ring that is not this pipe's.
    #[inline]
    pub fn release(&mut self, ring: &mut RxRing) -> u32 {
        if ring.raw.pipe != self.id {
            return 0;
        }
        let done = ring.head.wrapping_sub(self.consumer.released);
        if done > 0 {
            let line = &self.lines.get().consumer;
            if ring.swapped {
                ring.swapped = false;
                self.consumer.announce_swaps(&line.swaps);
            }
            self.consumer.release(&line.released, done);
        }
        done
    }

    /// True if the producer sleeps and must be woken now; true once for each sleep.
    #[inline]
    pub fn must_wake(&mut self) -> bool {
        bell::must_ring(&self.lines.get().producer_asleep.asleep)
    }

    /// Announces that the consumer sleeps until slots arrive. False: some have arrived meanwhile, do not sleep.
    pub fn fall_asleep(&mut self) -> bool {
        let lines = self.lines.get();
        bell::fall_asleep(&lines.consumer_asleep.asleep);
        let sleep = lines.producer.published.load(Acquire) == self.consumer.seen;
        if !sleep {
            self.wake_up();
        }
        sleep
    }

    /// Announces that the consumer is awake.
    pub fn wake_up(&mut self) {
        bell::wake_up(&self.lines.get().consumer_asleep.asleep);
    }

    /// Asks the producer to hold back frames of these priorities, one bit for each, from now on. The producer may
    /// sleep, and must be woken then ([`PipeRx::must_wake`]).
    pub fn pause(&mut self, priorities: u8) {
        self.pause.ask(&self.lines.get().consumer.pause, priorities);
    }

    /// Numbers told by the producer; another process may have written any value.
    #[must_use]
    pub fn told(&self) -> [u64; TOLD] {
        let told = &self.lines.get().told.0;
        std::array::from_fn(|i| told[i].load(Relaxed))
    }

    /// First slot not yet seen.
    #[must_use]
    pub fn cursor(&self) -> u32 {
        self.consumer.seen
    }

    /// Number of invalid cursors written by the other side.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// Releases all that is left if that is a frame whose last slots were never published, and now never will be; true if
    /// it was one. Whoever still maps the slots may change the flags again: then they are looked at again.
    fn drop_open_frame(&mut self, ring: &mut RxRing) -> bool {
        let n = ring.available();
        let open = n > 0 && (0..n).all(|i| ring.raw.slot(ring.head.wrapping_add(i)).word().has(flags::MOREFRAG));
        if open {
            ring.head = ring.tail;
            ring.raw.show(ring.head, ring.tail);
            self.release(ring);
        }
        open
    }

    /// Frames that were lost because the producer went before it had published their last slots, since this was last
    /// asked.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// To be called when the producer is gone for good. None while frames that it published still wait for the user.
    /// After that it resets the lines for the next producer and returns the cursor from which that one must start.
    /// While the producer lives in this process, or if the ring is not this pipe's, the lines stay as they are.
    pub fn reset(&mut self, ring: &mut RxRing) -> Option<u32> {
        if ring.raw.pipe != self.id {
            return Some(self.consumer.seen);
        }
        // A disconnected producer may go on publishing: only slots published by the first look are delivered.
        if !(ring.raw.shared && self.ended) {
            self.sync(ring);
            self.ended = true;
        }
        if ring.raw.shared {
            self.lost += u64::from(self.drop_open_frame(ring));
        }
        if ring.available() > 0 {
            return None;
        }
        self.ended = false;
        if !ring.raw.is_alone() {
            return Some(self.consumer.seen);
        }
        let start = ring.head;
        self.consumer = Consumer { seen: start, released: start };
        self.lines.get().renew(start);
        // The next producer learns from the slots which buffers are lent to it.
        ring.reset_slots();
        Some(start)
    }
}
