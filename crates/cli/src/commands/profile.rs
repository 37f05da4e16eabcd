//! `linerate profile`.

use super::kept::{Db, ready};
use super::shared::{conclude, file, place, stop_at_signals, typed};
use super::{Command, parsed};
use crate::progress::Progress;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser, Subcommand};
use linerate_lab::{profile, qualify};
#[cfg(target_os = "linux")]
use linerate_load::profile::Flood;
use linerate_load::profile::{Direction, Order, Protocol, SOURCES, Source};
use linerate_load::validity::Validity;
use linerate_rt::{Stop, cpus};
#[cfg(target_os = "linux")]
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command =
    Command::by_clap("profile", Arguments::command, |matches, words| run(parsed(matches)?, words));

/// Measure where each nanosecond of a packet of UDP or TCP goes, stage by stage.
#[derive(Parser)]
#[command(after_help = ENDS)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

const ENDS: &str = "Exit codes: 0 measured, 1 nothing could be sent (flood) or the result could not be kept, 2 wrong on \
                    the command line, 3 two ways of measuring disagree, 4 a column could not be measured, 128+n ended \
                    early by signal n";

#[derive(Subcommand)]
enum What {
    /// Measure the transmit path, from the send call to the wire.
    #[command(after_help = ENDS)]
    Tx(Measuring),
    /// Measure the receive path, from the wire to the reader.
    #[command(after_help = ENDS)]
    Rx(Measuring),
    /// Send UDP datagrams through the kernel's sockets, as fast as possible or paced.
    #[cfg(target_os = "linux")]
    #[command(after_help = ENDS)]
    Flood(Flooding),
}

/// Send UDP datagrams through the kernel's sockets, as fast as possible or paced, and print the time of each and the
/// number refused.
#[cfg(target_os = "linux")]
#[derive(clap::Args)]
struct Flooding {
    /// Destination, as 10.0.0.1:9.
    #[arg(value_name = "ADDR:PORT")]
    to: SocketAddr,
    /// Bytes of payload of a datagram, 0 to 65507; 22 makes a frame of 64 bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 22, value_parser = clap::value_parser!(u32).range(0..=i64::from(Flood::LARGEST)))]
    size: u32,
    /// Datagrams per second, kept exactly; 0 is no limit.
    #[arg(long, value_name = "PPS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    rate: u64,
    /// Milliseconds to send for, 1 to 86400000.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    time: u64,
    /// Connect the socket: send instead of sendto, and the route is looked up once.
    #[arg(long)]
    connected: bool,
    /// Datagrams per system call, 1 to 1024; more than 1 is sendmmsg.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(Flood::MOST)))]
    batch: u32,
    /// Print the result document instead of the text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

#[derive(clap::Args)]
struct Measuring {
    /// Measure the kernel's path on this host too: packets are dropped at successive points of it (cut points), and the
    /// times subtracted. Needs root.
    #[arg(long)]
    kernel: bool,
    /// Measure TCP, over a connection that loses nothing, instead of UDP.
    #[arg(long)]
    tcp: bool,
    /// Bytes of a frame in memory, without FCS: 43 to 1514, with --tcp 67 to 1514. Usually 64, with --tcp 1514.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    size: Option<u32>,
    /// Milliseconds that each measurement takes, 1 to 10000.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    time: u64,
    /// Rounds, in each of which everything is measured once, 1 to 1000.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Folder to store the result and a report in (the result alone, in a new one in the user's data directory).
    #[arg(long, value_name = "DIR", value_parser = file)]
    out: Option<PathBuf>,
    /// Print the result document instead of the table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

/// Parses a size that some protocol can have.
fn size(text: &str) -> Result<u32, String> {
    let sizes = Protocol::Udp.sizes();
    text.parse().ok().filter(|size| sizes.contains(size)).ok_or_else(|| between(Protocol::Udp))
}

fn between(protocol: Protocol) -> String {
    let (least, most) = protocol.sizes().into_inner();
    format!("give {least} to {most}")
}

fn run(parsed: Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    let stop = stop_at_signals()?;
    let command = typed(words);
    match parsed.what {
        What::Tx(measuring) => stages(Direction::Tx, &measuring, command, &stop),
        What::Rx(measuring) => stages(Direction::Rx, &measuring, command, &stop),
        #[cfg(target_os = "linux")]
        What::Flood(asked) => flood(&asked, command, &stop),
    }
}

/// Measures the columns that were requested.
fn stages(way: Direction, asked: &Measuring, command: Vec<String>, stop: &Stop) -> Result<ExitCode, Trouble> {
    let (protocol, usual) = if asked.tcp { (Protocol::Tcp, 1514) } else { (Protocol::Udp, 64) };
    let size = asked.size.unwrap_or(usual);
    if !protocol.sizes().contains(&size) {
        return Err(Trouble::usage(format!(
            "--size {size}: a frame of TCP has 66 bytes of headers; {}",
            between(protocol)
        )));
    }
    let wanted = |source: &&Source| (asked.kernel || !source.kernel) && source.measures(protocol, way);
    let sources: Vec<_> = SOURCES.iter().filter(wanted).collect();
    if sources.is_empty() {
        return Err(Trouble::usage("of UDP nothing of linerate's own is measured that way; give --kernel, or --tcp"));
    }
    let order = Order {
        protocol,
        way,
        size,
        time: Duration::from_millis(asked.time),
        rounds: asked.rounds.into(),
        // Interrupts are mostly handled by the first processor.
        core: cpus().last().copied().unwrap_or(0),
    };
    let run = qualify::begin(command);
    let place = match &asked.out {
        Some(out) => Some(place(Some(out), &run, &asked.db)?),
        None => ready(&asked.db).map(|()| None)?,
    };
    let mut progress = Progress::new();
    let validity = Validity::begin();
    let mut run = profile::run(&order, &sources, run, stop, |step| progress.step(step));
    validity.tell(run.tests.get_mut(..1).unwrap_or_default());
    progress.clear();
    conclude(&run, &profile::text(&run), place, asked.json, &asked.db)
}

#[cfg(target_os = "linux")]
fn flood(asked: &Flooding, command: Vec<String>, stop: &Stop) -> Result<ExitCode, Trouble> {
    ready(&asked.db)?;
    let order = Flood {
        to: asked.to,
        payload: asked.size,
        rate: asked.rate,
        time: Duration::from_millis(asked.time),
        connected: asked.connected,
        batch: asked.batch,
    };
    let failed =
        |e: std::io::Error| Trouble::failed(format!("{}: {e}; give an address that this host can reach", asked.to));
    let validity = Validity::begin();
    let mut run = profile::flood(&order, command, stop).map_err(failed)?;
    validity.tell(run.tests.get_mut(..1).unwrap_or_default());
    conclude(&run, &profile::flood_text(&run), None, asked.json, &asked.db)
}
