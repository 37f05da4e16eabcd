//! The list of runs, for people and as JSON.

use linerate_result::{Number, Unit};
use serde_json::{Value, json};

use super::{Figure, Listed};
use crate::quantity::value;
use crate::table::{Cell, Table, Tone};
use crate::text::section;

/// Letters of a command that a line has room for.
const COMMAND: usize = 60;

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
            listed.id.as_str().into(),
            listed.start.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect::<String>().into(),
            Cell::from(listed.outcome.as_str()).tone(tone),
            listed.tests.to_string().into(),
            listed.first.as_ref().map(figure).unwrap_or_default().into(),
            listed.host.clone().unwrap_or_default().into(),
            command(listed).into(),
        ]);
    }
    let mut lines = Vec::new();
    section(&mut lines, "", &table, colour, usize::MAX);
    lines.iter().skip(1).map(|line| line.clone() + "\n").collect()
}

fn figure(figure: &Figure) -> String {
    format!("{}: {}", figure.test, value(Number::new(figure.median), &Unit::named(&figure.unit)))
}

fn command(listed: &Listed) -> String {
    let whole = match &listed.imported {
        Some(from) => format!("imported from {from}"),
        None => listed.command.join(" "),
    };
    let cut: String = whole.chars().take(COMMAND).collect();
    if cut.len() < whole.len() { cut + "…" } else { cut }
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
    format!("{:#}\n", json!({"runs": runs}))
}
