//! xdd's tables, for people and as values with commas (`-csvout`). A target's passes are the repeats of its test. Those of
//! version 6 have other names and no line of units; their rate proves that it is 10^6 bytes a second.

use std::collections::{BTreeMap, BTreeSet};

use linerate_result::{Parameter, Unit, parameters};

use super::found::{Figure, Found, Line, Measured, Ran};
use super::told::Told;
use super::{Import, Read, Wrong, lines, shown, units};

pub(super) const IMPORT: Import =
    Import { name: "xdd", about: "tables of xdd, also those of -csvout", looks, read: Read::Log(read, |_| true) };

fn looks(text: &str) -> bool {
    let heading = |line| is_heading(&cells(line)) && text.contains("UNITS>>") || is_heading_of_6(&cells(line));
    text.lines().any(heading)
}

/// Kinds of rows that hold a result.
const ROWS: &[&str] = &["COMBINED", "TARGET_AVERAGE", "TARGET_PASS", "QUEUE_AVERAGE", "QUEUE_PASS"];

/// The words of a line, which commas or blanks separate.
fn cells(line: &str) -> Vec<&str> {
    if line.contains(',') { line.split(',').map(str::trim).collect() } else { line.split_whitespace().collect() }
}

/// Columns of version 6: its names in tables, those in values, what they are called since, and their units.
const OF_6: &[[&str; 4]] = &[
    ["", "", "What", ""],
    ["T", "Target", "Target", ""],
    ["Q", "Q", "Queue", ""],
    ["Bytes", "Bytes", "Bytes_Xfered", ""],
    ["Ops", "Ops", "Ops", ""],
    ["Time", "Time", "Elapsed", "seconds"],
    ["Rate", "Avg Rate", "Bandwidth", "MBytes/s"],
    ["IOPS", "IOPS", "IOPS", ""],
    ["Latency", "Latency", "Latency", "seconds"],
    ["%CPU", "Percent CPU", "Pct_CPU", ""],
    ["OP_Type", "OP_Type", "Op_Type", ""],
    ["ReqSize", "ReqSize", "Xfer_Size", ""],
];

fn is_heading_of_6(cells: &[&str]) -> bool {
    let names = |place: usize| OF_6.iter().map(move |names| names[place]);
    names(0).skip(1).eq(cells.iter().copied()) || names(1).eq(cells.iter().copied())
}

/// The cells of a row of version 6, whose kind is two words, with the one word that it is since.
fn since_6(cells: Vec<&str>) -> Vec<&str> {
    let joined = match cells[..] {
        ["TARGET", second, ..] => Some((second, 2)),
        [first, ..] if first.starts_with("TARGET ") => Some((first["TARGET ".len()..].trim(), 1)),
        [first @ "Combined", ..] => Some((first, 1)),
        _ => None,
    };
    let kind = joined.and_then(|(word, count)| match word {
        "Combined" => Some(("COMBINED", count)),
        "Average" => Some(("TARGET_AVERAGE", count)),
        pass => pass.strip_prefix("PASS")?.bytes().all(|byte| byte.is_ascii_digit()).then_some(("TARGET_PASS", count)),
    });
    match kind {
        Some((kind, count)) => [kind].into_iter().chain(cells[count..].iter().copied()).collect(),
        None => cells,
    }
}

fn is_heading(cells: &[&str]) -> bool {
    cells.first() == Some(&"What") && cells.contains(&"Bytes_Xfered")
}

/// A table so far: its columns with their units, and the rows that wait for those of their passes.
#[derive(Default)]
struct Table {
    columns: Vec<(String, String)>,
    rows: Vec<Row>,
    names: BTreeMap<String, String>,
    told: Told,
    /// True of a table of version 6.
    is_of_6: bool,
    /// True behind the first line by which a run says that it failed.
    failed: bool,
}

/// A row: its kind, its target, the finding.
struct Row {
    kind: &'static str,
    target: String,
    measured: Measured,
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let mut table = Table::default();
    // One that is cut may end behind a whole word.
    let last = lines(text).filter(|line| !line.text.is_empty()).last().map_or(0, |line| line.number);
    for line in lines(text) {
        let cells = since_6(cells(line.text));
        let kind = cells.first().and_then(|first| ROWS.iter().find(|kind| *kind == first));
        if line.text.starts_with("xdd: ") && line.text.contains(": ERROR: ") {
            if !std::mem::replace(&mut table.failed, true) {
                table.end(found)?;
                let failures = vec![format!("line {}: {}", line.number, line.text)];
                let (id, title, workload) = ("xdd".to_owned(), "all targets".to_owned(), "xdd".to_owned());
                found.add(Measured { line: line.number, id, title, workload, failures, ..Measured::default() })?;
            }
        } else if is_heading(&cells) {
            table.failed = false;
            let columns = cells.iter().map(|name| (shown(name, 40), String::new())).collect();
            // The same heading stands before each part of a table.
            if !table.columns.iter().map(|(name, _)| name).eq(cells.iter()) {
                table.end(found)?;
                table.columns = columns;
                table.is_of_6 = false;
            }
        } else if is_heading_of_6(&cells) {
            table.end(found)?;
            (table.failed, table.is_of_6) = (false, true);
            table.columns = OF_6.iter().map(|[.., name, unit]| ((*name).to_owned(), (*unit).to_owned())).collect();
        } else if cells.first() == Some(&"UNITS>>") {
            for ((_, unit), cell) in table.columns.iter_mut().zip(&cells) {
                *unit = shown(cell, 20);
            }
        } else if let Some(kind) = kind {
            match table.row(kind, &cells, line) {
                Err(wrong) if line.number == last && cells.len() < table.columns.len() => found.pass(wrong),
                row => table.rows.push(row?),
            }
            // One run's last row.
            if *kind == "COMBINED" {
                table.end(found)?;
            }
        } else if let Some((number, name)) = target(line.text) {
            table.names.insert(number, name);
            table.told.line(line);
        } else if !line.text.contains(" opened by ") {
            table.told.line(line);
        }
    }
    table.end(found)
}

/// `Target 0, /dev/sdb, queue depth 4, …`.
fn target(line: &str) -> Option<(String, String)> {
    let (number, rest) = line.strip_prefix("Target ")?.split_once(", ")?;
    let (name, _) = rest.split_once(", queue depth")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then(|| (number.to_owned(), shown(name, 100)))
}

impl Table {
    fn row(&self, kind: &'static str, cells: &[&str], line: Line<'_>) -> Result<Row, Wrong> {
        if cells.len() != self.columns.len() {
            return Err(line.wrong(&format!("{} values below {} columns", cells.len(), self.columns.len())));
        }
        let cell = |name: &str| {
            self.columns
                .iter()
                .zip(cells)
                .find(|((known, _), _)| known == name)
                .map(|((_, unit), cell)| (*cell, unit.as_str()))
        };
        let number = |name: &str| match cell(name) {
            None => Ok(None),
            Some((text, unit)) => {
                let number = units::number(text).ok_or_else(|| line.wrong(&format!("{name} is no number")))?;
                Ok(Some((number, unit.to_owned())))
            }
        };
        let target =
            if kind == "COMBINED" { "all".to_owned() } else { cell("Target").map_or("0", |(text, _)| text).to_owned() };
        let value: Option<Figure> = number("IOPS")?.map(|(iops, _)| (iops, Unit::Iops));
        let mut measured = Measured {
            line: line.number,
            id: if kind == "COMBINED" { "xdd".to_owned() } else { format!("target-{target}") },
            title: if kind == "COMBINED" { "all targets".to_owned() } else { format!("target {}", shown(&target, 20)) },
            workload: "xdd".to_owned(),
            value: Some(value.ok_or_else(|| line.wrong("a table without IOPS"))?),
            ..Measured::default()
        };
        if let Some((seconds, unit)) = number("Elapsed")? {
            measured.seconds = units::nanoseconds(seconds, &unit).map(|ns| ns / 1e9);
        }
        // xdd's MBytes are 10^6 bytes.
        if let Some((rate, unit)) = number("Bandwidth")?.filter(|(_, unit)| unit == "MBytes/s") {
            let _ = unit;
            let bytes = number("Bytes_Xfered")?.map_or(f64::NAN, |(bytes, _)| bytes);
            let seconds = measured.seconds.unwrap_or(0.0);
            // Powers of 1024 differ by 4.9 %, times are written in milliseconds.
            let share = 0.02 + 0.001 / seconds;
            let proven = (bytes / seconds - rate * 1e6).abs() <= share * rate * 1e6;
            if self.is_of_6 && !proven {
                return Err(line.wrong("a rate that is not bytes over time in 10^6 bytes a second"));
            }
            measured.further.push(("throughput".to_owned(), (rate * 1e6, Unit::BytesPerSecond)));
        }
        if let Some((time, unit)) = number("Latency")? {
            // `0.0000` seconds is what is less than the last digit.
            let digit = cell("Latency").map_or(0.0, |(text, _)| units::last_digit(text));
            if digit > 0.21 * time {
                measured.warnings.push(format!("line {}: a latency of too few digits, which is unknown", line.number));
            } else {
                let ns = units::nanoseconds(time, &unit);
                measured.further.extend(ns.map(|ns| ("latency_mean".to_owned(), (ns, Unit::Ns))));
            }
        }
        if let Some((share, _)) = number("Pct_CPU")? {
            measured.further.push(("cpu".to_owned(), (share, Unit::PerCent)));
        }
        for (name, ours) in [("Bytes_Xfered", "bytes"), ("Ops", "requests")] {
            let count = cell(name).and_then(|(text, _)| text.parse().ok());
            measured.counters.extend(count.map(|count| (ours.to_owned(), count)));
        }
        let whole = |name: &str| cell(name).and_then(|(text, _)| text.parse::<u64>().ok());
        measured.parameters = parameters([("target", Parameter::from(shown(&target, 20)))]);
        for (name, ours) in [("Queue", "queuedepth"), ("Xfer_Size", "request_bytes")] {
            measured.parameters.extend(whole(name).map(|value| (ours.to_owned(), value.into())));
        }
        measured.parameters.extend(cell("Op_Type").map(|(text, _)| ("operation".to_owned(), shown(text, 20).into())));
        measured.ports = match self.names.get(&target) {
            Some(name) => vec![name.clone()],
            None => self.names.values().cloned().collect(),
        };
        Ok(Row { kind, target, measured })
    }

    /// Adds the rows: of a target the passes, or, without them, the average. What all targets did together is another
    /// measurement only if they are several.
    fn end(&mut self, found: &mut Found) -> Result<(), Wrong> {
        let mut rows = std::mem::take(&mut self.rows);
        let of_target = |row: &&Row| row.kind == "TARGET_PASS" || row.kind == "TARGET_AVERAGE";
        let targets: BTreeSet<&str> = rows.iter().filter(of_target).map(|row| row.target.as_str()).collect();
        let targets = targets.len();
        let moved = |kind: &str| {
            let all = rows.iter().filter(|row| row.kind == kind).flat_map(|row| &row.measured.counters);
            all.fold(BTreeMap::new(), |mut all: BTreeMap<&str, u64>, (name, count)| {
                *all.entry(name).or_insert(0) += count;
                all
            })
        };
        let all = moved("COMBINED");
        let again = targets == 1 && [moved("TARGET_PASS"), moved("TARGET_AVERAGE")].contains(&all);
        rows.retain(|row| !again || row.kind != "COMBINED");
        let together = rows.iter().any(|row| row.kind == "COMBINED");
        let passes: Vec<String> =
            rows.iter().filter(|row| row.kind == "TARGET_PASS").map(|row| row.target.clone()).collect();
        let average = |row: &Row| row.kind == "TARGET_AVERAGE" && !passes.contains(&row.target);
        for mut row in rows {
            if row.kind == "TARGET_PASS" || row.kind == "COMBINED" || average(&row) {
                row.measured.told = self.told.clone();
                row.measured.ran = match (row.kind, together) {
                    ("COMBINED", _) => Ran::After,
                    (_, true) => Ran::Within,
                    _ if targets > 1 => Ran::Unknown,
                    _ => Ran::After,
                };
                found.add(row.measured)?;
            }
        }
        self.told.result();
        self.names.clear();
        Ok(())
    }
}
