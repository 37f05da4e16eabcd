//! Mode of access to a device, beyond the options in its text.

use std::time::Duration;

/// Requirements of the user of a device. By default: to read and write, bypassing the page cache if possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub read_only: bool,
    /// Use of the page cache.
    pub cache: Cache,
    /// Most bytes of memory that the device may use.
    pub memory: u64,
    /// Everything is checked, and nothing is made.
    pub checks: bool,
    /// Time that operations are held while the device cannot be reached, for devices that come back; see
    /// [`ClientOptions::hold`](linerate_nbd::ClientOptions::hold).
    pub hold: Duration,
}

/// Use of the page cache, for devices that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Bypassed if that is possible with blocks of the requested size.
    Avoided,
    Used,
    /// Bypassed, with blocks of 4096 bytes if smaller ones are not possible; otherwise the device is not opened.
    Bypassed,
}

impl Default for Access {
    fn default() -> Self {
        Self { read_only: false, cache: Cache::Avoided, memory: u64::MAX, checks: false, hold: Duration::ZERO }
    }
}
