//! `linerate stream`, and `iperf3`.

use super::kept::{keeping, written};
use super::shared::{arguments, confine, stop_at_signals};
use super::{Command, Reader};
use crate::print::{Stdout, print};
use crate::trouble::Trouble;
use linerate_load::Output;
use linerate_load::stream::{self, Config};
use std::io::stderr;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    name: "stream",
    reader: Reader::Itself {
        about: "iperf3's TCP and UDP streams, flag for flag, client and server: with iperf3, or another linerate",
        programs: &["iperf3"],
        help: stream::help,
        flags: || arguments(stream::listed()),
        run: stream,
    },
};

fn stream(words: &[String]) -> Result<ExitCode, Trouble> {
    let config = match Config::parse(words).map_err(Trouble::usage)? {
        stream::Command::Print(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        stream::Command::Run(config) => *config,
    };
    let stop = stop_at_signals()?;
    let output = match &config.form.log {
        Some(path) => Output::to_file(stream::SPEAKER, path, &stop).map_err(Trouble::usage)?,
        None => Output::new(stream::SPEAKER, Box::new(Stdout), Box::new(stderr()), &stop),
    };
    let output = Arc::new(keeping(output, config.form.keep, "stream", words, config.own.as_ref())?);
    stream::run(&config, &stop, &output, confine).map_err(Trouble::failed)?;
    written(&output, ExitCode::SUCCESS)
}
