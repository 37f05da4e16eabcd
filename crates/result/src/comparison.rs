//! Comparison of a test's value with a figure from another source.

use serde::{Deserialize, Serialize};

use super::{Counted, Number, Summary, Unit};

/// One value of this run beside a published figure or a peer's figure, in the same unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Id of the test that `ours` comes from.
    pub test: String,
    /// Source of the figure: read in a publication or measured in this run.
    pub kind: Kind,
    /// The figure's name as published, or the peer's name and version.
    pub name: String,
    /// Provenance of the figure: the paper and its set-up, or the method by which the peer was measured.
    pub source: String,
    /// The published or peer figure, in `unit`.
    pub value: Number,
    /// Unit of `value` and `ours`.
    pub unit: Unit,
    /// Median of our test, in `unit`.
    pub ours: Number,
    /// `ours / value`; if measured in rounds, the median of the rounds' ratios.
    pub ratio: Number,
    /// Smallest ratio of one interleaved round; `null` for a published figure.
    #[serde(default)]
    pub ratio_least: Number,
    /// Greatest ratio of one interleaved round; `null` for a published figure.
    #[serde(default)]
    pub ratio_greatest: Number,
    /// Number of rounds from which the ratio was computed; `null` for a published figure.
    #[serde(default)]
    pub counted: Option<usize>,
    /// Number of rounds that were made, including those that do not count; `null` for a published figure.
    #[serde(default)]
    pub made: Option<usize>,
    /// Target for [`Comparison::times_better`]: how many times better than the figure ours must be; unknown without a
    /// target.
    #[serde(default)]
    pub wanted: Number,
    /// Variant that was the fastest of several ways to measure a roof.
    #[serde(default)]
    pub variant: Option<String>,
    /// Reason why the figure is missing; `null` when it is present.
    #[serde(default)]
    pub missing: Option<String>,
}

/// Source of a [`Comparison`]'s figure. JSON: `published`, `peer`, `roof` or `before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Read in a publication; it was measured on other hardware and at another time.
    Published,
    /// Measured in interleaved rounds of this run, on this machine.
    Peer,
    /// Measured in the same way as a peer; the upper bound of what this machine can do.
    Roof,
    /// Measured in interleaved rounds of this run, with this machine's settings as they were before a change.
    Before,
}

/// Greatest believable ratio to a roof; above it, the measurement of the roof must be wrong.
const TOO_MUCH: f64 = 1.1;

impl Comparison {
    /// Makes a comparison of `ours` with a figure of `kind`; the ratio is computed here and nowhere else.
    #[must_use]
    pub fn new(kind: Kind, test: &str, name: &str, source: &str, unit: Unit, value: Number, ours: Number) -> Self {
        Self {
            test: test.to_owned(),
            kind,
            name: name.to_owned(),
            source: source.to_owned(),
            value,
            unit,
            ours,
            ratio: ours.over(value),
            ratio_least: Number::UNKNOWN,
            ratio_greatest: Number::UNKNOWN,
            counted: None,
            made: None,
            wanted: Number::UNKNOWN,
            variant: None,
            missing: None,
        }
    }

    /// Sets the ratios from interleaved `rounds` of (ours, peer's). `made` is the number of rounds that were made;
    /// rounds with an unknown ratio are left out.
    #[must_use]
    pub fn with_rounds(self, rounds: &[(Number, Number)], made: usize) -> Self {
        let mut ratios: Vec<f64> = rounds.iter().filter_map(|(ours, peers)| ours.over(*peers).known()).collect();
        let [ratio, ratio_least, ratio_greatest] = Summary::of_values(&mut ratios, Unit::Ratio)
            .map_or([Number::UNKNOWN; 3], |of| [of.median, of.least, of.greatest]);
        Self { ratio, ratio_least, ratio_greatest, counted: Some(ratios.len()), made: Some(made), ..self }
    }

    /// Number of rounds from which the ratio was computed; `None` for a published figure.
    #[must_use]
    pub fn rounds(&self) -> Option<Counted> {
        self.counted.zip(self.made).map(|(counted, made)| Counted { counted, made })
    }

    /// Factors by which ours is better than the figure: median, least and greatest of the rounds. Above 1 ours is
    /// better, also in units of which less is better.
    #[must_use]
    pub fn times_better(&self) -> [Number; 3] {
        let ratios = [self.ratio, self.ratio_least, self.ratio_greatest];
        if self.unit.more_is_better() {
            return ratios;
        }
        let [ratio, least, greatest] = ratios.map(|ratio| Number::new(1.0).over(ratio));
        [ratio, greatest, least]
    }

    /// True if the figure is believable: no measurement exceeds a roof by more than 10 %.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.kind != Kind::Roof || self.times_better()[0].known().is_none_or(|times| times <= TOO_MUCH)
    }

    /// True if ours reaches the target and the figure is believable; a missing figure or target is no failure.
    #[must_use]
    pub fn holds(&self) -> bool {
        let low = self.times_better()[0].known().zip(self.wanted.known()).is_some_and(|(times, wanted)| times < wanted);
        self.is_valid() && !low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, unit: Unit, rounds: &[(f64, f64)]) -> Comparison {
        let rounds: Vec<_> = rounds.iter().map(|(ours, theirs)| (Number::new(*ours), Number::new(*theirs))).collect();
        let first = rounds[0];
        Comparison::new(kind, "t", "n", "s", unit, first.1, first.0).with_rounds(&rounds, 4)
    }

    fn times(comparison: &Comparison) -> [f64; 3] {
        comparison.times_better().map(|times| times.known().unwrap())
    }

    #[test]
    fn better_is_more_whichever_way_the_unit_counts() {
        let rounds = [(2.0, 1.0), (4.0, 1.0), (1.0, 1.0)];
        assert_eq!(times(&of(Kind::Peer, Unit::Pps, &rounds)), [2.0, 1.0, 4.0]);
        assert_eq!(times(&of(Kind::Peer, Unit::Ns, &rounds)), [0.5, 0.25, 1.0]);
        let all = of(Kind::Peer, Unit::Pps, &rounds);
        assert_eq!(all.rounds(), Some(Counted { counted: 3, made: 4 }));
    }

    /// A ratio of 9.35 to the roof of a memory copy once passed as good.
    #[test]
    fn a_ratio_above_a_roof_is_no_pass() {
        for (kind, ratio, valid) in
            [(Kind::Roof, 9.35, false), (Kind::Roof, 1.1, true), (Kind::Roof, 1.11, false), (Kind::Peer, 9.35, true)]
        {
            let comparison = of(kind, Unit::Pps, &[(ratio, 1.0)]);
            assert_eq!((comparison.is_valid(), comparison.holds()), (valid, valid), "{kind:?} {ratio}");
        }
        assert!(!of(Kind::Roof, Unit::Ns, &[(1.0, 1.2)]).is_valid(), "faster than a roof in ns");
    }

    #[test]
    fn what_is_wanted_is_held_against_the_median() {
        for (unit, ratio, holds) in
            [(Unit::Pps, 0.6, true), (Unit::Pps, 0.59, false), (Unit::Ns, 1.0 / 0.61, true), (Unit::Ns, 1.7, false)]
        {
            let comparison = Comparison { wanted: 0.6.into(), ..of(Kind::Peer, unit, &[(ratio, 1.0)]) };
            assert_eq!(comparison.holds(), holds, "{ratio}");
        }
        let none = Comparison::new(Kind::Peer, "t", "n", "s", Unit::Pps, Number::UNKNOWN, 1.0.into());
        assert!(Comparison { wanted: 0.6.into(), ..none }.holds());
    }
}
