//! Stages of a path, and the time that a packet spends in each.

use serde::{Deserialize, Serialize};

use super::{Number, Summary, Unit};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stage {
    /// Name of the stage, the same in all tests in which it means the same.
    pub name: String,
    pub how: How,
    /// Description of the work done in the stage, one line.
    pub about: String,
    /// Nanoseconds per packet in each round. A difference of two measurements may be negative; it is stored unchanged.
    pub rounds: Vec<Number>,
    /// Median and spread of the rounds; `null` when no round has a value.
    pub ns: Option<Summary>,
    /// Error of the median by chance, nanoseconds: twice its standard error, from the rounds' median deviation; unknown
    /// for fewer than three rounds, and in older documents. A median below it gives only an upper bound of the stage's
    /// time.
    pub noise_ns: Number,
    /// Reason why the stage was not measured; `null` when it was. The next stage's figure then includes this one's
    /// time.
    pub skipped: Option<String>,
}

/// Method of measuring a stage. JSON: `time-stamps`, `early return` or `cut point`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum How {
    /// Clock readings at both ends of the stage, for a sample of the packets.
    #[default]
    #[serde(rename = "time-stamps")]
    TimeStamps,
    /// All packets are run to the end of the stage and returned there; the same up to the stage before is subtracted.
    #[serde(rename = "early return")]
    EarlyReturn,
    /// As [`How::EarlyReturn`], in foreign code: packets are refused or dropped at the end of the stage.
    #[serde(rename = "cut point")]
    CutPoint,
}

impl How {
    /// Name as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeStamps => "time-stamps",
            Self::EarlyReturn => "early return",
            Self::CutPoint => "cut point",
        }
    }
}

/// Twice the standard error of the median of sorted values, for a normal distribution whose deviation is estimated from
/// the median deviation, which single outliers do not move; `None` for fewer than three values.
fn noise(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let median = Summary::of_values(&mut values.to_vec(), Unit::Ns)?.median.known()?;
    let mut off: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let deviation = Summary::of_values(&mut off, Unit::Ns)?.median.known()? * 1.4826;
    #[expect(clippy::cast_precision_loss, reason = "a number of rounds")]
    let n = values.len() as f64;
    // The median of n normal values spreads by a factor of sqrt(pi / 2) more than their mean.
    Some(2.0 * deviation * (std::f64::consts::FRAC_PI_2 / n).sqrt())
}

impl Stage {
    /// Makes a stage from its rounds, in nanoseconds per packet.
    #[must_use]
    pub fn new(name: &str, how: How, about: &str, rounds: &[f64]) -> Self {
        let known: Vec<Number> = rounds.iter().map(|ns| Number::new(*ns)).collect();
        let mut values: Vec<f64> = known.iter().filter_map(|ns| ns.known()).collect();
        let ns = Summary::of_values(&mut values, Unit::Ns);
        let noise_ns = noise(&values).into();
        Self { name: name.to_owned(), how, about: about.to_owned(), rounds: known, ns, noise_ns, skipped: None }
    }

    /// Makes a stage that was not measured, with the reason.
    #[must_use]
    pub fn missing(name: &str, how: How, about: &str, why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::new(name, how, about, &[]) }
    }

    /// The median, ns.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.ns.as_ref().and_then(|ns| ns.median.known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_a_median_follows_its_rounds() {
        let noise = |rounds: &[f64]| Stage::new("udp", How::EarlyReturn, "", rounds).noise_ns;
        let quiet = noise(&[20.0, 20.5, 21.0, 20.2, 20.9]).known().unwrap();
        assert!((0.6..0.8).contains(&quiet), "0.4 * 1.4826 * 2 * sqrt(pi / 10) is {quiet}");
        let loud = noise(&[-9.0, 12.0, 1.0, -4.0, 6.0]).known().unwrap();
        assert!((5.0..9.0).contains(&loud), "{loud}");
        assert_eq!((noise(&[5.0, 5.1]), noise(&[])), (Number::UNKNOWN, Number::UNKNOWN), "of too few to say");
    }
}
