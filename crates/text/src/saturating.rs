//! Times cut to the greatest number that there is for them, which is longer than any run takes. Counts and lengths are
//! not cut: their types prove that they fit.

use std::time::Duration;

/// Nanoseconds of a duration; of one longer than 146 years those of 146 years, so that three of them can be added.
#[inline]
#[must_use]
pub fn saturating_ns(duration: Duration) -> u64 {
    saturating_u64(duration.as_nanos()).min(u64::MAX / 4)
}

/// Converts a number to 64 bits; one that is too great becomes the greatest.
#[inline]
#[must_use]
pub fn saturating_u64(n: u128) -> u64 {
    cut(n, u64::MAX)
}

/// A number in another type, or the greatest that is given if it does not fit.
#[inline]
#[must_use]
pub fn cut<N, M: TryFrom<N>>(n: N, greatest: M) -> M {
    M::try_from(n).unwrap_or(greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_all_else_is_exact() {
        assert_eq!(saturating_ns(Duration::new(3, 7)), 3_000_000_007);
        assert_eq!(saturating_ns(Duration::MAX), u64::MAX / 4);
        assert_eq!(saturating_u64(u128::from(u64::MAX) - 1), u64::MAX - 1);
        assert_eq!(saturating_u64(1 << 64), u64::MAX);
    }
}
