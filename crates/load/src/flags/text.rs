//! Values of flags, and lines of help and errors.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a decimal number inside a range. The error is the mend.
pub(crate) fn number<N: FromStr + PartialOrd + Display>(text: &str, range: RangeInclusive<N>) -> Result<N, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let n = if digits { text.parse::<N>().ok() } else { None };
    n.filter(|n| range.contains(n)).ok_or_else(|| format!("give a number from {} to {}", range.start(), range.end()))
}

/// User's text without control characters, at most 80 characters.
pub(crate) fn tidy(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Wraps a text into lines of at most `width` bytes; words must be shorter.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
