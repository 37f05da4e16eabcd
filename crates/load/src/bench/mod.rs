//! The bench: linerate against the machine's roof and its peers, side by side, as ratios.
//!
//! [`BENCHES`] is the table; a bench is one function and one row. A round measures linerate and then each peer, with the
//! core-to-core round trip between any two measurements; a ratio counts only if the cores stayed in one state.

mod alone;
mod cable;
mod checksum;
mod copied;
mod ets;
mod fc_crc;
mod fcoe;
mod forward;
mod lro;
mod null;
mod peer;
pub mod probe;
pub mod roof;
mod round;
mod scale;
mod sockets;
mod switch;
mod sys;
mod tcp;
mod tcp_alone;
mod tcp_loop;
mod tcp_pair;
mod tcp_queues;
mod tcp_stream;
mod tcp_trip;
mod traffic;
mod tso;
mod udp_flood;
mod udp_paced;
mod udp_tx;
mod verdict;
#[cfg(target_os = "linux")]
mod veth;
mod vi;

pub use peer::{How, Peer, Variant};
pub use round::{Compared, compare};
pub use verdict::conclude;

use crate::pktgen::{Config, Finished, MODES, Output, Sizes};
use linerate_result::Unit;
use linerate_rt::{Stop, WaitMode};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct Setting {
    /// The two cores to measure on.
    pub cores: [usize; 2],
    /// Duration of one measurement of linerate.
    pub time: Duration,
    /// Number of rounds wanted in which all measurements count.
    pub rounds: usize,
    /// Directory of the script `peer`; without it, peers that need it are skipped.
    pub peers: Option<PathBuf>,
}

#[cfg(test)]
impl Setting {
    /// A measurement so short that it only shows that it can be made; without two cores none, which is said.
    fn brief() -> Option<Self> {
        let cores = linerate_rt::cpus().first_chunk::<2>().copied();
        if cores.is_none() {
            linerate_skip::skip!("one core only");
        }
        Some(Self { cores: cores?, time: Duration::from_millis(50), rounds: 1, peers: None })
    }
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Missing {
    /// A requirement is not met here; this is no failure.
    #[error("skipped: {0}")]
    Skipped(String),
    /// The machine was busy or changed its state meanwhile; this is no failure, and does not count.
    #[error("discarded: {0}")]
    Discarded(String),
    /// The measurement ran and gave a wrong result.
    #[error("{0}")]
    Failed(String),
}

pub struct Bench {
    pub name: &'static str,
    pub about: &'static str,
    pub unit: Unit,
    /// True if two cores work together, so that their state matters.
    pub two_cores: bool,
    /// Bound on the figure itself: a lower bound for rates, an upper bound for other units.
    pub bound: Option<f64>,
    /// Measures linerate once.
    pub run: fn(&Setting) -> Result<f64, Missing>,
    pub peers: &'static [Peer],
}

pub const BENCHES: &[Bench] = &[
    cable::TWO_THREADS,
    cable::TWO_PROCESSES,
    forward::BENCH,
    null::BENCH,
    udp_tx::BENCH,
    ets::BENCH,
    udp_flood::BENCH,
    checksum::BENCH,
    tso::BENCH,
    fc_crc::BENCH,
    fcoe::READ,
    fcoe::WRITE,
    fcoe::MIX,
    fcoe::READ_32K,
    fcoe::WRITE_32K,
    fcoe::WITH_IP,
    lro::BENCH,
    tcp_stream::BIG,
    tcp_stream::SMALL,
    tcp_stream::HUGE,
    tcp_alone::STREAM,
    tcp_alone::IDLE,
    tcp_alone::IDLE_1000,
    tcp_alone::CHUNKS,
    tcp_queues::QUEUES,
    tcp_stream::SKELETON,
    tcp_alone::CONNECT,
    tcp_trip::TRIP,
    tcp_trip::TAIL,
    sockets::TCP,
    sockets::BOTH,
    sockets::UDP,
    vi::BENCH,
    switch::WITHIN,
    switch::BETWEEN,
    scale::FLOW,
    scale::IDLE,
    scale::WAKE,
    scale::FLOOD,
    scale::BESIDE,
    scale::SOCKETS,
    scale::SENDERS,
    scale::BIND,
    scale::ROUTES,
    scale::NEIGHBOURS,
    #[cfg(target_os = "linux")]
    veth::PACKET,
    #[cfg(target_os = "linux")]
    veth::PACKET_TX,
    #[cfg(target_os = "linux")]
    veth::XDP,
    #[cfg(target_os = "linux")]
    cable::MEMORY,
];

/// Names that stand for all benches whose names begin so.
pub const GROUPS: &[&str] = &["scale"];

impl Bench {
    /// True if a name is the bench's, or that of its group.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let of_group = |rest: &str| rest.starts_with('-');
        self.name == name || (GROUPS.contains(&name) && self.name.strip_prefix(name).is_some_and(of_group))
    }
}

fn failed(why: impl std::fmt::Display) -> Missing {
    Missing::Failed(why.to_string())
}

/// Runs a pkt-gen without output.
fn quietly(config: Config) -> Result<Finished, Missing> {
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let stop = Stop::new().map_err(|e| failed(&e))?;
    let output = Arc::new(Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, &stop));
    let finished = crate::pktgen::run(config, vec!["bench".into()], &stop, &output).map_err(|e| failed(&e))?;
    match finished.result.reasons.as_slice() {
        [] => Ok(finished),
        reasons => Err(Missing::Failed(reasons.join("; "))),
    }
}

/// Rate and number of the frames that a run sent.
fn rate_and_frames(finished: &Finished) -> Result<(f64, u64), Missing> {
    let test = finished.result.tests.first();
    let rate = test.and_then(|test| test.value.as_ref()).and_then(|value| value.median.known());
    let frames = test.and_then(|test| test.ledger.as_ref()).and_then(|ledger| ledger.sent);
    rate.zip(frames).filter(|(_, n)| *n > 0).ok_or_else(|| Missing::Failed("nothing was sent".into()))
}

/// Sends from one port to another and checks every byte there: frames received per second of sending.
fn sent_and_checked(config: Config) -> Result<f64, Missing> {
    let finished = quietly(config)?;
    let (rate, frames) = rate_and_frames(&finished)?;
    let arrived = finished.received.unwrap_or_default().ours;
    if arrived == 0 {
        return Err(Missing::Failed("nothing arrived".into()));
    }
    Ok(rate * arrived as f64 / frames as f64)
}

/// pkt-gen's configuration for a bench: 64 bytes in memory, spinning.
fn config(setting: &Setting, port: &str) -> Config {
    let mut config = Config::new(port);
    config.mode = MODES.iter().find(|mode| mode.name == "tx").unwrap_or(&MODES[0]);
    config.sizes = Sizes::Fixed(64);
    config.seconds = Some(setting.time);
    config.affinity = Some(setting.cores[0]);
    config.burst = Some(256);
    config.wait = WaitMode::Busy;
    config
}
