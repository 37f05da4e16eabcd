//! How a device is to be used, beyond what its text says.

/// What whoever opens a device wants of it. By default: to read and write, past the page cache where that can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Nothing will be written.
    pub read_only: bool,
    /// What becomes of the page cache.
    pub cache: Cache,
    /// Octets of memory that it may take.
    pub memory: u64,
}

/// What becomes of the page cache, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// It is bypassed if blocks of the size asked for can be.
    Avoided,
    /// It is used.
    Used,
    /// It is bypassed, by blocks of 4096 octets if smaller ones cannot be; otherwise the device is not opened.
    Bypassed,
}

impl Default for Access {
    fn default() -> Self {
        Self { read_only: false, cache: Cache::Avoided, memory: u64::MAX }
    }
}
