//! `linerate import`.

use super::kept::Db;
use super::shared::{file, one_of, typed};
use super::{Command, parsed};
use crate::print::print;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::import::{IMPORTS, Import, LARGEST, decoded, not_taken, read};
use linerate_result::{RunResult, Timestamp};
use linerate_text::plain;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command::by_clap("import", Arguments::command, |matches, words| run(&parsed(matches)?, words));

/// Read logs of other programs, and keep each as a run.
///
/// The format is recognized. Findings are repeats of one test if all that the log tells of them (sizes, streams, an MTU, a host,
/// options) is equal, and otherwise tests of their own. What cannot be read for certain is refused with the line, and nothing
/// is kept; a result without proof beside others that have it is named and not taken. What a log does not say stays unknown: no fact of this machine is filled in.
#[derive(Parser)]
struct Arguments {
    /// Files to read; - is standard input.
    #[arg(value_name = "FILE", required = true, value_parser = file)]
    files: Vec<PathBuf>,
    #[arg(long, value_name = "FORMAT", help = formats(), value_parser = one_of(IMPORTS.iter().map(|row| (row.name, row))))]
    format: Option<&'static Import>,
    #[command(flatten)]
    db: Db,
}

/// Help of --format: the description of each format.
fn formats() -> String {
    let rows: Vec<String> = IMPORTS.iter().map(|row| format!("{}: {}", row.name, row.about)).collect();
    format!("Format of the files. {}", rows.join("; "))
}

fn run(asked: &Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    // All are read before the first is kept.
    let mut kept = Vec::new();
    for path in &asked.files {
        let name = path.display().to_string();
        let (text, at) = text(path).map_err(|why| {
            Trouble::usage(format!("{}: {why}; give a file that can be read, of 64 MiB at most", plain(&name)))
        })?;
        let runs = read(&name, &text, asked.format, at, &typed(words));
        kept.push((name, runs.map_err(|e| Trouble::failed(plain(&e.to_string())))?));
    }
    let runs: Vec<&RunResult> = kept.iter().flat_map(|(_, runs)| runs).collect();
    asked.db.ready()?;
    asked.db.free(&runs)?;
    let folders = asked.db.keep_all(&runs)?;
    let names = kept.iter().flat_map(|(name, runs)| runs.iter().map(move |run| (name, run)));
    for ((name, run), folder) in names.zip(folders) {
        let (tests, folder) = (run.tests.len(), folder.display());
        print(&plain(&format!("{}  {tests} tests from {name}, in {folder}{}", run.run_id, trouble(run))));
        print("\n");
    }
    Ok(ExitCode::SUCCESS)
}

/// Failures that a log tells and results of it that were not taken: the first, and the number of others.
fn trouble(run: &RunResult) -> String {
    let failed = run.reasons.iter().map(|why| format!("; failed: {why}"));
    let all: Vec<String> = failed.chain(not_taken(run).map(|told| format!("; {told}"))).collect();
    let more = if all.len() > 1 { format!(", and {} more", all.len() - 1) } else { String::new() };
    all.first().map_or_else(String::new, |first| first.clone() + &more)
}

/// Text of a file, whatever its bytes are, and the time of its last change.
fn text(path: &Path) -> io::Result<(String, Timestamp)> {
    let mut bytes = Vec::new();
    let at = if path == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)?;
        Timestamp::now()
    } else {
        let file = File::open(path)?;
        let at = file.metadata()?.modified().map_or_else(|_| Timestamp::now(), Into::into);
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        at
    };
    Ok((decoded(&bytes)?, at))
}
