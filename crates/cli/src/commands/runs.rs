//! `linerate runs`.

use super::kept::{Db, RUN, failed};
use super::shared::{file, one_of};
use super::{Command, parsed};
use crate::print::{colours, print, remark};
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser, Subcommand};
use linerate_lab::index::{Index, Wanted, json, render};
use linerate_lab::store;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("runs", Arguments::command, |matches, _| run(parsed(matches)?));

/// List the runs that are kept, one line each, the one stored last first.
///
/// The list is an index of the runs' folders; `--reindex` makes it anew from them. A run whose folder is gone stays in it
/// with its whole document.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Only the last N runs.
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Only runs with a test of this workload, and its figure.
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Only runs with this outcome.
    #[arg(long, value_name = "O", value_parser = one_of(["pass", "failed", "gate", "partial"].map(|word| (word, word))))]
    outcome: Option<&'static str>,
    /// Only runs of this host.
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Print a JSON document instead of the list.
    #[arg(long)]
    json: bool,
    /// Make the index anew from the runs' folders, and list nothing.
    #[arg(long, conflicts_with_all = ["last", "workload", "outcome", "host", "json"])]
    reindex: bool,
    /// One more folder whose subfolders hold runs, for --reindex; may be given several times.
    #[arg(long, value_name = "DIR", value_parser = file, requires = "reindex")]
    under: Vec<PathBuf>,
    #[command(flatten)]
    db: Db,
}

#[derive(Subcommand)]
enum Action {
    /// Remove runs for good, without a question: their files (result, report, points) and their entries in the list.
    ///
    /// A folder goes, too, unless something else is in it. If one of them is no run, none is removed.
    #[command(after_help = "Example:\n  linerate runs rm last 7761cc56")]
    Rm {
        #[arg(value_name = "RUN", help = RUN, required = true)]
        runs: Vec<String>,
        #[command(flatten)]
        db: Db,
    },
}

fn run(asked: Arguments) -> Result<ExitCode, Trouble> {
    if let Some(Action::Rm { runs, db }) = &asked.action {
        return db.remove(runs).map(|()| ExitCode::SUCCESS);
    }
    if asked.reindex {
        return reindex(&asked);
    }
    let wanted = Wanted {
        last: asked.last,
        workload: asked.workload,
        outcome: asked.outcome.map(str::to_owned),
        host: asked.host,
        begins: None,
    };
    let list = match asked.db.look()? {
        Some(index) => index.list(&wanted).map_err(failed)?,
        None => Vec::new(),
    };
    print(&if asked.json { json(&list) } else { render(&list, colours()) });
    Ok(ExitCode::SUCCESS)
}

fn reindex(asked: &Arguments) -> Result<ExitCode, Trouble> {
    let path = asked.db.path()?;
    let mut roots = asked.under.clone();
    for root in &roots {
        if !root.is_dir() {
            return Err(Trouble::usage(format!("--under {}: no folder; give one that holds runs", root.display())));
        }
    }
    // Without a home there are only the folders that were given.
    roots.extend(store::runs_directory());
    let rebuilt = Index::rebuild(&path, &roots).map_err(failed)?;
    if let Some(aside) = &rebuilt.aside {
        remark(&format!("linerate runs: the damaged index is kept as {aside:?}"));
    }
    for fault in &rebuilt.faults {
        remark(&format!("linerate runs: {}", linerate_text::plain(fault)));
    }
    print(&format!(
        "{} read from their folders, {} more kept in the index alone\n",
        linerate_text::many(rebuilt.read, "run"),
        rebuilt.kept
    ));
    Ok(if rebuilt.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
