//! Why a block device could not be opened: one line that names it, what is wrong, and the mend.

use std::fmt;
use thiserror::Error;

/// A block device that could not be opened or served.
#[derive(Debug, Error)]
#[error("{device}: {what}; {mend}")]
pub struct DeviceError {
    /// The device as it was named.
    pub device: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub mend: String,
    /// What of [`Access`](super::Access) would have to be otherwise, where that is the mend.
    pub want: Option<Want>,
}

/// What would let a device be opened: whoever asks for it in words of its own tells so in those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// That nothing is written.
    ReadOnly,
    /// That the page cache is used.
    PageCache,
}

impl DeviceError {
    /// An error about a device.
    pub fn new(device: impl fmt::Display, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        // What was typed, or what a server said, comes back in it, and so may a line break.
        let line = |part: &dyn fmt::Display| -> String {
            part.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
        };
        Self { device: line(&device), what: line(&what), mend: line(&mend), want: None }
    }

    /// The same, with what would mend it.
    #[must_use]
    pub fn wanting(self, want: Want) -> Self {
        Self { want: Some(want), ..self }
    }
}
