//! The result document: the figures that a run measured, its environment, and the fate of every frame.
//!
//! One [`RunResult`] is one `result.json`, schema [`SCHEMA`] version [`VERSION`]. The document holds facts only: whatever
//! can be computed from them ([`Ledger::settle`], [`Summary::of`], [`Comparison::new`]) is computed by those functions and
//! never written by hand. Units are in each field's description; times are seconds or nanoseconds by their suffix, counters
//! are `u64`, and a number that is not known is `null`: [`Number`] cannot hold NaN or an infinity.
//!
//! The version rises when a field changes its meaning or goes away, and documents of older versions are still read. New
//! optional fields do not raise it, so a reader ignores fields it does not know.

#![forbid(unsafe_code)]

mod agreement;
mod comparison;
mod connection;
mod counter;
mod document;
mod environment;
mod latency;
mod ledger;
mod migrate;
mod number;
mod outcome;
mod parameter;
mod repeat;
mod stage;
mod summary;
mod test;
mod timestamp;
mod unit;

pub use agreement::Agreement;
pub use comparison::{Comparison, Kind};
pub use connection::Connection;
pub use counter::{Counter, Counters};
pub use document::{LoadError, RunResult, SCHEMA, VERSION};
pub use environment::{Environment, HugePages, Interface, Queues};
pub use latency::{Latency, LatencyUnit};
pub use ledger::{Ledger, Unexplained};
pub use number::Number;
pub use outcome::Outcome;
pub use parameter::{Parameter, Parameters, parameters};
pub use repeat::Repeat;
pub use stage::{How, Stage};
pub use summary::{Counted, Summary};
pub use test::{Cpu, PortUsed, Role, Sample, Test};
pub use timestamp::{Timestamp, TimestampError};
pub use unit::{Scale, UNITS, Unit, UnitRow};

#[cfg(test)]
mod tests;
