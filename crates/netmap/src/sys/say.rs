//! Lines on standard error: one for each thing that a user has to know, however often it happens.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of the longest line.
const LONGEST: usize = 400;

/// Writes a line. Standard error may be closed, or anything else: that is no fault.
pub(crate) fn say(what: fmt::Arguments<'_>) {
    let text = format!("linerate netmap: {what}");
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    line.push('\n');
    super::user::to_stderr(line.as_bytes());
}

/// A line that is written once in a process.
pub(crate) struct Once(AtomicBool);

impl Once {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(crate) fn say(&self, what: fmt::Arguments<'_>) {
        if !self.0.swap(true, Relaxed) {
            say(what);
        }
    }
}
