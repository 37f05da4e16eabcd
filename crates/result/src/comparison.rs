//! A test's value beside somebody else's.

use serde::{Deserialize, Serialize};

use super::{Number, Unit};

/// One value of this run beside a published or a peer's figure of the same unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Id of the test that `ours` comes from.
    pub test: String,
    /// Whether the figure was read in a paper or measured in this run.
    pub kind: Kind,
    /// The figure's name as published, or the peer's name and version.
    pub name: String,
    /// Where the figure comes from: the paper and its set-up, or the peer's command line.
    pub source: String,
    /// The published or peer figure, in `unit`.
    pub value: Number,
    /// Unit of `value` and `ours`.
    pub unit: Unit,
    /// Our median, in `unit`.
    pub ours: Number,
    /// `ours / value`.
    pub ratio: Number,
    /// Smallest ratio of one interleaved round; `null` for a published figure.
    #[serde(default)]
    pub ratio_least: Number,
    /// Greatest ratio of one interleaved round; `null` for a published figure.
    #[serde(default)]
    pub ratio_greatest: Number,
}

/// Where a [`Comparison`]'s figure comes from. JSON: `published` or `peer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Read in a publication: other hardware, another day.
    Published,
    /// Measured in interleaved rounds of this run, on this machine.
    Peer,
}

impl Comparison {
    /// A figure of `kind` beside `ours`; the ratio is computed here and nowhere else.
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
        }
    }

    /// The same with the spread of the ratio over interleaved `rounds` of (ours, peer's); rounds with an unknown ratio
    /// say nothing.
    #[must_use]
    pub fn with_rounds(mut self, rounds: &[(Number, Number)]) -> Self {
        let ratios = || rounds.iter().filter_map(|(ours, peers)| ours.over(*peers).known());
        self.ratio_least = ratios().reduce(f64::min).into();
        self.ratio_greatest = ratios().reduce(f64::max).into();
        self
    }
}
