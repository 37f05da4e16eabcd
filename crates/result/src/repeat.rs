//! One repeat of a test's measurement.

use serde::{Deserialize, Serialize};

use super::Number;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// The value, in the unit of the test's summary.
    pub value: Number,
    /// Duration of the measurement, seconds.
    pub seconds: Number,
    /// Round trip of a cache line between the two cores before the repeat, ns.
    pub rtt_ns_before: Number,
    /// Round trip of a cache line between the two cores after the repeat, ns.
    pub rtt_ns_after: Number,
    /// True if the repeat counts.
    pub valid: bool,
    /// Reason why the repeat does not count; `null` when it does.
    pub why_invalid: Option<String>,
}
