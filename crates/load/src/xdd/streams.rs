//! Where lines go.

use super::config::{Config, Document};
use linerate_rt::Stop;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// What a broken pipe ends a program with.
const SIGPIPE: u8 = 13;

/// The streams of a run.
pub struct Streams {
    /// Documents, or lines when there is no document.
    out: Box<dyn Write + Send>,
    /// Remarks and errors.
    log: Box<dyn Write + Send>,
    output: Option<File>,
    errors: Option<File>,
    csv: Option<File>,
    combined: Option<File>,
    documents: bool,
    /// Asked when nobody reads any more.
    stop: Stop,
}

impl Streams {
    /// Opens the files that the configuration names beside these two streams.
    ///
    /// # Errors
    /// The flag, the file, and what the system says of it.
    pub fn open(
        config: &Config,
        out: Box<dyn Write + Send>,
        log: Box<dyn Write + Send>,
        stop: &Stop,
    ) -> Result<Self, String> {
        let new = |flag: &str, path: &Option<_>| path.as_deref().map(|p| named(flag, p, File::create(p))).transpose();
        let append = |path: &Path| OpenOptions::new().append(true).create(true).open(path);
        Ok(Self {
            out,
            log,
            output: new("-output", &config.output)?,
            errors: new("-errout", &config.errors)?,
            csv: new("-csvout", &config.csv)?,
            combined: config.combined.as_deref().map(|p| named("-combinedout", p, append(p))).transpose()?,
            documents: config.document != Document::Table,
            stop: stop.clone(),
        })
    }

    /// A line of the table, or about it.
    pub(super) fn line(&mut self, text: &str) {
        match &mut self.output {
            Some(file) => self.stop.heed(writeln!(file, "{text}")),
            None if self.documents => self.remark(text),
            None => self.stop.heed(writeln!(self.out, "{text}").and_then(|()| self.out.flush())),
        }
    }

    /// A remark that is no result.
    pub(super) fn remark(&mut self, text: &str) {
        let _ = writeln!(self.log, "{text}");
    }

    /// An error of a request.
    pub(super) fn error(&mut self, text: &str) {
        match &mut self.errors {
            Some(file) => self.stop.heed(writeln!(file, "{text}")),
            None => self.remark(text),
        }
    }

    /// A line of comma-separated values.
    pub(super) fn csv(&mut self, text: &str) {
        if let Some(file) = &mut self.csv {
            self.stop.heed(writeln!(file, "{text}"));
        }
    }

    /// A line about all targets.
    pub(super) fn combined(&mut self, text: &str) {
        if let Some(file) = &mut self.combined {
            self.stop.heed(writeln!(file, "{text}"));
        }
    }

    /// A document.
    pub fn document(&mut self, text: &str) {
        self.stop.heed(writeln!(self.out, "{}", text.trim_end()).and_then(|()| self.out.flush()));
    }
}

fn named<T>(flag: &str, path: &Path, opened: io::Result<T>) -> Result<T, String> {
    opened.map_err(|e| format!("{flag} {}: {e}; give a file that can be written", path.display()))
}

/// Whoever cannot be told results need not make more.
trait Heed {
    fn heed(&self, written: io::Result<()>);
}

impl Heed for Stop {
    fn heed(&self, written: io::Result<()>) {
        if written.is_err() {
            self.ask(SIGPIPE);
        }
    }
}
