//! Who may change a device: many writes at once, or one COMPARE AND WRITE alone, whose comparison must still hold when it
//! writes (SBC-3, clause 5.2).

use crate::Tag;
use std::collections::VecDeque;

/// What an operation needs of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Hold {
    /// Nothing: it only reads.
    #[default]
    None,
    /// No comparison at the same time.
    Shared,
    /// No change at the same time.
    Exclusive,
}

/// The holds on one device, given in the order of asking.
#[derive(Debug, Default)]
pub(super) struct Holds {
    shared: u32,
    exclusive: bool,
    waiting: VecDeque<(Tag, Hold)>,
}

impl Holds {
    /// Whether it is given at once; otherwise [`next`](Self::next) will give it.
    pub(super) fn take(&mut self, tag: Tag, hold: Hold) -> bool {
        if hold == Hold::None {
            return true;
        }
        let given = self.waiting.is_empty() && self.give(hold);
        if !given {
            self.waiting.push_back((tag, hold));
        }
        given
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

    /// It is given back.
    pub(super) fn end(&mut self, hold: Hold) {
        match hold {
            Hold::None => {}
            Hold::Shared => self.shared = self.shared.saturating_sub(1),
            Hold::Exclusive => self.exclusive = false,
        }
    }

    /// Who has waited and has it now.
    pub(super) fn next(&mut self) -> Option<Tag> {
        let (tag, hold) = *self.waiting.front()?;
        self.give(hold).then(|| {
            self.waiting.pop_front();
            tag
        })
    }

    /// Who waits does not want it any more.
    pub(super) fn forget(&mut self, tag: Tag) {
        self.waiting.retain(|(waiting, _)| *waiting != tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_alone_and_nobody_overtakes_it() {
        let mut holds = Holds::default();
        assert!(holds.take(Tag(1), Hold::Shared) && holds.take(Tag(2), Hold::Shared));
        assert!(!holds.take(Tag(3), Hold::Exclusive) && !holds.take(Tag(4), Hold::Shared));
        assert!(holds.take(Tag(5), Hold::None));
        holds.end(Hold::Shared);
        assert_eq!(holds.next(), None);
        holds.end(Hold::Shared);
        assert_eq!((holds.next(), holds.next()), (Some(Tag(3)), None));
        holds.end(Hold::Exclusive);
        assert_eq!((holds.next(), holds.next()), (Some(Tag(4)), None));
        assert!(!holds.take(Tag(6), Hold::Exclusive));
        holds.forget(Tag(6));
        assert!(holds.take(Tag(7), Hold::Shared));
    }
}
