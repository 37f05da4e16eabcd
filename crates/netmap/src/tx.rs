//! A transmit ring: the program's frames are copied into the port's ring, slot for slot. A slot is the program's again when
//! the port has sent what was in it, so `tail` tells what was sent and not what was copied.

use crate::facts::BUF;
use crate::ring::{Broken, Ring};
use crate::sys::say::Once;
use crate::sys::user;
use linerate_port::TxQueue;
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{SlotWord, TxBatch, flags};

pub(crate) struct Tx {
    pub(crate) queue: TxQueue,
    pub(crate) ring: Ring,
    /// Threads that sleep on the queue.
    pub(crate) asleep: u32,
    /// First slot that was not copied yet.
    at: u32,
}

static UNFIT: Once = Once::new();

impl Tx {
    pub(crate) fn new(queue: TxQueue, ring: Ring) -> Self {
        Self { queue, ring, asleep: 0, at: 0 }
    }

    /// Sends what the program has committed, as far as possible now, and gives back the slots of what was sent.
    pub(crate) fn sync(&mut self) -> Result<(), Broken> {
        let admitted = self.ring.admit();
        self.take();
        self.queue.sync();
        let out = self.queue.ring.outstanding().min(self.ring.slots() - 1);
        // What was committed and not taken is not the program's either; it lies before `head`, hence behind `at`.
        self.ring.tail = (self.at + 2 * self.ring.slots() - 1 - out) % self.ring.slots();
        self.ring.publish();
        admitted
    }

    /// Copies committed frames into the port's ring: whole ones, so a frame whose end is not committed yet stays.
    fn take(&mut self) {
        let (ring, usable) = (&self.ring, self.queue.ring.usable());
        let mut batch = self.queue.ring.reserve(ring.distance(self.at, ring.head));
        let (mut done, mut at) = (0, self.at);
        while done < batch.len() {
            let left = batch.len() - done;
            let words: Vec<SlotWord>;
            let first = ring.slot(at);
            let frame: &[SlotWord] = if first.has(flags::MOREFRAG) {
                let Some(all) = chain(ring, at, first, left) else { break };
                words = all;
                &words
            } else {
                std::slice::from_ref(&first)
            };
            let whole = frame.len() <= MAX_FRAGS && !frame.last().is_none_or(|last| last.has(flags::MOREFRAG));
            let sound = whole
                && (0..).zip(frame).all(|(i, word)| put(ring, (at + i) % ring.slots(), *word, &mut batch, done + i));
            if !sound {
                UNFIT.say(format_args!(
                    "a frame that cannot be sent is dropped: no buffer {}, or {} bytes where the port takes {usable}",
                    first.buf_idx(),
                    first.len()
                ));
                // Void slots: the port leaves them out, and their places keep step with the program's.
                (0..).zip(frame).for_each(|(i, _)| batch.set(done + i, 0, 0));
            }
            let n = u32::try_from(frame.len()).unwrap_or(left);
            (done, at) = (done + n, (at + n) % ring.slots());
        }
        batch.commit(done);
        self.at = at;
    }
}

/// Slots of a frame that begins with `first`, each read once; None if its end is not among `left` slots and may still come. At
/// most one more than a frame may have.
fn chain(ring: &Ring, at: u32, first: SlotWord, left: u32) -> Option<Vec<SlotWord>> {
    let mut words = vec![first];
    while words.last().is_some_and(|last| last.has(flags::MOREFRAG)) && words.len() <= MAX_FRAGS {
        let i = u32::try_from(words.len()).unwrap_or(left);
        if i == left {
            return (left + 1 == ring.slots()).then_some(words);
        }
        words.push(ring.slot((at + i) % ring.slots()));
    }
    Some(words)
}

/// Copies one slot into the port's `i`th; false if its buffer or length cannot be.
fn put(ring: &Ring, slot: u32, word: SlotWord, batch: &mut TxBatch<'_>, i: u32) -> bool {
    let len = usize::from(word.len());
    let mut room = batch.frame(i);
    let copied = len <= room.len()
        && len <= BUF
        && if word.has(flags::INDIRECT) {
            let mut bytes = [0; BUF];
            user::read(ring.pointer(slot), &mut bytes[..len]).is_ok() && room.write(0, &bytes[..len])
        } else {
            ring.memory().buffer(word.buf_idx(), len).is_some_and(|frame| room.copy_from(&frame))
        };
    if copied {
        batch.set(i, len, word.flags() & flags::MOREFRAG);
    }
    copied
}
