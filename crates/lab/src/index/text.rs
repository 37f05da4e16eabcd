//! The list of runs, for people and as JSON.

use linerate_result::{Number, Unit};
use linerate_text::escaped;
use serde_json::{Value, json};

use super::{Figure, Listed};
use crate::import::shown;
use crate::quantity::value;
use crate::table::{Cell, Table, Tone};
use crate::text::section;

/// Letters of a command, a host or a test's name that a line has room for.
const WORDS: usize = 60;
/// Letters of the longest id that is imported.
const ID: usize = 64;

/// One line a run, below one heading; nothing for no runs.
#[must_use]
pub fn render(list: &[Listed], colour: bool) -> String {
    let mut table = Table::new(&["@Run", "Start (UTC)", "Outcome", "#Tests", "First figure", "Host", "Command"]);
    for listed in list {
        let tone = match listed.outcome.as_str() {
            "pass" => Tone::Good,
            "failed" => Tone::Bad,
            _ => Tone::Doubtful,
        };
        table.row([
            shown(&listed.id, ID).into(),
            listed.start.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect::<String>().into(),
            Cell::from(listed.outcome.as_str()).tone(tone),
            listed.tests.to_string().into(),
            listed.first.as_ref().map(figure).unwrap_or_default().into(),
            listed.host.as_deref().map(|host| shown(host, WORDS)).unwrap_or_default().into(),
            command(listed).into(),
        ]);
    }
    let mut lines = Vec::new();
    section(&mut lines, "", &table, colour, usize::MAX);
    lines.iter().skip(1).map(|line| line.clone() + "\n").collect()
}

fn figure(figure: &Figure) -> String {
    format!("{}: {}", shown(&figure.test, WORDS), value(Number::new(figure.median), &Unit::named(&figure.unit)))
}

fn command(listed: &Listed) -> String {
    let whole = match &listed.imported {
        Some(from) => format!("imported from {from}"),
        None => listed.command.join(" "),
    };
    shown(&whole, WORDS)
}

/// The list as one document.
#[must_use]
pub fn json(list: &[Listed]) -> String {
    let of = |listed: &Listed| {
        json!({
            "id": listed.id,
            "name": listed.name(),
            "start": listed.start,
            "command_line": listed.command,
            "elapsed_s": listed.elapsed_s,
            "outcome": listed.outcome,
            "signal": listed.signal,
            "host": listed.host,
            "kernel": listed.kernel,
            "cpu": listed.cpu,
            "folder": listed.folder.as_ref().map(|folder| folder.display().to_string()),
            "imported": listed.imported,
            "tests": listed.tests,
            "first": listed.first.as_ref().map(|first| json!({
                "test": first.test, "workload": first.workload, "median": first.median, "unit": first.unit,
                "counted": first.counted, "made": first.made,
            })),
        })
    };
    let runs: Vec<Value> = list.iter().map(of).collect();
    escaped(&format!("{:#}\n", json!({"runs": runs})))
}
