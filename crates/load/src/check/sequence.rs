//! The order of one stream: frames that are missing, late or repeated.

use super::joint::{Joint, Share};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Number of gaps that are remembered; when there are more, the oldest is given up, and its frames that arrive later
/// count as late without a lookup.
const GAPS: usize = 4096;

/// Position of an arriving frame in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one after the last.
    Next,
    /// Beyond the expected one: there is a gap before it.
    Ahead,
    /// From a gap.
    Late,
    /// Received before.
    Again,
}

/// Arrivals of a stream that numbers its frames from 0.
#[derive(Debug, Default)]
pub struct Sequence {
    first: u64,
    expected: u64,
    received: u64,
    duplicates: u64,
    reordered: u64,
    /// Missing ranges in rising order.
    gaps: VecDeque<Range<u64>>,
    /// Number of frames in gaps that were given up.
    given_up: u64,
    /// Gaps below this number were given up.
    forgotten: u64,
    /// Share of a stream that other threads receive too: all is counted there, and nothing here.
    share: Option<Box<Share>>,
}

impl Sequence {
    /// Makes a stream whose first frame is `first`; earlier ones are not counted as lost.
    #[must_use]
    pub fn from(first: u64) -> Self {
        Self { expected: first, first, forgotten: first, ..Self::default() }
    }

    /// Makes this thread's share of the only stream that a team receives.
    pub(crate) fn joint(joint: &Arc<Joint>) -> Self {
        Self::shared(joint.share((0, 0, false)))
    }

    /// Makes a stream of which this thread receives a share.
    pub(super) fn shared(share: Share) -> Self {
        // No frame has this number, so each is passed to the share.
        Self { expected: u64::MAX, share: Some(Box::new(share)), ..Self::default() }
    }

    /// Hands over the numbers that this thread received of a shared stream.
    pub(crate) fn hand_over(&mut self) {
        if let Some(share) = &mut self.share {
            share.hand_over();
        }
    }

    /// The first number expected.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number after the last.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.share.as_ref().map_or(self.expected, |share| share.next())
    }

    /// Records the arrival of a frame with this number.
    #[inline]
    pub fn next(&mut self, number: u64) -> Order {
        if number == self.expected {
            self.expected += 1;
            self.received += 1;
            return Order::Next;
        }
        self.out_of_order(number)
    }

    #[cold]
    fn out_of_order(&mut self, number: u64) -> Order {
        if let Some(share) = &mut self.share {
            return share.note(number);
        }
        if number < self.first {
            // The first frame to arrive was not the first one sent: another queue had that.
            if number + 1 < self.first {
                self.gaps.push_front(number + 1..self.first);
                self.bound();
            }
            self.first = number;
            self.received += 1;
            self.reordered += 1;
            return Order::Late;
        }
        if number > self.expected {
            self.gaps.push_back(self.expected..number);
            self.bound();
            self.expected = number + 1;
            self.received += 1;
            return Order::Ahead;
        }
        if self.fill(number) {
            self.received += 1;
            self.reordered += 1;
            Order::Late
        } else {
            self.duplicates += 1;
            Order::Again
        }
    }

    /// Gives the oldest gap up when there are too many.
    fn bound(&mut self) {
        if self.gaps.len() > GAPS
            && let Some(oldest) = self.gaps.pop_front()
        {
            self.given_up += oldest.end - oldest.start;
            self.forgotten = oldest.end;
        }
    }

    /// Takes a number out of its gap; false if it is in no gap.
    fn fill(&mut self, number: u64) -> bool {
        if number < self.forgotten && self.given_up > 0 {
            self.given_up -= 1;
            return true;
        }
        let at = self.gaps.partition_point(|gap| gap.end <= number);
        let Some(gap) = self.gaps.get_mut(at).filter(|gap| gap.contains(&number)) else { return false };
        let (before, after) = (gap.start..number, number + 1..gap.end);
        match (before.is_empty(), after.is_empty()) {
            (true, true) => drop(self.gaps.remove(at)),
            (true, false) => *gap = after,
            (false, true) => *gap = before,
            (false, false) => {
                *gap = before;
                self.gaps.insert(at + 1, after);
                self.bound();
            }
        }
        true
    }

    /// Number of frames received, each counted once.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Number of frames that arrived after a later one.
    #[must_use]
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Number of frames missing before the last one that arrived.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.given_up + self.gaps.iter().map(|gap| gap.end - gap.start).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each way in which a gap arises: ahead of all, before all, and by a number in the middle of one.
    #[test]
    fn no_more_gaps_are_kept_than_are_said_to_be() {
        let many = 2 * (GAPS as u64 + 10);
        let mut ahead = Sequence::default();
        (1..many).step_by(2).for_each(|number| _ = ahead.next(number));
        assert_eq!((ahead.gaps.len(), ahead.given_up, ahead.forgotten), (GAPS, 10, 19));
        let mut split = Sequence::default();
        split.next(many);
        (1..many).step_by(2).for_each(|number| _ = split.next(number));
        assert_eq!(split.gaps.len(), GAPS);
        let mut before = Sequence::from(many);
        before.next(many);
        (0..many).rev().step_by(2).skip(1).for_each(|number| _ = before.next(number));
        assert_eq!(before.gaps.len(), GAPS);
    }
}
