//! netperf: bytes, datagrams and transactions over the kernel's sockets, or those of a host of our own, measured at both
//! ends, in netperf 2.7.0's protocol, flag for flag and line for line.
//!
//! [`Config::parse`] reads netperf's command line and [`ServerConfig::parse`] netserver's; [`run`] executes the one,
//! [`serve`] the other. [`measure`] runs one test without a word, and [`Server`] serves in a thread: for programs that
//! want figures and no lines. [`protocol`] has what the two ends say to each other, and knows no sockets. An end has a
//! thread that moves the data by blocking calls (`flow`), and one that keeps the time (`timer`).
//!
//! A server reads no file that a client names, and keeps no more memory for all clients than a limit.

mod client;
mod confidence;
mod control;
mod cpu;
mod fault;
mod figures;
mod flags;
mod flow;
mod measure;
pub mod protocol;
mod report;
mod ring;
mod server;
mod settings;
mod socket;
mod table;
mod timer;
mod units;
mod workload;

pub use crate::socket::{Family, Own, Place};
pub use cpu::Cpu;
pub use fault::Fault;
pub use figures::{EndFigures, Figures, Means, Outcome, Widths};
pub use flags::{Command, Config, ServerCommand, ServerConfig, help, listed, server_help, server_listed};
pub use report::{run, serve};
pub use ring::Layout;
pub use server::Server;
pub use settings::{Buffers, EndSettings, Length, PORT, Repeats, Settings};
pub use table::{TESTS, Test, Transport};
pub use workload::{TCP_CRR, TCP_RR, UDP_RR};

#[cfg(test)]
mod tests;

use crate::Speaker;
use linerate_rt::Stop;

/// netperf, as its output names it.
pub const SPEAKER: Speaker = Speaker { program: "netperf", flag: "" };

/// Version of netperf whose flags, protocol and output these are, and the version of this program.
const VERSION: &str = concat!("Netperf version 2.7.0 (linerate ", env!("CARGO_PKG_VERSION"), ")");

/// Runs a test, and prints nothing. A stop ends it early, with what was measured until then.
pub fn measure(settings: &Settings, stop: &Stop) -> Result<Outcome, Fault> {
    let site = client::site(settings)?;
    client::Client::connect(settings, &site, stop)?.run(|| None)
}
