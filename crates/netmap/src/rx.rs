//! A receive ring: the port's frames are copied into the buffers that the program's slots name.

use crate::facts::{BUF, TIMESTAMP};
use crate::monitor::{TXMON, Taps};
use crate::ring::{Broken, Ring};
use crate::sys::say::Once;
use crate::vnet::header;
use linerate_port::RxQueue;
use linerate_ring::flags::MOREFRAG;
use linerate_ring::{Frame, SlotWord};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct Rx {
    pub(crate) queue: RxQueue,
    /// Other queues, each in its turn.
    pub(crate) more: Vec<RxQueue>,
    pub(crate) ring: Ring,
    /// Threads that sleep on the queue.
    pub(crate) asleep: u32,
    /// Bytes of virtio-net's header that the program finds before each frame.
    pub(crate) header: usize,
    /// The frame before goes on.
    amid: bool,
    pub(crate) taps: Taps,
}

static NO_BUFFER: Once = Once::new();

impl Rx {
    pub(crate) fn new(queue: RxQueue, more: Vec<RxQueue>, ring: Ring) -> Self {
        Self { queue, more, ring, asleep: 0, header: 0, amid: false, taps: Taps::default() }
    }

    /// Takes the program's slots back and delivers what has arrived.
    pub(crate) fn sync(&mut self) -> Result<(), Broken> {
        let admitted = self.ring.admit();
        for _ in 0..=self.more.len() {
            self.queue.sync();
            self.deliver();
            // A frame that goes on is not left.
            if !self.amid && !self.more.is_empty() {
                std::mem::swap(&mut self.queue, &mut self.more[0]);
                self.more.rotate_left(1);
            }
        }
        self.taps.flush();
        self.ring.publish();
        if self.ring.flags() & TIMESTAMP != 0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.ring.stamp(now.as_secs(), now.subsec_micros().into());
        }
        admitted
    }

    /// Slots that can be filled.
    pub(crate) fn room(&self) -> u32 {
        self.ring.distance(self.ring.tail, self.ring.head + self.ring.slots() - 1)
    }

    fn deliver(&mut self) {
        let (mut room, mut taken) = (self.room() as usize, 0);
        let ring = &mut self.ring;
        let mut batch = self.queue.ring.batch(u32::MAX);
        while taken < batch.len() && room > 0 {
            let words = if self.header > 0 && !self.amid { header(batch.meta(taken)) } else { [0; 12] };
            // A void slot, or a bad one, which the port's ring has counted, is no frame.
            if let Some((frame, flags)) = batch.frame(taken) {
                let before = &words[..if self.amid { 0 } else { self.header }];
                let pieces = (before.len() + frame.len()).div_ceil(BUF).max(1);
                if pieces > room {
                    break;
                }
                room -= pieces;
                (0..pieces).for_each(|piece| deliver_piece(ring, before, &frame, piece, piece + 1 < pieces, flags));
                self.amid = flags & MOREFRAG != 0;
                if self.taps.any() {
                    self.taps.see(|to| frame.append_to(to), !self.amid, 0);
                }
            }
            taken += 1;
        }
        batch.release(taken);
    }
}

/// Copies the `piece`th 2048 bytes of a frame, and of what comes `before` it, into the slot at tail, which goes on.
fn deliver_piece(ring: &mut Ring, before: &[u8], frame: &Frame<'_>, piece: usize, more: bool, slot_flags: u16) {
    let (from, word) = (piece * BUF, ring.slot(ring.tail));
    let len = (before.len() + frame.len() - from).min(BUF);
    let room = ring.memory().buffer(word.buf_idx(), len);
    let copied = room.is_some_and(|mut room| {
        if frame.len() == len {
            room.copy_from(frame)
        } else {
            let mut bytes = [0; BUF];
            // What comes before is in the first piece alone.
            let head = if piece == 0 { before.len() } else { 0 };
            bytes[..head].copy_from_slice(&before[..head]);
            frame.read(from + head - before.len(), &mut bytes[head..len]) && room.write(0, &bytes[..len])
        }
    });
    if !copied {
        NO_BUFFER.say(format_args!(
            "a receive slot names buffer {}, which is none: what arrives there has no bytes",
            word.buf_idx()
        ));
    }
    let more = if more { MOREFRAG | slot_flags & TXMON } else { slot_flags & (MOREFRAG | TXMON) };
    let len = if copied { u16::try_from(len).unwrap_or(0) } else { 0 };
    ring.set_slot(ring.tail, SlotWord::new(word.buf_idx(), len, more));
    ring.tail = ring.next(ring.tail);
}
