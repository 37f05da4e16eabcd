//! The result document: what a run measured, on what, and what became of every frame.
//!
//! One [`RunResult`] is one `result.json`, schema [`SCHEMA`] version [`VERSION`]. The document holds facts only: whatever
//! can be computed from them ([`Ledger::settle`], [`Summary::of`], [`Comparison::new`]) is computed by those functions and
//! never written by hand. Units are in each field's description; times are seconds or nanoseconds by their suffix, counters
//! are `u64`, and a number that is not known is `null`: [`Number`] cannot hold NaN or an infinity.
//!
//! The version rises when a field changes its meaning or goes away. New optional fields do not raise it, so a reader
//! ignores fields it does not know.

#![forbid(unsafe_code)]

mod comparison;
mod document;
mod environment;
mod latency;
mod ledger;
mod number;
mod outcome;
mod stage;
mod test;
mod timestamp;

pub use comparison::{Comparison, Kind};
pub use document::{LoadError, RunResult, SCHEMA, VERSION};
pub use environment::{Environment, HugePages, Interface, Queues};
pub use latency::{Latency, LatencyUnit};
pub use ledger::{Ledger, Unexplained};
pub use number::Number;
pub use outcome::Outcome;
pub use stage::{Agreement, How, Stage};
pub use test::{Counted, Cpu, PortUsed, Repeat, Role, Sample, Summary, Test, unit};
pub use timestamp::{Timestamp, TimestampError};

#[cfg(test)]
mod tests;
