//! `linerate profile`.

use super::{Command, parse};
use crate::trouble::{Trouble, print};
use clap::{Parser, Subcommand};
use linerate_lab::{profile, store};
use linerate_load::profile::{Order, SIZES, SOURCES, Way};
use linerate_rt::{Stop, cpus, forward_signals};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command =
    Command { name: "profile", about: "where each nanosecond of a packet goes, stage by stage", alone: false, run };

/// Where each nanosecond of a UDP packet goes, stage by stage.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The way out, from the send call to the wire.
    Tx(Measuring),
    /// The way in, from the wire to the reader.
    Rx(Measuring),
}

#[derive(clap::Args)]
struct Measuring {
    /// Measure the kernel's path on this host too, by differences between cut points. Needs root.
    #[arg(long)]
    kernel: bool,
    /// Bytes of a frame in memory, without FCS, 43 to 1514.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = size)]
    size: u32,
    /// Milliseconds that each measurement takes, 1 to 10000.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    time: u64,
    /// Rounds, in each of which everything is measured once, 1 to 1000.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Store the result and a report there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result document instead of the table.
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> Result<u32, String> {
    let (least, most) = SIZES.into_inner();
    text.parse().ok().filter(|size| SIZES.contains(size)).ok_or_else(|| format!("give {least} to {most}"))
}

fn run(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let Some(parsed) = parse::<Arguments>(COMMAND.name, arguments)? else { return Ok(ExitCode::SUCCESS) };
    let system = |e: std::io::Error| Trouble::failed(format!("signals: {e}; free some descriptors"));
    let stop = Stop::new().map_err(system)?;
    forward_signals(&stop).map_err(system)?;
    let command = ["linerate".into(), COMMAND.name.into()].into_iter().chain(arguments.iter().cloned()).collect();
    match parsed.what {
        What::Tx(measuring) => stages(Way::Tx, &measuring, command, &stop),
        What::Rx(measuring) => stages(Way::Rx, &measuring, command, &stop),
    }
}

/// Measures the columns that were asked for.
fn stages(way: Way, asked: &Measuring, command: Vec<String>, stop: &Stop) -> Result<ExitCode, Trouble> {
    let sources: Vec<_> = SOURCES.iter().filter(|source| asked.kernel || !source.kernel).collect();
    if sources.is_empty() {
        return Err(Trouble::usage("there is nothing to measure; give --kernel"));
    }
    let order = Order {
        size: asked.size,
        time: Duration::from_millis(asked.time),
        rounds: asked.rounds.into(),
        // Interrupts mostly come to the first processor.
        core: cpus().last().copied().unwrap_or(0),
    };
    let run = profile::run(way, &order, &sources, command, stop, |line| eprintln!("{line}"));
    if asked.json {
        print(&run.to_json());
    } else {
        print(&profile::text(&run));
    }
    if let Some(out) = &asked.out {
        let stored = store::save(&run, Some(out)).map_err(|e| Trouble::failed(e.to_string()))?;
        let told = format!("\nResult: {}\nReport: {}\n", stored.result.display(), stored.report.display());
        if asked.json { eprint!("{told}") } else { print(&told) }
    }
    Ok(ExitCode::from(run.exit_code()))
}
