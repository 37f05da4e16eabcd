//! `linerate iperf`, and `iperf`.

use super::kept::{keeping, written};
use super::shared::{arguments, confine, ended, stop_at_signals};
use super::{Command, Reader};
use crate::print::{Stdout, print};
use crate::trouble::Trouble;
use linerate_load::Output;
use linerate_load::iperf::{self, Config};
use std::io::stderr;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    name: "iperf",
    reader: Reader::Itself {
        about: "iperf 2's TCP and UDP streams, client and server: with iperf 2, or another linerate",
        programs: &["iperf"],
        help: iperf::help,
        flags: || arguments(iperf::listed()),
        run: iperf,
    },
};

fn iperf(words: &[String]) -> Result<ExitCode, Trouble> {
    let config = match Config::parse(words).map_err(Trouble::usage)? {
        iperf::Command::Print(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        iperf::Command::Run(config) => *config,
    };
    let stop = stop_at_signals()?;
    let output = match &config.form.file {
        Some(path) => Output::to_file(iperf::SPEAKER, path, &stop).map_err(Trouble::usage)?,
        None => Output::new(iperf::SPEAKER, Box::new(Stdout), Box::new(stderr()), &stop),
    };
    let output = Arc::new(keeping(output, config.form.keep, "iperf", words, config.own.as_ref())?);
    iperf::run(&config, &stop, &output, confine).map_err(Trouble::failed)?;
    written(&output, ended(&stop))
}
