//! Identifier and duration of a run.

use linerate_rt::random;
use std::time::Duration;

#[must_use]
pub fn run_id() -> String {
    format!("{:08x}", random() & 0xffff_ffff)
}

#[must_use]
pub fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}
