//! `linerate export`.

use super::kept::{Db, RUN};
use super::shared::{file, one_of};
use super::{Command, parsed};
use crate::print::Stdout;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::export::{EXPORTS, Export};
use linerate_lab::store;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("export", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Write runs in a form that other programs read.
#[derive(Parser)]
struct Arguments {
    #[arg(value_name = "RUN", help = RUN, required = true)]
    runs: Vec<String>,
    #[arg(long, value_name = "FORM", help = forms(), value_parser = one_of(EXPORTS.iter().map(|row| (row.name, row))))]
    format: &'static Export,
    /// File to write instead of standard output; one that ends in .gz is packed.
    #[arg(long, value_name = "FILE", value_parser = file)]
    out: Option<PathBuf>,
    #[command(flatten)]
    db: Db,
}

/// Help of --format: the description of each form.
fn forms() -> String {
    let rows: Vec<String> = EXPORTS.iter().map(|row| format!("{}: {}", row.name, row.about)).collect();
    format!("Form to write. {}", rows.join("; "))
}

fn run(asked: &Arguments) -> Result<ExitCode, Trouble> {
    let runs = asked.runs.iter().map(|word| asked.db.find(word).map(|(run, _)| run));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let name = asked.out.as_ref().map(|out| out.to_string_lossy().into_owned());
    let bytes = asked.format.bytes(&runs, name.as_deref());
    let bytes = bytes.map_err(|e| Trouble::usage(format!("--format {}: {e}", asked.format.name)))?;
    match &asked.out {
        Some(out) => {
            store::write_file(out, &bytes).map_err(|e| Trouble::failed(e.to_string()))?;
        }
        // A failure is recorded by standard output itself.
        None => drop(Stdout.write_all(&bytes)),
    }
    Ok(ExitCode::SUCCESS)
}
