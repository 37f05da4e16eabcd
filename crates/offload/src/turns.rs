//! Turns of traffic classes at an output: which of those that have frames sends next (transmission selection, IEEE
//! 802.1Q-2022, clause 8.6.8). Strict classes go first, those with shares next, by deficit round robin (Shreedhar and Varghese
//! 1995) over bytes of frames, and then those of which nothing is promised.
//!
//! A class with credit sends a frame of any length and owes what the frame had beyond its credit, so that nobody has to know
//! the length beforehand. Credit is given when no waiting class of the level has any: as many rounds at once as it takes until
//! one has. So a round may be much shorter than a frame, and no class sends much at a time. Who has nothing to send saves up no
//! credit; its debt is paid.

use crate::class::{ClassTable, Selection, TrafficClass};

/// Bytes of credit that a weight has a round.
const QUANTUM: i64 = 64;

/// The classes' credit.
#[derive(Debug, Clone)]
pub struct Turns {
    credit: [i64; TrafficClass::MOST],
    quantum: [i64; TrafficClass::MOST],
    /// Classes that have credit, one bit each.
    rich: u8,
    /// Classes of each selection, one bit each.
    strict: u8,
    shares: u8,
    rest: u8,
}

impl Turns {
    /// Turns by a table; nobody has credit yet.
    #[must_use]
    pub fn new(table: &ClassTable) -> Self {
        let zero = [0; TrafficClass::MOST];
        let mut turns =
            Self { credit: zero, quantum: [QUANTUM; TrafficClass::MOST], rich: 0, strict: 0, shares: 0, rest: 0 };
        for (class, selection) in table.selection().iter().enumerate() {
            let bit = 1 << class;
            match selection {
                Selection::Strict => turns.strict |= bit,
                Selection::Share(weight) => {
                    turns.shares |= bit;
                    turns.quantum[class] = QUANTUM * i64::from((*weight).max(1));
                }
                Selection::Rest => turns.rest |= bit,
            }
        }
        turns
    }

    /// The class, among those that have frames, one bit each, whose turn it is; None if the table has none of them.
    #[inline]
    pub fn next(&mut self, waiting: u8) -> Option<usize> {
        let strict = waiting & self.strict;
        if strict != 0 {
            return Some(7 - strict.leading_zeros() as usize);
        }
        let level = if waiting & self.shares != 0 { self.shares } else { self.rest };
        let peers = waiting & level;
        if peers == 0 {
            return None;
        }
        if peers & self.rich == 0 {
            self.give(peers, level);
        }
        Some((peers & self.rich).trailing_zeros() as usize)
    }

    /// Takes note that a class has sent a frame of so many bytes.
    #[inline]
    pub fn sent(&mut self, class: usize, bytes: usize) {
        if self.strict >> class & 1 == 0 {
            self.credit[class] -= i64::try_from(bytes).unwrap_or(i64::MAX);
            self.rich &= !(u8::from(self.credit[class] <= 0) << class);
        }
    }

    /// Gives the classes of a level rounds of credit until one of `peers`, which have none, has some.
    fn give(&mut self, peers: u8, level: u8) {
        let those = |set: u8| (0..TrafficClass::MOST).filter(move |class| set >> class & 1 == 1);
        let rounds = those(peers).map(|class| 1 - self.credit[class] / self.quantum[class]).min().unwrap_or(1);
        for class in those(level) {
            let credit = self.credit[class].min(0) + rounds * self.quantum[class];
            self.credit[class] = if peers >> class & 1 == 1 { credit } else { credit.min(0) };
            self.rich = self.rich & !(1 << class) | u8::from(self.credit[class] > 0) << class;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_sum::SplitMix64;

    /// Bytes that each class sent in so many turns; `waiting`: the classes that have frames at each.
    fn serve(text: &str, turns: usize, sizes: [usize; 8], mut waiting: impl FnMut(usize) -> u8) -> [u64; 8] {
        let mut order = Turns::new(&text.parse().unwrap());
        let mut sent = [0; 8];
        for turn in 0..turns {
            let Some(class) = order.next(waiting(turn)) else { continue };
            assert!(waiting(turn) >> class & 1 == 1, "it has no frame");
            order.sent(class, sizes[class]);
            sent[class] += sizes[class] as u64;
        }
        sent
    }

    #[test]
    fn bytes_go_by_weight_whatever_the_lengths_of_frames() {
        let mut random = SplitMix64::new(1);
        let mut below = |most: u64| random.next_u64() % most;
        for _ in 0..40 {
            let count = 1 + below(8);
            let weights: Vec<u64> = (0..count).map(|_| 1 + below(100)).collect();
            let text = weights.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let sizes = [(); 8].map(|()| [60, 84, 1514, 9014, 65_000][usize::try_from(below(5)).unwrap()]);
            let sent = serve(&text, 200_000, sizes, |_| u8::MAX >> (8 - count));
            let (all, weight): (u64, u64) = (sent.iter().sum(), weights.iter().sum());
            for (class, of) in weights.iter().enumerate() {
                let wanted = all * of / weight;
                let slack = wanted / 100 + 2 * 65_000 + 64 * of;
                assert!(sent[class].abs_diff(wanted) <= slack, "{text} {sizes:?}: {class} {} of {wanted}", sent[class]);
            }
        }
    }

    #[test]
    fn strict_ones_go_first_and_the_rest_last() {
        let table = "rest,1,3,strict,strict,rest";
        assert_eq!(serve(table, 10, [100; 8], |_| 0b11_1111), [0, 0, 0, 0, 1000, 0, 0, 0]);
        assert_eq!(serve(table, 10, [100; 8], |_| 0b10_1111), [0, 0, 0, 1000, 0, 0, 0, 0]);
        let sent = serve(table, 4000, [100; 8], |_| 0b10_0111);
        assert_eq!((sent[0], sent[5]), (0, 0));
        assert!(sent[1].abs_diff(100_000) <= 200 && sent[2].abs_diff(300_000) <= 200, "{sent:?}");
        let sent = serve(table, 4000, [100; 8], |_| 0b10_0001);
        assert!(sent[0].abs_diff(200_000) <= 200 && sent[5].abs_diff(200_000) <= 200, "{sent:?}");
        assert_eq!(serve(table, 10, [100; 8], |_| 0b1100_0000), [0; 8], "the table has no such class");
    }

    /// Without this, a class that was silent for a while would have all of the link for as long.
    #[test]
    fn nothing_is_saved_up_by_who_has_nothing_to_send() {
        let sent = serve("1,1", 20_000, [1500; 8], |turn| if turn < 10_000 { 0b01 } else { 0b11 });
        assert!(sent[1].abs_diff(5000 * 1500) <= 3000, "{sent:?}");
    }
}
