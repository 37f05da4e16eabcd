//! A table in HTML. On a narrow page each row becomes a card, whose cells show their column's name.

use linerate_result::PortUsed;
use maud::{Markup, html};

use crate::facts;
use crate::table::{Cell, Table, Tone};

/// Renders the table, with its name for screen readers.
pub(super) fn table(table: &Table, name: &str) -> Markup {
    html! {
        div class="scroll" {
            // The roles are the elements' defaults; they are stated because a row that is laid out as a card loses
            // them.
            table role="table" aria-label=(name) {
                thead role="rowgroup" {
                    tr role="row" {
                        @for column in &table.columns {
                            th role="columnheader" scope="col" class=[column.numbers.then_some("number")] { (column.title) }
                        }
                    }
                }
                tbody role="rowgroup" {
                    @for row in &table.rows {
                        tr role="row" {
                            @for (column, cell) in table.columns.iter().zip(row) {
                                td role=(if column.label { "rowheader" } else { "cell" }) data-label=(column.title) class=[class(column.numbers, cell.tone)] {
                                    (content(cell))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn content(cell: &Cell) -> Markup {
    html! {
        span class="cell" {
            @match &cell.anchor {
                Some(anchor) => a href=(format!("#{anchor}")) { (cell.text) },
                None => (cell.text),
            }
            @if let Some(note) = &cell.note { small { (note) } }
        }
    }
}

fn class(numbers: bool, tone: Tone) -> Option<String> {
    let tone = match tone {
        Tone::Plain => None,
        Tone::Good => Some("good"),
        Tone::Doubtful => Some("doubtful"),
        Tone::Bad => Some("bad"),
        Tone::Quiet => Some("quiet"),
        Tone::Absent => Some("quiet absent"),
    };
    let classes: Vec<_> = [numbers.then_some("number"), tone].into_iter().flatten().collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// List of names and values.
pub(super) fn pairs(pairs: &[(&str, String)]) -> Markup {
    html! { dl { @for (name, value) in pairs { div { dt { (name) } dd { (value) } } } } }
}

/// List of ports with the paths that they actually use.
pub(super) fn ports<'a>(ports: impl Iterator<Item = &'a PortUsed>) -> Markup {
    let list = facts::ports(ports);
    html! {
        @if !list.is_empty() {
            ul class="ports" {
                @for alike in list {
                    li {
                        span { @for (index, name) in alike.names.iter().enumerate() { @if index > 0 { ", " } code { (name) } } }
                        span { (if alike.path.is_empty() { "path not told" } else { alike.path }) }
                        small { (alike.shape) }
                    }
                }
            }
        }
    }
}
