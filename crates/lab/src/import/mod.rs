//! Logs of other programs, read as runs. A format is one file and one row of [`IMPORTS`].
//!
//! A number keeps its unit, turned into one of linerate's where that is exact (`10^6bits/s` are bit/s, `ms` are ns). What a
//! log does not say stays unknown: no fact of this machine is filled in. A line that should hold a result and cannot be
//! read is an error that names file and line. What terminals and system logs put around a line is taken off (`dress`). Lines
//! that belong to no result, such as commands between them, tell conditions (`told`): findings are repeats of one test only if
//! all that is told of them is equal (`found`). Files above 64 MiB and above 10,000 tests are refused.

mod command;
mod date;
mod dress;
mod fio;
mod fio_terse;
mod found;
mod interval;
mod iperf2;
mod iperf2_csv;
mod iperf3;
mod iperf3_text;
mod json;
mod linerate;
mod netperf;
mod other;
mod own;
mod pkt_gen;
mod told;
mod units;
mod xdd;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};

use flate2::read::MultiGzDecoder;
use linerate_result::{RunResult, Timestamp};
use thiserror::Error;

use dress::Part;
use found::{Found, Line};
use linerate_text::plain;
pub use own::own;

/// The largest file that is read, bytes.
pub const LARGEST: u64 = 64 << 20;

/// The greatest number of tests that a file may hold.
pub const MOST_TESTS: usize = 10_000;

/// The greatest number of samples and of repeats together that a file may hold.
pub const MOST_SAMPLES: usize = 2_000_000;

/// Beginning of a port's path in a run that was read from a log.
const IMPORTED: &str = "imported from ";

pub struct Import {
    pub name: &'static str,
    pub about: &'static str,
    /// True for a text that looks like the format.
    looks: fn(&str) -> bool,
    read: Read,
}

enum Read {
    /// A log of lines, whose findings become one run. The second is true of a line that begins a test.
    Log(fn(&str, &mut Found) -> Result<(), Wrong>, fn(&str) -> bool),
    /// Documents of another program, whose findings become one run.
    Foreign(fn(&str, &mut Found) -> Result<(), Wrong>),
    /// Documents of linerate, each a run.
    Documents(fn(&str) -> Result<Vec<RunResult>, Wrong>),
}

/// All formats, in the order in which they are tried.
pub const IMPORTS: &[Import] = &[
    linerate::IMPORT,
    iperf3::IMPORT,
    iperf3_text::IMPORT,
    fio::IMPORT,
    fio_terse::IMPORT,
    netperf::IMPORT,
    xdd::IMPORT,
    pkt_gen::IMPORT,
    iperf2::IMPORT,
    iperf2_csv::IMPORT,
];

/// A place in a text that cannot be read, and the reason.
#[derive(Debug)]
struct Wrong {
    line: Option<usize>,
    why: String,
}

impl Wrong {
    /// The fault in the lines of one program of several.
    fn of(self, source: Option<&str>) -> Self {
        let why = source.map_or_else(|| self.why.clone(), |source| format!("{}: {}", shown(source, 60), self.why));
        Self { why, ..self }
    }
}

#[derive(Debug, Error)]
pub enum ImportError {
    #[error("{name}: no format that is known; name it by --format, one of {}", names())]
    Unknown { name: String },
    #[error("{name}: {what}; the formats that are read are {}", names())]
    Other { name: String, what: &'static str },
    #[error("{name}{}: {why}", .line.map_or_else(String::new, |line| format!(":{line}")))]
    Line {
        name: String,
        /// Number of the line, from 1.
        line: Option<usize>,
        why: String,
    },
    #[error("{name}: no result of {format} in it; give its whole output, or name another --format")]
    Nothing { name: String, format: String },
}

fn names() -> String {
    IMPORTS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

impl Import {
    /// The first format that a text looks like.
    #[must_use]
    pub fn detect(text: &str) -> Option<&'static Self> {
        Self::of(&dress::parts(text))
    }

    fn of(parts: &[Part<'_>]) -> Option<&'static Self> {
        IMPORTS.iter().find(|row| row.is_in(parts))
    }

    fn is_in(&self, parts: &[Part<'_>]) -> bool {
        // A document may have what a server wrote as a text.
        parts.iter().any(|part| match (&self.read, &part.log) {
            (Read::Log(..), Some(log)) => (self.looks)(log),
            _ => (self.looks)(&part.text),
        })
    }
}

/// The text of a file, whatever its bytes are: UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it, and either packed by
/// gzip (RFC 1952).
///
/// # Errors
/// Broken gzip, or more than [`LARGEST`] when it is unpacked.
pub fn decoded(bytes: &[u8]) -> io::Result<String> {
    let mut unpacked = Vec::new();
    let bytes = match bytes {
        [0x1f, 0x8b, 8, ..] => {
            let read = MultiGzDecoder::new(bytes).take(LARGEST + 1).read_to_end(&mut unpacked);
            read.map_err(|why| io::Error::new(why.kind(), format!("packed by gzip, and broken: {why}")))?;
            &unpacked
        }
        _ => bytes,
    };
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large a file"));
    }
    let units = |of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    Ok(match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    })
}

/// Reads a text, in `format` or in the one that it looks like. `name` is the file's name; `at` the start of a run whose
/// log does not tell it, which then has a warning.
///
/// # Errors
/// [`ImportError`] names file and line.
pub fn read(
    name: &str,
    text: &str,
    format: Option<&'static Import>,
    at: Timestamp,
    command: &[String],
) -> Result<Vec<RunResult>, ImportError> {
    let name = shown(name, 200);
    // The byte order mark of Windows' programs.
    let whole = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parts = dress::parts(whole);
    let wrong = |wrong: Wrong| ImportError::Line { name: name.clone(), line: wrong.line, why: wrong.why };
    let Some(row) = format.or_else(|| Import::of(&parts)) else {
        return Err(match (other::named(text), other::rows(&parts, None)) {
            (Some(what), _) => ImportError::Other { name, what },
            (None, Some(rows)) => wrong(rows),
            (None, None) => ImportError::Unknown { name },
        });
    };
    let stands_beside = |other: &Import| match (row.name, other.name) {
        ("fio", "fio-terse") => true,
        ("iperf3", "iperf3-text") => parts.iter().all(iperf3_text::only_remarks),
        (one, other) => one == other,
    };
    if let (None, Read::Log(..) | Read::Foreign(_)) = (format, &row.read)
        && let Some(other) = IMPORTS.iter().rfind(|other| !stands_beside(other) && other.is_in(&parts))
    {
        let has = |row| {
            let runs = read(&name, text, Some(row), at, command).unwrap_or_default();
            runs.iter().flat_map(|run| &run.tests).any(|test| test.value.is_some())
        };
        if !has(row) && !has(other) && !parts.iter().any(|part| other::has_figures(&part.text)) {
            return Err(ImportError::Nothing { name, format: format!("{} or of {}", row.name, other.name) });
        }
        let why = format!("results of {} and of {} in one file; import each from its own file", row.name, other.name);
        return Err(wrong(Wrong { line: None, why }));
    }
    let mut found = Found::default();
    let mut runs = Vec::new();
    // Of several programs those that write this format.
    let of_row = |part: &&Part<'_>| parts.len() == 1 || (row.looks)(&part.text);
    for Part { source, text, .. } in parts.iter().filter(of_row) {
        found.source.clone_from(source);
        match row.read {
            Read::Documents(read) => runs.extend(read(text).map_err(wrong)?),
            Read::Foreign(read) => read(text, &mut found).map_err(wrong)?,
            Read::Log(read, begins) => {
                read(&unbroken(text, begins, &mut found), &mut found)
                    .map_err(|why| wrong(why.of(source.as_deref())))?;
                found.start = found.start.or_else(|| date::first(text));
            }
        }
    }
    found.start = found.start.or_else(|| date::first(whole)).or_else(|| parts.iter().find_map(|part| part.begun));
    found.dated = found.start.is_none() && date::vague(whole);
    if !matches!(row.read, Read::Documents(_)) {
        other::rows(&parts, Some(row.name)).into_iter().for_each(|rows| found.pass(rows));
    }
    // What cannot be proven is passed over beside what can.
    if found.is_empty() && !found.passed.is_empty() {
        return Err(wrong(found.passed.remove(0)));
    }
    runs.extend(found.run(&name, text, at, command));
    match other::named(text) {
        _ if !runs.is_empty() => Ok(runs),
        Some(what) if matches!(row.read, Read::Log(..)) => Err(ImportError::Other { name, what }),
        _ => Err(ImportError::Nothing { name, format: row.name.to_owned() }),
    }
}

/// Name of the file that a run was read from; `None` for a run of linerate's own.
#[must_use]
pub fn source(run: &RunResult) -> Option<String> {
    let port = run.tests.first()?.ports.first()?;
    port.path.strip_prefix(IMPORTED).map(str::to_owned)
}

/// True if two runs have the same contents: of those that were read from logs, whatever file and command it was.
#[must_use]
pub fn are_same(one: &RunResult, other: &RunResult) -> bool {
    let told = |run: &RunResult| {
        let mut run = run.clone();
        if source(&run).is_some() {
            run.command_line.clear();
            run.tests.iter_mut().flat_map(|test| &mut test.ports).for_each(|port| port.path.clear());
        }
        run.to_line()
    };
    told(one) == told(other)
}

/// Warnings of a run about results in its log that were not taken, each with its line.
pub fn not_taken(run: &RunResult) -> impl Iterator<Item = &str> {
    let all = run.tests.iter().flat_map(|test| &test.warnings).map(String::as_str);
    all.filter(|told| told.starts_with("line ") && told.contains(found::NOT_TAKEN))
}

/// Text of a file for people: no control characters, `most` characters at most.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut shown = plain(&text.chars().take(most).collect::<String>());
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// The text without the tests of which a line is cut or wrapped, which are passed over. All other lines keep their numbers, and
/// what stands between wrapped ones is a condition still. A number that is cut is a number, so nothing of its test is read.
fn unbroken<'a>(text: &'a str, begins: fn(&str) -> bool, found: &mut Found) -> Cow<'a, str> {
    let (cut, wrapped) = (cut(text), interval::wrapped(text));
    let begun: BTreeSet<usize> = lines(text).filter(|line| begins(line.text)).map(|line| line.number).collect();
    let test = |number: usize| begun.range(..=number).next_back().copied().unwrap_or(0);
    // The first fault of each test, by the line that begins it.
    let mut faults: BTreeMap<usize, Wrong> = BTreeMap::new();
    for (row, end) in &wrapped {
        let why =
            format!("a row that was wrapped, whose end stands on line {end}; give the lines as the program wrote them");
        faults.entry(test(row.number)).or_insert_with(|| row.wrong(&why));
    }
    let last = cut.map(|line| (test(line.number), line));
    found.cut = last.map(|(_, line)| line.text.to_owned());
    if let Some((begin, line)) = last {
        let of = if begin > 0 && begin < line.number {
            format!(", and with it the test of line {begin}")
        } else {
            String::new()
        };
        faults.insert(begin, line.wrong(&format!("the last line has no end, so that it may be cut{of}")));
    }
    if faults.is_empty() {
        return Cow::Borrowed(text);
    }
    let ends: BTreeSet<usize> = wrapped.iter().map(|(_, end)| *end).collect();
    let is_left = |number: usize, line: &str| {
        let of = test(number);
        let is_its = || of == number || line.trim_start().starts_with('[') || ends.contains(&number);
        last.is_some_and(|(begin, _)| begin == of) || faults.contains_key(&of) && is_its()
    };
    let kept =
        text.split_inclusive('\n').zip(1..).map(|(line, n)| if is_left(n, line) { "\n" } else { line }).collect();
    faults.into_values().for_each(|wrong| found.pass(wrong));
    Cow::Owned(kept)
}

/// The last line of a text, if it has digits and no end.
fn cut(text: &str) -> Option<Line<'_>> {
    let last = lines(text).last().filter(|_| !text.ends_with('\n'))?;
    last.text.bytes().any(|byte| byte.is_ascii_digit()).then_some(last)
}

/// The lines of a text with their numbers. A terminal's carriage returns and blanks around a line are no part of it.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().zip(1..).map(|(raw, number)| Line::new(raw, number))
}
