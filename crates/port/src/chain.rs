//! Frames in a ring: chains of slots.

use linerate_ring::{Meta, OwnRx, TxRing, flags};

/// Most slots of a frame (netmap's limit).
pub(crate) const MAX_SLOTS: u32 = 64;

/// Number of slots of `usable` bytes that a frame of `len` bytes takes; None if a frame has never so many.
#[inline]
pub(crate) fn slots_for(len: usize, usable: usize) -> Option<u32> {
    u32::try_from(len.div_ceil(usable)).ok().filter(|slots| *slots <= MAX_SLOTS)
}

/// Number of slots that the largest frame takes, [`MAX_SLOTS`] at most.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the kinds that use it are Linux's"))]
pub(crate) fn most_slots(largest: usize, usable: usize) -> u32 {
    slots_for(largest, usable).unwrap_or(MAX_SLOTS)
}

/// Kind of frame that starts at a pending slot of a transmit ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A whole frame.
    Frame { slots: u32, bytes: usize },
    /// A frame that was withdrawn: no bytes.
    Void { slots: u32 },
    /// More slots than a frame may have: the number up to its end or, without one, up to the last slot.
    TooMany { slots: u32 },
}

impl Unit {
    pub(crate) fn slots(self) -> u32 {
        match self {
            Self::Frame { slots, .. } | Self::Void { slots } | Self::TooMany { slots } => slots,
        }
    }
}

/// The frame that starts at pending slot `from`; None if its end is not committed yet.
pub(crate) fn unit(ring: &TxRing, from: u32) -> Option<Unit> {
    let (mut slots, mut bytes) = (0, 0);
    for i in from..ring.pending() {
        let word = ring.pending_word(i);
        let last = !word.has(flags::MOREFRAG);
        slots += 1;
        bytes += usize::from(word.len());
        match (last, slots > MAX_SLOTS) {
            (true, true) => return Some(Unit::TooMany { slots }),
            (true, false) if bytes == 0 => return Some(Unit::Void { slots }),
            (true, false) => return Some(Unit::Frame { slots, bytes }),
            (false, _) => {}
        }
    }
    (slots >= MAX_SLOTS).then_some(Unit::TooMany { slots })
}

/// Sets the free slots from `from` on, whose buffers hold a frame of `len` bytes; returns their number. A frame of no bytes
/// leaves a void slot.
#[inline]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the kinds that use it are Linux's"))]
pub(crate) fn set_frame(ring: &mut OwnRx<'_>, from: u32, len: usize, meta: Option<Meta>) -> u32 {
    let usable = ring.usable();
    let (mut slot, mut left) = (from, len);
    loop {
        let n = left.min(usable);
        left -= n;
        let more = if left > 0 { flags::MOREFRAG } else { 0 };
        ring.set_free(slot, n, more, if slot == from { meta } else { None });
        slot += 1;
        if left == 0 {
            return slot - from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ring::layout::SLOTS_OFFSET;
    use linerate_ring::{Region, RegionConfig, Sharing};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// Regression: a record of a capture was shorter than its header said, and readers lost all records behind it.
    #[test]
    fn a_frame_is_as_long_as_it_was_said_to_be_whatever_another_process_writes() {
        let ring_bytes = Region::ring_room(64);
        let config = RegionConfig { buf_size: 512, buffers: 64, ring_bytes, sharing: Sharing::Shared, huge: false };
        let region = Region::new(&config).unwrap();
        let memory = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
        let mut ring = TxRing::new(&region, 0, 64).unwrap();
        let mut batch = ring.reserve(2);
        for (k, flags) in [(0, flags::MOREFRAG), (1, 0)] {
            assert!(batch.put(k, &[7; 100]));
            batch.set(k, 100, flags);
        }
        batch.commit(2);
        let Some(Unit::Frame { slots, bytes }) = unit(&ring, 0) else { panic!("a frame") };
        assert_eq!((slots, bytes), (2, 200));
        let mut got = vec![1];
        for len in [40u16, 200, 0] {
            memory.write_all_at(&len.to_le_bytes(), ring.spot().ring + SLOTS_OFFSET as u64 + 4).unwrap();
            got.truncate(1);
            ring.append_pending(0, slots, &mut got);
            assert_eq!(got.len(), 1 + bytes);
            assert!(got[0] == 1 && got[1..] == [7; 200], "what was committed");
        }
    }
}
