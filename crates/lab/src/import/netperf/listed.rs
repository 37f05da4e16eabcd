//! Lists of netperf's omni tests: a line of names and a line of values (`-o`), or a name and a value a line (`-k`).

use linerate_result::{Parameter, Unit};

use super::super::found::{Line, Measured};
use super::super::{Wrong, shown, units};
use super::Test;

/// The greatest number of values of a list.
const MOST: usize = 512;

/// Lines `NAME=VALUE` so far.
pub(super) struct Pairs {
    pub(super) line: usize,
    pub(super) all: Vec<(String, String)>,
}

impl Pairs {
    pub(super) fn new(line: usize) -> Self {
        Self { line, all: Vec::new() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|(known, _)| known == name)
    }

    pub(super) fn add(&mut self, name: &str, value: &str, line: Line<'_>) -> Result<(), Wrong> {
        if self.all.len() >= MOST {
            return Err(line.wrong(&format!("more than {MOST} values of one test")));
        }
        self.all.push((shown(name, 100), shown(value, 200)));
        Ok(())
    }
}

/// `THROUGHPUT=48121.88`.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then_some((name, value))
}

/// `Throughput,Throughput Units,Elapsed Time (sec)`: names alone, one of them the throughput.
pub(super) fn names(line: &str) -> Option<Vec<String>> {
    let names = values(line);
    let is_name = |name: &String| name.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let listed = names.len() > 1 && names.len() <= MOST && names.iter().all(is_name);
    (listed && names.iter().any(|name| name.eq_ignore_ascii_case("throughput"))).then_some(names)
}

/// The values of a line; one in quotes may have commas.
pub(super) fn values(line: &str) -> Vec<String> {
    let (mut all, mut now, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut now)),
            c => now.push(c),
        }
    }
    all.push(now);
    all.iter().map(|value| shown(value.trim(), 200)).collect()
}

/// Parts of the names of settings, which repeats have in common.
const SETTINGS: &[&str] = &[
    "host",
    "protocol",
    "direction",
    "socket_type",
    "command_line",
    "congestion",
    "mss",
    "nodelay",
    "cork",
    "burst",
    "tos",
    "priority",
    "fill",
    "align",
    "offset",
    "width",
    "interval_usecs",
    "mtu",
    "quantum",
    "cpu_bind",
    "security",
    "dont",
];

/// The finding of a list: throughput and times as figures, other values as parameters.
pub(super) fn measured(test: &mut Test, pairs: Vec<(String, String)>, line: Line<'_>) -> Result<Measured, Wrong> {
    let wrong = |why: String| Wrong { line: Some(line.number), why };
    let named = |wanted: &str| {
        let same = |name: &str| name.replace(' ', "_").eq_ignore_ascii_case(wanted);
        pairs.iter().find(|(name, _)| same(name)).map(|(_, value)| value.as_str())
    };
    let mut measured = test.measured(line.number);
    let Some(value) = named("throughput") else {
        return Err(wrong("a list without THROUGHPUT; ask for THROUGHPUT and THROUGHPUT_UNITS".to_owned()));
    };
    let Some(unit) = named("throughput_units") else {
        return Err(wrong("a throughput without its unit; ask for THROUGHPUT_UNITS too".to_owned()));
    };
    let rate = units::number(value).and_then(|value| units::rate(value, unit));
    let rate = rate.ok_or_else(|| wrong(format!("a throughput that is not known: '{value} {unit}'")))?;
    measured.value = Some(rate);
    for (name, value) in &pairs {
        let key = name.to_ascii_lowercase().replace(' ', "_");
        let number = units::number(value);
        if SETTINGS.iter().any(|setting| key.contains(setting)) {
            match key.as_str() {
                "command_line" => measured.told.line(Line { text: value, ..line }),
                _ => measured.told.set(&key, value),
            }
        }
        match number {
            _ if matches!(key.as_str(), "throughput" | "throughput_units") => {}
            Some(seconds) if key.starts_with("elapsed_time") => measured.seconds = Some(seconds),
            // Latencies are microseconds, which only the long names say.
            Some(us) if key.contains("latency") => {
                let key = key.trim_end_matches("_microseconds").to_owned();
                measured.further.push((key, (us * 1e3, Unit::Ns)));
            }
            // -1 stands for what was not measured.
            Some(share) if key.contains("cpu_util") && !key.contains("method") && share >= 0.0 => {
                measured.further.push((key, (share, Unit::PerCent)));
            }
            // Of further figures the list does not tell the units in a form to rely on: they are not shown as figures,
            // and those that differ from call to call would keep repeats apart.
            Some(_) if !key.ends_with("size") && !key.ends_with("bytes") => {}
            Some(number) => {
                measured.parameters.insert(key, Parameter::from(number));
            }
            None => {}
        }
    }
    measured.told = measured.told.lasting(measured.seconds);
    if measured.parameters.is_empty() {
        measured.parameters.insert("list".to_owned(), Parameter::from("omni"));
    }
    Ok(measured)
}
