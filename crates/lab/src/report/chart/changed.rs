//! Changes of settings, proven one by one: pairs of bars, with the change and without it.

use super::compared::pairs;
use super::{Chart, Drawing, Page, Paper};
use crate::view::View;
use linerate_result::Kind;

pub(super) const CHART: Chart = Chart {
    id: "changed",
    title: "With each change, and without it",
    reading: "Medians of rounds that took turns. Each pair of bars has its own scale, which starts at zero. The ratio is the \
              median of the rounds' ratios.",
    paper: Paper::Full,
    draw,
};

fn draw(view: &View<'_>, page: Page) -> Option<Drawing> {
    pairs(view, page, |comparison| comparison.kind == Kind::Before, "with the change")
}
