//! One repeat of a test's measurement.

use serde::{Deserialize, Serialize};

use super::Number;

/// One repeat of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// The value, in the unit of the test's summary.
    pub value: Number,
    /// Measured time, seconds.
    pub seconds: Number,
    /// Round trip of a cache line between the two cores before the repeat, ns.
    pub rtt_ns_before: Number,
    /// The same after the repeat, ns.
    pub rtt_ns_after: Number,
    /// Whether the repeat counts.
    pub valid: bool,
    /// Why it does not count; `null` when it does.
    pub why_invalid: Option<String>,
}
