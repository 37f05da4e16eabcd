//! `linerate agent`.

use super::shared::stop_at_signals;
use super::{Command, parsed};
use crate::print::{Stdout, remark};
use crate::trouble::Trouble;
use clap::{Args, CommandFactory, Parser};
use linerate_lab::remote::{agent, recovered};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("agent", Arguments::command, |matches, _| run(parsed(matches)?));

/// The far end of tests with another machine: `linerate sweep --remote` starts it there by ssh.
///
/// It answers the lines that it reads from standard input, serves tests on the interface that they name, and sets that
/// interface's MTU. When its input ends it puts back what it has changed, and ends.
#[derive(Parser)]
#[command(after_help = "Exit codes: 0 done, 1 something could not be put back, 128+n ended by signal n")]
struct Arguments {
    #[command(flatten)]
    records: Records,
}

/// Folder in which changes of interfaces are recorded, so that they are put back even after SIGKILL.
#[derive(Args)]
pub(super) struct Records {
    /// Folder that records changes of interfaces until they are put back (/run/linerate).
    #[arg(long, value_name = "DIR", value_parser = super::shared::file)]
    records: Option<PathBuf>,
}

impl Records {
    /// The folder, after what a process that was killed has left in it was put back.
    pub(super) fn recovered(&self) -> Result<PathBuf, Trouble> {
        let (folder, lines) = recovered(self.records.as_deref()).map_err(Trouble::failed)?;
        lines.iter().for_each(|line| remark(&format!("linerate: {line}")));
        Ok(folder)
    }
}

fn run(parsed: Arguments) -> Result<ExitCode, Trouble> {
    let stop = stop_at_signals()?;
    let records = parsed.records.recovered()?;
    let input = io::BufReader::new(io::stdin());
    let left = agent(input, &mut Stdout, &records, &stop);
    // Nobody reads what it says: it ends as if there were no more requests.
    let left = left.unwrap_or_default();
    left.iter().for_each(|line| remark(&format!("linerate: {line}")));
    Ok(match stop.signal() {
        Some(signal) => ExitCode::from(128 + signal),
        None => ExitCode::from(u8::from(!left.is_empty())),
    })
}
