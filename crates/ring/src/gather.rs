//! Copies frames of several slots out of a receive ring in one piece.

use crate::RxBatch;
use crate::layout::{MAX_FRAGS, flags};

/// Result of [`RxBatch::gather`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// A whole frame, whose bytes were appended. In all other cases none were.
    Whole {
        /// Number of slots of the frame.
        slots: u32,
    },
    /// The batch ends before the frame: try the same slot again when more slots have arrived.
    Later,
    /// Slots without a whole frame: the last one is void or bad (and counted by the ring), or there are more than a
    /// frame can have.
    Spoiled {
        /// Number of slots to skip.
        slots: u32,
    },
    /// A frame longer than the limit.
    TooLong {
        /// Number of slots of the frame.
        slots: u32,
    },
}

impl RxBatch<'_> {
    /// Copies the frame that begins at the `first` slot to the end of `to`, if it has at most `limit` bytes. The port's
    /// metadata of the frame is with the first slot ([`RxBatch::meta`]).
    ///
    /// The batch must reach [`MAX_FRAGS`] slots beyond `first`, or to the last slot delivered: a frame whose end is not
    /// in the batch stays [`Gathered::Later`].
    pub fn gather(&mut self, first: u32, limit: usize, to: &mut Vec<u8>) -> Gathered {
        // A frame that fills the ring can never be finished.
        let most = MAX_FRAGS.min(self.ring.raw.mask as usize);
        let (start, mut slots, mut len) = (to.len(), 0, 0_usize);
        let found = loop {
            if first + slots >= self.len() {
                break if slots as usize >= most { Gathered::Spoiled { slots } } else { Gathered::Later };
            }
            let part = self.frame(first + slots);
            slots += 1;
            let Some((part, word)) = part else { break Gathered::Spoiled { slots } };
            len += part.len();
            if len <= limit && slots as usize <= MAX_FRAGS {
                part.append_to(to);
            }
            if word & flags::MOREFRAG == 0 {
                break match len <= limit {
                    _ if slots as usize > MAX_FRAGS => Gathered::Spoiled { slots },
                    true => return Gathered::Whole { slots },
                    false => Gathered::TooLong { slots },
                };
            }
        };
        to.truncate(start);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Region, RegionConfig, RxRing, Sharing};

    /// A ring with these slots delivered, each filled with its number: bytes, and true if the frame goes on in the next
    /// slot.
    fn ring(sharing: Sharing, ring_slots: u32, slots: &[(usize, bool)]) -> RxRing {
        let ring_bytes = Region::ring_room(ring_slots);
        let config = RegionConfig { buf_size: 512, buffers: ring_slots, ring_bytes, sharing, huge: false };
        let mut ring = RxRing::new(&Region::new(&config).unwrap(), 0, ring_slots).unwrap();
        let mut own = ring.own().unwrap();
        for (i, (len, more)) in (0..).zip(slots) {
            let number = u8::try_from(i).unwrap();
            assert!(own.free_frame(i).unwrap().write(0, &vec![number; *len]));
            own.set_free(i, *len, if *more { flags::MOREFRAG } else { 0 }, None);
        }
        own.deliver(u32::try_from(slots.len()).unwrap());
        ring
    }

    #[test]
    fn a_frame_is_gathered_behind_what_was_there_in_both_kinds_of_memory() {
        for sharing in [Sharing::Private, Sharing::Shared].into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
            let mut ring = ring(sharing, 128, &[(60, false), (100, true), (0, true), (7, false), (9, true)]);
            let (mut batch, mut to) = (ring.batch(5), vec![0xff]);
            assert_eq!(batch.gather(0, 60, &mut to), Gathered::Whole { slots: 1 });
            assert_eq!(batch.gather(1, 107, &mut to), Gathered::Whole { slots: 3 });
            assert_eq!(to, [vec![0xff], vec![0; 60], vec![1; 100], vec![3; 7]].concat());
            assert_eq!(batch.gather(0, 59, &mut to), Gathered::TooLong { slots: 1 });
            assert_eq!(batch.gather(1, 106, &mut to), Gathered::TooLong { slots: 3 }, "to its end");
            assert_eq!(batch.gather(4, 1000, &mut to), Gathered::Later);
            assert_eq!(batch.gather(5, 1000, &mut to), Gathered::Later, "nothing is there");
            assert_eq!(to.len(), 168, "of what is no frame nothing is left");
        }
    }

    #[test]
    fn what_can_be_no_frame_is_passed_over() {
        let chain = |slots: usize, ends: bool| {
            let mut chain = vec![(5, true); slots];
            chain[slots - 1].1 = !ends;
            chain
        };
        let mut to = Vec::new();
        for (slots, ends, ring_slots, wanted) in [
            (64, true, 128, Gathered::Whole { slots: 64 }),
            (65, true, 128, Gathered::Spoiled { slots: 65 }),
            (63, false, 128, Gathered::Later),
            (64, false, 128, Gathered::Spoiled { slots: 64 }),
            (63, false, 64, Gathered::Spoiled { slots: 63 }),
        ] {
            let mut ring = ring(Sharing::Private, ring_slots, &chain(slots, ends));
            to.clear();
            assert_eq!(ring.batch(u32::MAX).gather(0, 1 << 20, &mut to), wanted, "{slots} of {ring_slots} slots");
            assert_eq!(to.len(), if ends && slots == 64 { 5 * 64 } else { 0 });
        }
        let mut ring = ring(Sharing::Private, 64, &[(0, false), (5, true), (0, false), (5, true), (5, false)]);
        ring.raw.slot(4).set(ring.slot_word(4).with_buf(1));
        let mut batch = ring.batch(5);
        assert_eq!(batch.gather(0, 100, &mut to), Gathered::Spoiled { slots: 1 }, "void");
        assert_eq!(batch.gather(1, 100, &mut to), Gathered::Spoiled { slots: 2 }, "void in its midst");
        assert_eq!(batch.gather(3, 100, &mut to), Gathered::Spoiled { slots: 2 }, "bad");
        assert!(to.is_empty() && ring.stats().bad_index == 1);
    }
}
