//! Holds on a device: many writes at once, or one COMPARE AND WRITE alone, whose comparison must still hold when it
//! writes (SBC-3, clause 5.2).
//!
//! An aborted task may leave an operation behind, which its back end cannot recall. No other change of the same blocks
//! starts before that has ended: otherwise the operation would undo later writes of its initiator, which was told that
//! the task is gone (SAM-5, clause 7.2).

use linerate_block::{Operation, Tag};
use std::collections::VecDeque;

/// Range of blocks, from `first` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    first: u64,
    end: u64,
}

impl Span {
    /// All blocks.
    pub(super) const ALL: Self = Self { first: 0, end: u64::MAX };

    pub(super) const fn new(lba: u64, blocks: u64) -> Self {
        Self { first: lba, end: lba.saturating_add(blocks) }
    }

    /// Blocks that an operation changes; a buffer has `stride` bytes for each.
    pub(super) fn of(operation: &Operation, stride: u64) -> Self {
        match operation {
            Operation::Read { .. } | Operation::Flush => Self::default(),
            Operation::Write { lba, buffer, .. } => Self::new(*lba, (buffer.len() as u64).div_ceil(stride.max(1))),
            Operation::Discard { lba, blocks } | Operation::WriteZeroes { lba, blocks, .. } => Self::new(*lba, *blocks),
        }
    }

    fn is_empty(&self) -> bool {
        self.first >= self.end
    }

    fn meets(&self, other: &Self) -> bool {
        self.first < other.end && other.first < self.end
    }
}

/// Kind of hold that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Hold {
    /// None: the operation only reads.
    #[default]
    None,
    /// No COMPARE AND WRITE at the same time.
    Shared,
    /// No other change at the same time.
    Exclusive,
}

/// The holds on one device, granted in the order of requests.
#[derive(Debug, Default)]
pub(super) struct Holds {
    shared: u32,
    exclusive: bool,
    waiting: VecDeque<(Tag, Hold, Span)>,
    /// Blocks changed by operations whose tasks are gone.
    orphans: Vec<Span>,
}

impl Holds {
    /// True if the hold, to change these blocks, is granted at once; otherwise [`next`](Self::next) will grant it.
    pub(super) fn take(&mut self, tag: Tag, hold: Hold, span: Span) -> bool {
        if hold == Hold::None || self.waiting.is_empty() && self.orphans.is_empty() && self.give(hold) {
            return true;
        }
        // Earlier waiters still wait: nothing has changed.
        self.waiting.push_back((tag, hold, span));
        self.next().is_some()
    }

    fn give(&mut self, hold: Hold) -> bool {
        let given = !self.exclusive && (hold != Hold::Exclusive || self.shared == 0);
        if given {
            match hold {
                Hold::None => {}
                Hold::Shared => self.shared += 1,
                Hold::Exclusive => self.exclusive = true,
            }
        }
        given
    }

    /// Gives a hold back.
    pub(super) fn end(&mut self, hold: Hold) {
        match hold {
            Hold::None => {}
            Hold::Shared => self.shared = self.shared.saturating_sub(1),
            Hold::Exclusive => self.exclusive = false,
        }
    }

    /// Records that an operation has lost its task.
    pub(super) fn orphan(&mut self, span: Span) {
        if !span.is_empty() {
            self.orphans.push(span);
        }
    }

    /// Records that such an operation has ended.
    pub(super) fn buried(&mut self, span: Span) {
        if let Some(at) = self.orphans.iter().position(|orphan| *orphan == span) {
            self.orphans.swap_remove(at);
        }
    }

    /// Grants the next waiting hold and returns its task. No request overtakes an earlier one, except that an operation
    /// without a task, which may take for ever, delays only requests that overlap it.
    pub(super) fn next(&mut self) -> Option<Tag> {
        let orphans = &self.orphans;
        let meets = |span: &Span| orphans.iter().any(|orphan| orphan.meets(span));
        let at = self.waiting.iter().position(|(_, _, span)| !meets(span))?;
        let (tag, hold, _) = self.waiting[at];
        self.give(hold).then(|| {
            self.waiting.remove(at);
            tag
        })
    }

    /// Gives a shared hold at once, or not at all; nobody who waits is overtaken.
    pub(super) fn share(&mut self, span: Span) -> bool {
        self.waiting.is_empty() && !self.orphans.iter().any(|orphan| orphan.meets(&span)) && self.give(Hold::Shared)
    }

    /// True if nobody changes anything.
    pub(super) fn is_free(&self) -> bool {
        self.shared == 0 && !self.exclusive && self.orphans.is_empty()
    }

    /// Withdraws a waiting request.
    pub(super) fn forget(&mut self, tag: Tag) {
        self.waiting.retain(|(waiting, ..)| *waiting != tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_alone_and_nobody_overtakes_it() {
        let mut holds = Holds::default();
        assert!(holds.take(Tag(1), Hold::Shared, Span::ALL) && holds.take(Tag(2), Hold::Shared, Span::ALL));
        assert!(!holds.take(Tag(3), Hold::Exclusive, Span::ALL) && !holds.take(Tag(4), Hold::Shared, Span::ALL));
        assert!(holds.take(Tag(5), Hold::None, Span::ALL));
        holds.end(Hold::Shared);
        assert_eq!(holds.next(), None);
        holds.end(Hold::Shared);
        assert_eq!((holds.next(), holds.next()), (Some(Tag(3)), None));
        holds.end(Hold::Exclusive);
        assert_eq!((holds.next(), holds.next()), (Some(Tag(4)), None));
        assert!(!holds.take(Tag(6), Hold::Exclusive, Span::ALL));
        holds.forget(Tag(6));
        assert!(holds.take(Tag(7), Hold::Shared, Span::ALL));
    }

    #[test]
    fn what_an_orphan_changes_is_changed_by_nobody_else() {
        let mut holds = Holds::default();
        assert!(holds.take(Tag(1), Hold::Shared, Span::new(4, 4)));
        holds.orphan(Span::new(4, 4));
        holds.orphan(Span::default());
        assert_eq!(holds.orphans, [Span::new(4, 4)], "what changes nothing is in nobody's way");
        holds.end(Hold::Shared);
        assert!(!holds.take(Tag(2), Hold::Shared, Span::new(0, 5)), "block 4 is not settled");
        assert!(!holds.take(Tag(3), Hold::Exclusive, Span::new(7, 1)) && !holds.take(Tag(4), Hold::Shared, Span::ALL));
        assert!(holds.take(Tag(5), Hold::Shared, Span::new(0, 4)) && holds.take(Tag(6), Hold::Shared, Span::new(8, 1)));
        holds.orphan(Span::new(0, 1));
        holds.end(Hold::Shared);
        holds.end(Hold::Shared);
        holds.forget(Tag(4));
        holds.buried(Span::new(4, 4));
        assert_eq!((holds.next(), holds.next()), (Some(Tag(3)), None));
        holds.end(Hold::Exclusive);
        assert_eq!(holds.next(), None);
        holds.buried(Span::new(0, 1));
        assert_eq!((holds.next(), holds.next()), (Some(Tag(2)), None));
    }
}
