//! A ring in the memory that the program maps. What the program writes there (`head`, `cur`, slots) is read once and
//! checked; the library's own place is kept beside, in memory of its own.

use crate::area::Area;
use crate::facts::BUF_BYTES;
use crate::pool::Pool;
use crate::sys::memory::Memory;
use linerate_ring::SlotWord;
use linerate_ring::layout::{SLOTS_OFFSET, ring_bytes};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Offsets of fields in bytes from the ring (`struct netmap_ring`).
mod field {
    pub(super) const BUF_OFS: usize = 0;
    pub(super) const NUM_SLOTS: usize = 8;
    pub(super) const NR_BUF_SIZE: usize = 12;
    pub(super) const RINGID_DIR: usize = 16;
    pub(super) const HEAD: usize = 20;
    pub(super) const CUR: usize = 24;
    pub(super) const TAIL: usize = 28;
    pub(super) const FLAGS: usize = 32;
    pub(super) const TS: usize = 40;
    pub(super) const OFFSET_MASK: usize = 56;
    pub(super) const BUF_ALIGN: usize = 64;
}

pub(crate) struct Ring {
    area: Arc<Area>,
    at: usize,
    slots: u32,
    /// First slot of the program's, as it said last.
    pub(crate) head: u32,
    /// First slot that is not the program's, as it was told last.
    pub(crate) tail: u32,
}

/// A ring whose `head` or `cur` cannot be.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) head: u32,
    pub(crate) cur: u32,
}

impl Ring {
    /// Ring `id` in a direction (0 transmit, 1 receive), with a buffer in each slot; None without memory for it.
    pub(crate) fn new(area: &Arc<Area>, pool: &mut Pool, id: u16, dir: u16, slots: u32) -> Option<Self> {
        let buffers = pool.buffers(slots)?;
        let Some(at) = pool.bytes(ring_bytes(slots as usize)) else {
            buffers.into_iter().for_each(|buffer| pool.give_buffer(buffer));
            return None;
        };
        let memory = &area.memory;
        let ring = Self { area: area.clone(), at, slots, head: 0, tail: if dir == 0 { slots - 1 } else { 0 } };
        memory.long(at + field::BUF_OFS).store((memory.rings - at) as u64, Relaxed);
        ring.word(field::NUM_SLOTS).store(slots, Relaxed);
        ring.word(field::NR_BUF_SIZE).store(BUF_BYTES, Relaxed);
        ring.word(field::RINGID_DIR).store(u32::from(id) | u32::from(dir) << 16, Relaxed);
        ring.word(field::FLAGS).store(0, Relaxed);
        for long in [field::TS, field::TS + 8, field::OFFSET_MASK] {
            memory.long(at + long).store(0, Relaxed);
        }
        memory.long(at + field::BUF_ALIGN).store(64, Relaxed);
        for (slot, buffer) in (0..).zip(buffers) {
            ring.set_slot(slot, SlotWord::new(buffer, 0, 0));
            memory.long(ring.slot_at(slot) + 8).store(0, Relaxed);
        }
        ring.show();
        Some(ring)
    }

    /// Gives the ring's memory back, and the buffers that its slots name now.
    pub(crate) fn give_back(&self, pool: &mut Pool) {
        (0..self.slots).for_each(|slot| pool.give_buffer(self.slot(slot).buf_idx()));
        pool.give_bytes(self.at, ring_bytes(self.slots as usize));
    }

    /// Offset in the memory.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    fn word(&self, field: usize) -> &std::sync::atomic::AtomicU32 {
        self.memory().word(self.at + field)
    }

    fn slot_at(&self, slot: u32) -> usize {
        self.at + SLOTS_OFFSET + 16 * (slot % self.slots) as usize
    }

    /// A slot's buffer, length and flags, read once.
    pub(crate) fn slot(&self, slot: u32) -> SlotWord {
        let word = self.memory().long(self.slot_at(slot)).load(Relaxed).to_le_bytes();
        let [a, b, c, d, e, f, g, h] = word;
        SlotWord::new(u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]))
    }

    pub(crate) fn set_slot(&self, slot: u32, word: SlotWord) {
        let bits = u64::from(word.buf_idx()) | u64::from(word.len()) << 32 | u64::from(word.flags()) << 48;
        self.memory().long(self.slot_at(slot)).store(bits, Relaxed);
    }

    /// A slot's pointer, for frames outside the buffers.
    pub(crate) fn pointer(&self, slot: u32) -> u64 {
        self.memory().long(self.slot_at(slot) + 8).load(Relaxed)
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.area.memory
    }

    /// Slots from one to another, around the ring.
    pub(crate) fn distance(&self, from: u32, to: u32) -> u32 {
        (to + self.slots - from) % self.slots
    }

    pub(crate) fn next(&self, slot: u32) -> u32 {
        if slot + 1 == self.slots { 0 } else { slot + 1 }
    }

    /// Takes over the program's `head` and `cur`: head may go forward to tail at most, and cur may stand between them.
    pub(crate) fn admit(&mut self) -> Result<(), Broken> {
        // Acquire: what the program wrote into slots before it moved head is seen.
        let (head, cur) = (self.word(field::HEAD).load(Acquire), self.word(field::CUR).load(Relaxed));
        let sound = head < self.slots
            && cur < self.slots
            && self.distance(self.head, head) <= self.distance(self.head, self.tail)
            && self.distance(head, cur) <= self.distance(head, self.tail);
        if !sound {
            self.show();
            return Err(Broken { head, cur });
        }
        self.head = head;
        Ok(())
    }

    /// Writes where the ring stands, over whatever the program wrote there.
    fn show(&self) {
        self.word(field::HEAD).store(self.head, Relaxed);
        self.word(field::CUR).store(self.head, Relaxed);
        self.publish();
    }

    /// Tells the program of slots up to tail.
    pub(crate) fn publish(&self) {
        // Release: what was written into the slots before is seen by whoever sees tail.
        self.word(field::TAIL).store(self.tail, Release);
    }

    /// True if there are slots from the program's `cur` on.
    pub(crate) fn ready(&self) -> bool {
        self.word(field::CUR).load(Relaxed) != self.tail
    }

    /// Flags of the ring, as the program set them.
    pub(crate) fn flags(&self) -> u32 {
        self.word(field::FLAGS).load(Relaxed)
    }

    /// Writes the ring's time, in seconds and microseconds.
    pub(crate) fn stamp(&self, seconds: u64, micros: u64) {
        self.memory().long(self.at + field::TS).store(seconds, Relaxed);
        self.memory().long(self.at + field::TS + 8).store(micros, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(dir: u16) -> Ring {
        let area = Area::new(1).unwrap();
        Ring::new(&area, &mut area.pool.lock().unwrap(), 3, dir, 8).unwrap()
    }

    /// Every pair of values around a ring, at every place of it: what netmap(4) allows is taken over, and everything else
    /// leaves the ring as it was, and shows that to the program.
    #[test]
    fn head_goes_forward_to_tail_at_most_and_cur_stands_between_or_the_ring_is_set_back() {
        let mut ring = ring(0);
        for (head, tail) in (0..8).flat_map(|head| (0..8).map(move |tail| (head, tail))) {
            let values = (0..10).chain([u32::MAX, 1 << 31, 8 << 20]);
            for (new, cur) in values.clone().flat_map(|new| values.clone().map(move |cur| (new, cur))) {
                (ring.head, ring.tail) = (head, tail);
                ring.word(field::HEAD).store(new, Relaxed);
                ring.word(field::CUR).store(cur, Relaxed);
                ring.word(field::TAIL).store(77, Relaxed);
                // Walked slot by slot, as a person would check it.
                let mut way = vec![head];
                while *way.last().unwrap() != tail {
                    way.push((way.last().unwrap() + 1) % 8);
                }
                let at = |value| way.iter().position(|slot| *slot == value);
                let right = matches!((at(new), at(cur)), (Some(new), Some(cur)) if new <= cur);
                assert_eq!(ring.admit().is_ok(), right, "from {head} to {tail}: head {new}, cur {cur}");
                if !right {
                    let shown = [field::HEAD, field::CUR, field::TAIL].map(|field| ring.word(field).load(Relaxed));
                    assert_eq!((shown, ring.head), ([head, head, tail], head));
                }
            }
        }
    }

    #[test]
    fn a_slot_keeps_its_four_parts_apart() {
        let ring = ring(1);
        ring.set_slot(7, SlotWord::new(0x0102_0304, 0x0506, 0x0708));
        assert_eq!(ring.slot(7), SlotWord::new(0x0102_0304, 0x0506, 0x0708));
        assert_eq!((ring.slot(6).len(), ring.pointer(7)), (0, 0));
        assert!(ring.slot(6).buf_idx() >= 2);
    }
}
