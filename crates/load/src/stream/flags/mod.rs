//! iperf3's command line: a table of flags, and the configuration that follows from them.
//!
//! Flags of iperf3 that are not built are refused by name; a flag that has no effect at the end that it is given to, or
//! in the test that it is given for, is refused as well.

mod check;
mod dscp;
mod login;
mod state;
mod table;

use super::config::Config;
use crate::flags::{self, Dialect, Listed, Program, Scope};
use state::State;

pub(super) use table::FLAGS;

pub type Command = flags::Command<Config>;

pub(super) static PROGRAM: Program<State, Scope> =
    Program { name: "iperf3", usage: "-s|-c HOST [flags]", dialect: Dialect::Getopt, flags: FLAGS, width: 100 };

impl Config {
    /// Parses a command line (without the program's name).
    pub fn parse(arguments: &[String]) -> Result<Command, String> {
        let mut state = State::default();
        match PROGRAM.read(arguments, &mut state, |state| &mut state.ends)? {
            Some(text) => Ok(Command::Print(text)),
            None => state.config().map(|config| Command::Run(Box::new(config))),
        }
    }
}

#[must_use]
pub fn help() -> String {
    PROGRAM.help(|_| "")
        + "\nSizes go by 1024 (512k is 524288 bytes), rates by 1000 (512k is 512000 bits per second).\n\
           Example: linerate stream -c 10.0.0.1 -P 8 -w 512k -t 30\n\
           Exit codes: 0 done, 1 the test failed or was ended by Ctrl-C (as iperf3), 2 wrong on the command line, 128+n \
           the reader of the output is gone (n = 13)\n"
}

pub(super) fn version() -> String {
    format!("{}\n", super::VERSION)
}

/// Flags, for completions.
#[must_use]
pub fn listed() -> Vec<Listed> {
    PROGRAM.listed()
}
