//! The tables of a run in Markdown (GitHub's dialect, as most readers take it).
//!
//! Text from outside is shown as it is: what Markdown or HTML would take for a mark is escaped, control characters are
//! replaced.

use linerate_result::{RunResult, Test};

use crate::table::Table;
use crate::view::View;
use crate::{facts, quantity, tables};
use linerate_text::plain;

pub(super) fn render(run: &RunResult) -> String {
    let view = View::of(run);
    let mut text = format!("# {}\n\n", escaped(&facts::headline(&view).line));
    text += &format!("**{}**: {}\n", run.outcome.word(), escaped(&facts::verdict(run)));
    let away = facts::thrown_away(run);
    list(&mut text, "", away.into_iter().chain(run.reasons.iter().cloned()));
    let machine = facts::machine(run).into_iter().map(|(name, value)| format!("{name}: {value}"));
    let identity = format!("run {}, {}, {}", run.run_id, run.start.readable(), quantity::duration(run.elapsed_s));
    let command = run.command_line.join(" ");
    list(&mut text, "Measured on", machine.chain([identity, format!("command: {command}")]));
    let ports = facts::ports(run.tests.iter().flat_map(|test| &test.ports));
    let ports = ports.iter().map(|alike| [&alike.names.join(", "), alike.path, &alike.shape].join("; "));
    list(&mut text, "Ports", ports);
    for titled in tables::all(&view) {
        section(&mut text, &titled.title, &titled.table);
        if !titled.alike.is_empty() {
            text += &format!("\nEach with {}.\n", escaped(&titled.alike));
        }
    }
    let line = |(test, text): (&Test, &String)| format!("{}: {text}", test.id);
    list(&mut text, "Warnings", facts::warnings(&view).into_iter().map(line));
    let skipped = run.tests.iter().filter_map(|test| Some((test, test.skipped.as_ref()?)));
    list(&mut text, "Skipped", skipped.map(line));
    text
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.map(|line| format!("- {}\n", escaped(&line))).collect();
    if !lines.is_empty() {
        *text += &if title.is_empty() { "\n".to_owned() } else { format!("\n## {title}\n\n") };
        *text += &lines.concat();
    }
}

fn section(text: &mut String, title: &str, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    *text += &format!("\n## {title}\n\n");
    *text += &row(table.columns.iter().map(|column| escaped(&column.title)).collect());
    *text += &row(table.columns.iter().map(|column| if column.numbers { "---:" } else { "---" }.to_owned()).collect());
    for cells in &table.rows {
        let cell = |cell: &crate::table::Cell| match &cell.note {
            Some(note) => format!("{} ({})", escaped(&cell.text), escaped(note)),
            None => escaped(&cell.text),
        };
        *text += &row(cells.iter().map(cell).collect());
    }
}

/// Text without meaning for Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_from_outside_is_a_mark() {
        let text = "a|b <script> [x](javascript:y) *c* `d` \x1b[2J\nrow";
        let safe = escaped(text);
        assert!(!safe.contains('<') && !safe.contains('\n') && !safe.contains('\x1b'), "{safe}");
        assert!(safe.contains("a\\|b") && safe.contains("\\[x\\]") && safe.contains("\\*c\\*"), "{safe}");
    }
}
