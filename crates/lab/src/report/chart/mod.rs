//! Charts: inline SVG, no script. One file and one row of [`CHARTS`] add one.
//!
//! A chart is drawn twice, for wide and for narrow pages, so that its letters keep their size; the style sheet shows one.
//! Its numbers stand below it in a table, which is also what a screen reader gets to read. Of what has
//! too few points nothing is drawn: every figure stands in a table of the report anyway.

mod by_io_size;
mod by_size;
mod compared;
mod latency;
mod over_time;
mod plot;
mod scale;
mod stages;
mod wires;

use linerate_result::RunResult;
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
    /// How it stands on paper.
    paper: Paper,
    /// Draws it for a page of that width; none if too little of it was measured.
    draw: fn(&RunResult, Page) -> Option<Drawing>,
}

/// How a chart stands on paper.
enum Paper {
    /// Two beside each other.
    Half,
    /// In the whole width.
    Full,
    /// Left out: too long.
    Never,
}

/// Points that the longest line of a chart must have: fewer are read more easily in a table.
const LEAST_POINTS: usize = 4;

/// Every chart, in the order of the report.
pub const CHARTS: &[Chart] = &[
    by_size::CHART,
    latency::CHART,
    by_io_size::CHART,
    wires::CHART,
    compared::CHART,
    stages::CHART,
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

impl Chart {
    /// Class of its section.
    pub(super) fn class(&self) -> &'static str {
        match self.paper {
            Paper::Half => "half",
            Paper::Full => "full",
            Paper::Never => "screen",
        }
    }

    /// The chart with its legend and numbers; none if too little of it was measured.
    pub(super) fn body(&self, run: &RunResult) -> Option<Markup> {
        let (wide, narrow) = ((self.draw)(run, Page::Wide)?, (self.draw)(run, Page::Narrow)?);
        Some(html! {
            figure {
                figcaption { p class="reading" { (self.reading) } }
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
                (self.svg(&narrow, Page::Narrow))
                details { summary { "Numbers of this chart" } (table(&wide.table, self.title)) }
            }
        })
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
