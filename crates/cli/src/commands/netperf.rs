//! `linerate netperf`.

use super::shared::{arguments, ended, stop_at_signals};
use super::{Command, Reader};
use crate::print::print;
use crate::trouble::Trouble;
use linerate_load::netperf::{self, Config};
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "netperf",
    reader: Reader::Itself {
        about: "netperf's client, flag for flag: throughput, transactions and both ends' processors, with any netserver",
        programs: &[],
        help: netperf::help,
        flags: || arguments(netperf::listed()),
        run: netperf,
    },
};

fn netperf(words: &[String]) -> Result<ExitCode, Trouble> {
    let config = match Config::parse(words).map_err(Trouble::usage)? {
        netperf::Command::Print(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        netperf::Command::Run(config) => *config,
    };
    let stop = stop_at_signals()?;
    match netperf::run(&config, &stop, print) {
        Err(_) if stop.signal().is_some() => Ok(ended(&stop)),
        done => done.map_err(Trouble::failed).map(|()| ended(&stop)),
    }
}
