//! `linerate show`.

use super::kept::{Db, RUN};
use super::{Command, parsed};
use crate::print::{colours, columns, print};
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::text;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("show", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Print a run's tables as they were printed when it ran.
#[derive(Parser)]
struct Arguments {
    #[arg(value_name = "RUN", help = RUN)]
    run: String,
    /// Print the result document instead of the tables.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

fn run(asked: &Arguments) -> Result<ExitCode, Trouble> {
    let (run, _) = asked.db.find(&asked.run)?;
    print(&if asked.json { run.to_json() } else { text::as_printed(&run, colours(), columns()) });
    Ok(ExitCode::SUCCESS)
}
