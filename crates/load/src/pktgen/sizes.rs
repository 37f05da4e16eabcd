//! Lengths of the frames to be sent, without FCS.

use crate::frame::Dice;
use std::fmt;

/// Shortest and longest frame that can be requested, as in netmap's pkt-gen.
pub const LIMITS: std::ops::RangeInclusive<usize> = 16..=65536;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    Fixed(usize),
    /// Random, from the first to the second.
    Range(usize, usize),
    /// In turn, in the order of the list.
    Mix(Vec<usize>),
}

impl Sizes {
    /// The simple Internet mix: 7 frames of 60 bytes, 4 of 590 and 1 of 1514.
    pub const IMIX: &[(usize, usize)] = &[(60, 7), (590, 4), (1514, 1)];

    /// Makes a mix of lengths and their weights, spread as evenly as possible: the most overdue length is next.
    #[must_use]
    pub fn mix(weights: &[(usize, usize)]) -> Self {
        let total: usize = weights.iter().map(|(_, weight)| weight).sum();
        let mut sent = vec![0; weights.len()];
        let most_overdue = |turn: usize, sent: &[usize]| {
            let overdue = |k: usize| (weights[k].1 * (turn + 1)) as i128 - (sent[k] * total) as i128;
            (0..weights.len()).max_by_key(|k| (overdue(*k), std::cmp::Reverse(*k))).unwrap_or(0)
        };
        let list = (0..total).map(|turn| {
            let k = most_overdue(turn, &sent);
            sent[k] += 1;
            weights[k].0
        });
        Self::Mix(list.collect())
    }

    #[must_use]
    pub fn longest(&self) -> usize {
        match self {
            Self::Fixed(len) => *len,
            Self::Range(_, most) => *most,
            Self::Mix(list) => list.iter().copied().max().unwrap_or(0),
        }
    }

    #[must_use]
    pub fn shortest(&self) -> usize {
        match self {
            Self::Fixed(len) => *len,
            Self::Range(least, _) => *least,
            Self::Mix(list) => list.iter().copied().min().unwrap_or(0),
        }
    }

    /// Length of frame `k`.
    #[inline]
    pub(crate) fn pick(&self, k: u64, dice: &mut Dice) -> usize {
        match self {
            Self::Fixed(len) => *len,
            Self::Range(least, most) => dice.between(*least, *most),
            Self::Mix(list) => list[usize::try_from(k % list.len() as u64).unwrap_or(0)],
        }
    }
}

/// Writes the lengths as they would be typed.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(len) => write!(f, "{len}"),
            Self::Range(least, most) => write!(f, "{least}-{most}"),
            Self::Mix(list) => {
                let mut weights = std::collections::BTreeMap::new();
                list.iter().for_each(|len| *weights.entry(len).or_insert(0) += 1);
                let parts: Vec<_> = weights.iter().map(|(len, weight)| format!("{len}:{weight}")).collect();
                f.write_str(&parts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_has_its_weights_and_is_spread() {
        let Sizes::Mix(list) = Sizes::mix(Sizes::IMIX) else { unreachable!() };
        let count = |len| list.iter().filter(|l| **l == len).count();
        assert_eq!((list.len(), count(60), count(590), count(1514)), (12, 7, 4, 1));
        assert!(list.windows(3).all(|w| w != [590, 590, 590] && w != [60, 60, 60]), "{list:?}");
    }

    #[test]
    fn a_range_has_both_its_ends() {
        let (sizes, mut dice) = (Sizes::Range(60, 63), Dice::new(7));
        let mut seen = [0; 4];
        for k in 0..4000 {
            seen[sizes.pick(k, &mut dice) - 60] += 1;
        }
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
    }
}
