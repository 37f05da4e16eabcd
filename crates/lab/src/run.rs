//! Identifier and duration of a run.

use linerate_rt::random;
use std::time::Duration;

#[must_use]
pub fn run_id() -> String {
    format!("{:08x}", random() & 0xffff_ffff)
}

/// True for an id that names a folder as it is: 1 to 64 letters, digits and dashes.
#[must_use]
pub fn is_run_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[must_use]
pub fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}
