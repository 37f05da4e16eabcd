//! `linerate sweep`.

use super::shared::{conclude, stop_at_signals, typed};
use super::{Command, parse};
use crate::trouble::Trouble;
use clap::Parser;
use linerate_lab::store;
use linerate_lab::sweep::{Form, PRESETS, SweepError, sweep};
use linerate_load::result::{RunResult, Timestamp};
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "sweep",
    about: "a plan of many measurements, which goes on where it was stopped; a table and a report",
    alone: false,
    run,
};

/// Measure a preset's points one after the other. Each is written down when it is done.
#[derive(Parser)]
struct Arguments {
    /// Which preset.
    #[arg(value_name = "PRESET")]
    preset: String,
    /// Some points, for short (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// All points.
    #[arg(long)]
    full: bool,
    /// Where points, result and report go (a new folder in the user's data directory).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the sweep in the directory that --out names.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Print the result document instead of the table.
    #[arg(long)]
    json: bool,
}

fn run(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let Some(parsed) = parse::<Arguments>(COMMAND.name, arguments)? else { return Ok(ExitCode::SUCCESS) };
    let preset = PRESETS.iter().find(|preset| preset.name == parsed.preset).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Trouble::usage(format!("there is no preset '{}'; there are: {}", parsed.preset, names.join(", ")))
    })?;
    let plan = (preset.plan)(if parsed.full { Form::Full } else { Form::Quick });
    let stop = stop_at_signals()?;
    let command = typed(COMMAND.name, arguments);
    let directory = match parsed.out {
        Some(directory) => directory,
        None => store::default_directory(&RunResult::new(preset.name.into(), Vec::new(), Timestamp::now()))
            .map_err(|e| Trouble::failed(e.to_string()))?,
    };
    let mut runner = (preset.runner)().map_err(Trouble::usage)?;
    let done = sweep(&plan, &mut *runner, &directory, parsed.resume, command, &stop, |line| eprintln!("{line}"));
    let run = done.map_err(|e| match e {
        SweepError::Exists(_) | SweepError::Other { .. } => Trouble::usage(e.to_string()),
        SweepError::System { .. } => Trouble::failed(e.to_string()),
    })?;
    conclude(&run, Some(&directory), parsed.json)
}
