//! Error of opening a port: one line that names the port, the fault, and the remedy.

use linerate_text::one_line;
use std::fmt;
use thiserror::Error;

/// Class of an open error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The name or an option is wrong.
    Usage,
    /// An interface, file or device is missing.
    Missing,
    /// A privilege or kernel feature is missing.
    Capability,
    /// Another user has it.
    Busy,
    /// The other end of a cable does not match.
    Peer,
    /// A system call failed.
    System,
}

/// A port that could not be opened.
#[derive(Debug, Error)]
#[error("{port}: {what}; {mend}")]
pub struct OpenError {
    /// Name of the port as given.
    pub port: String,
    /// Description of the fault.
    pub what: String,
    /// Remedy for the user.
    pub mend: String,
    /// Class of the error.
    pub cause: Cause,
}

impl OpenError {
    /// Makes the error of a port.
    pub fn new(port: impl fmt::Display, cause: Cause, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        // User input is repeated in the message, and may contain a line break.
        let line = |part: &dyn fmt::Display| one_line(&part.to_string());
        Self { port: line(&port), what: line(&what), mend: line(&mend), cause }
    }

    /// Converts an error of the host layer into that of a port.
    #[cfg(target_os = "linux")]
    pub(crate) fn below(port: impl fmt::Display, error: linerate_host::Error) -> Self {
        let Self { what, mend, cause, .. } = error.into();
        Self::new(port, cause, what, mend)
    }

    pub(crate) fn usage(port: impl fmt::Display, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self::new(port, Cause::Usage, what, mend)
    }
}

impl From<linerate_host::Error> for OpenError {
    fn from(error: linerate_host::Error) -> Self {
        let cause = match error.cause {
            linerate_host::Cause::Usage => Cause::Usage,
            linerate_host::Cause::Missing => Cause::Missing,
            linerate_host::Cause::Capability => Cause::Capability,
            linerate_host::Cause::Busy => Cause::Busy,
            linerate_host::Cause::System => Cause::System,
        };
        Self { port: error.subject, what: error.what, mend: error.mend, cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_says_comes_through_whole() {
        let host = linerate_host::Error::new("eth0", linerate_host::Cause::Missing, "it is gone", "look for it");
        let error = OpenError::from(host);
        assert_eq!((error.to_string().as_str(), error.cause), ("eth0: it is gone; look for it", Cause::Missing));
    }

    /// Found by fuzzing `grammar`: a name with a tab or a line break came back in the error as it was.
    #[test]
    fn an_error_is_one_line_whatever_was_typed() {
        for name in ["cable:lab{1,rate=4\t\t0G", "null:,slots=\n1", "null:\n,size=1", "pcap:a\u{85}b,queues=0"] {
            let line = crate::open(name).err().unwrap().to_string();
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}
