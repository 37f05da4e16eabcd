//! Frames of data out that come before one that precedes them: stored where they belong, and counted once the gap has
//! filled.
//!
//! A frame that comes early is believed only where the sequence proves its place: all frames of a sequence but the last
//! are equally long, so SEQ_CNT and relative offset (FC-FS-3, clauses 12.10 and 12.15) must both be ahead of the next
//! expected frame's by the same number of frames. No data is held and no memory taken: the data goes to its place, and a
//! bit for each of the next [`WINDOW`] frames says that it is there. What is ahead of a gap counts for nothing, neither
//! for REC nor for the end of the command; no frame counts twice, since its bit or `received` says that it has come.

use super::exchange::{ExchangeIndex, Receiving, State};
use super::{Target, TargetDrop};
use crate::{DeviceServer, Peer};
use linerate_wire::{FcoeFrame, Sof, f_ctl};

/// Frames beyond the next expected one that may come before it. A path that delays a frame for longer has as good as lost
/// it.
const WINDOW: u16 = 256;
const WORDS: usize = WINDOW as usize / 64;

/// Frames that are stored beyond the next expected one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Early {
    /// Bit `i`, counted through the words: the frame that is `i + 1` after the next expected one.
    stored: [u64; WORDS],
    /// Bytes of each frame but the last. No bit is set when it is zero.
    size: u32,
    /// SEQ_ID of those frames.
    seq_id: u8,
}

/// Place of a frame that has come early: its distance from the next expected one in frames, and the size of all but the
/// last.
struct Ahead {
    distance: u16,
    size: u32,
}

impl Early {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// SEQ_ID of the frames, if there are any.
    pub(super) fn seq_id(&self) -> Option<u8> {
        (!self.is_empty()).then_some(self.seq_id)
    }

    /// Word and bit of the frame at this distance.
    fn bit(distance: u16) -> (usize, u64) {
        let i = distance - 1;
        (usize::from(i / 64), 1 << (i % 64))
    }

    fn has(&self, distance: u16) -> bool {
        let (word, bit) = Self::bit(distance);
        self.stored[word] & bit != 0
    }

    fn add(&mut self, seq_id: u8, ahead: &Ahead) {
        let (word, bit) = Self::bit(ahead.distance);
        self.stored[word] |= bit;
        (self.size, self.seq_id) = (ahead.size, seq_id);
    }

    /// Expects the next frame; true if it is stored already.
    fn step(&mut self) -> bool {
        let stored = self.stored[0] & 1 != 0;
        let mut above = 0;
        for word in self.stored.iter_mut().rev() {
            (above, *word) = (*word << 63, *word >> 1 | above);
        }
        stored
    }
}

impl<S: DeviceServer> Target<S> {
    /// Processes a frame of data out that is not the next one, for this reason: it is stored if it comes early.
    #[cold]
    #[inline(never)]
    pub(super) fn not_next(
        &mut self,
        peer: &Peer,
        place: ExchangeIndex,
        frame: &FcoeFrame<'_>,
        reason: TargetDrop,
    ) -> Result<(), TargetDrop> {
        let State::Receiving(receiving) = &mut self.table.at_mut(place).state else { return Err(reason) };
        let (header, payload) = (frame.header(), frame.payload());
        let len = u32::try_from(payload.len()).map_err(|_| TargetDrop::Beyond)?;
        if reason == TargetDrop::Overlap && header.parameter.saturating_add(len) <= receiving.received {
            return Err(TargetDrop::Duplicate);
        }
        if reason != TargetDrop::Gap {
            return Err(reason);
        }
        let ahead = receiving.ahead(frame, len)?;
        if !receiving.into.store(&mut self.device, place.tag(), header.parameter, payload)? {
            self.without_memory(place);
            return Ok(());
        }
        receiving.early.add(header.seq_id, &ahead);
        self.counters.early += 1;
        self.count_received(peer, payload);
        Ok(())
    }
}

impl Receiving {
    /// Place of a frame whose data begins beyond the next expected byte, if the sequence proves it.
    fn ahead(&self, frame: &FcoeFrame<'_>, len: u32) -> Result<Ahead, TargetDrop> {
        let (header, last) = (frame.header(), frame.header().has(f_ctl::END_SEQUENCE));
        if frame.sof() != Sof::N3 {
            return Err(TargetDrop::Gap);
        }
        // The first frame may be among the missing ones: SEQ_CNT then begins with zero, or the frame is not taken, and
        // no other sequence's frames are, of this burst or of the one before.
        let (next, known) = match (self.sequence, self.early.seq_id()) {
            (Some((seq_id, next)), _) if seq_id == header.seq_id => (next, Some(self.size)),
            (None, Some(seq_id)) if seq_id == header.seq_id => (0, Some(self.early.size)),
            (None, None) if self.before != Some(header.seq_id) => (0, None),
            _ => return Err(TargetDrop::OutOfSequence),
        };
        let end = header.parameter.checked_add(len).filter(|end| *end <= self.burst_end).ok_or(TargetDrop::Beyond)?;
        if last != (end == self.burst_end) {
            return Err(TargetDrop::WrongEnd);
        }
        let distance = header.seq_cnt.wrapping_sub(next);
        if distance == 0 || distance > WINDOW {
            return Err(TargetDrop::Gap);
        }
        let (gap, frames) = (header.parameter - self.received, u32::from(distance));
        // The last frame may be shorter than the others.
        let size = if last { gap / frames } else { len };
        let fits = u64::from(size) * u64::from(frames) == u64::from(gap) && len <= size;
        if !fits || known.is_some_and(|known| known != size) {
            return Err(TargetDrop::Gap);
        }
        if self.early.has(distance) {
            return Err(TargetDrop::Duplicate);
        }
        Ok(Ahead { distance, size })
    }

    /// Counts the frames that were stored early and follow this one, which was the next expected one. When they are not
    /// of its sequence, or it is not as long as they have taken it to be, they are not believed, and must come again.
    #[cold]
    #[inline(never)]
    pub(super) fn catch_up(&mut self, frame: &FcoeFrame<'_>) {
        let header = frame.header();
        let counts = frame.sof() != Sof::I3 || header.seq_cnt == 0;
        let (seq_id, size) = (self.early.seq_id, self.early.size);
        if header.seq_id != seq_id || !counts || frame.payload().len() != size as usize {
            self.early = Early::default();
            return;
        }
        let Some((_, next)) = &mut self.sequence else { return };
        while self.early.step() {
            // Only the last frame of a burst may be shorter than the others, and it ends with the burst.
            self.received = self.received.saturating_add(size).min(self.burst_end);
            *next = next.wrapping_add(1);
        }
        if self.early.stored == [0; WORDS] {
            self.early = Early::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_exchange_is_a_few_cache_lines() {
        let size = size_of::<super::super::exchange::Exchange>();
        assert!(size <= 256, "{size}");
    }

    proptest! {
        /// The bits are those of a set of numbers.
        #[test]
        fn as_a_set_of_frames(steps in prop::collection::vec(1..WINDOW + 1, 0..400)) {
            let (mut early, mut set, mut next) = (Early::default(), std::collections::BTreeSet::new(), 0_u32);
            for (i, distance) in steps.into_iter().enumerate() {
                let frame = next + u32::from(distance);
                prop_assert_eq!(early.has(distance), set.contains(&frame));
                early.add(7, &Ahead { distance, size: 512 });
                set.insert(frame);
                if i % 3 == 0 {
                    next += 1;
                    prop_assert_eq!(early.step(), set.remove(&next));
                }
            }
        }
    }
}
