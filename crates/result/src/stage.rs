//! Where the time of a packet goes: the stages of a path, and whether independent ways of measuring them agree.

use serde::{Deserialize, Serialize};

use super::{Number, Summary, Test, Unit};

/// One stage of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stage {
    /// Its name: the same in all tests in which it means the same.
    pub name: String,
    /// How it was measured.
    pub how: How,
    /// What lies in it, a line.
    pub about: String,
    /// Nanoseconds a packet, each round's. A difference of two measurements may be negative; it is kept as it came.
    pub rounds: Vec<Number>,
    /// Median and spread of the rounds; `null` when there is none.
    pub ns: Option<Summary>,
    /// How far the median may be off by chance, nanoseconds: twice its standard error, from the rounds' median deviation;
    /// unknown of fewer than three rounds, and in older documents. A figure below it says "less than that", not how much.
    pub noise_ns: Number,
    /// Why it was not measured; `null` when it was. The next stage's figure then holds this one's time too.
    pub skipped: Option<String>,
}

/// How a stage is measured. JSON: `time-stamps`, `early return` or `cut point`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum How {
    /// By clock readings at both ends of the stage, of a sample of the packets.
    #[default]
    #[serde(rename = "time-stamps")]
    TimeStamps,
    /// By running all packets to the stage's end and back from there, less the same to the end of the stage before.
    #[serde(rename = "early return")]
    EarlyReturn,
    /// As [`How::EarlyReturn`], of somebody else's code: packets are refused or dropped at the stage's end.
    #[serde(rename = "cut point")]
    CutPoint,
}

impl How {
    /// As in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeStamps => "time-stamps",
            Self::EarlyReturn => "early return",
            Self::CutPoint => "cut point",
        }
    }
}

/// Twice the standard error of the median of sorted values, as of a normal distribution whose deviation is taken from
/// their median deviation, which single rounds that went wrong do not move; `None` of fewer than three.
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

/// Two ways to one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// What was measured twice: a stage's name, or `sum`.
    pub what: String,
    /// How the one figure came about.
    pub how: How,
    /// The one figure, ns.
    pub ns: f64,
    /// The other: a stage's by early return, or for a sum the whole path's without stamps, ns.
    pub other_ns: f64,
    /// Whether they are as near as they must be.
    pub holds: bool,
}

impl Stage {
    /// A stage with its rounds, in nanoseconds a packet.
    #[must_use]
    pub fn new(name: &str, how: How, about: &str, rounds: &[f64]) -> Self {
        let known: Vec<Number> = rounds.iter().map(|ns| Number::new(*ns)).collect();
        let mut values: Vec<f64> = known.iter().filter_map(|ns| ns.known()).collect();
        let ns = Summary::of_values(&mut values, Unit::Ns);
        let noise_ns = noise(&values).into();
        Self { name: name.to_owned(), how, about: about.to_owned(), rounds: known, ns, noise_ns, skipped: None }
    }

    /// A stage that was not measured, and why.
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

impl Test {
    /// The ways in which this test's stages were measured.
    #[must_use]
    pub fn ways(&self) -> Vec<How> {
        let mut ways: Vec<How> = self.stages.iter().map(|stage| stage.how).collect();
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// The sum of the medians of the stages measured in that way, ns; `None` if there is none.
    #[must_use]
    pub fn stage_sum(&self, how: How) -> Option<f64> {
        let medians = self.stages.iter().filter(|stage| stage.how == how).filter_map(Stage::median);
        medians.reduce(|a, b| a + b)
    }

    /// What was measured in two ways: each stage that has time-stamps and an early return (to agree within 15 % of the
    /// greater or 3 ns), and the sum of each way beside the test's value, which is the path's without any of that (5 %).
    #[must_use]
    pub fn agreements(&self) -> Vec<Agreement> {
        let mut all = Vec::new();
        let stamped = self.stages.iter().filter(|stage| stage.how == How::TimeStamps);
        for (stage, ns) in stamped.filter_map(|stage| Some((stage, stage.median()?))) {
            let same = |other: &&Stage| other.how == How::EarlyReturn && other.name == stage.name;
            let Some(other_ns) = self.stages.iter().find(same).and_then(Stage::median) else { continue };
            let holds = (ns - other_ns).abs() <= (0.15 * ns.abs().max(other_ns.abs())).max(3.0);
            all.push(Agreement { what: stage.name.clone(), how: stage.how, ns, other_ns, holds });
        }
        let whole = self.value.as_ref().filter(|value| value.unit == Unit::Ns).and_then(|value| value.median.known());
        for how in self.ways() {
            let Some((ns, other_ns)) = self.stage_sum(how).zip(whole) else { continue };
            let holds = (ns - other_ns).abs() <= 0.05 * other_ns.abs();
            all.push(Agreement { what: "sum".to_owned(), how, ns, other_ns, holds });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::Repeat;
    use super::*;

    fn test(stages: &[(&str, How, f64)], whole: f64) -> Test {
        let stages = stages.iter().map(|(name, how, ns)| Stage::new(name, *how, "", &[*ns])).collect();
        let repeats = vec![Repeat { value: whole.into(), valid: true, ..Repeat::default() }];
        let mut test = Test { stages, repeats, ..Test::default() };
        test.summarize(Unit::Ns);
        test
    }

    fn held(test: &Test) -> Vec<(String, How, bool)> {
        test.agreements().into_iter().map(|a| (a.what, a.how, a.holds)).collect()
    }

    #[test]
    fn two_ways_agree_within_15_per_cent_or_3_ns() {
        use How::{EarlyReturn, TimeStamps};
        for (one, other, holds) in [(100.0, 85.0, true), (84.0, 100.0, false), (1.0, 4.0, true), (-1.0, 3.0, false)] {
            let test = test(&[("udp", TimeStamps, one), ("udp", EarlyReturn, other)], one);
            assert_eq!(held(&test)[0], ("udp".to_owned(), TimeStamps, holds), "{one} {other}");
        }
    }

    #[test]
    fn sums_agree_with_the_whole_within_5_per_cent() {
        for (whole, holds) in [(100.0, true), (105.2, true), (95.3, true), (105.3, false), (95.2, false)] {
            let test = test(&[("a", How::CutPoint, 130.0), ("b", How::CutPoint, -30.0)], whole);
            assert_eq!(held(&test), [("sum".to_owned(), How::CutPoint, holds)], "{whole}");
        }
    }

    #[test]
    fn the_noise_of_a_median_follows_its_rounds() {
        let noise = |rounds: &[f64]| Stage::new("udp", How::EarlyReturn, "", rounds).noise_ns;
        let quiet = noise(&[20.0, 20.5, 21.0, 20.2, 20.9]).known().unwrap();
        assert!((0.6..0.8).contains(&quiet), "0.4 * 1.4826 * 2 * sqrt(pi / 10) is {quiet}");
        let loud = noise(&[-9.0, 12.0, 1.0, -4.0, 6.0]).known().unwrap();
        assert!((5.0..9.0).contains(&loud), "{loud}");
        assert_eq!((noise(&[5.0, 5.1]), noise(&[])), (Number::UNKNOWN, Number::UNKNOWN), "of too few to say");
    }

    #[test]
    fn what_was_measured_once_agrees_with_nothing() {
        let mut test = test(&[("a", How::TimeStamps, 5.0)], f64::NAN);
        assert!(test.agreements().is_empty());
        test.stages.push(Stage::missing("b", How::TimeStamps, "", "no such hook"));
        assert_eq!(test.stage_sum(How::TimeStamps), Some(5.0));
        assert_eq!(test.stage_sum(How::CutPoint), None);
    }
}
