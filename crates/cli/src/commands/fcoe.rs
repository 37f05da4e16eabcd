//! `linerate fcoe`: Fibre Channel over Ethernet, VN2VN.

mod common;
mod copy;
mod discover;
mod initiator;
mod list;
mod lun;
mod secrets;
mod target;
mod which;

pub(super) use common::{applications, vlan};

use super::{Command, control, parsed};
use crate::trouble::Trouble;
use clap::{Args, CommandFactory, Parser, Subcommand};
use linerate_load::fcoe::CopyDirection;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("fcoe", Arguments::command, |matches, _| run(parsed(matches)?));

/// Fibre Channel over Ethernet without a Fibre Channel switch (FC-BB-6, VN2VN): targets, initiators, discovery.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Be a storage target until Ctrl-C: disks in memory, in files or behind NBD, for initiators on the same network.
    Target(target::Arguments),
    /// Show a target that runs: LUNs, initiators that are logged in and what they do, counters.
    Show(Shown),
    /// Change the LUNs of a target that runs.
    #[command(subcommand)]
    Lun(lun::What),
    /// List the VN_Ports on a network.
    Discover(discover::Arguments),
    /// Use the LUNs of targets until Ctrl-C: serve them over NBD.
    Initiator(initiator::Arguments),
    /// List the LUNs that targets have.
    Ls(list::Arguments),
    /// Print the identity, capacity and features that LUNs report.
    Inq(list::Arguments),
    /// Copy a LUN, or a part of it, to a file.
    Read(copy::Arguments),
    /// Copy a file to a LUN.
    Write(copy::Arguments),
}

/// The target that is shown, named as `fcoe lun` does, or by NAME.
#[derive(Args)]
struct Shown {
    #[command(flatten)]
    target: lun::Target,
    #[command(flatten)]
    show: control::Show,
}

fn run(arguments: Arguments) -> Result<ExitCode, Trouble> {
    match arguments.what {
        What::Target(arguments) => target::run(arguments),
        What::Show(shown) => target::show(&shown.show.of(shown.target.i)),
        What::Lun(what) => lun::run(what),
        What::Discover(arguments) => discover::run(&arguments),
        What::Initiator(arguments) => initiator::run(&arguments),
        What::Ls(arguments) => list::run(&arguments, false),
        What::Inq(arguments) => list::run(&arguments, true),
        What::Read(arguments) => copy::run(arguments, CopyDirection::Read),
        What::Write(arguments) => copy::run(arguments, CopyDirection::Write),
    }
}
