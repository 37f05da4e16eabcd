//! Two runs beside each other: tests of one id, or of the same workload with the same parameters, and the ratio of their
//! figures with its confidence.
//!
//! Intervals are Welch's, at 95 %, on the logarithms of the repeats: a ratio is then a difference, the same from both sides,
//! and the two runs may scatter differently. A bootstrap would draw again from three to ten repeats and give a narrower
//! interval than they carry. The variances are drawn together, and verdicts hold for all tests together (`spread.rs`): of two
//! runs of the same thing, one in twenty has a test that is called worse. Fewer than three repeats that count on either side
//! are not judged, nor are samples of one repeat, which depend on each other; but points of a series may be, together
//! (`series.rs`).

mod series;
mod spread;
mod text;

use crate::student::{LEAST, above, two_sided};
use crate::sweep::PLANNED;
use linerate_result::{Number, RunResult, Test, Unit};
use serde::Serialize;
use spread::{Difference, Prior, Side};

pub use series::Series;
pub use text::render;

/// Chance of calling any test worse of two runs of the same thing, and of missing a loss of [`Pair::finds_per_cent`].
const CHANCE: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Within the threshold.
    Same,
    /// Better beyond the threshold and the spread.
    Better,
    /// Worse beyond both.
    Worse,
    /// Beyond the threshold, but chance alone does that to one of so many tests.
    Unclear,
    /// Too few repeats to say.
    #[serde(rename = "not enough")]
    NotEnough,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub test: String,
    pub other: String,
    /// Unit of both medians.
    pub unit: Unit,
    /// Median of the first run.
    pub a: Number,
    /// Median of the second run.
    pub b: Number,
    /// Repeats of the first run that count.
    pub a_counted: usize,
    /// Repeats of the second run that count.
    pub b_counted: usize,
    /// The second run's figure over the first one's, of geometric means; of the medians where there is no interval.
    pub ratio: Number,
    /// Lower end of the ratio's interval at 95 %.
    pub low: Number,
    /// Upper end of the ratio's interval at 95 %.
    pub high: Number,
    /// Loss that would have been called worse in 95 of 100 comparisons, per cent.
    pub finds_per_cent: Number,
    pub judged: Judged,
    /// Reason for [`Judged::NotEnough`].
    pub why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Id of the first run.
    pub a: String,
    /// Id of the second run.
    pub b: String,
    /// Greatest worsening that is accepted, per cent.
    pub threshold_per_cent: f64,
    /// Method of the intervals.
    pub method: &'static str,
    /// Method of the verdicts.
    pub verdicts: &'static str,
    pub pairs: Vec<Pair>,
    /// Series of points that are judged together, as each was measured too rarely.
    pub series: Vec<Series>,
    /// Tests of the second run that are worse beyond the threshold, but not beyond the spread: more repeats decide.
    pub suspects: Vec<String>,
    /// Tests of the first run alone, each with the reason.
    pub only_a: Vec<String>,
    /// Tests of the second run alone.
    pub only_b: Vec<String>,
}

/// The methods, in the words of [`Compared`].
const INTERVALS: &str = "Welch's t on the logarithms of the repeats, 95 %, variances moderated over the tests";
const VERDICTS: &str = "for all tests together (Holm): of two runs of the same, 5 % have a test that is worse";

impl Compared {
    /// Compares run `b` with run `a`; worse is worse in `b`.
    #[must_use]
    pub fn new(a: &RunResult, b: &RunResult, threshold_per_cent: f64) -> Self {
        let mut taken = vec![false; b.tests.len()];
        let (mut found_pairs, mut only_a) = (Vec::new(), Vec::new());
        let places: std::collections::HashMap<&str, usize> =
            b.tests.iter().enumerate().rev().map(|(place, test)| (test.id.as_str(), place)).collect();
        for test in &a.tests {
            let same_id = places.get(test.id.as_str()).copied().filter(|place| !taken[*place]);
            let alike = |other: &Test| alike(test, other);
            let found = same_id.filter(|place| alike(&b.tests[*place])).or_else(|| {
                let mut others = (0..b.tests.len()).filter(|place| {
                    let other = &b.tests[*place];
                    !taken[*place] && alike(other) && !a.tests.iter().any(|test| test.id == other.id)
                });
                // Two that are alike cannot be told apart.
                others.next().filter(|_| others.next().is_none())
            });
            match (found, same_id) {
                (Some(place), _) => {
                    taken[place] = true;
                    found_pairs.push((test, &b.tests[place]));
                }
                (None, Some(place)) => only_a.push(format!("{}: {}", test.id, difference(test, &b.tests[place]))),
                (None, None) => only_a.push(test.id.clone()),
            }
        }
        let rest = b.tests.iter().zip(&taken).filter(|(_, taken)| !**taken);
        let (pairs, series) = judge(&found_pairs, threshold_per_cent);
        let suspect = |pair: &&Pair| pair.judged == Judged::Unclear && pair.times().is_some_and(|times| times < 1.0);
        Self {
            a: a.run_id.clone(),
            b: b.run_id.clone(),
            threshold_per_cent,
            method: INTERVALS,
            verdicts: VERDICTS,
            suspects: pairs.iter().filter(suspect).map(|pair| pair.other.clone()).collect(),
            pairs,
            series,
            only_a,
            only_b: rest.map(|(test, _)| test.id.clone()).collect(),
        }
    }

    /// The comparison as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let document = serde_json::to_value(self).unwrap_or_default();
        format!("{document:#}\n")
    }

    /// The process's exit code: 3 if a test or a series is worse, 4 if none could be judged, otherwise 0.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let judged = || self.pairs.iter().map(|pair| pair.judged).chain(self.series.iter().map(|series| series.judged));
        if judged().any(|judged| judged == Judged::Worse) {
            3
        } else if judged().all(|judged| judged == Judged::NotEnough) {
            4
        } else {
            0
        }
    }
}

/// True for tests that measured the same thing.
fn alike(one: &Test, other: &Test) -> bool {
    // The number of points in a plan is no condition of any of them.
    let asked = |test: &Test| {
        let mut asked = test.parameters.clone();
        asked.remove(PLANNED);
        asked
    };
    (&one.workload, asked(one), one.wire_bytes) == (&other.workload, asked(other), other.wire_bytes)
        && one.value.as_ref().zip(other.value.as_ref()).is_none_or(|(one, other)| one.unit == other.unit)
}

/// The first thing in which two tests of one id differ.
fn difference(one: &Test, other: &Test) -> String {
    if one.workload != other.workload {
        return format!("workload {} and {}", one.workload, other.workload);
    }
    let names = one.parameters.keys().chain(other.parameters.keys());
    for name in names {
        let [one, other] = [&one.parameters, &other.parameters].map(|all| all.get(name));
        if one != other {
            let shown = |value: Option<&linerate_result::Parameter>| {
                value.map_or_else(|| "none".to_owned(), ToString::to_string)
            };
            return format!("{name} {} and {}", shown(one), shown(other));
        }
    }
    if one.wire_bytes == other.wire_bytes { "of two units".to_owned() } else { "of two frame sizes".to_owned() }
}

fn values(test: &Test) -> Vec<f64> {
    test.repeats.iter().filter(|repeat| repeat.valid).filter_map(|repeat| repeat.value.known()).collect()
}

/// Judges all pairs together, and series of those that cannot be judged alone.
fn judge(found: &[(&Test, &Test)], threshold_per_cent: f64) -> (Vec<Pair>, Vec<Series>) {
    let mut pairs: Vec<Pair> = found.iter().map(|(a, b)| Pair::new(a, b)).collect();
    let sides: Vec<Option<[Side; 2]>> =
        found.iter().zip(&mut pairs).map(|((a, b), pair)| pair.sides(&values(a), &values(b))).collect();
    let prior = |side: usize| Prior::of(&sides.iter().flatten().map(|both| both[side]).collect::<Vec<_>>());
    let priors = [prior(0), prior(1)];
    let alone = found.iter().zip(&pairs).zip(&sides).filter(|(_, sides)| sides.is_none());
    let points = alone.filter_map(|(((a, _), pair), _)| Some((*a, pair.ratio.known().filter(|ratio| *ratio > 0.0)?)));
    let mut series = series::series(&points.collect::<Vec<_>>());
    let mut ratios: Vec<(&Unit, Difference)> = Vec::new();
    for (pair, sides) in pairs.iter().zip(&sides) {
        let ratio = sides.map(|[a, b]| Difference::of(priors[0].moderate(a), priors[1].moderate(b)));
        ratios.extend(ratio.map(|ratio| (&pair.unit, ratio)));
    }
    ratios.extend(series.iter().map(|(series, ratio)| (&series.unit, *ratio)));
    let share = threshold_per_cent / 100.0;
    let mut verdicts = verdicts(&ratios, share).into_iter();
    let among = ratios.len() as f64;
    let mut ratios = ratios.into_iter().map(|(_, ratio)| ratio).collect::<Vec<_>>().into_iter();
    for (pair, _) in pairs.iter_mut().zip(&sides).filter(|(_, sides)| sides.is_some()) {
        let (Some(ratio), Some(judged)) = (ratios.next(), verdicts.next()) else { break };
        pair.tell(ratio, among, share);
        pair.judged = judged;
    }
    for ((series, _), judged) in series.iter_mut().zip(verdicts) {
        series.judged = judged;
    }
    (pairs, series.into_iter().map(|(series, _)| series).collect())
}

/// Verdicts on logarithms of ratios that hold for all of them together.
fn verdicts(ratios: &[(&Unit, Difference)], share: f64) -> Vec<Judged> {
    // Above 0 the second run is better, also in units of which less is better.
    let gain = |(unit, ratio): &(&Unit, Difference)| {
        if unit.more_is_better() { *ratio } else { Difference { mean: -ratio.mean, ..*ratio } }
    };
    let gains: Vec<Difference> = ratios.iter().map(gain).collect();
    let family = |way: f64| {
        // Without any spread each difference is certain.
        let chance = |d: &Difference| if way * d.mean <= 0.0 { 1.0 } else { above(way * d.mean / d.error, d.free) };
        spread::family(&gains.iter().map(chance).collect::<Vec<_>>())
    };
    let judged = |((gain, worse), better): ((&Difference, f64), f64)| match gain.mean.exp() {
        times if times >= 1.0 - share && times <= 1.0 + share => Judged::Same,
        _ if worse < CHANCE => Judged::Worse,
        _ if better < CHANCE => Judged::Better,
        _ => Judged::Unclear,
    };
    gains.iter().zip(family(-1.0)).zip(family(1.0)).map(judged).collect()
}

impl Pair {
    /// A pair that is not judged yet.
    fn new(a: &Test, b: &Test) -> Self {
        let median = |test: &Test| test.value.as_ref().map_or(Number::UNKNOWN, |value| value.median);
        Self {
            test: a.id.clone(),
            other: b.id.clone(),
            a: median(a),
            b: median(b),
            a_counted: 0,
            b_counted: 0,
            ratio: median(b).over(median(a)),
            low: Number::UNKNOWN,
            high: Number::UNKNOWN,
            finds_per_cent: Number::UNKNOWN,
            judged: Judged::NotEnough,
            why: None,
            unit: a.value.as_ref().or(b.value.as_ref()).map_or(Unit::Other("".into()), |value| value.unit.clone()),
        }
    }

    /// Moments of both sides' repeats, if they can be judged; the reason is noted.
    fn sides(&mut self, a: &[f64], b: &[f64]) -> Option<[Side; 2]> {
        (self.a_counted, self.b_counted) = (a.len(), b.len());
        if a.len().min(b.len()) < LEAST {
            self.why = Some(format!("{} and {} repeats count, {LEAST} are needed", a.len(), b.len()));
            return None;
        }
        let both = Side::of(a).zip(Side::of(b));
        if both.is_none() {
            self.why = Some("a value is not above nought, so there is no ratio".to_owned());
        }
        both.map(|(a, b)| [a, b])
    }

    /// Notes the ratio with its interval, and the loss that would be found among so many tests.
    fn tell(&mut self, ratio: Difference, among: f64, share: f64) {
        [self.ratio, self.low, self.high] = ratio.interval();
        let Difference { error, free, .. } = ratio;
        let bound = two_sided(1.0 - 2.0 * CHANCE / among, free) * error;
        // A figure can lose no more than all.
        if share >= 1.0 {
            return;
        }
        let loss = bound.max(-(1.0 - share).ln()) + two_sided(1.0 - 2.0 * CHANCE, free) * error;
        self.finds_per_cent = (100.0 * -(-loss).exp_m1()).into();
    }

    /// The second run's figure over the first one's, above 1 if it is better.
    fn times(&self) -> Option<f64> {
        let ratio = self.ratio.known()?;
        Some(if self.unit.more_is_better() { ratio } else { 1.0 / ratio })
    }
}

#[cfg(test)]
mod tests;
