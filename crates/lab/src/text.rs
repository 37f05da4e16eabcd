//! A result on a terminal: plain text, aligned columns, colour only on request.
//!
//! Names and reasons come from outside; control characters in them would be commands to the terminal, so they are replaced.

use linerate_text::plain;
use std::fmt::Write;

use linerate_load::bench::Compared;
use linerate_load::profile::Direction;
use linerate_result::{Outcome, RunResult, Test};

use crate::table::{Cell, Table, Tone};
use crate::{bench, facts, fcoe, profile, quantity, streams, tables};

const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const FAINT: &str = "2";

/// Renders the whole result as lines of text, the last one ended. With `colour`, ANSI colours mark good and bad;
/// without, the text holds no escape sequence.
#[must_use]
pub fn render(run: &RunResult, colour: bool) -> String {
    let paint = |text: &str, code: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut lines = vec![format!(
        "{}  {}",
        paint(
            run.outcome.word(),
            match run.outcome {
                Outcome::Pass => GREEN,
                Outcome::Failed => RED,
                Outcome::Gate | Outcome::Partial => YELLOW,
            }
        ),
        paint(&plain(&facts::headline(run)), BOLD)
    )];
    lines.push(facts::verdict(run));
    lines.extend(facts::thrown_away(run));
    lines.extend(run.reasons.iter().map(|reason| format!("  {}", plain(reason))));
    lines.push(String::new());

    let machine: Vec<String> =
        facts::machine(run).into_iter().map(|(name, value)| format!("{name} {}", plain(&value))).collect();
    if !machine.is_empty() {
        lines.push(format!("on     {}", machine.join(", ")));
    }
    lines.push(format!(
        "run    {}, {}, {}",
        plain(&run.run_id),
        run.start.readable(),
        quantity::duration(run.elapsed_s)
    ));
    for alike in facts::ports(run.tests.iter().flat_map(|test| &test.ports)) {
        let parts = [alike.path, &alike.shape].map(plain);
        let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
        lines.push(format!("port   {}: {}", plain(&alike.names.join(", ")), parts.join(", ")));
    }

    section(&mut lines, "", &tables::summary(run), colour);
    section(&mut lines, "FCoE, beside the published table", &fcoe::beside(run), colour);
    section(&mut lines, "Streams", &streams::beside(run), colour);
    // Points of a sweep have a table of their own.
    section(&mut lines, "Compared", &tables::comparisons(run, |test| !facts::has_own_table(test)), colour);
    if facts::unexplained(run).is_some_and(|frames| frames > 0) {
        section(&mut lines, "Ledgers", &tables::ledgers(run), colour);
    }
    let line = |(test, text): (&Test, &String)| format!("  {}: {}", plain(&test.id), plain(text));
    let warnings: Vec<String> = facts::warnings(run).into_iter().map(line).collect();
    let skipped = run.tests.iter().filter_map(|test| Some((test, test.skipped.as_ref()?)));
    let skipped: Vec<String> = skipped.map(line).collect();
    for (title, list) in [("Warnings", warnings), ("Skipped", skipped)] {
        if !list.is_empty() {
            lines.extend([String::new(), paint(title, BOLD)]);
            lines.extend(list);
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The text that a run's command has printed: of `bench` and `profile` their own, of all others [`render`]'s.
#[must_use]
pub fn as_printed(run: &RunResult, colour: bool) -> String {
    let is_of = |workload: &str| !run.tests.is_empty() && run.tests.iter().all(|test| test.workload == workload);
    let text = if is_of("bench") {
        let of = |test: &Test| {
            let comparisons = run.comparisons.iter().filter(|all| all.test == test.id).cloned().collect();
            bench::text(&Compared { test: test.clone(), comparisons })
        };
        run.tests.iter().map(of).collect()
    } else if is_of("flood") {
        profile::flood_text(run)
    } else if is_profile(run) {
        profile::text(run)
    } else {
        return render(run, colour);
    };
    // Names in it come from outside.
    text.lines().map(|line| plain(line) + "\n").collect()
}

/// True for a run of `linerate profile`: the stages of one path, and nothing else.
fn is_profile(run: &RunResult) -> bool {
    let of = |test: &Test| [Direction::Tx, Direction::Rx].iter().any(|way| way.workload() == test.workload);
    !run.tests.is_empty() && run.tests.iter().all(of)
}

/// Adds a heading, if there is one, and a table.
pub(crate) fn section(lines: &mut Vec<String>, title: &str, table: &Table, colour: bool) {
    if table.rows.is_empty() {
        return;
    }
    lines.push(String::new());
    if !title.is_empty() {
        lines.push(if colour { format!("\x1b[{BOLD}m{title}\x1b[0m") } else { title.to_owned() });
    }
    let texts: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| plain(&cell.text)).collect()).collect();
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|at| {
            let cells = texts.iter().map(|row| row[at].chars().count());
            cells.chain([table.columns[at].title.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let line = |texts: &mut dyn Iterator<Item = (&str, Option<&str>)>| {
        let mut line = String::new();
        for ((text, code), (column, &width)) in texts.zip(table.columns.iter().zip(&widths)) {
            // Escape sequences take no space: pad by the length of the text itself.
            let pad = " ".repeat(width.saturating_sub(text.chars().count()));
            let text = match code.filter(|_| colour) {
                Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
                None => text.to_owned(),
            };
            let _ = if column.numbers { write!(line, "{pad}{text}  ") } else { write!(line, "{text}{pad}  ") };
        }
        line.trim_end().to_owned()
    };
    lines.push(line(&mut table.columns.iter().map(|column| (column.title, Some(FAINT)))));
    for (row, texts) in table.rows.iter().zip(&texts) {
        lines.push(line(&mut row.iter().zip(texts).map(|(cell, text)| (text.as_str(), code(cell)))));
    }
}

fn code(cell: &Cell) -> Option<&'static str> {
    match cell.tone {
        Tone::Plain => None,
        Tone::Good => Some(GREEN),
        Tone::Doubtful => Some(YELLOW),
        Tone::Bad => Some(RED),
        Tone::Quiet | Tone::Absent => Some(FAINT),
    }
}
