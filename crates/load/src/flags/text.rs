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

/// Parses a number, with a fraction or not, and at most one letter behind it that multiplies it. The fraction of the product is
/// cut off.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and less than 2^63")]
pub(crate) fn scaled(text: &str, factor: impl Fn(char) -> Option<f64>) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, letter)) if letter.is_ascii_alphabetic() => (&text[..at], factor(letter)?),
        _ => (text, 1.0),
    };
    let plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let n = digits.parse::<f64>().ok().filter(|_| plain)? * factor;
    (n < 9e18).then_some(n as u64)
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
