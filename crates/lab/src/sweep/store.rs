//! What was measured so far, in a file: a head, then a line a point, each written as soon as there is one.
//!
//! A line that was cut short by the program's end is no line: its point is measured again.

use super::Plan;
use linerate_result::{Test, Timestamp};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the file in a sweep's directory.
pub const POINTS: &str = "points.ndjson";

/// Name and version of the file's form.
const SCHEMA: &str = "linerate.sweep";
const VERSION: u32 = 1;
/// The largest file that is read, octets.
const LARGEST: u64 = 64 << 20;

/// The first line: which sweep it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    schema: String,
    version: u32,
    /// The plan's name.
    pub preset: String,
    /// How thorough it is.
    pub form: String,
    /// Identifies the sweep, however often it is resumed.
    pub run_id: String,
    /// When it was begun.
    pub start: Timestamp,
}

impl Head {
    /// Of a sweep that begins now.
    #[must_use]
    pub fn new(plan: &Plan, run_id: String, start: Timestamp) -> Self {
        let (preset, form) = (plan.preset.into(), plan.form.word().into());
        Self { schema: SCHEMA.into(), version: VERSION, preset, form, run_id, start }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.schema, self.version, &self.preset, &self.form)
            == (&other.schema, other.version, &other.preset, &other.form)
    }
}

/// Why a sweep cannot be written down or gone on with.
#[derive(Debug, Error)]
pub enum SweepError {
    /// There is one already.
    #[error("{0:?} has a sweep already; go on with it by --resume, or name another directory by --out DIR")]
    Exists(PathBuf),
    /// There is none to go on with.
    #[error("{0:?} has no sweep to go on with; name the directory of one by --out DIR, or begin one without --resume")]
    Nothing(PathBuf),
    /// It is of another plan, or nothing that this version reads.
    #[error("{path:?} is of another sweep ({found}); name another directory by --out DIR")]
    Other {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// The system.
    #[error("{path:?}: {why}; name another directory by --out DIR")]
    System {
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        why: io::Error,
    },
}

/// The file, open, and what is in it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    head: Head,
    tests: Vec<Test>,
}

impl Store {
    /// Refuses a directory that has a sweep already, or, to resume, one that has none; nothing is made.
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

    /// Begins the file of a sweep in `directory`, which is made if it is not there; or, to resume, goes on with the one that
    /// is there.
    ///
    /// # Errors
    /// [`SweepError`].
    pub fn open(directory: &Path, head: &Head, resume: bool) -> Result<Self, SweepError> {
        let path = directory.join(POINTS);
        let trouble = |why| SweepError::System { path: path.clone(), why };
        Self::look(directory, resume)?;
        if !resume {
            fs::create_dir_all(directory).map_err(|why| SweepError::System { path: directory.into(), why })?;
            let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(trouble)?;
            let mut store = Self { path, file, head: head.clone(), tests: Vec::new() };
            store.line(head)?;
            return Ok(store);
        }
        let mut octets = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut octets));
        read.map_err(trouble)?;
        if octets.len() as u64 > LARGEST {
            return Err(trouble(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB")));
        }
        // What stands behind the last line break was cut short.
        let whole = octets.iter().rposition(|octet| *octet == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&octets[..whole]);
        let mut lines = text.lines();
        let other = |found: &str| {
            let found = found.chars().filter(|c| !c.is_control()).take(80).collect();
            SweepError::Other { path: path.clone(), found }
        };
        let found: Head = match lines.next() {
            None => head.clone(),
            Some(line) => serde_json::from_str(line).map_err(|e| other(&e.to_string()))?,
        };
        if !found.is_of(head) {
            return Err(other(&format!("{} {}, {} version {}", found.preset, found.form, found.schema, found.version)));
        }
        let tests: Result<Vec<Test>, _> = lines.map(Test::from_json).collect();
        let tests = tests.map_err(|e| other(&e.to_string()))?;
        let file = OpenOptions::new().append(true).open(&path).map_err(trouble)?;
        file.set_len(whole as u64).map_err(trouble)?;
        let mut store = Self { path, file, head: found, tests };
        if whole == 0 {
            store.line(head)?;
        }
        Ok(store)
    }

    /// Which sweep it is.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// A point that was measured, by its id.
    #[must_use]
    pub fn test(&self, id: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.id == id)
    }

    /// Writes down a point. It is kept here whether it could be written or not.
    ///
    /// # Errors
    /// [`SweepError::System`].
    pub fn add(&mut self, test: Test) -> Result<(), SweepError> {
        let written = self.line(&test);
        self.tests.push(test);
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
