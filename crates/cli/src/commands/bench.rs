//! `linerate bench`.

use super::kept::{Db, ready};
use super::shared::{file, stop_at_signals, typed};
use super::{Command, parsed};
use crate::print::print;
use crate::progress::Progress;
use crate::trouble::Trouble;
use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, Parser};
use linerate_lab::bench::{figure, text};
use linerate_lab::environment;
use linerate_lab::history::{History, HistoryError};
use linerate_lab::progress::{Step, Steps};
use linerate_lab::run::{run_id, seconds};
use linerate_load::bench::{BENCHES, Bench, GROUPS, Setting, compare, conclude};
use linerate_load::validity::Validity;
use linerate_result::{RunResult, Timestamp};
use linerate_rt::{cpus, monotonic_ns};
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command =
    Command::by_clap("bench", Arguments::command, |matches, words| run(parsed(matches)?, words));

/// Measure linerate beside the machine's limits (roofs) and comparable programs (peers), as ratios.
///
/// All are measured in turns; a round counts only if the cores' state stays the same. Without names all benches run.
/// Ctrl-C ends them early, with the rounds that were measured.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 measured, 1 a measurement failed or the history could not be written, 2 wrong on the \
                        command line, 3 a figure or a ratio is worse than wanted, 4 a bench could not be measured here, 128+n \
                        ended early by signal n"
)]
struct Arguments {
    /// Benches to run; `linerate bench list` lists them. `scale` runs all that begin so.
    #[arg(value_name = "NAME", value_parser = known())]
    names: Vec<String>,
    /// Milliseconds that each measurement of linerate takes, 50 to 60000.
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    time: u64,
    /// Number of rounds that must count, 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=100))]
    rounds: u8,
    /// Folder of the script `peer`, which runs the other programs (bench/peers, if it is there).
    #[arg(long, value_name = "DIR", value_parser = file)]
    peers: Option<PathBuf>,
    /// Print the result document on one line, the last of the output.
    #[arg(long)]
    json: bool,
    /// Add the figure of each bench that was not cut short to this file, a JSON line each; without it the
    /// runs alone are kept, for `linerate runs`.
    #[arg(long, value_name = "FILE", value_parser = file)]
    history: Option<PathBuf>,
    #[command(flatten)]
    db: Db,
}

/// Parser of the names of all benches and groups of them, and `list`.
fn known() -> PossibleValuesParser {
    let benches = BENCHES.iter().map(|bench| bench.name);
    PossibleValuesParser::new(benches.chain(GROUPS.iter().copied()).chain(["list"]))
}

fn run(parsed: Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    if parsed.names.iter().any(|name| name == "list") {
        print(&BENCHES.iter().map(|b| format!("{:16} {}\n", b.name, b.about)).collect::<String>());
        return Ok(ExitCode::SUCCESS);
    }
    ready(&parsed.db)?;
    let mut history = parsed.history.as_deref().map(History::open).transpose()?;
    let cores = cpus().first_chunk::<2>().copied().unwrap_or([0, 0]);
    let beside = PathBuf::from("bench/peers");
    let peers = parsed.peers.or_else(|| beside.join("peer").exists().then_some(beside));
    let setting = Setting { cores, time: Duration::from_millis(parsed.time), rounds: parsed.rounds.into(), peers };
    let wanted = |bench: &&Bench| parsed.names.is_empty() || parsed.names.iter().any(|name| bench.is_called(name));
    let benches: Vec<&Bench> = BENCHES.iter().filter(wanted).collect();
    let stop = stop_at_signals()?;
    let progress = RefCell::new(Progress::new());
    let mut tell = |step: &Step| progress.borrow_mut().step(step);
    let mut steps = Steps::new(vec![1.0; benches.len()], &mut tell);
    let mut run = RunResult::new(run_id(), typed(words), Timestamp::now());
    let (began, mut unwritten) = (monotonic_ns(), None);
    for bench in &benches {
        if stop.asked() {
            break;
        }
        steps.next(bench.name);
        let validity = Validity::begin();
        let mut compared = compare(bench, &setting, &stop, |line| steps.within(line));
        validity.tell(std::slice::from_mut(&mut compared.test));
        progress.borrow_mut().clear();
        steps.figure(figure(&compared.test));
        if !parsed.json {
            print(&text(&compared));
        }
        // A bench that was cut short has fewer rounds than its neighbours in the history.
        if let Some(history) = history.as_mut().filter(|_| !stop.asked()) {
            unwritten = unwritten.or(history.add(&compared).err());
        }
        run.tests.push(compared.test);
        run.comparisons.extend(compared.comparisons);
    }
    run.elapsed_s = seconds(monotonic_ns() - began).into();
    run.signal = stop.signal();
    run.environment = environment::read(&[]);
    conclude(&mut run);
    let kept = if run.tests.is_empty() { Ok(()) } else { parsed.db.keep(&run).map(drop) };
    if parsed.json {
        print(&run.to_line());
    } else if stop.asked() {
        print(&format!("\npartial: stopped in bench {} of {}\n", run.tests.len(), benches.len()));
    }
    match unwritten {
        Some(trouble) => Err(trouble.into()),
        None if kept.is_err() => kept.map(|()| ExitCode::FAILURE),
        None => Ok(ExitCode::from(run.exit_code())),
    }
}

impl From<HistoryError> for Trouble {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Open { ref why, .. } if why.kind() != io::ErrorKind::StorageFull => {
                Self::usage(error.to_string())
            }
            _ => Self::failed(error.to_string()),
        }
    }
}
