//! xdd: block I/O on files, block devices, SCSI devices and LUNs found on a port, flag for flag and column for column.
//!
//! [`Config::parse`] reads a command line, [`run`] executes it. A target is opened by its [kind](engine::kind_of) on
//! the thread that drives it, and is an [`Engine`](engine::Engine) from then on. Memory is allocated before a pass
//! begins; a request allocates none.

mod columns;
mod config;
mod document;
pub mod engine;
mod fio;
mod flags;
mod lane;
mod order;
mod pace;
mod pattern;
mod run;
mod streams;
mod sys;
mod table;
mod tally;
mod timer;
mod watch;
mod worker;
mod workers;
mod workload;

pub use config::{AccessOrder, Amount, Config, Document, Seek, Target, Throttle, Verify, WHOLE};
pub use flags::{Command, help};
pub use pattern::{Base, Pattern, Prefix};
pub use run::{Finished, Refusal, run};
pub use streams::Streams;
pub use tally::{Account, Tally};
pub use workload::WORKLOAD;

#[cfg(test)]
mod tests;
