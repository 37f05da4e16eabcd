//! Why a port could not be opened: one line that names the port, what is wrong, and the mend.

use std::fmt;
use thiserror::Error;

/// What kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The name or an option is wrong.
    Usage,
    /// An interface, file or device is not there.
    Missing,
    /// A privilege or kernel feature is not there.
    Capability,
    /// Somebody else has it.
    Busy,
    /// The other side of a cable does not fit.
    Peer,
    /// The system said no.
    System,
}

/// A port that could not be opened.
#[derive(Debug, Error)]
#[error("{port}: {what}; {mend}")]
pub struct OpenError {
    /// The port as it was named.
    pub port: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub mend: String,
    /// What kind of trouble.
    pub cause: Cause,
}

impl OpenError {
    /// An error about a port.
    pub fn new(port: impl fmt::Display, cause: Cause, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self { port: port.to_string(), what: what.to_string(), mend: mend.to_string(), cause }
    }

    pub(crate) fn usage(port: impl fmt::Display, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self::new(port, Cause::Usage, what, mend)
    }
}
