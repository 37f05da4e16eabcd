//! The report: one HTML page with the measurements and their environment; it needs no network and no script, and can be
//! printed.
//!
//! All text from outside is escaped by the template, and what would drive a terminal is replaced; the page's content security policy forbids scripts and loading
//! from elsewhere.

mod chart;
mod contents;
mod details;
mod drawn;
mod form;
mod markdown;
mod parts;

use linerate_result::RunResult;
use linerate_text::plain_lines;
use maud::{DOCTYPE, PreEscaped, html};

pub use chart::{CHARTS, Chart};
pub use form::{FORMS, Form};

use crate::view::View;
use crate::{facts, tables};
use contents::Section;

/// The style sheet is a constant of this program, so it need not be escaped.
const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));

/// All sections that have content, in the order of the page: pictures before the tables of all that is in them.
fn sections(view: &View<'_>) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    for chart in CHARTS {
        let section = |body| Section { class: chart.class(), ..Section::new(chart.id, chart.title, body) };
        all.extend(chart.body(view).map(section));
    }
    all.extend(
        chart::conditions::body(view)
            .map(|body| Section { class: "figure", ..Section::new("by-condition", "Figures by condition", body) }),
    );
    // Comparisons have a chart, with their table.
    for titled in tables::all(view).iter().filter(|titled| titled.id != "beside") {
        let class = if titled.id == "cpu" { "screen" } else { "" };
        all.push(Section { class, ..Section::new(&titled.id, &titled.title, parts::titled(view, titled)) });
    }
    let run = view.run;
    all.extend(parts::setup(run).map(|body| Section::new("setup", "Ports and interfaces", body)));
    all.extend(parts::skipped(run).map(|body| Section::new("skipped", "Skipped", body)));
    let details = |body| Section { class: "screen", ..Section::new("tests", "Tests in detail", body) };
    all.extend(details::tests(view).map(details));
    all
}

#[must_use]
pub fn render(run: &RunResult) -> String {
    let view = View::of(run);
    let headline = facts::headline(&view);
    let title = format!("{} – linerate", headline.line);
    let sections = sections(&view);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (STYLE) }
            }
            body {
                header { (parts::header(run, &headline)) (parts::machine(run)) (contents::list(&sections)) }
                main {
                    (parts::tiles(&view))
                    (parts::warnings(&view))
                    @for section in &sections { (contents::section(section)) }
                }
                footer { (parts::footer(run)) }
            }
        }
    };
    plain_lines(&page.into_string())
}
