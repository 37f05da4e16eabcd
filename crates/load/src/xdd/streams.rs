//! Output streams of a run.

use super::config::{Config, Document};
use linerate_host::place;
use linerate_rt::Stop;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Signal that a broken pipe ends a program with.
const SIGPIPE: u8 = 13;

pub struct Streams {
    /// Documents, or lines when there is no document.
    out: Box<dyn Write + Send>,
    /// Remarks and errors.
    log: Box<dyn Write + Send>,
    output: Option<Named>,
    errors: Option<Named>,
    csv: Option<Named>,
    combined: Option<Named>,
    documents: bool,
    /// Stop that is requested when the reader is gone.
    stop: Stop,
}

/// A file that a flag names, and its first error.
struct Named {
    flag: &'static str,
    path: PathBuf,
    file: File,
    trouble: Option<io::Error>,
}

/// A way to open a file to write.
type Open = fn(&Path) -> io::Result<File>;

impl Named {
    fn open(flag: &'static str, path: Option<&Path>, open: Open) -> Result<Option<Self>, String> {
        let Some(path) = path else { return Ok(None) };
        let file =
            open(path).map_err(|e| format!("{flag} {}: {e}; give a file that can be written", path.display()))?;
        Ok(Some(Self { flag, path: path.to_owned(), file, trouble: None }))
    }

    fn line(&mut self, text: &str) {
        if let Err(e) = self.file.write_all(format!("{text}\n").as_bytes()) {
            self.trouble.get_or_insert(e);
        }
    }
}

impl Streams {
    /// Opens the files that the configuration names, in addition to these two streams.
    pub fn open(
        config: &Config,
        out: Box<dyn Write + Send>,
        log: Box<dyn Write + Send>,
        stop: &Stop,
    ) -> Result<Self, String> {
        Ok(Self {
            out,
            log,
            output: Named::open("-output", config.output.as_deref(), place::create)?,
            errors: Named::open("-errout", config.errors.as_deref(), place::create)?,
            csv: Named::open("-csvout", config.csv.as_deref(), place::create)?,
            combined: Named::open("-combinedout", config.combined.as_deref(), place::append)?,
            documents: config.document != Document::Table,
            stop: stop.clone(),
        })
    }

    /// Writes a line of the table, or about it.
    pub(super) fn line(&mut self, text: &str) {
        match &mut self.output {
            Some(file) => file.line(text),
            None if self.documents => self.remark(text),
            None => self.print(text),
        }
    }

    /// Writes a remark that is not a result.
    pub(super) fn remark(&mut self, text: &str) {
        let _ = writeln!(self.log, "{text}");
    }

    pub(super) fn error(&mut self, text: &str) {
        match &mut self.errors {
            Some(file) => file.line(text),
            None => self.remark(text),
        }
    }

    /// Writes a line of comma-separated values.
    pub(super) fn csv(&mut self, text: &str) {
        self.csv.iter_mut().for_each(|file| file.line(text));
    }

    /// Writes a line about all targets.
    pub(super) fn combined(&mut self, text: &str) {
        self.combined.iter_mut().for_each(|file| file.line(text));
    }

    /// Files that could not be written, each with its first error, in one line.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let files = [&self.output, &self.errors, &self.csv, &self.combined].into_iter().flatten();
        let lines: Vec<String> = files
            .filter_map(|Named { flag, path, trouble, .. }| {
                Some(format!("{flag} {}: {}", path.display(), trouble.as_ref()?))
            })
            .collect();
        (!lines.is_empty()).then(|| format!("{}; give files that can be written", lines.join(", ")))
    }

    pub fn document(&mut self, text: &str) {
        self.print(text.trim_end());
    }

    /// Prints a line. Failures are recorded by the owner of the stream; without a reader of the results the run is
    /// stopped.
    fn print(&mut self, text: &str) {
        let written = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
        if written.is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            self.stop.ask(SIGPIPE);
        }
    }
}
