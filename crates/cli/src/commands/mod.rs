//! The commands: one file and one row each.

mod bench;
mod bridge;
mod fcoe;
mod nic;
mod pkt_gen;
mod ports;
mod profile;
mod qualify;
mod shared;
mod stack;
mod sweep;
mod switch;
mod xdd;

use crate::trouble::{Trouble, print};
use clap::Parser;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// One command.
pub(crate) struct Command {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) about: &'static str,
    /// Whether a link to the binary by this name runs it.
    pub(crate) alone: bool,
    /// Does it.
    pub(crate) run: fn(&[String]) -> Result<ExitCode, Trouble>,
}

/// Exit codes of all commands, for `linerate help`; a command whose own codes need more words says them in its help.
pub(crate) const ENDS: &str = "\
Exit codes
  0      all that was asked for was done, and held
  1      something failed, or a result could not be written
  2      wrong on the command line: one line says what, and the mend
  3      measured, but a figure is worse than wanted, or two ways of measuring disagree (bench, profile)
  4      what was measured is good, but not all could be measured (qualify, sweep, profile)
  128+n  ended early by signal n, with what was measured so far; 130 is Ctrl-C, 141 a reader of the output that is gone
";

/// All commands.
pub(crate) static COMMANDS: &[Command] = &[
    qualify::COMMAND,
    pkt_gen::COMMAND,
    bridge::COMMAND,
    switch::COMMAND,
    ports::COMMAND,
    stack::COMMAND,
    fcoe::COMMAND,
    nic::COMMAND,
    profile::COMMAND,
    xdd::COMMAND,
    sweep::COMMAND,
    bench::COMMAND,
];

/// Parses arguments; None if help was asked for, and printed.
fn parse<P: Parser>(name: &str, arguments: &[String]) -> Result<Option<P>, Trouble> {
    let words = std::iter::once(format!("linerate {name}")).chain(arguments.iter().cloned());
    match P::try_parse_from(words) {
        Ok(parsed) => Ok(Some(parsed)),
        Err(help) if matches!(help.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            print(&help.to_string());
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
