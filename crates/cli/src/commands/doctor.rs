//! `linerate doctor`.

use super::shared::{file, one_of, stop_at_signals};
use super::{Command, parsed};
use crate::print::{colours, print};
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::doctor::{Asked, Load, RULES, Severity, examine, render};
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("doctor", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Exit code of findings from warnings on.
const FOUND: u8 = 3;

/// Find what is wrong with this machine and its interfaces, what it means, and what to type.
///
/// Nothing is changed. Counters are read twice, half a second apart, so that what grows now is told from what has been.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 nothing, or notes; 2 an interface cannot be read; 3 warnings or errors were found; \
                        128+n ended by signal n"
)]
struct Arguments {
    /// Interfaces (all that are up, but the loopback).
    #[arg(value_name = "IF")]
    interfaces: Vec<String>,
    /// Load that the machine is to carry: what it needs is graver then.
    #[arg(long = "for", value_name = "LOAD", value_delimiter = ',', value_parser = one_of(Load::ALL))]
    loads: Vec<Load>,
    /// Examine a recorded tree (`linerate nic record`) instead of this machine.
    #[arg(long, value_name = "DIR", value_parser = file)]
    from: Option<PathBuf>,
    /// Print what each rule looks at.
    #[arg(long, exclusive = true)]
    rules: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

fn run(parsed: &Arguments) -> Result<ExitCode, Trouble> {
    if parsed.rules {
        print(&RULES.iter().map(|rule| format!("{:<22} {}\n", rule.name, rule.about)).collect::<String>());
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_at_signals()?;
    let asked = Asked { names: &parsed.interfaces, loads: &parsed.loads, tree: parsed.from.as_deref() };
    let examined = examine(&asked, &stop);
    if let Some(signal) = stop.signal() {
        return Ok(ExitCode::from(128 + signal));
    }
    let examined = examined.map_err(Trouble::usage)?;
    match parsed.json {
        true => print(&format!("{}\n", serde_json::to_string_pretty(&examined).unwrap_or_default())),
        false => print(&render(&examined, colours())),
    }
    Ok(match examined.worst() {
        Some(Severity::Warning | Severity::Error) => ExitCode::from(FOUND),
        _ => ExitCode::SUCCESS,
    })
}
