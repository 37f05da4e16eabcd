//! Reasons for which a kernel or a driver does not tell something, in its own words. Nothing is guessed from them.

use serde::{Serialize, Serializer};
use std::{fmt, io};

/// Reason for which a part of what was asked is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// The kernel's error number; none if it answered, and its answer could not be read.
    pub errno: Option<i32>,
    /// The number's text, and before it what the kernel or the driver said besides (NLMSGERR_ATTR_MSG).
    #[serde(rename = "absent")]
    pub why: String,
}

/// A part of what was asked: there, or not and why.
pub type Part<T> = Result<T, Absent>;

/// Writes a part as what it is, or as an object with the reason for which it is absent.
pub(crate) fn part<T: Serialize, S: Serializer>(part: &Part<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match part {
        Ok(value) => value.serialize(serializer),
        Err(absent) => absent.serialize(serializer),
    }
}

impl Absent {
    /// Makes a reason of an error number and of what the kernel said besides, if it did.
    #[must_use]
    pub fn new(errno: i32, said: Option<&str>) -> Self {
        let text = io::Error::from_raw_os_error(errno).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let why = said.map_or_else(|| text.to_owned(), |said| format!("{}: {text}", said.trim_end_matches('.')));
        Self { errno: Some(errno), why: linerate_text::one_line(&why) }
    }

    /// Makes a reason of words of our own: the kernel answered, but not this.
    #[must_use]
    pub fn told(why: impl Into<String>) -> Self {
        Self { errno: None, why: why.into() }
    }

    /// True if the interface is not there, or not any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.errno, Some(19))
    }

    /// True if a privilege is missing.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.errno, Some(1 | 13))
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl From<io::Error> for Absent {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(errno) => Self::new(errno, None),
            None => Self::told(error.to_string()),
        }
    }
}

impl From<Absent> for io::Error {
    fn from(absent: Absent) -> Self {
        match absent.errno {
            Some(errno) => Self::from_raw_os_error(errno),
            None => Self::new(io::ErrorKind::InvalidData, absent.why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_kept() {
        assert_eq!(Absent::new(95, None).why, "Operation not supported");
        let said = Absent::new(22, Some("requested channel count exceeds maximum."));
        assert_eq!(said.to_string(), "requested channel count exceeds maximum: Invalid argument");
        assert!(Absent::new(19, None).is_gone() && Absent::new(1, None).is_forbidden() && !Absent::told("x").is_gone());
        assert_eq!(io::Error::from(Absent::new(95, None)).raw_os_error(), Some(95));
    }
}
