//! `linerate netserver`.

use super::shared::{arguments, confine, ended, stop_at_signals};
use super::{Command, Reader};
use crate::print::{print, remark};
use crate::trouble::Trouble;
use linerate_load::netperf::{self, ServerCommand, ServerConfig};
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "netserver",
    reader: Reader::Itself {
        about: "netperf's server, flag for flag, for any netperf",
        programs: &[],
        help: netperf::server_help,
        flags: || arguments(netperf::server_listed()),
        run: netserver,
    },
};

fn netserver(words: &[String]) -> Result<ExitCode, Trouble> {
    let config = match ServerConfig::parse(words).map_err(Trouble::usage)? {
        ServerCommand::Print(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        ServerCommand::Run(config) => *config,
    };
    let stop = stop_at_signals()?;
    let log = |line: &str| remark(&format!("netserver: {line}"));
    netperf::serve(&config, &stop, print, log, || confine(&[])).map_err(Trouble::failed)?;
    Ok(ended(&stop))
}
