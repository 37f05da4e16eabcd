//! The way in: whole frames, with their CRC checked.

use super::LONGEST;
use linerate_offload::{Verdict, verify_fc_crc};
use linerate_port::RxQueue;
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{RxBatch, flags};

/// A port's receive queue, for an N_Port.
pub struct FcRx {
    queue: RxQueue,
    /// Where frames of several slots, and those that another process may write, are copied to.
    scratch: Box<[u8; LONGEST]>,
    count: FcRxCounters,
}

/// What was received. `frames` is all there is: those shown, and those that have a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcRxCounters {
    /// Frames taken from slots.
    pub frames: u64,
    /// FC frames dropped because their CRC is wrong.
    pub bad_crc: u64,
    /// Frames dropped because they are longer than any of FCoE.
    pub too_long: u64,
    /// Frames dropped because one of their slots was not what a sender may put there.
    pub spoiled: u64,
}

/// What lies at a slot.
enum Found<'a> {
    Frame(&'a [u8]),
    TooLong,
    Spoiled,
}

impl FcRx {
    /// Receives from a queue.
    #[must_use]
    pub fn new(queue: RxQueue) -> Self {
        Self { queue, scratch: Box::new([0; LONGEST]), count: FcRxCounters::default() }
    }

    /// Gives read slots back and gets what has arrived.
    #[inline]
    pub fn sync(&mut self) {
        self.queue.sync();
    }

    /// The queue, for whoever waits on it or asks for its counters.
    pub fn queue(&mut self) -> &mut RxQueue {
        &mut self.queue
    }

    /// What was received.
    #[must_use]
    pub fn counters(&self) -> FcRxCounters {
        self.count
    }

    /// Shows the reader up to `most` frames that have arrived, in order, each whole and from its Ethernet header on; gives
    /// how many it was shown. FC frames come with [`Verdict::Good`], those with a wrong CRC not at all; what has no CRC
    /// (FIP, and FC frames too damaged to have one) comes with [`Verdict::Unknown`]. A frame lies where the port put it,
    /// or in a copy where it has several slots or another process may write it.
    #[inline]
    pub fn receive(&mut self, most: usize, mut reader: impl FnMut(&[u8], Verdict)) -> usize {
        let Self { queue, scratch, count } = self;
        let mut ring = queue.ring.batch(u32::MAX);
        let (mut at, mut shown) = (0, 0);
        while at < ring.len() && shown < most {
            let Some((frame, word)) = ring.frame(at) else {
                // Void, or bad, which the ring counts.
                at += 1;
                continue;
            };
            let whole = word & flags::MOREFRAG == 0 && frame.len() <= LONGEST;
            let (found, slots) = match frame.bytes().filter(|_| whole) {
                Some(bytes) => (Found::Frame(bytes), 1),
                None => match gather(&mut ring, at, scratch) {
                    Some(found) => found,
                    None => break,
                },
            };
            at += slots;
            count.frames += 1;
            match found {
                Found::Frame(bytes) => match verify_fc_crc(bytes) {
                    Verdict::Bad => count.bad_crc += 1,
                    verdict => {
                        shown += 1;
                        reader(bytes, verdict);
                    }
                },
                Found::TooLong => count.too_long += 1,
                Found::Spoiled => count.spoiled += 1,
            }
        }
        ring.release(at);
        shown
    }
}

/// Copies the frame at a slot, which may go on in the following ones; gives it, and how many slots it has. None when its
/// end has not arrived.
#[cold]
fn gather<'a>(ring: &mut RxBatch<'_>, first: u32, scratch: &'a mut [u8; LONGEST]) -> Option<(Found<'a>, u32)> {
    let (mut len, mut slots, mut spoiled) = (0_usize, 0, false);
    loop {
        if first + slots == ring.len() {
            // No frame has so many slots: this one will never end.
            return (slots as usize >= MAX_FRAGS).then_some((Found::Spoiled, slots));
        }
        let part = ring.frame(first + slots);
        slots += 1;
        let Some((part, word)) = part else { return Some((Found::Spoiled, slots)) };
        if let Some(to) = scratch.get_mut(len..len.saturating_add(part.len())) {
            spoiled |= !part.read(0, to);
        }
        len = len.saturating_add(part.len());
        spoiled |= slots as usize > MAX_FRAGS;
        if word & flags::MOREFRAG == 0 {
            break;
        }
    }
    let found = match scratch.get(..len) {
        _ if spoiled => Found::Spoiled,
        Some(bytes) => Found::Frame(bytes),
        None => Found::TooLong,
    };
    Some((found, slots))
}
