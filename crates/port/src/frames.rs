//! Division of a transmit ring's committed slots into frames: for engines that pass whole frames to the system and get
//! the slots back at once.

use crate::counters::{DropReason, TxCounters};
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{Meta, OwnTx, TxRing, flags};

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
/// Longest super-frame: the longest IP packet, and its Ethernet header with two tags.
pub(crate) const SUPER: usize = 65535 + 22;

/// A frame to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Index of its first slot among the pending slots.
    pub(crate) from: u32,
    /// Number of its slots.
    pub(crate) slots: u32,
    /// Bytes of the frame.
    pub(crate) bytes: usize,
    /// Metadata of its first slot: the offloads that it asks for.
    pub(crate) meta: Option<Meta>,
}

/// Plan of the frames to send from the front of a ring.
pub(crate) struct SendPlan {
    frames: Vec<Outgoing>,
    /// Bytes of the longest frame that can be sent.
    largest: usize,
    /// Bytes of the longest frame that can be sent if it is to be segmented.
    largest_gso: usize,
    /// The slots at the front belong to a frame of too many slots.
    cutting: bool,
}

impl SendPlan {
    /// Plan for frames of at most `largest` bytes; with `gso`, super-frames may be longer.
    pub(crate) fn new(largest: usize, gso: bool) -> Self {
        let largest_gso = if gso { SUPER.max(largest) } else { largest };
        Self { frames: Vec::new(), largest, largest_gso, cutting: false }
    }

    /// Plans up to `most` whole frames from the front of the ring. Void frames are passed over; frames that can never
    /// be sent are dropped and counted.
    pub(crate) fn make(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters, most: usize) -> &[Outgoing] {
        self.frames.clear();
        let mut at = 0;
        while self.frames.len() < most {
            let Some((frame, reason)) = self.next(ring, at) else { break };
            let pass = frame.bytes == 0 || reason.is_some();
            if pass && !self.frames.is_empty() {
                break;
            }
            if let Some(reason) = reason {
                count.dropped.add(reason, 1);
            }
            if pass {
                ring.take(frame.slots);
                ring.complete(frame.slots);
            } else {
                at += frame.slots;
                self.frames.push(frame);
            }
        }
        &self.frames
    }

    /// Takes note that the first `n` planned frames have been sent.
    pub(crate) fn sent(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters, n: usize) {
        let mut slots = 0;
        for frame in self.frames.drain(..n.min(self.frames.len())) {
            count.frames += 1;
            count.bytes += frame.bytes as u64;
            slots += frame.slots;
        }
        ring.take(slots);
        ring.complete(slots);
    }

    /// Drops the first planned frame, which cannot be sent. Ends the plan.
    pub(crate) fn drop_first(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters, reason: DropReason) {
        if let Some(frame) = self.frames.drain(..).next() {
            count.dropped.add(reason, 1);
            ring.take(frame.slots);
            ring.complete(frame.slots);
        }
    }

    /// Drops all pending frames.
    pub(crate) fn drop_all(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters, reason: DropReason) {
        while !self.make(ring, count, 1).is_empty() {
            self.drop_first(ring, count, reason);
        }
    }

    /// The frame at pending slot `at`; with a reason if it can never be sent, with no bytes if it is to be passed over.
    fn next(&mut self, ring: &TxRing, at: u32) -> Option<(Outgoing, Option<DropReason>)> {
        let pending = ring.pending();
        let mut frame = Outgoing { from: at, slots: 0, bytes: 0, meta: None };
        while at + frame.slots < pending {
            let word = ring.pending_word(at + frame.slots);
            if frame.slots == 0 {
                frame.meta = ring.pending_meta(at);
            }
            frame.slots += 1;
            frame.bytes += usize::from(word.len());
            let more = word.has(flags::MOREFRAG);
            if self.cutting {
                frame.bytes = 0;
                if !more {
                    self.cutting = false;
                    return Some((frame, None));
                }
            } else if !more {
                let void = frame.slots == 1 && frame.bytes == 0;
                let gso = frame.meta.is_some_and(|meta| meta.gso_type != 0);
                let largest = if gso { self.largest_gso } else { self.largest };
                return Some(match frame.bytes {
                    _ if void => (frame, None),
                    n if n < ETHERNET => (frame, Some(DropReason::TooShort)),
                    n if n > largest => (frame, Some(DropReason::TooLong)),
                    _ => (frame, None),
                });
            } else if frame.slots as usize == MAX_FRAGS {
                self.cutting = true;
                return Some((frame, Some(DropReason::TooManyFragments)));
            }
        }
        if self.cutting && frame.slots > 0 {
            return Some((frame, None));
        }
        // A frame that fills the whole ring and has no end can never be completed.
        if frame.slots > 0 && at == 0 && ring.free() == 0 {
            self.cutting = true;
            return Some((frame, Some(DropReason::TooManyFragments)));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ring::{Region, RegionConfig, Sharing};

    fn ring() -> TxRing {
        let config = RegionConfig {
            buf_size: 2048,
            buffers: 128,
            ring_bytes: Region::ring_room(128),
            sharing: Sharing::Private,
            huge: false,
        };
        TxRing::new(&Region::new(&config).unwrap(), 0, 128).unwrap()
    }

    fn commit(ring: &mut TxRing, slots: &[(usize, bool)]) {
        let n = u32::try_from(slots.len()).unwrap();
        let mut batch = ring.reserve(n);
        assert_eq!(batch.len(), n);
        for (i, (len, more)) in (0..).zip(slots) {
            batch.set(i, *len, if *more { flags::MOREFRAG } else { 0 });
        }
        batch.commit(n);
    }

    #[test]
    fn frames_are_planned_and_what_cannot_be_sent_is_counted_once() {
        let (mut ring, mut count) = (ring(), TxCounters::default());
        let mut plan = SendPlan::new(1518, false);
        let slots = [(0, false), (60, false), (700, true), (700, false), (1519, false), (13, false), (64, false)];
        commit(&mut ring, &slots);
        for _ in 0..2 {
            let frames: Vec<_> =
                plan.make(&mut ring.own().unwrap(), &mut count, 64).iter().map(|f| (f.slots, f.bytes)).collect();
            assert_eq!(frames, [(1, 60), (2, 1400)]);
        }
        plan.sent(&mut ring.own().unwrap(), &mut count, 2);
        assert_eq!(plan.make(&mut ring.own().unwrap(), &mut count, 64).len(), 1);
        plan.sent(&mut ring.own().unwrap(), &mut count, 1);
        assert_eq!((count.frames, count.bytes, ring.outstanding()), (3, 1524, 0));
        assert_eq!(count.dropped.iter().collect::<Vec<_>>(), [("too_long", 1), ("too_short", 1)]);
    }

    #[test]
    fn an_unfinished_frame_waits_unless_it_can_never_end() {
        let (mut ring, mut count) = (ring(), TxCounters::default());
        let mut plan = SendPlan::new(1518, false);
        commit(&mut ring, &[(60, false), (10, true), (10, true)]);
        assert_eq!(plan.make(&mut ring.own().unwrap(), &mut count, 64).len(), 1);
        plan.sent(&mut ring.own().unwrap(), &mut count, 1);
        assert!(plan.make(&mut ring.own().unwrap(), &mut count, 64).is_empty());
        assert_eq!(ring.pending(), 2);
        commit(&mut ring, &[(10, false)]);
        assert_eq!(plan.make(&mut ring.own().unwrap(), &mut count, 64)[0].slots, 3);
        plan.sent(&mut ring.own().unwrap(), &mut count, 1);
        // 70 slots: 64 are cut at once, the rest as they come.
        commit(&mut ring, &[(10, true); 66]);
        assert!(plan.make(&mut ring.own().unwrap(), &mut count, 64).is_empty());
        assert_eq!(ring.pending(), 0);
        commit(&mut ring, &[(10, true), (10, true), (10, true), (10, false), (99, false)]);
        assert_eq!(plan.make(&mut ring.own().unwrap(), &mut count, 64)[0].bytes, 99);
        assert_eq!((count.dropped.of(DropReason::TooManyFragments), count.dropped.total()), (1, 1));
    }
}
