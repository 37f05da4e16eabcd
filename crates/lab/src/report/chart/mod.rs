//! Charts: inline SVG, no script. One file and one row of [`CHARTS`] add one.
//!
//! A chart is drawn twice, for wide and for narrow pages, so that its letters keep their size; the style sheet shows one.
//! Its numbers stand below it in a table, which is also what a screen reader gets to read.

mod by_io_size;
mod by_size;
mod compared;
mod latency;
mod over_time;
mod plot;
mod scale;
mod stages;
mod wires;

use linerate_load::result::RunResult;
use maud::{Markup, html};

use super::tables::table;
use crate::table::Table;

/// A chart of the report.
pub struct Chart {
    /// Names it in the page.
    pub id: &'static str,
    /// What it shows, a line.
    pub title: &'static str,
    /// How to read it, a sentence or two.
    pub reading: &'static str,
    /// Draws it for a page of that width.
    draw: fn(&RunResult, Page) -> Drawing,
}

/// Every chart, in the order of the report.
pub const CHARTS: &[Chart] = &[
    by_size::CHART,
    by_io_size::CHART,
    wires::CHART,
    compared::CHART,
    stages::CHART,
    latency::CHART,
    over_time::CHART,
];

/// Width of the page that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Wide,
    Narrow,
}

impl Page {
    /// Width of the drawing, px.
    fn width(self) -> f64 {
        match self {
            Self::Wide => 860.0,
            Self::Narrow => 352.0,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }

    /// `wide` or `narrow`, by the page.
    fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Self::Wide => wide,
            Self::Narrow => narrow,
        }
    }
}

/// A drawn chart.
struct Drawing {
    /// Height, px; the width is the page's.
    height: f64,
    /// What stands in the `svg` element.
    body: Markup,
    /// What is to be seen, for those who cannot see it.
    description: String,
    /// Names of the series that are drawn, and how they look; a remark has no look.
    legend: Vec<(Option<plot::Look>, String)>,
    /// The numbers.
    table: Table,
}

impl Drawing {
    /// What is drawn when the run measured none of it.
    fn nothing(why: &str) -> Self {
        Self {
            height: 40.0,
            body: plot::label(0.0, 24.0, plot::Anchor::Start, "nothing", why),
            description: why.to_owned(),
            legend: Vec::new(),
            table: Table::default(),
        }
    }
}

impl Chart {
    /// Whether the run measured what it shows.
    pub(super) fn shows(&self, run: &RunResult) -> bool {
        !(self.draw)(run, Page::Wide).table.rows.is_empty()
    }

    /// The chart with its heading, legend and numbers.
    pub(super) fn figure(&self, run: &RunResult) -> Markup {
        let wide = (self.draw)(run, Page::Wide);
        html! {
            figure id=(format!("chart-{}", self.id)) {
                figcaption { h3 { (self.title) } @if !wide.table.rows.is_empty() { p class="reading" { (self.reading) } } }
                @if !wide.legend.is_empty() {
                    ul class="legend" {
                        @for (look, name) in &wide.legend {
                            li {
                                @if let Some(look) = *look {
                                    svg width="28" height="18" viewBox="0 0 28 18" aria-hidden="true" {
                                        (plot::line((0.0, 9.0), (28.0, 9.0), &look.line()))
                                        (plot::mark(look, (14.0, 9.0), ""))
                                    }
                                }
                                span { (name) }
                            }
                        }
                    }
                }
                (self.svg(&wide, Page::Wide))
                (self.svg(&(self.draw)(run, Page::Narrow), Page::Narrow))
                @if !wide.table.rows.is_empty() {
                    details { summary { "Numbers of this chart" } (table(&wide.table, self.title)) }
                }
            }
        }
    }

    fn svg(&self, drawing: &Drawing, page: Page) -> Markup {
        let (title, description) =
            (format!("{}-{}-title", self.id, page.class()), format!("{}-{}-desc", self.id, page.class()));
        html! {
            svg class=(format!("chart {}", page.class())) role="img" aria-labelledby=(format!("{title} {description}"))
                viewBox=(format!("0 0 {} {}", plot::px(page.width()), plot::px(drawing.height))) {
                title id=(title) { (self.title) }
                desc id=(description) { (drawing.description) }
                (drawing.body)
            }
        }
    }
}

#[cfg(test)]
mod tests;
