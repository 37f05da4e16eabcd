//! Results on disk: one directory per run, with `result.json` and `report.html`.
//!
//! A [`Place`] is opened before anything is measured, and reserves space for both files: a directory that cannot be
//! written is reported then. At the end `result.json` is written first, then the page that is made from it.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use linerate_result::{LoadError, RunResult};
use thiserror::Error;

use crate::import::are_same;
use crate::report;
use crate::sweep::{POINTS, with_what_is_measured};

/// Name of the document in a run's directory.
pub const RESULT: &str = "result.json";

/// Name of the page in a run's directory.
pub const REPORT: &str = "report.html";

/// The largest document that [`load`] reads, bytes.
const LARGEST: u64 = 256 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub result: PathBuf,
    pub report: PathBuf,
}

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("no directory for results: neither XDG_DATA_HOME nor HOME is an absolute path; name one with --out DIR")]
    NoHome,
    #[error("cannot make directory {path:?}: {why}; name another with --out DIR")]
    Directory { path: PathBuf, why: io::Error },
    #[error("cannot write {path:?}: {why}; name another directory with --out DIR")]
    Write { path: PathBuf, why: io::Error },
    /// A run can get no folder in the user's data directory.
    #[error("no result can be kept: {path:?}: {why}; set XDG_DATA_HOME to a directory that can be written")]
    Keep { path: PathBuf, why: io::Error },
    #[error("no result can be kept: neither XDG_DATA_HOME nor HOME is an absolute path; set one of them")]
    NoData,
    /// A file that is no run's could not be written.
    #[error("cannot write {path:?}: {why}; name another file with --out FILE")]
    File { path: PathBuf, why: io::Error },
    #[error("cannot remove {path:?}: {why}; give the folder back to this user, or remove it yourself")]
    Remove { path: PathBuf, why: io::Error },
    /// A kept run would be replaced by another one of its id and start, or of its folder's name.
    #[error("run {} is kept already, with other contents ({} of {}); remove that one first: linerate runs rm {}",
        .new, .kept.run_id, .kept.start, .kept.run_id)]
    Taken { new: String, kept: Box<RunResult> },
    #[error("cannot read {path:?}: {why}")]
    Read { path: PathBuf, why: io::Error },
    /// A file is not a result that this version can read.
    #[error("{path:?}: {why}")]
    Load { path: PathBuf, why: LoadError },
}

/// Space that a [`Place`] reserves for each file, bytes: more than they need as a rule. A larger file allocates the
/// rest when it is written.
const ROOM: usize = 1 << 20;
/// The same of lines of the bench's history.
const LINES: usize = 64 << 10;

/// A directory with space reserved for a result and its page.
#[derive(Debug)]
pub struct Place {
    result: Part,
    report: Part,
}

impl Place {
    /// Makes the directory, parents too, and a part file beside the path of each of the two files.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        make(directory)?;
        Ok(Self {
            result: Part::open(directory.join(RESULT), ROOM)?,
            report: Part::open(directory.join(REPORT), ROOM)?,
        })
    }

    /// Writes `run` as [`RESULT`] and, after that, as [`REPORT`]. Existing files are replaced atomically.
    pub fn save(self, run: &RunResult) -> Result<Stored, StoreError> {
        let result = self.result.save(&run.to_json())?;
        let report = self.report.save(&report::render(run))?;
        Ok(Stored { result, report })
    }
}

/// Writes `run` as [`RESULT`] in the directory, which is made, without a page. An existing file is replaced atomically.
pub fn write_document(directory: &Path, run: &RunResult) -> Result<PathBuf, StoreError> {
    make(directory)?;
    Part::open(directory.join(RESULT), 0)?.save(&run.to_json())
}

/// Removes the files of a run from its folder, and the folder if nothing else is in it. A folder that holds another run now is left
/// as it is.
pub fn remove(folder: &Path, run: &RunResult) -> Result<(), StoreError> {
    let holds = |kept: &RunResult| kept.run_id == run.run_id && kept.start == run.start;
    if !load(folder).is_ok_and(|kept| holds(&kept)) {
        return Ok(());
    }
    // What makes it a run goes last.
    for name in [REPORT, POINTS, RESULT] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(StoreError::Remove { path, why }),
            _ => {}
        }
    }
    // Others' files keep the folder.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// Refuses, before anything is measured, if [`keep`] would find no place or no room.
pub fn ready() -> Result<(), StoreError> {
    let runs = runs_directory().map_err(unkept)?;
    make(&runs).and_then(|()| Part::open(runs.join(RESULT), ROOM)).map(drop).map_err(unkept)
}

/// Looks whether there is room for some lines more beside a file; the error is that of the system.
pub(crate) fn room_beside(path: &Path) -> io::Result<()> {
    match Part::open(path.to_owned(), LINES) {
        Err(StoreError::Write { why, .. }) if why.kind() == io::ErrorKind::StorageFull => Err(why),
        // Whoever may append to a file need not be allowed to make another one.
        _ => Ok(()),
    }
}

/// Refuses a run in place of a kept one that has other contents.
pub(crate) fn unlike(run: &RunResult, kept: RunResult) -> Result<(), StoreError> {
    if are_same(run, &kept) { Ok(()) } else { Err(StoreError::Taken { new: run.run_id.clone(), kept: kept.into() }) }
}

/// Writes the document of each run into a folder of its own in the user's data directory: all of them, or none. A folder that holds
/// a run of other contents is left as it is.
pub fn keep(runs: &[&RunResult]) -> Result<Vec<PathBuf>, StoreError> {
    let mut made: Vec<PathBuf> = Vec::new();
    let mut folders = Vec::new();
    for run in runs {
        let folder = default_directory(run).map_err(unkept)?;
        made.extend((!folder.exists()).then(|| folder.clone()));
        let free = load(&folder).map_or(Ok(()), |kept| unlike(run, kept));
        if let Err(why) = free.and_then(|()| write_document(&folder, run)) {
            for folder in made {
                let _ = fs::remove_file(folder.join(RESULT));
                let _ = fs::remove_dir(folder);
            }
            return Err(unkept(why));
        }
        folders.push(folder);
    }
    Ok(folders)
}

fn unkept(error: StoreError) -> StoreError {
    match error {
        StoreError::NoHome => StoreError::NoData,
        StoreError::Directory { path, why } => StoreError::Keep { path, why },
        StoreError::Write { path, why } => StoreError::Keep { path: path.parent().unwrap_or(&path).into(), why },
        other => other,
    }
}

/// Writes a text to a file that is not there before it is complete; an existing file is replaced atomically, where a link leads.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<PathBuf, StoreError> {
    linerate_host::place::check(path).map_err(|why| StoreError::File { path: path.into(), why })?;
    // A device or a pipe is written where it is.
    let plain = fs::metadata(path).map_or(true, |found| found.is_file() || found.is_dir());
    if !plain {
        let written = File::options().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        written.map_err(|why| StoreError::File { path: path.into(), why })?;
        return Ok(path.into());
    }
    let link = path.is_symlink().then(|| fs::canonicalize(path).ok()).flatten();
    let saved = Part::open(link.unwrap_or_else(|| path.to_path_buf()), 0).and_then(|part| part.save_bytes(bytes));
    saved.map(|_| path.to_path_buf()).map_err(|error| match error {
        StoreError::Write { path, why } => StoreError::File { path, why },
        other => other,
    })
}

fn make(directory: &Path) -> Result<(), StoreError> {
    linerate_host::place::make_folder(directory).map_err(|why| {
        // For a file of that name the system's error is "exists".
        let why = if directory.is_file() { io::ErrorKind::NotADirectory.into() } else { why };
        StoreError::Directory { path: directory.into(), why }
    })
}

/// A part file, renamed to its final path when it is complete: a reader sees the old file or the new one, nothing
/// between.
#[derive(Debug)]
struct Part {
    place: PathBuf,
    path: PathBuf,
    file: File,
}

impl Part {
    fn open(place: PathBuf, room: usize) -> Result<Self, StoreError> {
        let trouble = |why| StoreError::Write { path: place.clone(), why };
        if place.is_dir() {
            return Err(trouble(io::ErrorKind::IsADirectory.into()));
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(place.file_name().unwrap_or_default());
        // Two of one process have names of their own.
        static PARTS: AtomicU32 = AtomicU32::new(0);
        name.push(format!(".{}.{}.part", process::id(), PARTS.fetch_add(1, Relaxed)));
        let path = place.with_file_name(name);
        // Removes the part file of an earlier process with this id; `create_new` then follows no link planted by
        // others.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(trouble)?;
        let mut part = Self { place: place.clone(), path, file };
        part.file.write_all(&vec![0; room]).map_err(trouble)?;
        Ok(part)
    }

    /// Writes the text and returns the path of the file.
    fn save(self, text: &str) -> Result<PathBuf, StoreError> {
        self.save_bytes(text.as_bytes())
    }

    fn save_bytes(mut self, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let written = (|| {
            self.file.rewind()?;
            self.file.write_all(bytes)?;
            self.file.set_len(bytes.len() as u64)?;
            self.file.sync_all()?;
            fs::rename(&self.path, &self.place)
        })();
        written.map_err(|why| StoreError::Write { path: self.place.clone(), why })?;
        Ok(self.place.clone())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After the rename there is no part file any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads a stored document: the file itself, or [`RESULT`] in the directory `path`. That of a sweep that was killed has what was
/// measured, as far as it lies beside it.
///
/// # Errors
/// The system's error, or the fault of the document; documents above 256 MiB are refused.
pub fn load(path: &Path) -> Result<RunResult, StoreError> {
    let path = if path.is_dir() { path.join(RESULT) } else { path.to_path_buf() };
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {} MiB", LARGEST >> 20));
    let read = read.and_then(|bytes| if bytes as u64 > LARGEST { Err(too_large()) } else { Ok(()) });
    read.map_err(|why| StoreError::Read { path: path.clone(), why })?;
    let run = RunResult::from_json(&text).map_err(|why| StoreError::Load { path: path.clone(), why })?;
    Ok(with_what_is_measured(run, path.parent().unwrap_or(Path::new("."))))
}

/// Directory `linerate/runs/<UTC time>-<run id>` in the user's data directory.
pub fn default_directory(run: &RunResult) -> Result<PathBuf, StoreError> {
    Ok(runs_directory()?.join(directory_name(run)))
}

/// Directory of all runs that were given no other one.
pub fn runs_directory() -> Result<PathBuf, StoreError> {
    Ok(data_directory()?.join("runs"))
}

/// Directory `linerate` in the user's data directory: `$XDG_DATA_HOME`, or `~/.local/share` (XDG Base Directory
/// Specification 0.8, according to which relative paths are ignored).
///
/// # Errors
/// [`StoreError::NoHome`].
pub fn data_directory() -> Result<PathBuf, StoreError> {
    let data = data_home(env::var_os("XDG_DATA_HOME").map(PathBuf::from), env::var_os("HOME").map(PathBuf::from));
    Ok(data.ok_or(StoreError::NoHome)?.join("linerate"))
}

fn data_home(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    xdg.filter(absolute).or_else(|| Some(home.filter(absolute)?.join(".local/share")))
}

/// Name of a run's directory. The run id is text from outside: only harmless characters go into a file name.
fn directory_name(run: &RunResult) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let id: String = run.run_id.chars().take(64).map(harmless).collect();
    format!("{}-{id}", run.start.compact())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use linerate_result::RunResult;

    use super::{data_home, directory_name};

    #[test]
    fn the_data_directory_follows_xdg() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(data_home(path("/x"), path("/h")), path("/x"));
        assert_eq!(data_home(path("relative"), path("/h")), path("/h/.local/share"));
        assert_eq!(data_home(path(""), path("/h")), path("/h/.local/share"));
        assert_eq!(data_home(None, path("/h")), path("/h/.local/share"));
        assert_eq!(data_home(None, path("h")), None);
        assert_eq!(data_home(None, None), None);
    }

    #[test]
    fn a_run_id_cannot_leave_its_directory() {
        let time = "2001-02-03T04:05:06Z".parse().unwrap();
        let name = |id: &str| directory_name(&RunResult::new(id.to_owned(), Vec::new(), time));
        assert_eq!(name("7f3a-9c"), "20010203T040506Z-7f3a-9c");
        assert_eq!(name("../../etc/x\0"), "20010203T040506Z-______etc_x_");
        assert!(name(&"x".repeat(1000)).len() < 100);
    }
}
