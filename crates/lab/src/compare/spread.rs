//! Spread of repeats, of which each test has few: what all tests of a run tell of it, and the chance of an error in any of many
//! verdicts.
//!
//! Three repeats know their variance badly, and a hundred tests err somewhere at 95 %. So each test's variance is drawn
//! towards those of its run's other tests, as far as they are alike (Smyth 2004, "Linear models and empirical Bayes methods":
//! a variance is the prior's with its degrees of freedom and the test's own with its), and verdicts hold for all tests
//! together (Holm 1979).

use crate::student::{digamma, trigamma, trigamma_inverse, two_sided};
use linerate_result::Number;

/// Fewest tests whose variances say anything of another's.
const LEAST_TESTS: usize = 8;

/// Mean of a side's repeats, as logarithms, its squared error, and the error's degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Side {
    mean: f64,
    repeats: f64,
    variance: f64,
    free: f64,
}

impl Side {
    /// Moments of the repeats' logarithms; `None` if a value is not positive, or there is only one.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let repeats = values.len() as f64;
        let logs = || values.iter().map(|value| value.ln());
        let mean = logs().sum::<f64>() / repeats;
        let variance = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / (repeats - 1.0);
        Some(Self { mean, repeats, variance, free: repeats - 1.0 })
    }
}

/// Variance that the tests of a run have in common, and its degrees of freedom: 0 of tests that have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prior {
    variance: f64,
    free: f64,
}

impl Prior {
    /// Estimate from the moments of the variances' logarithms.
    pub(super) fn of(sides: &[Side]) -> Self {
        let told: Vec<&Side> = sides.iter().filter(|side| side.variance > 0.0).collect();
        if told.len() < LEAST_TESTS {
            return Self { variance: 0.0, free: 0.0 };
        }
        let n = told.len() as f64;
        let half = |free: f64| digamma(free / 2.0) - (free / 2.0).ln();
        let logs = || told.iter().map(|side| side.variance.ln() - half(side.free));
        let mean = logs().sum::<f64>() / n;
        let scatter = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let excess = scatter - told.iter().map(|side| trigamma(side.free / 2.0)).sum::<f64>() / n;
        // All together know no more than the repeats that they are made of.
        let most: f64 = told.iter().map(|side| side.free).sum();
        let free = if excess > 0.0 { (2.0 * trigamma_inverse(excess)).min(most) } else { most };
        Self { variance: (mean + half(free)).exp(), free }
    }

    /// The side with its variance drawn towards this one.
    pub(super) fn moderate(&self, side: Side) -> Side {
        let free = self.free + side.free;
        Side { variance: (self.free * self.variance + side.free * side.variance) / free, free, ..side }
    }
}

/// Difference of two sides' means, with its standard error and the error's degrees of freedom (Welch and Satterthwaite's).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) mean: f64,
    pub(super) error: f64,
    pub(super) free: f64,
}

impl Difference {
    pub(super) fn of(a: Side, b: Side) -> Self {
        let [error_a, error_b] = [a, b].map(|side| side.variance / side.repeats);
        let error = error_a + error_b;
        let free =
            if error > 0.0 { error.powi(2) / (error_a.powi(2) / a.free + error_b.powi(2) / b.free) } else { 1.0 };
        Self { mean: b.mean - a.mean, error: error.sqrt(), free }
    }

    /// Mean of paired differences.
    pub(super) fn paired(all: &[f64]) -> Self {
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self { mean, error: (variance / n).sqrt(), free: n - 1.0 }
    }

    /// The ratio and the ends of its interval at 95 %.
    pub(super) fn interval(&self) -> [Number; 3] {
        let wide = two_sided(0.95, self.free) * self.error;
        [self.mean, self.mean - wide, self.mean + wide].map(|log| log.exp().into())
    }
}

/// Probabilities that hold for a whole family of tests: each is that of an error in any of those as unlikely or less likely
/// (Holm's).
pub(super) fn family(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let (mut all, mut least) = (vec![1.0; chances.len()], 0.0_f64);
    for (k, at) in order.into_iter().enumerate() {
        least = least.max(chances[at] * (chances.len() - k) as f64).min(1.0);
        all[at] = least;
    }
    all
}
