//! Deadlines in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Items with deadlines (ns); those of equal deadline in any order.
#[derive(Clone, Debug, Default)]
pub struct Timers<T>(BinaryHeap<Reverse<(u64, T)>>);

impl<T: Ord> Timers<T> {
    #[must_use]
    pub fn new() -> Self {
        Self(BinaryHeap::new())
    }

    pub fn add(&mut self, at: u64, what: T) {
        self.0.push(Reverse((at, what)));
    }

    /// Deadline of the next item.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next item that is due, with its deadline.
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
