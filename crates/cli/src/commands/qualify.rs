//! `linerate qualify`.

use super::kept::Db;
use super::shared::{conclude, file, place, stop_at_signals, typed};
use super::{Command, parsed};
use crate::print::{colours, columns};
use crate::progress::Progress;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::qualify::{Order, begin, qualify};
use linerate_lab::text;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command =
    Command::by_clap("qualify", Arguments::command, |matches, words| run(parsed(matches)?, words));

/// Run all tests on a pair of ports, compare with published figures, and write a table and a report.
///
/// It tests two connected ports: rates by frame size, round trips, pacing, injected faults; every frame is accounted
/// for. Without ports it tests a virtual cable within this process and, as root, packet: and xdp: on veth pairs; then
/// the time that each stage of a datagram's path takes, and FCoE with the requests of `sweep --quick` over a cable
/// without a rate limit, each measured once. Ctrl-C ends it early, with what was measured so far.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 all tests that ran passed, 1 a test failed or the result could not be kept, 2 wrong on the \
                        command line, 4 nothing could be measured, 128+n ended early by signal n"
)]
struct Arguments {
    /// The port that sends (KIND:NAME; `linerate ports` lists the kinds).
    #[arg(value_name = "PORT", requires = "peer")]
    port: Option<String>,
    /// The port that receives.
    #[arg(value_name = "PEER")]
    peer: Option<String>,
    /// Milliseconds that each repeat measures, 10 to 600000.
    #[arg(long, value_name = "MS", default_value_t = 400, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    time: u64,
    /// Repeats of each test, 1 to 1000.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeats: u16,
    /// Folder for the result and the report (a new one in the user's data directory).
    #[arg(long, value_name = "DIR", value_parser = file)]
    out: Option<PathBuf>,
    /// Print the result document instead of the table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

fn run(parsed: Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    let ports = parsed.port.zip(parsed.peer).map(|(port, peer)| [port, peer]);
    if let Some(ports) = &ports {
        // A faulty port name is reported before anything is measured.
        for port in ports {
            linerate_port::Spec::parse(port)?;
        }
    }
    let order = Order { ports, time: Duration::from_millis(parsed.time), repeats: parsed.repeats.into() };
    let stop = stop_at_signals()?;
    let run = begin(typed(words));
    let place = place(parsed.out.as_deref(), &run, &parsed.db)?;
    let mut progress = Progress::new();
    let run = qualify(&order, run, &stop, |step| progress.step(step));
    progress.clear();
    conclude(&run, &text::render(&run, colours(), columns()), Some(place), parsed.json, &parsed.db)
}
