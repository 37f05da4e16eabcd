//! `linerate netperf`.

use super::kept::{keeping, written};
use super::shared::{arguments, ended, stop_at_signals};
use super::{Command, Reader};
use crate::print::{Stdout, print};
use crate::trouble::Trouble;
use linerate_load::Output;
use linerate_load::netperf::{self, Config};
use std::io::stderr;
use std::process::ExitCode;
use std::sync::Arc;

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
    let output = Output::new(netperf::SPEAKER, Box::new(Stdout), Box::new(stderr()), &stop);
    let output = Arc::new(keeping(output, config.keep, "netperf", words, config.settings.own.as_ref())?);
    match netperf::run(&config, &stop, &output) {
        Err(_) if stop.signal().is_some() => Ok(ended(&stop)),
        Err(why) => Err(Trouble::failed(why)),
        Ok(()) => written(&output, ended(&stop)),
    }
}
