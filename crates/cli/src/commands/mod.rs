//! The commands: one file and one row each. The one command line that they make is [`root`]'s.

mod bench;
mod bridge;
mod completions;
mod fcoe;
mod ip;
mod man;
mod nic;
mod pkt_gen;
mod ports;
mod profile;
mod qualify;
pub(crate) mod root;
mod shared;
mod stack;
mod sweep;
mod switch;
mod xdd;

use crate::trouble::Trouble;
use clap::{Arg, ArgMatches, FromArgMatches};
use std::process::ExitCode;

/// How a command ends.
pub(crate) type Outcome = Result<ExitCode, Trouble>;

/// One command.
pub(crate) struct Command {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Who reads its words.
    pub(crate) reader: Reader,
}

/// Who reads the words of a command.
pub(crate) enum Reader {
    /// clap.
    Clap {
        /// Its arguments and subcommands, and what they are for.
        syntax: fn() -> clap::Command,
        /// Does it; the words are those of the whole command line.
        run: fn(&ArgMatches, &[String]) -> Outcome,
    },
    /// The command itself, as the program does that it stands in for: a link to the binary by its name behaves as that one.
    Itself {
        /// What it does, in a line.
        about: &'static str,
        /// All its help.
        help: fn() -> String,
        /// Those of its flags that clap has a form for, so that shells complete them.
        flags: fn() -> Vec<Arg>,
        /// Does it; the words are those behind its name.
        run: fn(&[String]) -> Outcome,
    },
}

/// All commands, in the order of help.
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
    completions::COMMAND,
    man::COMMAND,
];

impl Command {
    /// A command whose words clap reads.
    const fn by_clap(
        name: &'static str,
        syntax: fn() -> clap::Command,
        run: fn(&ArgMatches, &[String]) -> Outcome,
    ) -> Self {
        Self { name, reader: Reader::Clap { syntax, run } }
    }

    /// What the root has of it.
    pub(crate) fn syntax(&self) -> clap::Command {
        match &self.reader {
            Reader::Clap { syntax, .. } => syntax().name(self.name),
            Reader::Itself { about, help, flags, .. } => clap::Command::new(self.name)
                .about(*about)
                .override_help(help())
                .disable_help_flag(true)
                .disable_version_flag(true)
                .args(flags()),
        }
    }
}

/// The arguments that clap has found. Their type has made the syntax as well, so nothing of it is missing.
fn parsed<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Trouble> {
    A::from_arg_matches(matches).map_err(|e| Trouble::usage(e.to_string()))
}
