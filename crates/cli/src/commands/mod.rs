//! The commands: one file and one row each. [`root`] makes one command line of them.

mod agent;
mod bench;
mod bridge;
mod compare;
mod completions;
mod control;
mod dcb;
mod doctor;
mod export;
mod fcoe;
mod import;
mod ip;
mod iperf;
mod kept;
mod link;
mod man;
mod netperf;
mod netserver;
mod nic;
mod pkt_gen;
mod ports;
mod profile;
mod qualify;
mod remote;
mod report;
pub(crate) mod root;
mod runs;
mod shared;
mod show;
mod stack;
mod stream;
mod sweep;
mod switch;
mod xdd;

use crate::trouble::Trouble;
use clap::{Arg, ArgMatches, FromArgMatches};
use std::process::ExitCode;

pub(crate) type Outcome = Result<ExitCode, Trouble>;

pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) reader: Reader,
}

/// Reader of the words of a command.
pub(crate) enum Reader {
    /// The words are read by clap.
    Clap {
        /// Arguments and subcommands, with their help.
        syntax: fn() -> clap::Command,
        /// Runs the command; the words are those of the whole command line.
        run: fn(&ArgMatches, &[String]) -> Outcome,
    },
    /// The words are read by the command itself, in the manner of the program that it replaces: a link to the binary
    /// under that program's name, which may be the command's, behaves like it.
    Itself {
        about: &'static str,
        /// Programs whose names it goes by, if not by its own.
        programs: &'static [&'static str],
        help: fn() -> String,
        /// Flags that clap can represent, so that shells complete them.
        flags: fn() -> Vec<Arg>,
        /// Runs the command; the words are those behind its name.
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
    dcb::COMMAND,
    nic::COMMAND,
    doctor::COMMAND,
    profile::COMMAND,
    stream::COMMAND,
    iperf::COMMAND,
    netperf::COMMAND,
    netserver::COMMAND,
    xdd::COMMAND,
    sweep::COMMAND,
    agent::COMMAND,
    bench::COMMAND,
    runs::COMMAND,
    show::COMMAND,
    compare::COMMAND,
    report::COMMAND,
    export::COMMAND,
    import::COMMAND,
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

    /// True if a link to the binary under this name behaves like this command.
    pub(crate) fn stands_in_for(&self, program: &str) -> bool {
        match &self.reader {
            Reader::Clap { .. } => false,
            Reader::Itself { programs: [], .. } => self.name == program,
            Reader::Itself { programs, .. } => programs.contains(&program),
        }
    }

    /// The command for clap's root.
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

/// The arguments that clap has parsed. The same type made the syntax, so nothing is missing.
fn parsed<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Trouble> {
    A::from_arg_matches(matches).map_err(|e| Trouble::usage(e.to_string()))
}
