//! Reports of selected values: lines of NAME=VALUE, values with commas between them, or columns.

use super::View;
use super::rows::{ROWS, Row};
use crate::netperf::table::Test;
use linerate_text::nearest;
use linerate_text::path::from_text;
use std::fmt::Write as _;
use std::io::Read;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::netperf) enum Form {
    /// netperf's own lines.
    Classic,
    /// NAME=VALUE lines.
    Keys,
    Commas,
    Columns,
}

/// Values of a report, in blocks.
#[derive(Clone, Debug, Default)]
pub(in crate::netperf) struct Selection(Vec<Vec<&'static Row>>);

/// Greatest length of a file of names.
const LONGEST: u64 = 64 << 10;

const SEND: &str = "LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE";
const RECEIVE: &str = "RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE";
const TRANSACTIONS: &str = "LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,RESPONSE_SIZE";
const RESULT: &str = ",ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";
const CPU: &str = ",LOCAL_CPU_UTIL,LOCAL_CPU_PERCENT_USER,LOCAL_CPU_PERCENT_SYSTEM,LOCAL_CPU_PERCENT_IOWAIT,\
                   LOCAL_CPU_PERCENT_IRQ,LOCAL_CPU_PERCENT_SWINTR,LOCAL_CPU_METHOD,REMOTE_CPU_UTIL,\
                   REMOTE_CPU_PERCENT_USER,REMOTE_CPU_PERCENT_SYSTEM,REMOTE_CPU_PERCENT_IOWAIT,\
                   REMOTE_CPU_PERCENT_IRQ,REMOTE_CPU_PERCENT_SWINTR,REMOTE_CPU_METHOD,LOCAL_SD,REMOTE_SD,SD_UNITS";

/// List of all names.
pub(in crate::netperf) fn selectors() -> String {
    ROWS.iter().map(|row| format!("{}\n", row.name)).collect()
}

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

impl Selection {
    /// Values of a report in this form: those that are named, or those of the test.
    pub(in crate::netperf) fn new(form: Form, names: Option<&str>, test: &Test, cpu: bool) -> Result<Self, String> {
        if form == Form::Classic {
            return Ok(Self::default());
        }
        match names {
            None => {
                let of_test = match (test.sends, test.receives) {
                    (true, true) => TRANSACTIONS,
                    (true, false) => SEND,
                    _ => RECEIVE,
                };
                Self::parse(&format!("{of_test}{RESULT}{}", if cpu { CPU } else { "" }))
            }
            Some(all) if all.eq_ignore_ascii_case("all") => Ok(Self::all()),
            Some(names) if names.contains([',', ';']) || row(names).is_some() => Self::parse(names),
            Some(file) => match std::fs::File::open(from_text(file)) {
                Ok(opened) => {
                    let mut text = String::new();
                    let read = opened.take(LONGEST).read_to_string(&mut text);
                    read.map_err(|e| format!("{file}: {e}; give a file of names"))?;
                    Self::parse(&text.replace('\n', ";"))
                }
                Err(_) => Self::parse(file),
            },
        }
    }

    /// All values that there are.
    pub(super) fn all() -> Self {
        Self(vec![ROWS.iter().collect()])
    }

    fn parse(text: &str) -> Result<Self, String> {
        let block = |block: &str| -> Result<Vec<&'static Row>, String> {
            let names = block.split([' ', ',', '\t', '\r']).filter(|name| !name.is_empty());
            names.map(|name| row(name).ok_or_else(|| unknown(name))).collect()
        };
        let blocks = text.split(';').map(block).collect::<Result<Vec<_>, _>>()?;
        let blocks: Vec<_> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
        if blocks.is_empty() { Err("no value is named; -k ? lists them".to_owned()) } else { Ok(Self(blocks)) }
    }

    /// True if the time of each call or transaction has to be kept.
    pub(in crate::netperf) fn wants_latency(&self) -> bool {
        self.0.iter().flatten().any(|row| row.latency)
    }

    pub(super) fn print(&self, form: Form, view: &View<'_>) -> String {
        match form {
            Form::Classic => String::new(),
            Form::Keys => {
                let line = |row: &&Row| format!("{}={}\n", row.name, (row.value)(view));
                self.0.iter().flatten().map(line).collect()
            }
            Form::Commas => {
                let mut text = String::new();
                let all = || self.0.iter().flatten();
                if view.config.headers {
                    let head =
                        |row: &&Row| row.head.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>();
                    let _ = writeln!(text, "{}", all().map(|row| head(row).join(" ")).collect::<Vec<_>>().join(","));
                }
                let _ = writeln!(text, "{}", all().map(|row| (row.value)(view)).collect::<Vec<_>>().join(","));
                text
            }
            Form::Columns => self.0.iter().map(|block| columns(block, view)).collect::<Vec<_>>().join("\n"),
        }
    }
}

fn columns(block: &[&Row], view: &View<'_>) -> String {
    let mut lines = [const { String::new() }; 5];
    for row in block {
        let value = (row.value)(view);
        let widest = row.head.iter().map(|word| word.len()).max().unwrap_or(0);
        let width = widest.max(value.len() + 1) + 1;
        for (line, text) in lines.iter_mut().zip(row.head.iter().copied().chain([value.as_str()])) {
            let _ = write!(line, "{text:<width$}");
        }
    }
    let skipped = if view.config.headers { 0 } else { 4 };
    lines.iter().skip(skipped).map(|line| format!("{line}\n")).collect()
}

fn unknown(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let meant = nearest(&upper, ROWS.iter().map(|row| row.name));
    let name = linerate_text::short(name, 80);
    match meant {
        Some(meant) => format!("{name}: no such value; did you mean {meant}?"),
        None => format!("{name}: no such value; -k ? lists them"),
    }
}
