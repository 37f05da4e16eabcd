//! The report: one HTML page with the measurements and their environment; it needs no network and no script, and can be
//! printed.
//!
//! All text from outside is escaped by the template; the page's content security policy forbids scripts and loading
//! from elsewhere.

mod chart;
mod contents;
mod details;
mod form;
mod markdown;
mod parts;
mod tables;

use linerate_result::RunResult;
use maud::{DOCTYPE, PreEscaped, html};

pub use chart::{CHARTS, Chart};
pub use form::{FORMS, Form};

use crate::facts;
use contents::Section;

/// The style sheet is a constant of this program, so it need not be escaped.
const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));

/// All sections that have content, in the order of the page: pictures before the table of all that is in them.
fn sections(run: &RunResult) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    for chart in CHARTS {
        let section = |body| Section { class: chart.class(), ..Section::new(chart.id, chart.title, body) };
        all.extend(chart.body(run).map(section));
    }
    all.extend(
        chart::conditions::body(run)
            .map(|body| Section { class: "figure", ..Section::new("by-condition", "Figures by condition", body) }),
    );
    all.extend(parts::results(run).map(|body| Section::new("results", "Results", body)));
    all.extend(parts::sweep(run).map(|body| Section::new("fcoe", "FCoE, beside the published table", body)));
    all.extend(parts::further(run).map(|body| Section::new("further", "Beside the figures", body)));
    all.extend(parts::streams(run).map(|body| Section::new("streams", "Streams", body)));
    all.extend(parts::ledgers(run).map(|body| Section::new("ledgers", "What became of every frame", body)));
    let screen = |id, title, body| Section { class: "screen", ..Section::new(id, title, body) };
    all.extend(parts::cpu(run).map(|body| screen("cpu", "Processor time", body)));
    all.extend(parts::setup(run).map(|body| Section::new("setup", "Ports and interfaces", body)));
    all.extend(parts::skipped(run).map(|body| Section::new("skipped", "Skipped", body)));
    all.extend(details::tests(run).map(|body| screen("tests", "Tests in detail", body)));
    all
}

#[must_use]
pub fn render(run: &RunResult) -> String {
    let title = format!("{} – linerate", facts::headline(run));
    let sections = sections(run);
    html! {
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
                header { (parts::header(run)) (parts::machine(run)) (contents::list(&sections)) }
                main {
                    (parts::tiles(run))
                    (parts::warnings(run))
                    @for section in &sections { (contents::section(section)) }
                }
                footer { (parts::footer(run)) }
            }
        }
    }
    .into_string()
}
