//! A result on a terminal: plain text, aligned columns, colour only on request.
//!
//! Names and reasons come from outside; control characters in them would be commands to the terminal, so they are replaced.

use linerate_text::{plain, plain_lines, wrapped};
use std::fmt::Write;

use linerate_load::bench::Compared;
use linerate_load::profile::Direction;
use linerate_result::{Outcome, RunResult, Test};

use crate::table::{Cell, Table, Tone};
use crate::view::View;
use crate::{bench, facts, profile, quantity, tables};

const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const FAINT: &str = "2";

/// Renders the whole result as lines of text, the last one ended; lines are at most `width` letters long where their words are
/// not longer. With `colour`, ANSI colours mark good and bad; without, the text holds no escape sequence.
#[must_use]
pub fn render(run: &RunResult, colour: bool, width: usize) -> String {
    let view = View::of(run);
    let paint = |text: &str, code: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut lines = Vec::new();
    let word = run.outcome.word();
    let tone = match run.outcome {
        Outcome::Pass => GREEN,
        Outcome::Failed => RED,
        Outcome::Gate | Outcome::Partial => YELLOW,
    };
    let indented = word.chars().count() + 2;
    for (at, part) in wrapped(&plain(&facts::headline(&view).line), width.saturating_sub(indented)).iter().enumerate() {
        let word = if at == 0 { paint(word, tone) + "  " } else { " ".repeat(indented) };
        lines.push(word + &paint(part, BOLD));
    }
    folded(&mut lines, "", &facts::verdict(run), width);
    facts::thrown_away(run).iter().for_each(|away| folded(&mut lines, "", away, width));
    run.reasons.iter().for_each(|reason| folded(&mut lines, "  ", reason, width));
    lines.push(String::new());

    let machine: Vec<String> = facts::machine(run).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    if !machine.is_empty() {
        folded(&mut lines, "on     ", &machine.join(", "), width);
    }
    let identity = format!("{}, {}, {}", run.run_id, run.start.readable(), quantity::duration(run.elapsed_s));
    folded(&mut lines, "run    ", &identity, width);
    for alike in facts::ports(run.tests.iter().flat_map(|test| &test.ports)) {
        let parts: Vec<&str> = [alike.path, &alike.shape].into_iter().filter(|part| !part.is_empty()).collect();
        folded(&mut lines, "port   ", &format!("{}: {}", alike.names.join(", "), parts.join(", ")), width);
    }
    if let Some(frames) = facts::unexplained(run) {
        let received = quantity::count(facts::received(run));
        folded(&mut lines, "frames ", &format!("{received} received, {} unexplained", quantity::count(frames)), width);
    }

    let unexplained = facts::unexplained(run).is_some_and(|frames| frames > 0);
    for titled in tables::all(&view) {
        match titled.id.as_str() {
            // In a narrow one there is no room for what is in other tables, and in the line above.
            "results" => {
                let fits = whole(&titled.table) <= width;
                let table = if fits {
                    titled.table
                } else {
                    titled.table.without(&["Frame", "Compared with", "Ratio", "Unexplained"])
                };
                section(&mut lines, "", &table, colour, width);
            }
            "cpu" => {}
            "ledgers" if !unexplained => {}
            _ => {
                section(&mut lines, &titled.title, &titled.table, colour, width);
                folded(&mut lines, "Each with ", &titled.alike, width);
            }
        }
    }
    let warnings = facts::warnings(&view);
    let skipped = run.tests.iter().filter_map(|test| Some((test, test.skipped.as_ref()?))).collect();
    for (title, list) in [("Warnings", warnings), ("Skipped", skipped)] {
        if !list.is_empty() {
            lines.extend([String::new(), paint(title, BOLD)]);
            list.iter().for_each(|(test, text)| folded(&mut lines, "  ", &format!("{}: {text}", test.id), width));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Adds a line, and what does not fit into it below, as far to the right as its text begins.
fn folded(lines: &mut Vec<String>, first: &str, text: &str, width: usize) {
    let indented = if first.is_empty() { 2 } else { first.chars().count() };
    for (at, part) in wrapped(&plain(text), width.saturating_sub(indented)).iter().enumerate() {
        lines.push(if at == 0 { format!("{first}{part}") } else { format!("{}{part}", " ".repeat(indented)) });
    }
}

/// The text that a run's command has printed: of `bench` and `profile` their own, of all others [`render`]'s.
#[must_use]
pub fn as_printed(run: &RunResult, colour: bool, width: usize) -> String {
    let is_of = |workload: &str| !run.tests.is_empty() && run.tests.iter().all(|test| test.workload == workload);
    let text: String = if is_of("bench") {
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
        return render(run, colour, width);
    };
    // Names in it come from outside.
    plain_lines(&text)
}

/// True for a run of `linerate profile`: the stages of one path, and nothing else.
fn is_profile(run: &RunResult) -> bool {
    let of = |test: &Test| [Direction::Tx, Direction::Rx].iter().any(|way| way.workload() == test.workload);
    !run.tests.is_empty() && run.tests.iter().all(of)
}

/// Adds a heading, if there is one, and a table. One that is too wide has its headings and then its cells broken at spaces; what
/// is too wide even so follows below, after the labels of its rows.
pub(crate) fn section(lines: &mut Vec<String>, title: &str, table: &Table, colour: bool, width: usize) {
    if table.rows.is_empty() {
        return;
    }
    lines.push(String::new());
    if !title.is_empty() {
        lines.extend(wrapped(title, width).iter().map(|title| match colour {
            true => format!("\x1b[{BOLD}m{title}\x1b[0m"),
            false => title.clone(),
        }));
    }
    let labels: Vec<usize> = (0..table.columns.len()).filter(|at| table.columns[*at].label).collect();
    let mut left: Vec<usize> = (0..table.columns.len()).filter(|at| !labels.contains(at)).collect();
    loop {
        // As many columns as fit, at least one, in their order.
        let fits = |taken: usize| {
            let mut shown = [&labels[..], &left[..taken]].concat();
            shown.sort_unstable();
            Some((widths(table, &shown, width)?, shown, taken))
        };
        let part = (1..=left.len()).rev().find_map(fits);
        let (widths, shown, taken) = part.unwrap_or_else(|| {
            let taken = left.len().min(1);
            let shown = [&labels[..], &left[..taken]].concat();
            (shown.iter().map(|at| natural(table, *at).0).collect(), shown, taken)
        });
        rows(lines, table, &shown, &widths, colour);
        left.drain(..taken);
        if left.is_empty() {
            return;
        }
        lines.push(String::new());
    }
}

/// Width of a column, and the least one that breaks no word; numbers are broken in their headings only.
fn natural(table: &Table, at: usize) -> (usize, usize) {
    let length = |text: &str| text.chars().count();
    let longest = |text: &str| text.split(' ').map(length).max().unwrap_or(0);
    let column = &table.columns[at];
    let cells = || table.rows.iter().map(|row| plain(&row[at].text));
    let natural = cells().map(|text| length(&text)).max().unwrap_or(0);
    // A name without spaces is broken where it must be.
    let least =
        if column.numbers { natural } else { cells().map(|text| longest(&text)).max().unwrap_or(0).min(LONGEST) };
    (natural.max(length(&column.title)), least.max(longest(&column.title)))
}

/// Letters of a word that stay together.
const LONGEST: usize = 24;
/// Between two columns.
const GAP: usize = 2;

/// Width of a table whose columns have all the room that they need.
fn whole(table: &Table) -> usize {
    let columns = 0..table.columns.len();
    columns.map(|at| natural(table, at).0 + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Widths of the shown columns, the widest made narrower until all fit; `None` if they cannot.
fn widths(table: &Table, shown: &[usize], most: usize) -> Option<Vec<usize>> {
    let (mut widths, least): (Vec<usize>, Vec<usize>) = shown.iter().map(|at| natural(table, *at)).unzip();
    while widths.iter().sum::<usize>() + GAP * (widths.len() - 1) > most {
        let widest = (0..widths.len()).filter(|at| widths[*at] > least[*at]).max_by_key(|at| widths[*at])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

fn rows(lines: &mut Vec<String>, table: &Table, shown: &[usize], widths: &[usize], colour: bool) {
    let mut row = |cells: Vec<(&str, Option<&str>)>, bottom: bool| {
        let broken = |(cell, width): (&(&str, Option<&str>), &usize)| match plain(cell.0) {
            text if text.chars().count() <= *width => vec![text],
            text => wrapped(&text, *width),
        };
        let parts: Vec<Vec<String>> = cells.iter().zip(widths).map(broken).collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut line = String::new();
            for (((parts, (_, code)), column), width) in parts.iter().zip(&cells).zip(shown).zip(widths) {
                let above = if bottom { height - parts.len() } else { 0 };
                let text = at.checked_sub(above).and_then(|at| parts.get(at)).map_or("", String::as_str);
                // Escape sequences take no space: pad by the length of the text itself.
                let pad = " ".repeat(width.saturating_sub(text.chars().count()));
                let text = match code.filter(|_| colour && !text.is_empty()) {
                    Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
                    None => text.to_owned(),
                };
                let _ = if table.columns[*column].numbers {
                    write!(line, "{pad}{text}  ")
                } else {
                    write!(line, "{text}{pad}  ")
                };
            }
            lines.push(line.trim_end().to_owned());
        }
    };
    row(shown.iter().map(|at| (table.columns[*at].title.as_str(), Some(FAINT))).collect(), true);
    for cells in &table.rows {
        row(shown.iter().map(|at| (cells[*at].text.as_str(), code(&cells[*at]))).collect(), false);
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
