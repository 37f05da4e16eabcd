//! The report: one HTML page that says what was measured on what, needs no network and no script, and prints.
//!
//! Everything in it that came from outside is text to the template, which escapes it; the page's policy forbids scripts and
//! every load from elsewhere.

mod chart;
mod details;
mod parts;
mod tables;

use linerate_load::result::RunResult;
use maud::{DOCTYPE, PreEscaped, html};

pub use chart::{CHARTS, Chart};

use crate::facts;

/// The style sheet is a constant of this program, so it may stand unescaped.
const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));

/// The charts of what was measured; if nothing was, all, which say so.
fn shown(run: &RunResult) -> Vec<&'static Chart> {
    let some: Vec<_> = CHARTS.iter().filter(|chart| chart.shows(run)).collect();
    if some.is_empty() { CHARTS.iter().collect() } else { some }
}

/// The page.
#[must_use]
pub fn render(run: &RunResult) -> String {
    let title = format!("{} – linerate", facts::headline(run));
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
                header { (parts::header(run)) }
                main {
                    (parts::tiles(run))
                    (parts::warnings(run))
                    section { h2 { "Charts" } @for chart in shown(run) { (chart.figure(run)) } }
                    (parts::environment(run))
                    (parts::sweep(run))
                    (parts::results(run))
                    (parts::ledgers(run))
                    (parts::cpu(run))
                    (parts::skipped(run))
                    (details::tests(run))
                }
                footer { (parts::footer(run)) }
            }
        }
    }
    .into_string()
}
