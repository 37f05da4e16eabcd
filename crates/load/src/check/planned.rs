//! Faults injected on purpose: the plan tells by number which frame is missing, doubled or damaged.
//!
//! The result is exact: a damaged frame is matched only if turning the planned bit back makes it whole.

use linerate_port::FaultPlan;
use linerate_text::counters;
use std::collections::BTreeSet;

/// Number of doubled frames per stream whose second arrival is remembered.
const REMEMBERED: usize = 65_536;

counters! {
    /// Faults of one kind.
    pub struct Matched {
        /// Faults planned among the frames that could be checked: for lost frames those before the last that arrived, for
        /// the others those that arrived.
        pub put_in: u64,
        /// Number of these faults that were observed.
        pub found: u64,
    }
}

counters! {
    /// Injected faults that were found, matched by number.
    pub struct Injected {
        pub dropped: Matched,
        pub doubled: Matched,
        /// Frames with one bit flipped.
        pub corrupted: Matched,
    }
}

/// State of one stream's planned faults.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// First number not yet looked up in the plan.
    looked: u64,
    /// Doubled frames that arrived twice.
    twice: BTreeSet<u64>,
    /// Numbers below this were forgotten.
    forgotten: u64,
}

/// Comparison of an arrival with the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Planned,
    /// Never sent: it arrived more often than it was sent.
    Unsent,
    /// Whole, although damaged when it was sent.
    Mended,
}

impl Seen {
    /// Records the arrival of a whole frame, or of one damaged as planned.
    pub(super) fn arrived(
        &mut self,
        plan: &FaultPlan,
        injected: &mut Injected,
        queue: u16,
        number: u64,
        came: Came,
    ) -> Verdict {
        while self.looked <= number {
            let dropped = plan.fate(queue, self.looked, came.bytes).copies == 0;
            injected.dropped.put_in += u64::from(dropped);
            injected.dropped.found += u64::from(dropped);
            self.looked += 1;
        }
        let fate = plan.fate(queue, number, came.bytes);
        match (fate.copies, came.again) {
            (0, false) => {
                injected.dropped.found = injected.dropped.found.saturating_sub(1);
                return Verdict::Unsent;
            }
            (0 | 1, true) => return Verdict::Unsent,
            (2.., true) => {
                if number < self.forgotten || !self.twice.insert(number) {
                    return Verdict::Unsent;
                }
                injected.doubled.found += 1;
                if self.twice.len() > REMEMBERED
                    && let Some(oldest) = self.twice.pop_first()
                {
                    self.forgotten = oldest + 1;
                }
            }
            (copies, false) => injected.doubled.put_in += u64::from(copies > 1),
        }
        // Only the first of two copies is damaged, and either may be the one that arrived.
        let damaged = fate.flip.is_some() && (fate.copies == 1 || came.damaged);
        injected.corrupted.put_in += u64::from(damaged);
        injected.corrupted.found += u64::from(came.damaged);
        if damaged && !came.damaged { Verdict::Mended } else { Verdict::Planned }
    }
}

/// Properties of an arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) bytes: usize,
    /// True if a frame with its number had arrived before.
    pub(super) again: bool,
    /// True if its planned bit is flipped.
    pub(super) damaged: bool,
}
