//! `linerate xdd`, and `xdd`.

use super::kept::{Db, ready};
use super::shared::{ended, stop_at_signals};
use super::{Command, Reader};
use crate::print::{Stdout, print};
use crate::trouble::Trouble;
use linerate_lab::environment;
use linerate_load::xdd::{self, Config, Document, Refusal, Streams, engine, run};
use std::io::stderr;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "xdd",
    reader: Reader::Itself {
        about: "xdd's block I/O, flag for flag: files, disks, SCSI devices, LUNs found on a port",
        programs: &[],
        help: xdd::help,
        // clap has no form for long names behind one dash.
        flags: Vec::new,
        run: xdd,
    },
};

fn xdd(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let config = match Config::parse(arguments).map_err(Trouble::usage)? {
        xdd::Command::Print(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        xdd::Command::Run(config) => *config,
    };
    let keep = config.keep && !config.dry;
    if keep {
        ready(&Db::default())?;
    }
    let stop = stop_at_signals()?;
    let mut streams = Streams::open(&config, Box::new(Stdout), Box::new(stderr()), &stop).map_err(Trouble::usage)?;
    let command = std::iter::once("xdd".to_owned()).chain(arguments.iter().cloned()).collect();
    let mut finished = match run(&config, engine::open, command, &stop, &mut streams) {
        Ok(finished) => finished,
        Err(Refusal::Stopped) => return Ok(ended(&stop)),
        Err(Refusal::Usage(line)) => return Err(Trouble::usage(line)),
        Err(other @ Refusal::System { .. }) => return Err(Trouble::failed(other.to_string())),
    };
    if config.keep || config.document == Document::Result {
        finished.result.environment = environment::read(&[]);
    }
    match config.document {
        Document::Table => {}
        Document::Result => {
            streams.document(&finished.result.to_json());
        }
        Document::Fio => streams.document(&format!("{:#}", finished.fio)),
    }
    if keep {
        Db::default().keep(&finished.result)?;
    }
    if let Some(trouble) = streams.trouble() {
        return Err(Trouble::failed(trouble));
    }
    // A dry run does all that it was asked to do.
    Ok(if config.dry { ExitCode::SUCCESS } else { ExitCode::from(finished.result.exit_code()) })
}
