//! The command lines of netperf and netserver: tables of flags, and the configuration that follows from them.
//!
//! netperf has two tables: flags of all tests, and behind `--` those of the test. Flags that are not built are refused by
//! name; a flag that has no effect in the test that it is given for is refused as well.

mod check;
mod global;
mod of_test;
mod serve;
mod state;
#[cfg(test)]
mod tests;

use super::report::{Form, Selection};
use super::settings::Settings;
use crate::flags::{self, Dialect, Does, Listed, Program, Words};
use state::State;
use std::time::Duration;

pub use serve::{ServerCommand, ServerConfig, server_help, server_listed};

pub type Command = flags::Command<Config>;

/// Configuration of a client that prints.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: Settings,
    /// Prints the lines above figures.
    pub(super) headers: bool,
    /// 0: one figure, 1: a line, 2: all that is known.
    pub(super) verbosity: u8,
    /// Text behind a line without headers.
    pub(super) brand: Option<String>,
    pub(super) form: Form,
    /// Values of a report that is not in netperf's own form.
    pub(super) selection: Selection,
    /// Time between figures while the test goes on.
    pub(super) interim: Option<Duration>,
    /// True to have the test kept as a run.
    pub keep: bool,
    /// The whole command line.
    pub(super) typed: String,
}

static GLOBAL: Program<State, ()> = Program {
    name: "netperf",
    usage: "[flags] [-- flags of the test]",
    dialect: Dialect::Getopt,
    flags: global::FLAGS,
    width: 100,
};

static OF_TEST: Program<State, ()> = Program {
    name: "netperf -t TEST --",
    usage: "[flags]",
    dialect: Dialect::Getopt,
    flags: of_test::FLAGS,
    width: 100,
};

impl Config {
    /// Parses netperf's command line (without the program's name).
    pub fn parse(arguments: &[String]) -> Result<Command, String> {
        let split = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let (global, of_test) = (&arguments[..split], arguments.get(split + 1..).unwrap_or_default());
        let mut state = State::default();
        for (program, words) in [(&GLOBAL, global), (&OF_TEST, of_test)] {
            let mut words = Words::new(words);
            while let Some(flag) = program.find(&mut words)? {
                if let Does::Print(text) = flag.does {
                    return Ok(Command::Print(text()));
                }
                words.give(flag, &mut state)?;
            }
        }
        if state.lists {
            return Ok(Command::Print(super::report::selectors()));
        }
        let typed =
            std::iter::once("netperf").chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        state.config(typed).map(|config| Command::Run(Box::new(config)))
    }
}

#[must_use]
pub fn help() -> String {
    let mut text = GLOBAL.help(|()| "") + "\nFlags of the test, behind --:\n\n";
    text += OF_TEST.help(|()| "").split_once("\n\n").map_or("", |(_, flags)| flags);
    text += "\nTests (-t):\n\n";
    for test in super::TESTS {
        text += &format!("  {:<13} {}\n", test.name, test.about);
    }
    text + "\nOf two values with a comma between them one may be left out. One without a comma stands for both, where both \
           are of the same end.\n\
           Example: linerate netperf -H 10.0.0.1 -t TCP_RR -- -k TRANSACTION_RATE,P99_LATENCY\n\
           Exit codes: 0 done, 1 the test failed, 2 wrong on the command line, 128+n ended early by signal n, with what \
           was measured so far, or the reader of the output is gone (n = 13)\n"
}

fn version() -> String {
    format!("{}\n", super::VERSION)
}

/// netperf's flags, for completions.
#[must_use]
pub fn listed() -> Vec<Listed> {
    GLOBAL.listed()
}
