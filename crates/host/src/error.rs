//! Errors of the machine's configuration: one line with the subject, the fault, and the remedy.

use linerate_text::one_line;
use std::fmt;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A name or a number is wrong.
    Usage,
    /// An interface does not exist.
    Missing,
    /// A privilege or a kernel feature is missing.
    Capability,
    /// In use by somebody else.
    Busy,
    System,
}

/// An operation on the machine that failed.
#[derive(Clone, Debug, Error)]
#[error("{subject}: {what}; {mend}")]
pub struct Error {
    /// Subject: an interface by its name, a namespace, a hook of the kernel's network path.
    pub subject: String,
    pub what: String,
    pub mend: String,
    pub cause: Cause,
}

impl Error {
    pub fn new(subject: impl fmt::Display, cause: Cause, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        // Parts may quote text that a user typed, with line breaks.
        let line = |part: &dyn fmt::Display| one_line(&part.to_string());
        Self { subject: line(&subject), what: line(&what), mend: line(&mend), cause }
    }

    /// Makes an error from the kernel's errno; `doing` names the failed step.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(subject: impl fmt::Display, doing: &str, error: &std::io::Error) -> Self {
        let (cause, why, mend) = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => (
                Cause::Capability,
                "not permitted (it takes CAP_SYS_ADMIN and CAP_NET_ADMIN)".into(),
                "run as root, or under 'unshare --map-root-user --net'",
            ),
            Some(libc::EEXIST) => (Cause::Busy, "the name is taken".into(), "choose another name"),
            Some(libc::ENODEV) => (Cause::Missing, "there is no such interface".into(), "see the names in 'ip link'"),
            Some(libc::EOPNOTSUPP) => (
                Cause::Capability,
                "the kernel has no such thing".into(),
                "load the module that has it ('veth', 'ifb'), or use a kernel that does",
            ),
            _ => (Cause::System, error.to_string(), "see what the kernel logged, and try again"),
        };
        Self::new(subject, cause, format!("{doing}: {why}"), mend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_was_typed() {
        let line = Error::new("eth\t0\n", Cause::Usage, "a\u{85}b", "c\r\nd").to_string();
        assert_eq!(line, "eth 0 : a b; c  d");
    }
}
