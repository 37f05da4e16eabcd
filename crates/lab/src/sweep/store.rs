//! File of the measurements made so far: a head, then one line for each, written as soon as it is made: a test, or a list of
//! those that were measured at the same time, that of the point first.
//!
//! A line that was cut short by the end of the program is ignored: its point is measured again.

use super::Plan;
use linerate_host::place;
use linerate_result::{RunResult, Test, Timestamp};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the file in a sweep's directory.
pub const POINTS: &str = "points.ndjson";

/// Name and version of the file's format.
const SCHEMA: &str = "linerate.sweep";
const VERSION: u32 = 1;
/// The largest file that is read, bytes.
const LARGEST: u64 = 64 << 20;

/// First line of the file: identifies the sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    schema: String,
    version: u32,
    /// Name of the plan's preset, or the one that its file gives.
    pub preset: String,
    /// Thoroughness of a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Whose sockets, if the preset has a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Name of the other machine's address, if the tests are with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Text of a plan that was read from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Ids of its points, if others of the plan were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Identifies the sweep, however often it is resumed.
    pub run_id: String,
    /// Start time of the sweep.
    pub start: Timestamp,
}

impl Head {
    /// Makes the head of a sweep that begins now.
    #[must_use]
    pub fn new(plan: &Plan, run_id: String, start: Timestamp) -> Self {
        let (form, via) = (plan.form.map(|form| form.word().into()), plan.via.map(|via| via.word().into()));
        let remote = plan.remote.as_ref().map(|other| other.name.clone());
        let (preset, only, plan) = (plan.name.clone(), plan.only.clone(), plan.text.clone());
        Self { schema: SCHEMA.into(), version: VERSION, preset, form, via, remote, plan, only, run_id, start }
    }

    fn is_of(&self, other: &Self) -> bool {
        let of = |head: &Self| {
            (
                head.schema.clone(),
                head.version,
                head.preset.clone(),
                head.form.clone(),
                head.via.clone(),
                head.remote.clone(),
                head.plan.clone(),
                head.only.clone(),
            )
        };
        of(self) == of(other)
    }
}

#[derive(Debug, Error)]
pub enum SweepError {
    #[error("{0:?} has a sweep already; go on with it by --resume, or name another directory by --out DIR")]
    Exists(PathBuf),
    #[error("{0:?} has no sweep to go on with; name the directory of one by --out DIR, or begin one without --resume")]
    Nothing(PathBuf),
    /// The file belongs to another plan, or this version cannot read it.
    #[error("{path:?} is of another sweep ({found}); name another directory by --out DIR")]
    Other {
        path: PathBuf,
        /// Description of the contents found.
        found: String,
    },
    #[error("{path:?}: {why}; name another directory by --out DIR")]
    System { path: PathBuf, why: io::Error },
}

/// Lines of a file. The text after the last line break was cut short.
fn whole_lines(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB"));
    }
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    Ok(bytes)
}

#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    head: Head,
    measured: Vec<Vec<Test>>,
}

impl Store {
    /// Refuses a directory that already has a sweep, or, to resume, a directory without one; makes nothing.
    ///
    /// # Errors
    /// [`SweepError::Exists`], [`SweepError::Nothing`].
    pub fn look(directory: &Path, resume: bool) -> Result<(), SweepError> {
        match (directory.join(POINTS).exists(), resume) {
            (true, false) => Err(SweepError::Exists(directory.into())),
            (false, true) => Err(SweepError::Nothing(directory.into())),
            _ => Ok(()),
        }
    }

    /// Head of the sweep whose file is in a directory.
    #[must_use]
    pub fn begun(directory: &Path) -> Option<Head> {
        let file = File::open(directory.join(POINTS)).ok()?;
        let mut line = String::new();
        io::BufReader::new(file.take(LARGEST)).read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Measurements of a sweep whose file is in a directory, as far as they are made; `None` if it is not this run's.
    #[must_use]
    pub fn so_far(directory: &Path, run: &RunResult) -> Option<Vec<Test>> {
        let bytes = whole_lines(&directory.join(POINTS)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        let head: Head = serde_json::from_str(lines.next()?).ok()?;
        if (&head.run_id, head.start) != (&run.run_id, run.start) {
            return None;
        }
        lines.map(|line| Test::all_from_json(line).ok()).collect::<Option<Vec<_>>>().map(|tests| tests.concat())
    }

    /// Begins the file of a sweep in `directory`, which is made if missing; or, to resume, continues the existing file.
    pub fn open(directory: &Path, head: &Head, resume: bool) -> Result<Self, SweepError> {
        let path = directory.join(POINTS);
        let trouble = |why| SweepError::System { path: path.clone(), why };
        Self::look(directory, resume)?;
        if !resume {
            place::make_folder(directory).map_err(|why| SweepError::System { path: directory.into(), why })?;
            let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(trouble)?;
            let mut store = Self { path, file, head: head.clone(), measured: Vec::new() };
            store.line(head)?;
            return Ok(store);
        }
        let bytes = place::check(&path).and_then(|()| whole_lines(&path)).map_err(trouble)?;
        let (text, whole) = (String::from_utf8_lossy(&bytes), bytes.len());
        let mut lines = text.lines();
        let other = |found: &str| {
            let found = linerate_text::short(found, 80);
            SweepError::Other { path: path.clone(), found }
        };
        let found: Head = match lines.next() {
            None => head.clone(),
            Some(line) => serde_json::from_str(line).map_err(|e| other(&e.to_string()))?,
        };
        if !found.is_of(head) {
            let form = found.form.as_ref().map(|form| format!(" {form}")).unwrap_or_default();
            let via = found.via.as_ref().map(|via| format!(" --via {via}")).unwrap_or_default();
            let same = found.preset == head.preset && found.plan.is_some() && found.version == head.version;
            let then = if same { ", as its file was then" } else { "" };
            let found = format!("{}{form}{via}{then}, {} version {}", found.preset, found.schema, found.version);
            return Err(other(&found));
        }
        let measured: Result<Vec<Vec<Test>>, _> = lines.map(Test::all_from_json).collect();
        let measured = measured.map_err(|e| other(&e.to_string()))?;
        let file = OpenOptions::new().append(true).open(&path).map_err(trouble)?;
        file.set_len(whole as u64).map_err(trouble)?;
        let mut store = Self { path, file, head: found, measured };
        if whole == 0 {
            store.line(head)?;
        }
        Ok(store)
    }

    /// Head of the sweep's file.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Measurements of the point `id`, one for each repeat.
    #[must_use]
    pub fn tests(&self, id: &str) -> Vec<&[Test]> {
        let of = |tests: &&[Test]| tests.first().is_some_and(|test| test.id == id);
        self.measured.iter().map(Vec::as_slice).filter(of).collect()
    }

    /// Stores what was measured at one time. It is kept in memory even if it could not be written.
    pub fn add(&mut self, tests: Vec<Test>) -> Result<(), SweepError> {
        let written = match &tests[..] {
            [test] => self.line(test),
            tests => self.line(&tests),
        };
        self.measured.push(tests);
        written
    }

    fn line(&mut self, what: &impl Serialize) -> Result<(), SweepError> {
        let line = serde_json::to_string(what).map_err(io::Error::from);
        let written = line.and_then(|line| {
            self.file.write_all(format!("{line}\n").as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|why| SweepError::System { path: self.path.clone(), why })
    }
}
