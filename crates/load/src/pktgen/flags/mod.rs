//! netmap's command line: a table of flags, their state, and checks that need the values of all flags.
//!
//! A flag without effect is ignored silently by netmap's pkt-gen; here it is checked all the same, left out, and
//! reported. linerate's own, long ones are refused then: no script of netmap's has them.

mod finish;
mod scope;
mod state;
mod table;
mod value;

use super::config::Config;
use super::modes::MODES;
use crate::flags::{self, Dialect, Does, Listed, Program, Words};
use scope::Scope;
use state::State;
use std::fmt::Write as _;

pub(super) use table::FLAGS;

/// Request of a command line; flags that were left out are among the remarks.
pub type Command = flags::Command<Config>;

pub(super) static PROGRAM: Program<State, Scope> = Program {
    name: "pkt-gen",
    usage: "-i port [-f function] [flags]",
    dialect: Dialect::Getopt,
    flags: FLAGS,
    width: 88,
};

impl Config {
    /// Parses a command line (without the program's name).
    pub fn parse(arguments: &[String]) -> Result<Command, String> {
        let (mut state, mut given, mut left_out) = (State::default(), Vec::new(), Vec::new());
        let mut words = Words::new(arguments);
        while let Some(flag) = PROGRAM.find(&mut words)? {
            match flag.does {
                Does::Print(text) => return Ok(Command::Print(text())),
                Does::Refused(why) => left_out.push(format!("{}: {why}", flag.name())),
                _ => {
                    let again = given.iter().any(|given: &flags::Given<_, _>| std::ptr::eq(given.flag, flag));
                    given.push(words.give(flag, &mut state)?);
                    // Of numbers and such the last one counts, as getopt has it.
                    let once = flag.name().starts_with("--") || ["-i", "-P"].contains(&flag.name());
                    if again && once && given.last().is_some_and(|given| !given.values.is_empty()) {
                        return Err(format!("{}: is given twice; give it once", flag.name()));
                    }
                }
            }
        }
        // The effect of a flag may depend on others that themselves have no effect.
        loop {
            state.config.replay = state.replay()?;
            let Some(at) = given.iter().position(|given| !given.flag.scope.holds(&state.config)) else {
                return state.finish(left_out);
            };
            let flag = given.remove(at).flag;
            let why = format!("{}: {}", flag.name(), flag.scope.missing(&state.config));
            if flag.name().starts_with("--") {
                return Err(format!("{why}; leave it out"));
            }
            left_out.push(format!("{why}; left out"));
            state = State::default();
            given.iter().try_for_each(|given| given.set(&mut state))?;
        }
    }
}

#[must_use]
pub fn listed() -> Vec<Listed> {
    PROGRAM.listed()
}

#[must_use]
pub fn help() -> String {
    let mut text = PROGRAM.help(|_| "");
    text.push_str("\nFunctions\n");
    for mode in MODES {
        let _ = writeln!(text, "  {:6} {}", mode.name, mode.about);
    }
    text.push_str("\nExample: linerate pkt-gen -i packet:eth0 -f tx -l 60 -n 1000000\n");
    text.push_str("Exit codes: 0 passed, 1 failed, 2 wrong on the command line, 128+n ended early by signal n\n");
    text
}
