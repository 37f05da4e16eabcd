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
}

impl DeviceError {
    /// An error about a device.
    pub fn new(device: impl fmt::Display, what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        // What was typed, or what a server said, comes back in it, and so may a line break.
        let line = |part: &dyn fmt::Display| -> String {
            part.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
        };
        Self { device: line(&device), what: line(&what), mend: line(&mend) }
    }
}
