//! Ranges of a stream that have arrived beyond a gap.

use super::seq::Seq;
use linerate_wire::SackBlocks;

/// Most ranges. What would make one more is dropped: its sender sends it again.
const MOST: usize = 64;

/// Ranges that have arrived beyond what is acknowledged, in order; no two touch.
#[derive(Debug, Default)]
pub(super) struct Holes {
    ranges: Vec<(Seq, Seq)>,
    /// First numbers of the ranges that changed last, the most recent first (RFC 2018, section 4: they are told first).
    recent: [Option<Seq>; SackBlocks::MOST],
    /// A range that came twice, to be told of once (DSACK, RFC 2883, section 4).
    twice: Option<(Seq, Seq)>,
}

impl Holes {
    /// True if nothing has arrived beyond a gap.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// End of all that has arrived.
    pub(super) fn end(&self) -> Option<Seq> {
        self.ranges.last().map(|(_, end)| *end)
    }

    /// Bytes that have arrived beyond gaps.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u32 {
        self.ranges.iter().map(|(from, to)| from.to(*to)).sum()
    }

    /// Notes that a range came again that was there already.
    pub(super) fn came_twice(&mut self, from: Seq, to: Seq) {
        if from.is_before(to) {
            self.twice = Some((from, to));
        }
    }

    /// Adds a range; false if there is no room for it.
    pub(super) fn add(&mut self, from: Seq, to: Seq) -> bool {
        debug_assert!(from.is_before(to));
        // All from `first` to `last` touch or overlap it.
        let first = self.ranges.partition_point(|(_, end)| end.is_before(from));
        let last = self.ranges.partition_point(|(start, _)| start.is_until(to));
        if first == last && self.ranges.len() >= MOST {
            return false;
        }
        let (mut start, mut end) = (from, to);
        for (a, b) in &self.ranges[first..last] {
            let (left, right) = (from.max(*a), to.min(*b));
            if left.is_before(right) {
                self.twice = Some((left, right));
            }
            (start, end) = (start.min(*a), end.max(*b));
        }
        self.ranges.splice(first..last, [(start, end)]);
        self.note(start);
        true
    }

    /// A range that begins here has changed.
    fn note(&mut self, start: Seq) {
        let ranges = &self.ranges;
        let others = self.recent.into_iter().flatten();
        let kept = others.filter(|known| *known != start && ranges.iter().any(|(from, _)| from == known));
        let mut all = std::iter::once(start).chain(kept.take(SackBlocks::MOST - 1).collect::<Vec<_>>());
        self.recent = std::array::from_fn(|_| all.next());
    }

    /// The stream is whole up to `to`: takes the range that this reaches, and returns where the stream is whole to then.
    pub(super) fn close(&mut self, mut to: Seq) -> Seq {
        let reached = self.ranges.iter().take_while(|(from, _)| from.is_until(to)).count();
        for (from, end) in self.ranges.drain(..reached) {
            if from.is_before(to) {
                self.twice = Some((from, to.min(end)));
            }
            to = to.max(end);
        }
        to
    }

    /// Ranges to tell the sender of, at most `most`: one that came twice, then those that changed last.
    pub(super) fn blocks(&mut self, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut left = most;
        let mut push = |(from, to): (Seq, Seq)| {
            if left > 0 && blocks.push((from.0, to.0)) {
                left -= 1;
            }
        };
        if let Some(twice) = self.twice.take() {
            push(twice);
        }
        for start in self.recent.into_iter().flatten() {
            if let Ok(at) = self.ranges.binary_search_by(|(from, _)| order(*from, start)) {
                push(self.ranges[at]);
            }
        }
        blocks
    }

    /// True if there is something to tell the sender of.
    #[inline]
    pub(super) fn tells(&self) -> bool {
        !self.ranges.is_empty() || self.twice.is_some()
    }
}

fn order(a: Seq, b: Seq) -> std::cmp::Ordering {
    if a == b {
        std::cmp::Ordering::Equal
    } else if a.is_before(b) {
        std::cmp::Ordering::Less
    } else {
        std::cmp::Ordering::Greater
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn told(holes: &mut Holes) -> Vec<(u32, u32)> {
        holes.blocks(4).all().to_vec()
    }

    #[test]
    fn the_latest_range_is_told_first() {
        // RFC 2018, section 5, case 2: the first of eight segments of 500 bytes is lost, those behind it arrive.
        let mut holes = Holes::default();
        for n in 1..8 {
            assert!(holes.add(Seq(5000 + 500 * n), Seq(5500 + 500 * n)));
            assert_eq!(told(&mut holes), [(5500, 6000 + 500 * (n - 1))]);
        }
        // Case 3: of eight the second, fourth, sixth and eighth are lost.
        let mut holes = Holes::default();
        for (n, right) in [
            (2, &[(6000, 6500)][..]),
            (4, &[(7000, 7500), (6000, 6500)]),
            (6, &[(8000, 8500), (7000, 7500), (6000, 6500)]),
        ] {
            assert!(holes.add(Seq(5000 + 500 * n), Seq(5500 + 500 * n)));
            assert_eq!(told(&mut holes), right);
        }
        // The fourth arrives, then the second.
        assert!(holes.add(Seq(6500), Seq(7000)));
        assert_eq!(told(&mut holes), [(6000, 7500), (8000, 8500)]);
        assert_eq!(holes.bytes(), 2000);
        assert_eq!(holes.close(Seq(6000)), Seq(7500));
        assert_eq!(told(&mut holes), [(8000, 8500)]);
        assert_eq!(holes.close(Seq(8000)), Seq(8500));
        assert!(holes.is_empty() && !holes.tells());
    }

    #[test]
    fn what_comes_twice_is_told_once() {
        // RFC 2883, section 4.2, example 3: a segment beyond a gap comes again.
        let mut holes = Holes::default();
        holes.add(Seq(4500), Seq(5000));
        assert_eq!(told(&mut holes), [(4500, 5000)]);
        holes.add(Seq(4500), Seq(5000));
        assert_eq!(told(&mut holes), [(4500, 5000), (4500, 5000)]);
        assert_eq!(told(&mut holes), [(4500, 5000)]);
        // Example 1: one that was acknowledged.
        let mut holes = Holes::default();
        holes.came_twice(Seq(3000), Seq(3500));
        assert!(holes.tells());
        assert_eq!(told(&mut holes), [(3000, 3500)]);
        assert!(!holes.tells());
    }

    #[test]
    fn ranges_are_limited() {
        let mut holes = Holes::default();
        (0..64).for_each(|n| assert!(holes.add(Seq(10 * n), Seq(10 * n + 1))));
        assert!(!holes.add(Seq(1000), Seq(1001)));
        assert!(holes.add(Seq(1), Seq(10)), "one that joins two needs no room");
        assert!(holes.add(Seq(1000), Seq(1001)));
    }

    proptest! {
        #[test]
        fn they_are_a_set(steps in vec((0..400_u32, 1..40_u32), 1..40), base: u32) {
            let (mut holes, mut model) = (Holes::default(), vec![false; 512]);
            let base = Seq(base);
            for (at, len) in steps {
                let fits = holes.add(base.plus(at), base.plus(at + len));
                prop_assert!(fits);
                model[at as usize..(at + len) as usize].fill(true);
                prop_assert_eq!(holes.bytes() as usize, model.iter().filter(|there| **there).count());
                let mut ranges = holes.ranges.windows(2);
                prop_assert!(ranges.all(|pair| pair[0].1.is_before(pair[1].0)), "{:?}", holes.ranges);
            }
            let whole = holes.close(base);
            let right = model.iter().position(|there| !there).unwrap();
            prop_assert_eq!(base.to(whole) as usize, right);
        }
    }
}
