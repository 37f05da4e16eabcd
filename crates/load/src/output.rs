//! Places for lines and documents of a program that we stand in for: standard output and error, or a file that takes both.

use linerate_host::place;
use linerate_result::Connection;
use linerate_rt::Stop;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Signal that a broken pipe ends a program with.
const SIGPIPE: u8 = 13;

/// A program as its output names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// Its name, which begins a line about an error.
    pub(crate) program: &'static str,
    /// Its flag for a file that takes the output.
    pub(crate) flag: &'static str,
}

/// Record of a test, or of a direction of it: what the program writes of it for other programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Name of the format, by which such logs are read.
    pub format: &'static str,
    /// The log.
    pub text: String,
    /// True for data from server to client, where the log does not tell.
    pub reverse: bool,
    /// TCP's connections of the test, as far as this end knows them, each with true for data from server to client.
    pub connections: Vec<(bool, Connection)>,
    /// Disturbances of the test, a line each.
    pub warnings: Vec<String>,
}

impl Record {
    /// Record of which the log tells the direction.
    pub(crate) fn new(format: &'static str, text: String) -> Self {
        Self { format, text, reverse: false, connections: Vec::new(), warnings: Vec::new() }
    }
}

/// A test that is over.
#[derive(Clone, Copy, Debug)]
pub struct Over<'a> {
    /// Record of each direction, at least one.
    pub records: &'a [Record],
    /// Fault that ended it, where the records do not tell.
    pub fault: Option<&'a str>,
    /// Signal that has ended this program.
    pub signal: Option<u8>,
}

/// Keeps a test.
pub type Keeper = Box<dyn Fn(Over<'_>) -> Result<(), String> + Send + Sync>;

/// Output of an end; all tests of a server share it.
pub struct Output {
    speaker: Speaker,
    places: Mutex<Places>,
    stop: Stop,
    keeper: Option<Keeper>,
    /// True once a record was not kept.
    unkept: AtomicBool,
}

struct Places {
    out: Box<dyn Write + Send>,
    /// Errors; none if they go where the lines go.
    log: Option<Box<dyn Write + Send>>,
    trouble: Option<io::Error>,
}

impl Output {
    #[must_use]
    pub fn new(speaker: Speaker, out: Box<dyn Write + Send>, log: Box<dyn Write + Send>, stop: &Stop) -> Self {
        Self::to(speaker, Places { out, log: Some(log), trouble: None }, stop)
    }

    /// Output to the end of a file.
    pub fn to_file(speaker: Speaker, path: &Path, stop: &Stop) -> Result<Self, String> {
        let file = place::append(path);
        let file =
            file.map_err(|e| format!("{} {}: {e}; give a file that can be written", speaker.flag, path.display()))?;
        Ok(Self::to(speaker, Places { out: Box::new(file), log: None, trouble: None }, stop))
    }

    fn to(speaker: Speaker, places: Places, stop: &Stop) -> Self {
        let places = Mutex::new(places);
        Self { speaker, places, stop: stop.clone(), keeper: None, unkept: AtomicBool::new(false) }
    }

    /// Has each test kept.
    #[must_use]
    pub fn keeping(self, keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    /// True if tests are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.keeper.is_some()
    }

    /// Keeps a test that is over. What cannot be kept is said.
    pub(crate) fn keep(&self, records: &[Record], fault: Option<&str>) {
        let over = Over { records, fault, signal: self.stop.signal() };
        if let Some(Err(why)) = self.keeper.as_ref().map(|keeper| keeper(over)) {
            self.error(&format!("--keep: {why}"));
            self.unkept.store(true, Relaxed);
        }
    }

    /// Prints a text, whole. Without a reader the end is stopped.
    pub(crate) fn print(&self, text: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let written = places.out.write_all(text.as_bytes()).and_then(|()| places.out.flush());
        if let Err(e) = written {
            if e.kind() == ErrorKind::BrokenPipe {
                self.stop.ask(SIGPIPE);
            }
            places.trouble.get_or_insert(e);
        }
    }

    pub(crate) fn error(&self, line: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let places = &mut *places;
        let to = places.log.as_mut().unwrap_or(&mut places.out);
        let _ = writeln!(to, "{}: {line}", self.speaker.program);
    }

    /// True if each record was kept.
    #[must_use]
    pub fn kept_all(&self) -> bool {
        !self.unkept.load(Relaxed)
    }

    /// First error of a file that could not be written, if output goes to one.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.log.is_some() {
            return None;
        }
        places.trouble.as_ref().map(|e| format!("{}: {e}; give a file that can be written", self.speaker.flag))
    }
}
