//! Name and duration of a run.

use linerate_rt::random;
use std::time::Duration;

/// An identifier for a run, drawn at random.
pub(crate) fn run_id() -> String {
    format!("{:08x}", random() & 0xffff_ffff)
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}
