//! Charts: inline SVG without scripts. A chart is added by one file and one row of [`CHARTS`].
//!
//! A chart is drawn twice, for wide and for narrow pages, so that its letters keep their size; the style sheet shows
//! one of the two. Its numbers are below it in a table, which screen readers also read. A chart with too few points is
//! not drawn: every figure is in a table of the report anyway.

mod by_size;
mod changed;
mod compared;
pub(super) mod conditions;
mod latency;
mod over_time;
mod plot;
mod scale;
mod stages;

use maud::{Markup, html};

use super::drawn::table;
use crate::table::Table;
use crate::view::View;

pub struct Chart {
    pub id: &'static str,
    /// Title, one line.
    pub title: &'static str,
    /// Explanation of how to read the chart, a sentence or two.
    pub reading: &'static str,
    paper: Paper,
    /// Draws the chart for a page of that width; `None` if too few points were measured.
    draw: fn(&View<'_>, Page) -> Option<Drawing>,
}

enum Paper {
    /// Half the width, two charts beside each other.
    Half,
    Full,
    /// Left out, because it is too long.
    Never,
}

/// Points that the longest line of a chart must have: fewer are easier to read in a table.
const LEAST_POINTS: usize = 4;

pub const CHARTS: &[Chart] =
    &[by_size::CHART, latency::CHART, changed::CHART, compared::CHART, stages::CHART, over_time::CHART];

/// Width of the page that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Wide,
    Narrow,
}

impl Page {
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

    /// Selects `wide` or `narrow` by the page.
    fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Self::Wide => wide,
            Self::Narrow => narrow,
        }
    }
}

struct Drawing {
    /// Height, px; the width is the page's.
    height: f64,
    body: Markup,
    /// Description of the drawing for screen readers.
    description: String,
    /// Names of the series that are drawn, and their looks; a remark has no look.
    legend: Vec<(Option<plot::Look>, String)>,
    table: Table,
}

/// Surroundings of a drawing.
struct Frame<'a> {
    id: &'a str,
    title: &'a str,
    reading: &'a str,
}

impl Chart {
    /// Class of the chart's section.
    pub(super) fn class(&self) -> &'static str {
        match self.paper {
            Paper::Half => "half",
            Paper::Full => "full",
            Paper::Never => "screen",
        }
    }

    fn frame(&self) -> Frame<'_> {
        Frame { id: self.id, title: self.title, reading: self.reading }
    }

    /// The chart with its legend and numbers; `None` if too few points were measured.
    pub(super) fn body(&self, view: &View<'_>) -> Option<Markup> {
        let (wide, narrow) = ((self.draw)(view, Page::Wide)?, (self.draw)(view, Page::Narrow)?);
        Some(self.frame().figure(&wide, &narrow))
    }

    /// The chart for a drawing of its own, `top` px below its upper edge, and its height; `None` if too few points were
    /// measured.
    pub(super) fn alone(&self, view: &View<'_>, top: f64) -> Option<(Markup, f64)> {
        Some(self.frame().alone(&(self.draw)(view, Page::Wide)?, top))
    }
}

impl Frame<'_> {
    /// A drawing with its legend and numbers.
    fn figure(&self, wide: &Drawing, narrow: &Drawing) -> Markup {
        html! {
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
                (self.svg(wide, Page::Wide))
                (self.svg(narrow, Page::Narrow))
                details { summary { "Numbers of this chart" } (table(&wide.table, self.title)) }
            }
        }
    }

    /// A drawing in one of its own, `top` px below its upper edge, and its height.
    fn alone(&self, drawing: &Drawing, top: f64) -> (Markup, f64) {
        let mut below = 30.0;
        let legend = drawing.legend.iter().map(|(look, name)| {
            below += 22.0;
            (*look, name, below)
        });
        let legend: Vec<_> = legend.collect();
        let (width, height) = (plot::px(Page::Wide.width()), plot::px(drawing.height));
        let part = html! {
            g transform=(format!("translate(0 {})", plot::px(top))) {
                text x="0" y="24" font-size="20" style="fill: var(--ink)" { (self.title) }
                @for (look, name, y) in legend {
                    @if let Some(look) = look {
                        g transform=(format!("translate(0 {})", plot::px(y - 9.0))) {
                            (plot::line((0.0, 4.0), (28.0, 4.0), &look.line()))
                            (plot::mark(look, (14.0, 4.0), ""))
                        }
                    }
                    text x="36" y=(plot::px(y)) style="fill: var(--ink)" { (name) }
                }
                svg class="chart" x="0" y=(plot::px(below + 16.0)) width=(width) height=(height)
                    viewBox=(format!("0 0 {width} {height}")) {
                    title { (self.title) }
                    desc { (drawing.description) }
                    (drawing.body)
                }
            }
        };
        (part, below + 16.0 + drawing.height)
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
