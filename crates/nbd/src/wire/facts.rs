//! Parameters of an export, in NBD's terms.

use super::export;

/// Size and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// Size in bytes.
    pub size: u64,
    /// Transmission flags: see [`export`].
    pub flags: u16,
}

impl ExportInfo {
    /// True if the export has one of these flags.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & export::HAS_FLAGS != 0 && self.flags & flag != 0
    }
}

/// Sizes of requests, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Minimum block size: offsets and lengths are multiples of it. A power of two.
    pub least: u32,
    /// Preferred block size.
    pub preferred: u32,
    /// Length of the longest READ or WRITE.
    pub most: u32,
}

impl Default for Sizes {
    /// Defaults for a server that sends no block sizes (`doc/proto.md`, "Block size constraints").
    fn default() -> Self {
        Self { least: 512, preferred: 4096, most: 32 << 20 }
    }
}

impl Sizes {
    /// True if the protocol allows these sizes.
    #[must_use]
    pub fn are_right(&self) -> bool {
        self.least.is_power_of_two()
            && self.least <= 65536
            && self.preferred.is_power_of_two()
            && self.preferred >= self.least
            && (self.most == u32::MAX || self.most >= self.least && self.most.is_multiple_of(self.least))
    }
}
