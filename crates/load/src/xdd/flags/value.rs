//! Values of flags.

use super::parse::Words;
use crate::xdd::config::{Seek, Throttle, WHOLE, Way};
use crate::xdd::pattern::{Base, Pattern, Prefix};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A decimal number inside a range.
pub(super) fn number<N: FromStr + PartialOrd + Display>(
    words: &mut Words,
    range: RangeInclusive<N>,
) -> Result<N, String> {
    crate::words::number(&words.value()?, range)
}

/// A number with a point in it.
pub(super) fn decimal(words: &mut Words, least: f64, most: f64) -> Result<f64, String> {
    let text = words.value()?;
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let n = if plain { text.parse::<f64>().ok() } else { None };
    n.filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("give a number from {least} to {most}, as 10 or 0.5"))
}

/// Seconds.
pub(super) fn seconds(words: &mut Words) -> Result<Duration, String> {
    decimal(words, 0.0, 1e7).map(Duration::from_secs_f64)
}

/// A percentage of reads, in parts of [`WHOLE`].
pub(super) fn percent(words: &mut Words) -> Result<u32, String> {
    let percent = decimal(words, 0.0, 100.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10000, checked above")]
    let parts = (percent * f64::from(WHOLE) / 100.0).round() as u32;
    Ok(parts)
}

/// `-datapattern`: a word, or the octet that fills everything.
pub(super) fn pattern(pattern: &mut Pattern, words: &mut Words) -> Result<(), String> {
    let word = words.value()?;
    match word.as_str() {
        "random" => pattern.base = Base::Random,
        "sequenced" => pattern.base = Base::Sequenced,
        "inverse" => pattern.inverse = true,
        "replicate" => pattern.replicate = true,
        "prefix" => {
            let digits = words.value()?;
            let prefix = Prefix::parse(digits.strip_prefix("0x").unwrap_or(&digits));
            pattern.prefix = Some(prefix.ok_or("prefix: give 1 to 16 hexadecimal digits, as 0123")?);
        }
        "ascii" => pattern.base = Base::Text(words.value()?.into_bytes()),
        "hex" => pattern.base = Base::Text(hex(&words.value()?)?),
        "lfpat" | "ltpat" | "cjtpat" | "crpat" | "cspat" => {
            return Err("8B/10B patterns are not made here; give sequenced, random or hex".into());
        }
        one if one.len() == 1 => pattern.base = Base::Octet(one.as_bytes()[0]),
        _ => {
            return Err("there is no such pattern; give one character, random, sequenced, prefix HEX, inverse, ascii TEXT, hex \
                        HEX or replicate"
                .into());
        }
    }
    Ok(())
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let good = !digits.is_empty() && digits.len().is_multiple_of(2) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let octet = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    let octets: Option<Vec<u8>> = good.then(|| (0..digits.len()).step_by(2).map(octet).collect()).flatten();
    octets.ok_or_else(|| "hex: give pairs of hexadecimal digits, as 00ff".into())
}

/// `-seek`.
pub(super) fn seek(seek: &mut Seek, words: &mut Words) -> Result<(), String> {
    match words.value()?.as_str() {
        "sequential" => seek.way = Way::Sequential,
        "random" => seek.way = Way::Random,
        "none" => seek.way = Way::Still,
        "range" => seek.range = Some(number(words, 1..=u64::MAX)?),
        "seed" => seek.seed = number(words, 0..=u64::MAX)?,
        other @ ("stagger" | "interleave" | "save" | "load" | "disthist" | "seekhist") => {
            return Err(format!("{other}: not done here; give sequential, random, none, range N or seed N"));
        }
        _ => return Err("there is no such way; give sequential, random, none, range N or seed N".into()),
    }
    Ok(())
}

/// `-throttle`.
pub(super) fn throttle(words: &mut Words) -> Result<Throttle, String> {
    match words.value()?.as_str() {
        "ops" => decimal(words, 0.001, 1e9).map(Throttle::Requests),
        "bw" => decimal(words, 0.001, 1e6).map(|megabytes| Throttle::Bytes(megabytes * 1e6)),
        _ => Err("give ops N, or bw MB, both a second".into()),
    }
}
