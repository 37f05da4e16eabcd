//! Errors of block devices: one line with the device, the fault, and the remedy.

use linerate_text::one_line;
use std::fmt;
use thiserror::Error;

/// A block device that could not be opened or served.
#[derive(Debug, Error)]
#[error("{device}: {what}; {mend}")]
pub struct DeviceError {
    /// The device as the user gave it.
    pub device: String,
    pub what: String,
    pub mend: String,
    /// Change of [`Access`](super::Access) that would help, if that is the remedy.
    pub want: Option<Want>,
}

/// Change of access that would let a device be opened, so that a caller can name its own option for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Open it for reading only.
    ReadOnly,
    /// Use the page cache.
    PageCache,
}

impl DeviceError {
    pub fn new(device: impl fmt::Display, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        // Parts may quote text that a user typed or a server sent, with line breaks.
        let line = |part: &dyn fmt::Display| -> String { one_line(&part.to_string()).chars().take(400).collect() };
        Self { device: line(&device), what: line(&what), mend: line(&mend), want: None }
    }

    /// The same error, with the change of access that would help.
    #[must_use]
    pub fn wanting(self, want: Want) -> Self {
        Self { want: Some(want), ..self }
    }
}
