//! Changes of settings, proven one by one: pairs of bars, with the change and without it.

use super::compared::pairs;
use super::{Chart, Drawing, Page, Paper};
use linerate_result::{Kind, RunResult};

pub(super) const CHART: Chart = Chart {
    id: "changed",
    title: "With each change, and without it",
    reading: "Medians of rounds that took turns. Each pair of bars has its own scale, which starts at zero. The ratio is the \
              median of the rounds' ratios.",
    paper: Paper::Full,
    draw,
};

fn draw(run: &RunResult, page: Page) -> Option<Drawing> {
    pairs(run, page, |comparison| comparison.kind == Kind::Before, "with the change")
}
