//! The quantiles of one latency distribution.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Number;

/// A latency distribution in nanoseconds. The test's title tells which interval was timed (one way, round trip).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Number of frames that were timed.
    pub count: u64,
    /// The unit of every number below: always `ns`.
    pub unit: LatencyUnit,
    pub min: Number,
    pub p50: Number,
    pub p90: Number,
    pub p99: Number,
    pub p99_9: Number,
    pub p99_99: Number,
    pub max: Number,
    pub mean: Number,
}

/// Unit of a [`Latency`]: a type, so that a document in another unit is refused rather than misread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatencyUnit {
    #[default]
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl Latency {
    /// Quantiles of a histogram; `None` when it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds to 53 bits")]
        let ns = |ns: u64| Number::new(ns as f64);
        let quantile = |q| ns(histogram.value_at_quantile(q));
        Some(Self {
            count: histogram.len(),
            unit: LatencyUnit::Nanoseconds,
            min: ns(histogram.min()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: ns(histogram.max()),
            mean: Number::new(histogram.mean()),
        })
    }

    /// Minimum, quantiles and maximum in rising order with their display names; the mean is left out.
    #[must_use]
    pub fn quantiles(&self) -> [(&'static str, Number); 7] {
        [
            ("min", self.min),
            ("50 %", self.p50),
            ("90 %", self.p90),
            ("99 %", self.p99),
            ("99.9 %", self.p99_9),
            ("99.99 %", self.p99_99),
            ("max", self.max),
        ]
    }
}
