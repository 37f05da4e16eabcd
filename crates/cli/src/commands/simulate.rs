//! `linerate simulate`.

mod document;
mod settings;

use super::shared::{ended, stop_at_signals};
use super::{Command, parsed};
use crate::trouble::{Trouble, print};
use crate::wrong;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use linerate_load::simulate::SimulateError;
use settings::Settings;
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command::by_clap("simulate", Arguments::command, |matches, words| run(parsed(matches)?, words));

/// Run a network in one process and in virtual time: the code that ships, one seeded scheduler, results that repeat bit for bit.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A target and initiators (Fibre Channel over Ethernet) around a switch: what each gets, and what is lost where.
    ///
    /// Stations and the switch take no time; frames take theirs on cables and in queues. Results depend on the settings and
    /// the seed alone: the last line has a hash of all frames and their times.
    #[command(after_help = EXAMPLES)]
    San(Box<Settings>),
}

const EXAMPLES: &str = "\
Examples:
  Four initiators that write to a target over 10 Gb/s, each its own cable of 40:
    linerate simulate san --initiators 4 --op write --rate 40G --target-rate 10G
  The same, and the switch lets frames wait instead of dropping them:
    linerate simulate san --initiators 4 --op write --rate 40G --target-rate 10G --lossless
  FCoE (priority 3) lossless and with 60 % of each port, two IP hosts beside it; frames wait in 2 MB:
    linerate simulate san --op write --hosts 2 --host-rate 8G --vlan 100 --buffers 2M \
      --ets prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:40 1:60 --pfc prio 3
  Settings from a file (initiators = 4, rate = \"40G\", lossless = true), another seed:
    linerate simulate san --config san.toml --seed 2";

impl From<SimulateError> for Trouble {
    fn from(error: SimulateError) -> Self {
        match error {
            SimulateError::Open(error) => error.into(),
            SimulateError::Still(_) | SimulateError::Endless(_) => Self::failed(error.to_string()),
            other => Self::usage(other.to_string()),
        }
    }
}

fn run(arguments: Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    let What::San(given) = arguments.what;
    let (settings, stop) = (given.with_file(words)?, stop_at_signals()?);
    let san = settings.san()?;
    let done = match san.run(&stop) {
        Err(SimulateError::Stopped) => return Ok(ended(&stop)),
        done => done?,
    };
    if settings.json {
        print(&format!("{:#}\n", document::of(&san, &done)));
    } else {
        print(&document::text(&san, &done));
    }
    match done.flows.iter().find_map(|flow| Some((&flow.name, flow.stuck?))) {
        Some((name, why)) => Err(Trouble::failed(format!("{name}: {why}"))),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Settings of a command line whose later words go before earlier ones of the same name; the error is a line.
fn read(words: &[String]) -> Result<Settings, String> {
    let mut again = Arguments::command().mut_subcommand("san", |san| san.args_override_self(true));
    let matches = again.try_get_matches_from_mut(words);
    match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(Arguments { what: What::San(settings) }) => Ok(*settings),
        Err(error) => {
            let san = again.find_subcommand("san").unwrap_or(&again);
            Err(wrong::line(&error, san, "linerate simulate san", words))
        }
    }
}
