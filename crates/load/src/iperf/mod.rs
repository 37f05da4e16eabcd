//! iperf 2: streams of bytes or datagrams over the kernel's sockets or those of a host of our own, in iperf 2.1.8's protocol, client and server, with its
//! flags and lines.
//!
//! [`Config::parse`] reads a command line; [`run`] executes it. [`measure`] runs a client's test without a word, and
//! [`Server`] serves clients so. [`protocol`] has what the two ends say to each other, and knows no sockets. Each flow has a
//! thread and blocking calls (`lane`), and counters that reports read (`report`). Options of sockets are set in one place
//! (`link`).
//!
//! It refuses tests of round trips, bursts and frames, keys, groups, histograms (see `flags`).

mod client;
mod config;
mod flags;
mod flow;
mod lane;
mod link;
mod measured;
pub mod protocol;
mod report;
mod server;
mod settings;
mod units;

pub use crate::socket::{Family, Own, Place};
pub use config::{Asked, Config, Form, Part, Serving, Without};
pub use flags::{Command, help, listed};
pub use measured::{Measured, Server, measure};
pub use settings::{Limit, Rate, Settings, Transport};

use crate::socket::Site;
use crate::{Output, Speaker};
use lane::Outcome;
use linerate_rt::{Capability, Stop};
use report::Reporter;
use std::sync::Arc;

pub const SPEAKER: Speaker = Speaker { program: "iperf", flag: "-o" };

/// Runs an end to its end. The process must have this thread alone, if a server is to leave the terminal. `opened` is called
/// by a server that listens, with the capabilities that it goes on to need.
///
/// # Errors
/// One line, without the program's name: iperf's words where it has some.
pub fn run(
    config: &Config,
    stop: &Stop,
    output: &Arc<Output>,
    opened: impl FnOnce(&[Capability]),
) -> Result<(), String> {
    let serves = matches!(config.part, Part::Server(_));
    let reporter = Arc::new(Reporter::new(config.form.clone(), Some(output.clone()), serves));
    // As iperf, it goes on without.
    if let Some(e) = config.realtime.then(crate::socket::sys::realtime).and_then(Result::err) {
        reporter.error(&format!("-z: {e}; run it as root"));
    }
    let site = Site::open(&config.place, config.own.as_ref())?;
    if let Some(path) = site.path().filter(|_| config.form.enhanced) {
        reporter.settings(&format!("{path}\n"));
    }
    match &config.part {
        Part::Client(asked) => {
            let outcomes = client::run(&site, asked, &reporter, stop);
            // A line for one is enough: the others have the same cause, or follow from it.
            let first = |outcomes: Vec<Outcome>| outcomes.into_iter().find_map(|outcome| outcome.fault);
            let ended = outcomes.and_then(|outcomes| first(outcomes).map_or(Ok(()), Err));
            reporter.over(ended.as_ref().err().map(String::as_str));
            ended
        }
        Part::Server(serving) => {
            let listener = server::Listener::open(&site, serving)?;
            if serving.daemon {
                crate::socket::sys::daemon().map_err(|e| format!("unable to become a daemon: {e}"))?;
            }
            // Each session of datagrams has a socket of its own.
            let keeps = if serving.transport == Transport::Udp { config.place.keeps() } else { Vec::new() };
            opened(&keeps);
            reporter.settings(&listener.settings(&site, serving, &reporter));
            server::ServerState::new(&site, serving, &reporter, None).serve(&listener, stop)
        }
    }
}
