//! What the machine did not do: one line that names the thing, what is wrong, and the mend.

use std::fmt;
use thiserror::Error;

/// What kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A name or a number is wrong.
    Usage,
    /// An interface is not there.
    Missing,
    /// A privilege or kernel feature is not there.
    Capability,
    /// Somebody else has it.
    Busy,
    /// The system said no.
    System,
}

/// A thing that could not be read, made or changed.
#[derive(Clone, Debug, Error)]
#[error("{subject}: {what}; {mend}")]
pub struct Error {
    /// The thing: an interface by its name, a namespace, a place of the kernel's path.
    pub subject: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub mend: String,
    /// What kind of trouble.
    pub cause: Cause,
}

impl Error {
    /// An error about a thing.
    pub fn new(subject: impl fmt::Display, cause: Cause, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        // What was typed comes back in it, and so may a line break.
        let line = |part: &dyn fmt::Display| part.to_string().replace(char::is_control, " ");
        Self { subject: line(&subject), what: line(&what), mend: line(&mend), cause }
    }

    /// What the kernel said while something was done.
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
