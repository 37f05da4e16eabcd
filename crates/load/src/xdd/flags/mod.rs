//! xdd's command line: a table of flags, their values, and the targets that follow from them.
//!
//! Flags are one dash and a word, or xdd's short form. Flags of a target may name one: `-op target 1 write` applies to
//! target 1 only. Flags of xdd that are not supported are refused by name.

mod check;
mod setup;
mod state;
mod table;
mod targets;
mod value;

use super::columns;
use super::config::Config;
use super::engine::examples;
use crate::flags::{self, Dialect, Does, Flag, Program, Words, number};
use state::{Scope, State};
use std::fmt::Write as _;

pub(super) use table::FLAGS;

pub type Command = flags::Command<Config>;

pub(super) static PROGRAM: Program<State, Scope> =
    Program { name: "xdd", usage: "-targets N NAME... [flags]", dialect: Dialect::Whole, flags: FLAGS, width: 100 };

impl Config {
    /// Parses a command line (without the program's name).
    pub fn parse(arguments: &[String]) -> Result<Command, String> {
        let (mut state, mut said) = (State::default(), Vec::new());
        let mut words = Words::new(arguments);
        while let Some(flag) = next(&mut words, &mut state)? {
            if let Does::Print(text) = flag.does {
                return Ok(Command::Print(text()));
            }
            let of = match flag.scope {
                Scope::Target if words.take_if(|word| word == "target").is_some() => {
                    let of = words.value().and_then(|of| number(&of, 0..=1023));
                    Some(of.map_err(|why| words.trouble(&why))?)
                }
                _ => None,
            };
            let given = words.give(flag, &mut state)?;
            words.insert(std::mem::take(&mut state.inserted));
            if flag.scope == Scope::Target {
                said.push((of, given));
            }
        }
        let mut config = Self { targets: state.named.targets(&said)?, ..state.config };
        if config.id.as_deref() == Some("commandline") {
            config.id = Some(arguments.join(" "));
        }
        config.check()?;
        Ok(Command::Run(Box::new(config)))
    }
}

/// Next flag; words before it are names that a `-targets` lacks.
fn next(words: &mut Words, state: &mut State) -> Result<Option<&'static Flag<State, Scope>>, String> {
    while let Some(word) = words.take_if(|word| !word.starts_with('-')) {
        match state.named.unnamed() {
            Some(group) => group.take(word),
            // A flag without its dash rather than a name.
            None if PROGRAM.meant(&word).is_some() => return Err(PROGRAM.unknown(&word)),
            None => return Err(state.named.too_many(&word).unwrap_or_else(|| PROGRAM.unknown(&word))),
        }
    }
    PROGRAM.find(words)
}

#[must_use]
pub fn help() -> String {
    let mut text = PROGRAM.help(|scope| if *scope == Scope::Target { " [target N]" } else { "" });
    text.push_str("\nTargets\n");
    for (example, about) in examples() {
        let _ = writeln!(text, "  {example:24} {about}");
    }
    text.push_str("\nColumns of -outputformat\n");
    for names in columns::names().collect::<Vec<_>>().chunks(5) {
        let _ = writeln!(text, "  {}", names.join(" "));
    }
    text.push_str(
        "\nExample: linerate xdd -op read -targets 1 /dev/sdb -queuedepth 4 -reqsize 8 -blocksize 512 -numreqs 100\n\
         Exit codes: 0 done, 1 a request failed or a file of results could not be written, 2 wrong on the command line, \
         128+n ended early by signal n\n",
    );
    text
}
