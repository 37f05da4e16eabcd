//! Places for lines and documents of a program that we stand in for: standard output and error, or a file that takes both.

use linerate_rt::Stop;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
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

/// Output of an end; all tests of a server share it.
pub struct Output {
    speaker: Speaker,
    places: Mutex<Places>,
    stop: Stop,
}

struct Places {
    out: Box<dyn Write + Send>,
    /// Errors; none if they go where the lines go.
    log: Option<Box<dyn Write + Send>>,
    trouble: Option<io::Error>,
}

impl Output {
    /// Output to these two.
    #[must_use]
    pub fn new(speaker: Speaker, out: Box<dyn Write + Send>, log: Box<dyn Write + Send>, stop: &Stop) -> Self {
        Self { speaker, places: Mutex::new(Places { out, log: Some(log), trouble: None }), stop: stop.clone() }
    }

    /// Output to the end of a file.
    ///
    /// # Errors
    /// The flag, the file, and the error of the system.
    pub fn to_file(speaker: Speaker, path: &Path, stop: &Stop) -> Result<Self, String> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file =
            file.map_err(|e| format!("{} {}: {e}; give a file that can be written", speaker.flag, path.display()))?;
        let places = Places { out: Box::new(file), log: None, trouble: None };
        Ok(Self { speaker, places: Mutex::new(places), stop: stop.clone() })
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

    /// Prints a line about an error.
    pub(crate) fn error(&self, line: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let places = &mut *places;
        let to = places.log.as_mut().unwrap_or(&mut places.out);
        let _ = writeln!(to, "{}: {line}", self.speaker.program);
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
