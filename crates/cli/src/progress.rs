//! Progress on standard error: one line that is written over on a terminal, a line a step elsewhere.

use crate::print::{remark, renews};
use linerate_lab::progress::Step;
use std::io::Write;

/// Carriage return; no wrapping, so that a line longer than the terminal is wide stays one line; the line; the rest of the
/// old one erased; wrapping again.
const BEFORE: &str = "\r\x1b[?7l";
const AFTER: &str = "\x1b[K\x1b[?7h";

/// Shows steps. What it showed on a terminal is erased at its end.
pub(crate) struct Progress {
    renews: bool,
    shown: bool,
}

impl Progress {
    /// Nothing shown yet.
    pub(crate) fn new() -> Self {
        Self { renews: renews(), shown: false }
    }

    /// Shows a step in place of the one before.
    pub(crate) fn step(&mut self, step: &Step) {
        if self.renews {
            self.line(&step.to_string());
        } else {
            remark(&step.to_string());
        }
    }

    fn line(&mut self, text: &str) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        let mut stream = std::io::stderr();
        // Whoever does not see it misses no result.
        let _ = stream.write_all(format!("{BEFORE}{text}{AFTER}").as_bytes()).and_then(|()| stream.flush());
        self.shown = !text.is_empty();
    }

    /// Erases what is shown, so that results can be printed.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            self.line("");
            let _ = std::io::stderr().write_all(b"\r");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
