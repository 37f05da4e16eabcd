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
mod netmap;
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
mod simulate;
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

/// All commands by who needs them, in the order of help, each with an example; those whose help has one have none here.
pub(crate) static GROUPS: &[(&str, &[(Command, &str)])] = &[
    ("You begin here", &[(qualify::COMMAND, "linerate qualify xdp:eth0 xdp:eth1")]),
    (
        "You generate, capture or switch packets",
        &[
            (pkt_gen::COMMAND, ""),
            (bridge::COMMAND, "linerate bridge -i packet:eth0 -i tap:tap0"),
            (switch::COMMAND, ""),
            (netmap::COMMAND, "linerate netmap run -- pkt-gen -i netmap:eth0 -f tx"),
            (ports::COMMAND, "linerate ports"),
        ],
    ),
    (
        "You need sockets on a port",
        &[
            (stack::COMMAND, "linerate stack up -i tap:tap0 --addr 10.0.0.2/24 --addr fd00::2/64"),
            (dcb::COMMAND, "linerate dcb up -i packet:eth1 --willing yes"),
        ],
    ),
    (
        "You serve disks",
        &[
            (fcoe::COMMAND, "linerate fcoe target -i 'cable:san{1' --lun 0=ram:64M"),
            (simulate::COMMAND, "linerate simulate san --initiators 4 --rate 40G"),
            (xdd::COMMAND, ""),
        ],
    ),
    (
        "You measure throughput",
        &[
            (stream::COMMAND, ""),
            (iperf::COMMAND, ""),
            (netperf::COMMAND, ""),
            (netserver::COMMAND, ""),
            (sweep::COMMAND, "linerate sweep emulex-netperf --remote root@host2 --to 10.0.0.2"),
            (profile::COMMAND, "linerate profile tx"),
            (bench::COMMAND, "linerate bench cable tcp-stream"),
            (agent::COMMAND, "linerate agent --help    # `linerate sweep --remote` starts it by ssh"),
        ],
    ),
    (
        "You look after hosts",
        &[
            (doctor::COMMAND, "linerate doctor eth0 --for tcp --peer 10.0.0.2"),
            (nic::COMMAND, "linerate nic set eth0 -tso gro rx-usecs=50 ring-rx=1024 mtu=9000"),
        ],
    ),
    (
        "You keep results",
        &[
            (runs::COMMAND, "linerate runs --last 10"),
            (show::COMMAND, "linerate show last"),
            (compare::COMMAND, "linerate compare 7761cc56 last --threshold 5"),
            (report::COMMAND, "linerate report last --format md"),
            (export::COMMAND, "linerate export last --format csv"),
            (import::COMMAND, "linerate import iperf3.json"),
        ],
    ),
    ("You set up a shell", &[(completions::COMMAND, ""), (man::COMMAND, "")]),
];

/// All commands, in the order of help.
pub(crate) fn commands() -> impl Iterator<Item = &'static Command> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter().map(|(command, _)| command))
}

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

    /// The command for clap's root, with an example behind its help.
    pub(crate) fn syntax(&self, example: &str) -> clap::Command {
        match &self.reader {
            Reader::Clap { syntax, .. } => {
                let syntax = syntax().name(self.name);
                let notes = syntax.get_after_help().map(ToString::to_string);
                let example = (!example.is_empty()).then(|| format!("Example:\n  {example}"));
                let after: Vec<String> = example.into_iter().chain(notes).collect();
                syntax.after_help(after.join("\n\n"))
            }
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
