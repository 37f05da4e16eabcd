//! Values of a workload's parameters: numbers, words, and all of them as a command line.

use linerate_result::{Parameter, Parameters};
use std::ops::RangeInclusive;

/// Whole number of a parameter, or `unsaid` if it was not given.
pub(crate) fn count(all: &Parameters, name: &str, range: RangeInclusive<u64>, unsaid: u64) -> Result<u64, String> {
    let (least, most) = (range.start(), range.end());
    match all.get(name).map(Parameter::count) {
        None => Ok(unsaid),
        Some(Some(n)) if range.contains(&n) => Ok(n),
        Some(_) => {
            let whole = if matches!(all.get(name), Some(Parameter::Number(_))) { "whole " } else { "" };
            Err(format!("{name}: give a {whole}number from {least} to {most}"))
        }
    }
}

/// Word of a parameter, if it was given; `parse` accepts all `words`.
pub(crate) fn word<T>(
    all: &Parameters,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
    words: &[&str],
) -> Result<Option<T>, String> {
    let Some(given) = all.get(name) else { return Ok(None) };
    let known = given.text().and_then(parse);
    known.map(Some).ok_or_else(|| format!("{name}: give one of {}", words.join(", ")))
}

/// Converts parameters to the command line of the program whose flags they are.
pub(crate) fn command_line(all: &Parameters) -> Vec<String> {
    let mut words = Vec::new();
    for (name, value) in all {
        match value {
            Parameter::Flag(false) => {}
            Parameter::Flag(true) => words.push(name.clone()),
            value => words.extend([name.clone(), value.to_string()]),
        }
    }
    words
}
