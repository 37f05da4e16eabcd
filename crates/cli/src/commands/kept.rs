//! Runs that are kept: each with its folder, and all in one index.
//!
//! A command that keeps its run asks for both before it measures ([`ready`], [`Db::ready`]), and fails if the run cannot be written
//! or put on the list afterwards. What goes wrong with the index costs no result: a run that is written stays, and it is said where.

use super::shared::file;
use crate::print::{print, remark};
use crate::trouble::Trouble;
use linerate_lab::index::{self, Index, IndexError, Listed, Wanted};
use linerate_lab::store::{self, StoreError};
use linerate_load::Output;
use linerate_load::stream::Own;
use linerate_result::RunResult;
use linerate_text::plain;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Place of the index.
#[derive(clap::Args, Default)]
pub(super) struct Db {
    /// Index of all runs (runs.db in the user's data directory).
    #[arg(long, value_name = "FILE", value_parser = file)]
    db: Option<PathBuf>,
}

/// Help text for a RUN.
pub(super) const RUN: &str =
    "The run: its id or the beginning of it, `last` (the one stored last), or the path of a result.json or its folder";

impl Db {
    pub(super) fn path(&self) -> Result<PathBuf, Trouble> {
        let path = self.db.clone().map_or_else(index::default_path, Ok);
        path.map_err(|error| match error {
            StoreError::NoHome => Trouble::usage(
                "no index of runs: neither XDG_DATA_HOME nor HOME is an absolute path; name one by --db FILE",
            ),
            other => Trouble::usage(other.to_string()),
        })
    }

    /// The index to read; `None`, with a remark, if there is none yet.
    pub(super) fn look(&self) -> Result<Option<Index>, Trouble> {
        let path = self.path()?;
        let index = Index::look(&path).map_err(failed)?;
        if index.is_none() {
            remark(&format!(
                "linerate: there is no index {path:?} yet; `linerate runs --reindex` makes it from the folders"
            ));
        }
        Ok(index)
    }

    /// Refuses, before anything is measured, if a run could not be put on the list. Without a home there is no list, and a run whose
    /// folder is named needs none.
    pub(super) fn ready(&self) -> Result<(), Trouble> {
        let Ok(path) = self.path() else { return Ok(()) };
        Index::ready(&path).map_err(failed)
    }

    /// Adds a run whose files are written.
    pub(super) fn record(&self, run: &RunResult, folder: &Path) -> Result<(), Trouble> {
        let unlisted = |why: &str| format!("the result is in {folder:?}, but not in the list of runs: {}", plain(why));
        let path = match self.path() {
            Ok(path) => path,
            Err(none) => {
                remark(&format!("linerate: {}", unlisted(&none.to_string())));
                return Ok(());
            }
        };
        let added = Index::open(&path).and_then(|mut index| {
            index.add(run, Some(&index::absolute(folder)), linerate_lab::import::source(run).as_deref())
        });
        added.map_err(|why| Trouble::failed(unlisted(&why.to_string())))
    }

    /// Writes the document of a run into a folder of its own in the user's data directory, and records it.
    pub(super) fn keep(&self, run: &RunResult) -> Result<PathBuf, Trouble> {
        self.keep_all(&[run]).map(|mut folders| folders.swap_remove(0))
    }

    /// Refuses runs if one would replace a listed one of other contents.
    pub(super) fn free(&self, runs: &[&RunResult]) -> Result<(), Trouble> {
        let Some(index) = Index::look(&self.path()?).map_err(failed)? else { return Ok(()) };
        let free = runs.iter().try_for_each(|run| index.free(run));
        free.map_err(|error| Trouble::failed(plain(&error.to_string())))
    }

    /// As [`Db::keep`], all runs or none.
    pub(super) fn keep_all(&self, runs: &[&RunResult]) -> Result<Vec<PathBuf>, Trouble> {
        let folders = store::keep(runs).map_err(|error| Trouble::failed(plain(&error.to_string())))?;
        runs.iter().zip(&folders).try_for_each(|(run, folder)| self.record(run, folder))?;
        Ok(folders)
    }

    /// Removes runs: all of them, or none if one is no run.
    pub(super) fn remove(&self, words: &[String]) -> Result<(), Trouble> {
        let mut found: Vec<(RunResult, Option<Listed>, Option<PathBuf>)> = Vec::new();
        for word in words {
            let (run, listed) = self.find(word)?;
            let path = linerate_text::path::from_text(word);
            let given = if path.is_file() { path.parent().map(Path::to_path_buf) } else { Some(path) };
            let folder =
                listed.as_ref().map_or(given, |listed| listed.folder.clone()).map(|folder| index::absolute(&folder));
            // Two words may mean one run.
            if !found.iter().any(|(known, ..)| (&known.run_id, known.start) == (&run.run_id, run.start)) {
                found.push((run, listed, folder));
            }
        }
        let mut index = self.look()?;
        for (run, listed, folder) in found {
            if let Some(folder) = &folder {
                store::remove(folder, &run).map_err(|error| Trouble::failed(plain(&error.to_string())))?;
            }
            let of = |listed: &Listed| listed.id == run.run_id && listed.start == run.start.to_string();
            let wanted = || Wanted { begins: Some(run.run_id.clone()), ..Wanted::default() };
            if let Some(index) = &mut index {
                let listed = match listed {
                    Some(listed) => Some(listed),
                    None => index.list(&wanted()).map_err(failed)?.into_iter().find(of),
                };
                listed.map_or(Ok(()), |listed| index.remove(&listed)).map_err(failed)?;
            }
            let place =
                folder.map_or_else(String::new, |folder| format!(" in {}", plain(&folder.display().to_string())));
            print(&format!("removed run {}{place}\n", plain(&run.run_id)));
        }
        Ok(())
    }

    /// The run that a word means, and its entry in the index, if it was found there.
    pub(super) fn find(&self, word: &str) -> Result<(RunResult, Option<Listed>), Trouble> {
        let path = linerate_text::path::from_text(word);
        if word.contains('/') || (word != "last" && word.contains('.') && path.exists()) {
            return Ok((store::load(&path).map_err(|e| Trouble::usage(e.to_string()))?, None));
        }
        let missing = |why: &str| Trouble::usage(format!("RUN {}: {why}", plain(word)));
        let Some(index) = self.look()? else { return Err(missing("no such run; give the path of its folder")) };
        let wanted = match word {
            "last" => Wanted { last: Some(1), ..Wanted::default() },
            word => Wanted { begins: Some(word.to_owned()), ..Wanted::default() },
        };
        let mut list = index.list(&wanted).map_err(failed)?;
        // The whole id of one run may begin another one's.
        if list.iter().filter(|listed| listed.id == word).count() == 1 {
            list.retain(|listed| listed.id == word);
        }
        match &list[..] {
            [] if word == "last" => Err(missing("no run is kept yet; measure one, or give a path")),
            [] if path.exists() => Ok((store::load(&path).map_err(|e| Trouble::usage(e.to_string()))?, None)),
            [] => Err(missing("no run's id begins so; `linerate runs` lists them")),
            [one] => Ok((index.document(one).map_err(failed)?, list.pop())),
            several => {
                let names: Vec<String> = several.iter().take(8).map(|listed| plain(&listed.name())).collect();
                let more = if several.len() > 8 { ", ..." } else { "" };
                Err(missing(&format!("{} runs begin so; give one of {}{more}", several.len(), names.join(", "))))
            }
        }
    }
}

/// Refuses, before anything is measured, if no run can be kept in the user's data directory, or put on this list.
pub(super) fn ready(db: &Db) -> Result<(), Trouble> {
    store::ready().map_err(|error| Trouble::usage(plain(&error.to_string())))?;
    db.ready()
}

/// Output whose tests are kept as runs, if that is wanted. `program` is the command that linerate was called by, `own` the host
/// whose sockets it uses instead of the kernel's.
pub(super) fn keeping(
    output: Output,
    wanted: bool,
    program: &str,
    words: &[String],
    own: Option<&Own>,
) -> Result<Output, Trouble> {
    if !wanted {
        return Ok(output);
    }
    ready(&Db::default())?;
    let command: Vec<String> =
        ["linerate", program].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect();
    let path = own.map_or_else(|| "the kernel's sockets".to_owned(), |own| own.port.clone());
    Ok(output.keeping(Box::new(move |over| {
        let run = linerate_lab::import::own(over, &command, &path).map_err(|e| plain(&e.to_string()))?;
        Db::default().keep(&run).map_err(|e| e.to_string()).map(|_| ())
    })))
}

/// The end of a command with such an output: `code`, if all was written and kept.
pub(super) fn written(output: &Output, code: ExitCode) -> Result<ExitCode, Trouble> {
    match output.trouble() {
        Some(trouble) => Err(Trouble::failed(trouble)),
        None if output.kept_all() => Ok(code),
        None => Ok(ExitCode::FAILURE),
    }
}

/// Error of an index that was to be read.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(error: IndexError) -> Trouble {
    Trouble::failed(plain(&error.to_string()))
}
