//! Faults that were put in on purpose: which frame is missing, came twice or came damaged follows from its number.
//!
//! What is told here is exact: a damaged frame is matched only if turning the planned bit back makes it whole.

use linerate_port::FaultPlan;
use std::collections::BTreeSet;

/// Doubled frames whose second arrival is remembered, in a stream.
const REMEMBERED: usize = 65_536;

/// Faults of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// As planned, of the frames that could be looked at: for lost ones those before the last that came, for the others
    /// those that came.
    pub put_in: u64,
    /// Of those, seen to be so.
    pub found: u64,
}

/// What was found of the faults that were put in, matched by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Injected {
    /// Not sent.
    pub dropped: Matched,
    /// Sent twice.
    pub doubled: Matched,
    /// One bit flipped.
    pub corrupted: Matched,
}

impl Injected {
    pub(super) fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.dropped, &other.dropped),
            (&mut self.doubled, &other.doubled),
            (&mut self.corrupted, &other.corrupted),
        ];
        for (mine, theirs) in pairs {
            mine.put_in += theirs.put_in;
            mine.found += theirs.found;
        }
    }
}

/// What is known of one stream's planned faults.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Frames before this number were looked up in the plan.
    looked: u64,
    /// Doubled frames that came twice.
    twice: BTreeSet<u64>,
    /// Below this, they were forgotten.
    forgotten: u64,
}

/// What an arrival was beside the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As planned.
    Planned,
    /// Nobody sent it: it came more often than it was sent.
    Unsent,
    /// It is whole, and was damaged when it was sent.
    Mended,
}

impl Seen {
    /// A whole frame, or one damaged as planned, came: with that number, so long, for the first time or again.
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
        // Of two copies only the first is damaged, and either may be the one that came.
        let damaged = fate.flip.is_some() && (fate.copies == 1 || came.damaged);
        injected.corrupted.put_in += u64::from(damaged);
        injected.corrupted.found += u64::from(came.damaged);
        if damaged && !came.damaged { Verdict::Mended } else { Verdict::Planned }
    }
}

/// How a frame came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) bytes: usize,
    /// One with its number had come.
    pub(super) again: bool,
    /// The planned bit of it is flipped.
    pub(super) damaged: bool,
}
