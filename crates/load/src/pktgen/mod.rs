//! pkt-gen: netmap's packet generator and receiver, flag for flag, with every frame accounted for.
//!
//! Each function of `-f` ([`MODES`]) has a file, and is a [`Machine`](linerate_rt::Machine) per thread; [`run`] opens
//! the port, starts the threads, reports while they run, and settles the ledger.

mod address;
mod captured;
mod config;
mod dump;
mod flags;
mod job;
mod judge;
mod limits;
mod modes;
mod name;
mod output;
mod pace;
mod pair;
mod ping;
mod pong;
mod report;
mod run;
mod rx;
mod rxseq;
mod settle;
mod sizes;
mod source;
mod team;
mod tx;
mod txseq;
mod workload;

pub use captured::ReplayConfig;
pub use config::{Config, Style, options};
pub use flags::{Command, help, listed};
pub use modes::{MODES, Mode, Role};
pub use output::Output;
pub use pace::Pace;
pub use pair::PAIR;
pub use report::{Progressed, Teller};
pub use run::{Refusal, run, run_after};
pub use settle::Finished;
pub use sizes::{LIMITS, Sizes};
pub use workload::WORKLOAD;
pub(crate) use workload::{Ready, parameters, ready};

#[cfg(test)]
mod tests;
