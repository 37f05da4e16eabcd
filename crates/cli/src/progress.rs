//! Progress on standard error: one line that is overwritten on a terminal, one line per step elsewhere.

use crate::print::{remark, renews};
use linerate_lab::progress::Step;
use std::io::Write;

/// Escape sequences around a line: carriage return and wrapping off, so that a long line stays one line; then the rest
/// of the old line erased, and wrapping on.
const BEFORE: &str = "\r\x1b[?7l";
const AFTER: &str = "\x1b[K\x1b[?7h";

/// Shows steps. On a terminal the line is erased at the end.
pub(crate) struct Progress {
    renews: bool,
    shown: bool,
}

impl Progress {
    /// Progress that shows nothing yet.
    pub(crate) fn new() -> Self {
        Self { renews: renews(), shown: false }
    }

    /// Shows a step in place of the previous one.
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
        // A lost progress line costs no result.
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
