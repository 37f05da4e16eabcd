//! `linerate sweep`.

use super::kept::Db;
use super::shared::{conclude, file, one_of, place, stop_at_signals, typed};
use super::{Command, parsed};
use crate::print::colours;
use crate::progress::Progress;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::sweep::{Form, PRESETS, Preset, Store, SweepError, Via, measure, sweep};
use linerate_lab::{store, text};
use linerate_result::{RunResult, Timestamp};
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command::by_clap("sweep", Arguments::command, |matches, words| run(parsed(matches)?, words));

/// Measure all points of a preset, resuming where an earlier run stopped, and write a table and a report.
///
/// Each point is stored as soon as it is measured; Ctrl-C ends the sweep early, and --resume continues it.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 all points were measured, 1 requests of one failed or it could not be written down, 2 \
                        wrong on the command line, 4 a point could not be measured, 128+n ended early by signal n"
)]
struct Arguments {
    #[arg(value_name = "PRESET", help = presets(), value_parser = one_of(PRESETS.iter().map(|row| (row.name, row))))]
    preset: &'static Preset,
    /// Some of its points (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// All of its points.
    #[arg(long)]
    full: bool,
    /// Whose sockets streams have: the kernel's, over a veth pair between two namespaces (the default), or those of
    /// linerate's own stack, over a cable.
    #[arg(long, value_name = "HOW", value_parser = one_of(Via::ALL.iter().map(|via| (via.word(), *via))))]
    via: Option<Via>,
    /// Folder for points, result and report (a new one in the user's data directory).
    #[arg(long, value_name = "DIR", value_parser = file)]
    out: Option<PathBuf>,
    /// Continue the sweep in the folder that --out names; there must be one.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Print the result document instead of the table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

/// Help of PRESET: the description of each preset.
fn presets() -> String {
    let rows = PRESETS.iter().map(|row| format!("; {}: {}", row.name, row.about));
    format!("Set of points to measure{}", rows.collect::<String>())
}

fn run(parsed: Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    let preset = parsed.preset;
    if parsed.via.is_some() && !preset.has_via() {
        return Err(Trouble::usage(format!("--via: {} has no sockets; leave it out", preset.name)));
    }
    let form = if parsed.full { Form::Full } else { Form::Quick };
    let plan = preset.plan(form, parsed.via.unwrap_or(Via::Kernel));
    let stop = stop_at_signals()?;
    let command = typed(words);
    let fresh = RunResult::new(preset.name.into(), Vec::new(), Timestamp::now());
    let directory = match parsed.out {
        Some(directory) => directory,
        None => store::default_directory(&fresh).map_err(|e| Trouble::usage(e.to_string()))?,
    };
    // Errors of the directory are reported before anything is made.
    Store::look(&directory, parsed.resume).map_err(refused)?;
    let place = place(Some(&directory), &fresh)?;
    plan.needs().map_err(Trouble::usage)?;
    let mut progress = Progress::new();
    let run = sweep(&plan, &mut measure, &directory, parsed.resume, command, &stop, |step| progress.step(step));
    progress.clear();
    let run = run.map_err(refused)?;
    conclude(&run, &text::render(&run, colours()), Some(place), parsed.json, &parsed.db)
}

fn refused(error: SweepError) -> Trouble {
    Trouble::usage(error.to_string())
}
