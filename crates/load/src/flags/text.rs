//! Values of flags.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a decimal number inside a range. The error is the mend.
pub(crate) fn number<N: FromStr + PartialOrd + Display>(text: &str, range: RangeInclusive<N>) -> Result<N, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let n = if digits { text.parse::<N>().ok() } else { None };
    n.filter(|n| range.contains(n)).ok_or_else(|| format!("give a number from {} to {}", range.start(), range.end()))
}
