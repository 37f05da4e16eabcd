//! Sequence numbers.

use std::fmt;

/// A sequence number: a place in a stream, modulo 2^32 (RFC 9293, section 3.4). Two that are compared are less than 2^31
/// apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// Number of bytes from this place to a later one; of an earlier one it is near 2^32.
    #[must_use]
    #[inline]
    pub fn to(self, later: Self) -> u32 {
        later.0.wrapping_sub(self.0)
    }

    /// True if this place is before another one.
    #[must_use]
    #[inline]
    pub fn is_before(self, other: Self) -> bool {
        self != other && self.to(other) < 1 << 31
    }

    /// True if this place is not behind another one.
    #[must_use]
    #[inline]
    pub fn is_until(self, other: Self) -> bool {
        self.to(other) < 1 << 31
    }

    /// The place so many bytes later.
    #[must_use]
    #[inline]
    pub fn plus(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// The place so many bytes earlier.
    #[must_use]
    #[inline]
    pub fn minus(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }

    /// The later of two places.
    #[must_use]
    #[inline]
    pub fn max(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// The earlier of two places.
    #[must_use]
    #[inline]
    pub fn min(self, other: Self) -> Self {
        if self.is_before(other) { self } else { other }
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Seq;

    #[test]
    fn places_are_compared_over_the_wrap() {
        let (a, b) = (Seq(0xffff_fff0), Seq(0x10));
        assert!(a.is_before(b) && !b.is_before(a) && a.is_until(b) && a.is_until(a) && !a.is_before(a));
        assert_eq!((a.to(b), a.plus(0x20), b.minus(0x20)), (0x20, b, a));
        assert_eq!((a.max(b), b.max(a), a.min(b), b.min(a)), (b, b, a, a));
    }
}
