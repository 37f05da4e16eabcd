//! `linerate fcoe`: Fibre Channel over Ethernet, VN2VN.

mod client;
mod common;
mod copy;
mod discover;
mod initiator;
mod list;
mod target;

use super::{Command, parse};
use crate::trouble::Trouble;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "fcoe",
    about: "Fibre Channel over Ethernet without a switch (VN2VN): targets, initiators, who is there",
    alone: false,
    run,
};

/// Fibre Channel over Ethernet without a Fibre Channel switch (FC-BB-6, VN2VN).
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Be a storage target until Ctrl-C: disks in memory, in files or behind NBD, for initiators on the same network.
    Target(target::Arguments),
    /// List the VN_Ports on a network.
    Discover(discover::Arguments),
    /// Use the LUNs of targets until Ctrl-C: serve them over NBD.
    Initiator(initiator::Arguments),
    /// List the LUNs that targets have.
    Ls(list::Arguments),
    /// Print all that LUNs say of themselves.
    Inq(list::Arguments),
    /// Copy a LUN, or a part of it, to a file.
    Read(copy::Arguments),
    /// Copy a file to a LUN.
    Write(copy::Arguments),
}

fn run(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let Some(arguments) = parse::<Arguments>(COMMAND.name, arguments)? else { return Ok(ExitCode::SUCCESS) };
    match arguments.what {
        What::Target(arguments) => target::run(arguments),
        What::Discover(arguments) => discover::run(&arguments),
        What::Initiator(arguments) => initiator::run(&arguments),
        What::Ls(arguments) => list::run(&arguments, false),
        What::Inq(arguments) => list::run(&arguments, true),
        What::Read(arguments) => copy::run(&arguments, copy::Way::Read),
        What::Write(arguments) => copy::run(&arguments, copy::Way::Write),
    }
}
