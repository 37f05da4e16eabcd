//! Forms of the report, a row each.

use linerate_result::RunResult;
use linerate_text::plain_lines;

use super::chart::conditions;
use super::{CHARTS, STYLE, markdown};
use crate::export::EXPORTS;
use crate::view::View;

pub struct Form {
    /// Name on the command line, and ending of the file's name.
    pub name: &'static str,
    pub about: &'static str,
    /// Renders it; the error is the reason why the run has none.
    pub render: fn(&RunResult) -> Result<String, String>,
}

/// All forms; the first is the usual one.
pub const FORMS: &[Form] = &[
    Form { name: "html", about: "the page", render: |run| Ok(super::render(run)) },
    Form { name: "md", about: "its tables in Markdown", render: |run| Ok(markdown::render(run)) },
    Form { name: "csv", about: "a tidy table, a row for each figure, repeat and sample", render: csv },
    Form { name: "svg", about: "its charts alone, below each other", render: svg },
];

fn csv(run: &RunResult) -> Result<String, String> {
    let row = EXPORTS.iter().find(|row| row.name == "csv").ok_or("there is no such form")?;
    row.text(std::slice::from_ref(run)).map_err(|why| why.to_string())
}

/// Space between two charts, px.
const GAP: f64 = 32.0;

/// One drawing of all charts that have enough points.
fn svg(run: &RunResult) -> Result<String, String> {
    let mut below = 0.0;
    let mut parts = Vec::new();
    let view = View::of(run);
    for chart in CHARTS {
        if let Some((part, height)) = chart.alone(&view, below) {
            parts.push(part);
            below += height + GAP;
        }
    }
    parts.extend(conditions::alone(&view, &mut below, GAP));
    if parts.is_empty() {
        return Err("no chart of it has enough points; the tables are in html and md".to_owned());
    }
    // The page's style hides what is for narrow pages, and needs nothing but the elements' classes.
    let style = STYLE.0.replace("]]>", "");
    let drawing = maud::html! {
        (maud::PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        svg xmlns="http://www.w3.org/2000/svg" width="900" height=(format!("{below:.1}"))
            viewBox=(format!("-20 0 900 {below:.1}")) font-family="system-ui, sans-serif" font-size="14" fill="currentColor" {
            style { (maud::PreEscaped(format!("<![CDATA[{style} svg.chart {{ width: auto; }}]]>"))) }
            rect x="-20" y="0" width="900" height=(format!("{below:.1}")) style="fill: var(--page)" {}
            @for part in parts { (part) }
        }
    };
    Ok(plain_lines(&drawing.into_string()))
}
