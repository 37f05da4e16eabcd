//! Values of flags.

use super::state::State;
use super::targets::{Group, Named, TARGETS};
use crate::flags::Does::{Refused, Set, Value};
use crate::flags::{Choices, Words, number};
use crate::xdd::columns;
use crate::xdd::config::{AccessOrder, Amount, Target, Throttle, WHOLE};
use crate::xdd::pattern::{Base, Prefix};
use linerate_text::unhex;
use std::time::Duration;

/// Words of `-seek`.
pub(super) static SEEKS: Choices<State> = &[
    ("sequential", Set(|s| s.target.seek.way = AccessOrder::Sequential)),
    ("random", Set(|s| s.target.seek.way = AccessOrder::Random)),
    ("none", Set(|s| s.target.seek.way = AccessOrder::Still)),
    ("range", Value(|s, v| number(v, 1..=u64::MAX).map(|n| s.target.seek.range = Some(n)))),
    ("seed", Value(|s, v| number(v, 0..=u64::MAX).map(|n| s.target.seek.seed = n))),
    (
        "stagger interleave save load disthist seekhist",
        Refused("not done here; give sequential, random, none, range N or seed N"),
    ),
];

/// Words of `-datapattern`.
pub(super) static PATTERNS: Choices<State> = &[
    ("random", Set(|s| s.target.pattern.base = Base::Random)),
    ("sequenced", Set(|s| s.target.pattern.base = Base::Sequenced)),
    ("inverse", Set(|s| s.target.pattern.inverse = true)),
    ("replicate", Set(|s| s.target.pattern.replicate = true)),
    (
        "prefix",
        Value(|s, v| {
            let prefix = Prefix::parse(v.strip_prefix("0x").unwrap_or(v));
            s.target.pattern.prefix = Some(prefix.ok_or("prefix: give 1 to 16 hexadecimal digits, as 0123")?);
            Ok(())
        }),
    ),
    (
        "ascii",
        Value(|s, v| {
            s.target.pattern.base = Base::Text(v.as_bytes().to_vec());
            Ok(())
        }),
    ),
    ("hex", Value(|s, v| hex(v).map(|data| s.target.pattern.base = Base::Text(data)))),
    ("lfpat ltpat cjtpat crpat cspat", Refused("8B/10B patterns are not made here; give sequenced, random or hex")),
];

/// Sets a pattern that is none of those words: one byte that fills everything.
pub(super) fn byte(state: &mut State, word: &str) -> Result<(), String> {
    let &[byte] = word.as_bytes() else {
        return Err(
            "there is no such pattern; give one character, random, sequenced, prefix HEX, inverse, ascii TEXT, hex \
                    HEX or replicate"
                .into(),
        );
    };
    state.target.pattern.base = Base::Byte(byte);
    Ok(())
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let data = unhex(text.strip_prefix("0x").unwrap_or(text)).filter(|data| !data.is_empty());
    data.ok_or_else(|| "hex: give pairs of hexadecimal digits, as 00ff".into())
}

/// Parses the values of `-targets`: a number, and the names that follow at once. Names that are missing may follow
/// later.
pub(super) fn targets(named: &mut Named, words: &mut Words) -> Result<(), String> {
    let number = words.value()?;
    let (repeated, digits) = number.strip_prefix('-').map_or((false, number.as_str()), |digits| (true, digits));
    let good = digits.bytes().all(|b| b.is_ascii_digit());
    let room = TARGETS.saturating_sub(named.count());
    let n = digits.parse::<usize>().ok().filter(|n| good && (1..=room).contains(n));
    let n = n.ok_or_else(|| format!("give how many, {TARGETS} at most in all, and their names"))?;
    let mut group = Group::several(&number, n, repeated);
    while !group.is_named()
        && let Some(name) = words.take_if(|word| !word.starts_with('-'))
    {
        group.take(name);
    }
    named.groups.push(group);
    Ok(())
}

/// Sets the amount of a pass in this unit of bytes.
pub(super) fn bytes(state: &mut State, text: &str, unit: u64) -> Result<(), String> {
    number(text, 1..=u64::MAX / unit).map(|n| state.target.amount = Amount::Bytes(n * unit))
}

/// Parses a number with a decimal point.
pub(super) fn decimal(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let n = if plain { text.parse::<f64>().ok() } else { None };
    n.filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("give a number from {least} to {most}, as 10 or 0.5"))
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    decimal(text, 0.0, 1e7).map(Duration::from_secs_f64)
}

/// Parses a percentage of reads, in parts of [`WHOLE`].
pub(super) fn percent(text: &str) -> Result<u32, String> {
    let percent = decimal(text, 0.0, 100.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10000, checked above")]
    let parts = (percent * f64::from(WHOLE) / 100.0).round() as u32;
    Ok(parts)
}

/// Parses the values of `-throttle`.
pub(super) fn throttle(target: &mut Target, words: &mut Words) -> Result<(), String> {
    match words.value()?.as_str() {
        "ops" => target.throttle = Some(Throttle::Requests(decimal(&words.value()?, 0.001, 1e9)?)),
        "bw" => target.throttle = Some(Throttle::Bytes(decimal(&words.value()?, 0.001, 1e6)? * 1e6)),
        "delay" => target.delay = seconds(&words.value()?)?,
        _ => return Err("give ops N or bw MB, both a second, or delay S".into()),
    }
    Ok(())
}

/// Parses the values of `-outputformat`.
pub(super) fn format(shown: &mut Vec<&'static str>, words: &mut Words) -> Result<(), String> {
    let what = words.value()?;
    if !matches!(what.as_str(), "add" | "new") {
        return Err("give add or new, and columns, as add +READOPS+WRITEOPS".into());
    }
    let columns = columns::parse(&words.value()?)?;
    if what == "new" {
        shown.clear();
    }
    shown.extend(columns);
    Ok(())
}
