//! Error of a command: one line on standard error, and an exit code.

use linerate_load::pktgen::Refusal;
use linerate_port::{Cause, OpenError};
use linerate_text::path::shown;
use linerate_text::plain;
use std::fmt;

pub(crate) use crate::print::print;

/// One line, and the kind of error: usage errors can be mended on the command line.
#[derive(Debug)]
pub(crate) struct Trouble {
    line: String,
    usage: bool,
}

impl Trouble {
    /// Error in the command line.
    pub(crate) fn usage(line: impl Into<String>) -> Self {
        Self { line: line.into(), usage: true }
    }

    /// Any other error.
    pub(crate) fn failed(line: impl Into<String>) -> Self {
        Self { line: line.into(), usage: false }
    }

    /// Exit code: 2 for usage, otherwise 1.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.usage { 2 } else { 1 }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Line breaks, and what drives the terminal, are replaced, whatever the text holds.
        f.write_str(&plain(&shown(&self.line).replace(['\n', '\r'], " ")))
    }
}

impl From<OpenError> for Trouble {
    fn from(error: OpenError) -> Self {
        Self { usage: matches!(error.cause, Cause::Usage | Cause::Missing | Cause::Peer), line: error.to_string() }
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Open(error) => error.into(),
            Refusal::Usage(line) => Self::usage(line),
            other @ Refusal::System { .. } => Self::failed(other.to_string()),
        }
    }
}
