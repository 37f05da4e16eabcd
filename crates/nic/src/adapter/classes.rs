//! An adapter's traffic classes: how many there are, and the weight of each.

use linerate_offload::TrafficClass;
use linerate_wire::Priority;
use std::fmt;
use std::str::FromStr;

/// Heaviest weight, of a class and of an interface.
pub(super) const MAX_WEIGHT: u32 = 1000;

/// Weights of an adapter's traffic classes, the first for class 0; there are as many classes as weights. When there is
/// not enough of the link for all, each class that waits has a share by its weight, which its interfaces divide among
/// them by theirs. An interface is in the class of its priority, as [`TrafficClass::of`] has it for so many classes.
///
/// ```
/// use linerate_nic::ClassWeights;
///
/// // Interfaces of priorities 4 to 7 get three quarters, all others together one.
/// let classes = ClassWeights::new(&[1, 3]).ok_or("1 to 8 weights of 1 to 1000")?;
/// assert_eq!(classes.to_string(), "1,3");
/// assert_eq!("1,3".parse(), Ok(classes));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassWeights(Vec<u32>);

/// Error of a text that does not give 1 to 8 weights of 1 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give 1 to 8 weights of 1 to {MAX_WEIGHT}, with commas between, as 1,3")]
pub struct ClassWeightsError;

impl ClassWeights {
    /// Makes classes of these weights; None unless they are 1 to 8 of 1 to 1000.
    #[must_use]
    pub fn new(weights: &[u32]) -> Option<Self> {
        let fine = (1..=TrafficClass::MOST).contains(&weights.len())
            && weights.iter().all(|weight| (1..=MAX_WEIGHT).contains(weight));
        fine.then(|| Self(weights.to_vec()))
    }

    /// The weights, by class.
    #[must_use]
    pub fn weights(&self) -> &[u32] {
        &self.0
    }

    /// Class of a priority.
    #[must_use]
    pub fn class(&self, priority: Priority) -> TrafficClass {
        TrafficClass::of(priority, self.0.len())
    }
}

impl Default for ClassWeights {
    /// One class: all interfaces share by their weights alone.
    fn default() -> Self {
        Self(vec![1])
    }
}

impl fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for ClassWeights {
    type Err = ClassWeightsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let weights: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        weights.ok().and_then(|weights| Self::new(&weights)).ok_or(ClassWeightsError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_as_they_are_written_and_within_their_limits() {
        for text in ["1", "1000", "1,2,3,4,5,6,7,8"] {
            assert_eq!(text.parse::<ClassWeights>().unwrap().to_string(), text);
        }
        for text in ["", "0", "1001", "1,", "1,,2", "1,2,3,4,5,6,7,8,9", "1;2", "-1", "1, 2"] {
            assert_eq!(text.parse::<ClassWeights>(), Err(ClassWeightsError), "{text}");
        }
        assert_eq!(ClassWeights::default(), "1".parse().unwrap());
    }

    /// IEEE 802.1Q-2022, table 8-5.
    #[test]
    fn priorities_stand_in_as_many_classes_as_there_are_weights() {
        let of = |text: &str| {
            let classes: ClassWeights = text.parse().unwrap();
            Priority::ALL.map(|priority| classes.class(priority).index())
        };
        assert_eq!(of("5"), [0; 8]);
        assert_eq!(of("1,9"), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(of("1,1,1,1,1,1,1,1"), [1, 0, 2, 3, 4, 5, 6, 7]);
    }
}
