//! Order of a sweep's measurements.

use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All points once, then all of them again: what changes on the machine meanwhile changes all of them.
    #[default]
    Rounds,
    /// All repeats of a point, then those of the next one.
    Points,
    /// Rounds, each in an order of chance.
    Shuffled,
}

impl Order {
    pub const ALL: [(&str, Self); 3] =
        [("rounds", Self::Rounds), ("points", Self::Points), ("shuffled", Self::Shuffled)];

    /// Pairs of a point's place in the plan and the number of a repeat, from 0, in this order. `random` gives numbers below
    /// its argument.
    pub(super) fn turns(self, points: usize, rounds: u32, mut random: impl FnMut(usize) -> usize) -> Vec<(usize, u32)> {
        let rounds = 0..rounds;
        match self {
            Self::Points => (0..points).flat_map(|point| rounds.clone().map(move |round| (point, round))).collect(),
            Self::Rounds => rounds.flat_map(|round| (0..points).map(move |point| (point, round))).collect(),
            Self::Shuffled => {
                let mut turns = Vec::with_capacity(points);
                for round in rounds {
                    let mut places: Vec<usize> = (0..points).collect();
                    // Fisher and Yates.
                    for last in (1..points).rev() {
                        places.swap(last, random(last + 1));
                    }
                    turns.extend(places.into_iter().map(|point| (point, round)));
                }
                turns
            }
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rounds => "in rounds over all points",
            Self::Points => "point by point",
            Self::Shuffled => "in rounds over all points, each in an order of chance",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_has_each_turn_once() {
        assert_eq!(Order::Points.turns(2, 2, |_| 0), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(Order::Rounds.turns(2, 2, |_| 0), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        let shuffled = Order::Shuffled.turns(5, 2, |_| 0);
        assert_ne!(shuffled, Order::Rounds.turns(5, 2, |_| 0));
        for (round, turns) in shuffled.chunks(5).enumerate() {
            let mut places: Vec<usize> = turns.iter().map(|(point, _)| *point).collect();
            places.sort_unstable();
            assert_eq!(places, [0, 1, 2, 3, 4]);
            assert!(turns.iter().all(|(_, of)| *of as usize == round));
        }
    }
}
