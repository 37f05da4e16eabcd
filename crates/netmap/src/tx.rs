//! A transmit ring: the program's frames are copied into the port's ring, each slot into one of the port's. A slot is the program's again when
//! the port has sent what was in it, so `tail` tells what was sent and not what was copied.

use crate::facts::BUF;
use crate::monitor::{TXMON, Taps};
use crate::ring::{Broken, Ring};
use crate::sys::say::{Once, say};
use crate::sys::user;
use crate::vnet::{HEADER, request};
use linerate_port::TxQueue;
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{SlotWord, TxBatch, flags};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) struct Tx {
    pub(crate) queue: TxQueue,
    pub(crate) ring: Ring,
    /// Threads that sleep on the queue.
    pub(crate) asleep: u32,
    /// First slot that was not taken yet.
    at: u32,
    /// Slots that were taken and are not in the port's ring: they have no bytes, or are of frames that cannot be sent.
    void: Vec<bool>,
    /// Slots in the port's ring that are not the program's again.
    flying: u32,
    /// True while the rest of a frame is to come whose beginning was dropped.
    cut: bool,
    /// Bytes of virtio-net's header that the program puts before each frame.
    pub(crate) header: usize,
    pub(crate) taps: Taps,
}

static UNFIT: Once = Once::new();
/// Frames that could not be sent.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Says at the program's end how many frames could not be sent.
pub(crate) fn tell_dropped() {
    match DROPPED.load(Relaxed) {
        0 => {}
        1 => say(format_args!("1 frame could not be sent and was dropped")),
        n => say(format_args!("{n} frames could not be sent and were dropped")),
    }
}

impl Tx {
    pub(crate) fn new(queue: TxQueue, ring: Ring) -> Self {
        let void = vec![false; ring.slots() as usize];
        Self { queue, ring, asleep: 0, at: 0, void, flying: 0, cut: false, header: 0, taps: Taps::default() }
    }

    /// Sends what the program has committed, as far as possible now, and gives back the slots of what was sent.
    pub(crate) fn sync(&mut self) -> Result<(), Broken> {
        let admitted = self.ring.admit();
        self.take();
        self.taps.flush();
        self.queue.sync();
        self.give_back();
        self.ring.publish();
        admitted
    }

    /// Gives slots back in their order: those that the port has sent, and void ones. Slots that were committed and not taken lie
    /// behind `at` and are not the program's either.
    fn give_back(&mut self) {
        let out = self.queue.ring.outstanding();
        loop {
            let next = self.ring.next(self.ring.tail);
            let void = self.void[next as usize];
            if next == self.at || !void && self.flying <= out {
                return;
            }
            self.flying -= u32::from(!void);
            self.ring.tail = next;
        }
    }

    /// Copies committed frames into the port's ring: whole ones, so a frame whose end is not committed yet stays. Slots of no
    /// bytes are left out. A frame that can never be sent is dropped.
    fn take(&mut self) {
        let (ring, usable) = (&self.ring, self.queue.ring.usable());
        let most = MAX_FRAGS.min(ring.slots() as usize - 1);
        let mut batch = self.queue.ring.reserve(ring.distance(self.at, ring.head));
        let (mut done, mut at) = (0, self.at);
        while at != ring.head {
            let words: Vec<SlotWord>;
            let first = ring.slot(at);
            let frame: &[SlotWord] = if first.has(flags::MOREFRAG) {
                words = chain(ring, at, first);
                &words
            } else {
                std::slice::from_ref(&first)
            };
            let (n, ends) = (frame.len(), !frame.last().is_none_or(|last| last.has(flags::MOREFRAG)));
            let too_many = self.cut || n > most || !ends && n + 1 == ring.slots() as usize;
            // Bytes of a header are none of the frame's.
            let skipped = |nth: usize| if nth == 0 { self.header } else { 0 };
            let bytes = |(nth, word): (usize, &SlotWord)| usize::from(word.len()) > skipped(nth);
            let kept = frame.iter().enumerate().filter(|part| bytes(*part)).count();
            let room = (batch.len() - done) as usize;
            if !too_many && (!ends || kept > room) {
                break;
            }
            self.cut = too_many && !ends;
            let slots = (0..).map(|i| (at + i) % ring.slots()).zip(frame.iter().enumerate());
            let whole = slots.clone().filter(|(_, part)| bytes(*part)).zip(done..).zip(1..);
            let sound = !too_many
                && kept > 0
                && usize::from(first.len()) >= self.header
                && whole.into_iter().all(|(((slot, (nth, word)), i), count)| {
                    put(ring, slot, *word, skipped(nth), &mut batch, i, count < kept)
                });
            if sound && self.header > 0 {
                set_request(ring, first, &mut batch, done);
            }
            if sound && self.taps.any() {
                let parts = frame.iter().enumerate().filter(|part| bytes(*part));
                for ((nth, word), (i, count)) in parts.zip((done..).zip(1..)) {
                    let (mut copy, len) = ([0; BUF], usize::from(word.len()) - skipped(nth));
                    let known = batch.frame(i).read(0, &mut copy[..len]);
                    self.taps.see(|to| to.extend(&copy[..if known { len } else { 0 }]), count == kept, TXMON);
                }
            }
            if !sound {
                // Of one that goes on in the next sync, its end counts.
                DROPPED.fetch_add(ends.into(), Relaxed);
                let say = |why| UNFIT.say(format_args!("a frame that cannot be sent is dropped: {why}"));
                if too_many {
                    say(format_args!("it has more than {most} slots"));
                } else if kept == 0 {
                    say(format_args!("it has no bytes"));
                } else {
                    say(format_args!(
                        "a slot names no buffer, or has more than the {usable} bytes that the port takes"
                    ));
                }
            }
            slots.for_each(|(slot, part)| self.void[slot as usize] = !sound || !bytes(part));
            done += if sound { u32::try_from(kept).unwrap_or(0) } else { 0 };
            at = (at + u32::try_from(n).unwrap_or(0)) % ring.slots();
        }
        batch.commit(done);
        self.flying += done;
        self.at = at;
    }
}

/// Slots of a frame that begins with `first`, each read once: to its end, or to the last one that is committed.
fn chain(ring: &Ring, at: u32, first: SlotWord) -> Vec<SlotWord> {
    let mut words = vec![first];
    let mut next = ring.next(at);
    while next != ring.head && words.last().is_some_and(|last| last.has(flags::MOREFRAG)) {
        words.push(ring.slot(next));
        next = ring.next(next);
    }
    words
}

/// Passes on what the header before a frame asks for (a checksum, segments), in the port's `i`th slot, where it begins.
fn set_request(ring: &Ring, first: SlotWord, batch: &mut TxBatch<'_>, i: u32) {
    let mut bytes = [0; HEADER];
    let known = ring.memory().buffer(first.buf_idx(), HEADER).is_some_and(|frame| frame.read(0, &mut bytes));
    if let Some(meta) = known.then(|| request(bytes)).flatten() {
        batch.set_meta(i, meta);
    }
}

/// Copies one slot, without the bytes that are `skipped`, into the port's `i`th, which goes on if there is `more`; false if its
/// buffer or length cannot be.
fn put(ring: &Ring, slot: u32, word: SlotWord, skipped: usize, batch: &mut TxBatch<'_>, i: u32, more: bool) -> bool {
    let whole = usize::from(word.len());
    let (len, mut room) = (whole - skipped, batch.frame(i));
    let copied = len <= room.len()
        && whole <= BUF
        && if word.has(flags::INDIRECT) {
            let mut bytes = [0; BUF];
            user::read(ring.pointer(slot), &mut bytes[..whole]).is_ok() && room.write(0, &bytes[skipped..whole])
        } else if skipped > 0 {
            let mut bytes = [0; BUF];
            let frame = ring.memory().buffer(word.buf_idx(), whole);
            frame.is_some_and(|frame| frame.read(skipped, &mut bytes[..len])) && room.write(0, &bytes[..len])
        } else {
            ring.memory().buffer(word.buf_idx(), len).is_some_and(|frame| room.copy_from(&frame))
        };
    if copied {
        batch.set(i, len, if more { flags::MOREFRAG } else { 0 });
    }
    copied
}
