//! Command line of iperf 2.
//!
//! All flags of iperf 2.1.8 are rows of one table (`table`). A flag that this program does not have is refused by name, with a
//! reason; it is never ignored. A flag that has no effect at the end that it is given to, or with the transport, is refused
//! as well.

mod check;
mod state;
mod table;
mod tos;

use super::config::Config;
use crate::flags::{self, Dialect, Listed, Program, Scope};
use state::State;

pub type Command = flags::Command<Config>;

static PROGRAM: Program<State, Scope> =
    Program { name: "iperf", usage: "-s|-c HOST [flags]", dialect: Dialect::Getopt, flags: table::FLAGS, width: 100 };

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
        + "\nSmall letters go by 1000 (512k is 512000 bytes, 10m is 10000000 bits per second), capitals by 1024 (512K is \
           524288).\nExample: linerate iperf -c 10.0.0.1 -P 2 -w 512k\nExit codes: 0 done, 1 the test failed, 2 wrong on the command line, 128+n ended by signal n (Ctrl-C is \
           2)\n"
}

fn version() -> String {
    format!("iperf version 2.1.8 (linerate {})\n", env!("CARGO_PKG_VERSION"))
}

/// Flags, for completions.
#[must_use]
pub fn listed() -> Vec<Listed> {
    PROGRAM.listed()
}
