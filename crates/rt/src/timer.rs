//! Deadlines in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Things to be done at their times (ns); those of one time in any order.
#[derive(Clone, Debug, Default)]
pub struct Timers<T>(BinaryHeap<Reverse<(u64, T)>>);

impl<T: Ord> Timers<T> {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self(BinaryHeap::new())
    }

    /// Adds one.
    pub fn add(&mut self, at: u64, what: T) {
        self.0.push(Reverse((at, what)));
    }

    /// When the next one is due.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next one that is due, with the time it was due at.
    pub fn due(&mut self, now: u64) -> Option<(u64, T)> {
        self.next().filter(|at| *at <= now).and_then(|_| self.0.pop()).map(|Reverse(timer)| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_due_in_order() {
        let mut timers = Timers::new();
        for (at, what) in [(30, 'c'), (10, 'a'), (20, 'b')] {
            timers.add(at, what);
        }
        assert_eq!((timers.next(), timers.due(9)), (Some(10), None));
        assert_eq!((timers.due(25), timers.due(25), timers.due(25)), (Some((10, 'a')), Some((20, 'b')), None));
        assert_eq!(timers.due(30), Some((30, 'c')));
        assert_eq!(timers.next(), None);
    }
}
