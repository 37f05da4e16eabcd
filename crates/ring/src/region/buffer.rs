//! A buffer outside any slot.

use super::Region;

/// Ownership of one buffer of a region that no slot holds: an extra buffer, or one that an engine took from a slot.
///
/// It cannot be copied, so a buffer has one holder at a time. Dropping it loses the buffer until the region is dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer {
    index: u32,
    region: u64,
}

impl Buffer {
    /// # Safety
    /// No slot and no other `Buffer` of that region may hold this index; it must be below the region's buffer count.
    #[must_use]
    pub unsafe fn from_index(index: u32, region: &Region) -> Self {
        Self { index, region: region.id() }
    }

    /// Index of the buffer in its region.
    #[inline]
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// True if the buffer is one of `region`'s.
    #[inline]
    #[must_use]
    pub fn is_of(&self, region: &Region) -> bool {
        self.region == region.id()
    }

    #[inline]
    pub(crate) fn replace(&mut self, index: u32) -> u32 {
        std::mem::replace(&mut self.index, index)
    }
}
