//! Two runs beside each other: tests of one id, or of the same workload with the same parameters, and the ratio of their
//! figures with its confidence.
//!
//! The confidence is Welch's, at 95 %, on the logarithms of the repeats: a ratio is then a difference, the same from both
//! sides, and the two runs may scatter differently. A bootstrap would draw again from three to ten repeats and give a
//! narrower interval than they carry. Fewer than three repeats that count on either side are not judged, nor are samples
//! of one repeat, which depend on each other.

mod text;

use crate::student::two_sided;
use linerate_result::{Number, RunResult, Test, Unit};
use serde::Serialize;

pub use text::render;

/// Repeats that a figure needs on each side.
pub const LEAST: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Within the threshold or within its spread.
    Same,
    /// Better beyond both.
    Better,
    /// Worse beyond both.
    Worse,
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
    pub pairs: Vec<Pair>,
    /// Tests of the first run alone, each with the reason.
    pub only_a: Vec<String>,
    /// Tests of the second run alone.
    pub only_b: Vec<String>,
}

/// The method, in the words of [`Compared::method`].
const METHOD: &str = "Welch's t on the logarithms of the repeats, 95 %";

impl Compared {
    /// Compares run `b` with run `a`; worse is worse in `b`.
    #[must_use]
    pub fn new(a: &RunResult, b: &RunResult, threshold_per_cent: f64) -> Self {
        let mut taken = vec![false; b.tests.len()];
        let (mut pairs, mut only_a) = (Vec::new(), Vec::new());
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
                    pairs.push(Pair::new(test, &b.tests[place], threshold_per_cent));
                }
                (None, Some(place)) => only_a.push(format!("{}: {}", test.id, difference(test, &b.tests[place]))),
                (None, None) => only_a.push(test.id.clone()),
            }
        }
        let rest = b.tests.iter().zip(&taken).filter(|(_, taken)| !**taken);
        Self {
            a: a.run_id.clone(),
            b: b.run_id.clone(),
            threshold_per_cent,
            method: METHOD,
            pairs,
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

    /// The process's exit code: 3 if a test is worse, 4 if none could be judged, otherwise 0.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.pairs.iter().any(|pair| pair.judged == Judged::Worse) {
            3
        } else if self.pairs.iter().all(|pair| pair.judged == Judged::NotEnough) {
            4
        } else {
            0
        }
    }
}

/// True for tests that measured the same thing.
fn alike(one: &Test, other: &Test) -> bool {
    (&one.workload, &one.parameters, one.wire_bytes) == (&other.workload, &other.parameters, other.wire_bytes)
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

impl Pair {
    fn new(a: &Test, b: &Test, threshold_per_cent: f64) -> Self {
        let unit = a.value.as_ref().or(b.value.as_ref()).map_or(Unit::Other("".into()), |value| value.unit.clone());
        let median = |test: &Test| test.value.as_ref().map_or(Number::UNKNOWN, |value| value.median);
        let (one, other) = (values(a), values(b));
        let mut pair = Self {
            test: a.id.clone(),
            other: b.id.clone(),
            a: median(a),
            b: median(b),
            a_counted: one.len(),
            b_counted: other.len(),
            ratio: median(b).over(median(a)),
            low: Number::UNKNOWN,
            high: Number::UNKNOWN,
            judged: Judged::NotEnough,
            why: None,
            unit,
        };
        let fewest = one.len().min(other.len());
        if fewest < LEAST {
            pair.why = Some(format!("{} and {} repeats count, {LEAST} are needed", one.len(), other.len()));
            return pair;
        }
        let Some((ratio, low, high)) = interval(&one, &other) else {
            pair.why = Some("a value is not above nought, so there is no ratio".to_owned());
            return pair;
        };
        (pair.ratio, pair.low, pair.high) = (ratio.into(), low.into(), high.into());
        // Above 1 the second run is better, also in units of which less is better.
        let more = pair.unit.more_is_better();
        let (times, low, high) = if more { (ratio, low, high) } else { (1.0 / ratio, 1.0 / high, 1.0 / low) };
        let share = threshold_per_cent / 100.0;
        pair.judged = if times < 1.0 - share && high < 1.0 {
            Judged::Worse
        } else if times > 1.0 + share && low > 1.0 {
            Judged::Better
        } else {
            Judged::Same
        };
        pair
    }
}

/// The ratio of the geometric means and its interval; `None` if a value is not positive.
fn interval(a: &[f64], b: &[f64]) -> Option<(f64, f64, f64)> {
    if a.iter().chain(b).any(|value| *value <= 0.0) {
        return None;
    }
    let moments = |values: &[f64]| {
        let n = values.len() as f64;
        let logs = || values.iter().map(|value| value.ln());
        let mean = logs().sum::<f64>() / n;
        let variance = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n, n - 1.0)
    };
    let ((mean_a, error_a, free_a), (mean_b, error_b, free_b)) = (moments(a), moments(b));
    let (between, error) = (mean_b - mean_a, error_a + error_b);
    let wide = if error > 0.0 {
        // Welch and Satterthwaite's degrees of freedom.
        let free = error.powi(2) / (error_a.powi(2) / free_a + error_b.powi(2) / free_b);
        two_sided(0.95, free) * error.sqrt()
    } else {
        0.0
    };
    Some((between.exp(), (between - wide).exp(), (between + wide).exp()))
}

#[cfg(test)]
mod tests;
