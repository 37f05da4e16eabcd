//! Output of lines: results to one stream, remarks to the other, each line at once and whole.

use linerate_rt::{Stop, wall};
use linerate_text::path::shown;
use std::io::{ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// Signal that a broken pipe ends a program with.
const SIGPIPE: u8 = 13;

/// Two streams of lines. Threads may share it.
pub struct Output {
    streams: Mutex<Streams>,
    /// Stop that is requested when the reader is gone.
    stop: Stop,
    /// True if standard output is for documents: lines then go to the stream of remarks.
    documents: bool,
}

struct Streams {
    out: Box<dyn Write + Send>,
    log: Box<dyn Write + Send>,
}

impl Output {
    /// Sends results to `out`, remarks to `log`; when `documents` is set, `out` gets documents only. When the reader of
    /// `out` is gone, `stop` is requested.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, log: Box<dyn Write + Send>, documents: bool, stop: &Stop) -> Self {
        Self { streams: Mutex::new(Streams { out, log }), stop: stop.clone(), documents }
    }

    fn write(&self, to_out: bool, text: &str) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let to = if to_out { &mut streams.out } else { &mut streams.log };
        // A port's name may hold the name of a file, of any bytes.
        let written = writeln!(to, "{}", shown(text)).and_then(|()| to.flush());
        // Other failures are recorded by the owner of the stream.
        if to_out && written.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe) {
            self.stop.ask(SIGPIPE);
        }
    }

    /// Prints a result line.
    pub fn line(&self, text: &str) {
        self.write(!self.documents, text);
    }

    /// Prints a document, or an event, in JSON.
    pub fn document(&self, text: &str) {
        self.write(true, text.trim_end_matches('\n'));
    }

    /// Prints a remark in the format of netmap's programs: time, function, line. (Scripts look for the function's
    /// name.)
    pub fn remark(&self, function: &str, line: u32, text: &str) {
        let now = wall();
        self.write(
            false,
            &format!("{:03}.{:06} {function} [{line}] {text}", now.as_secs() % 1000, now.subsec_micros()),
        );
    }
}
