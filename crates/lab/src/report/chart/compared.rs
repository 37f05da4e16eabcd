//! This run's values beside published figures and peers' figures: pairs of bars from zero.

use linerate_result::{Comparison, Kind};
use maud::html;

use super::plot::{self, Anchor};
use super::scale::Scale;
use super::{Chart, Drawing, Page, Paper};
use crate::quantity::{ratio, value};
use crate::tables;
use crate::view::{View, with_sense};

pub(super) const CHART: Chart = Chart {
    id: "compared",
    title: "Beside published and peers' figures",
    reading: "Each pair of bars has its own scale, which starts at zero. Published figures were measured by others, on their \
              hardware.",
    paper: Paper::Full,
    draw,
};

/// Greatest number of pairs drawn; the rest is in the table.
const PAIRS: usize = 16;

fn draw(view: &View<'_>, page: Page) -> Option<Drawing> {
    pairs(view, page, |comparison| comparison.kind != Kind::Before, "this run")
}

/// Draws the comparisons that are `wanted`; our bars are named `ours`.
pub(super) fn pairs(view: &View<'_>, page: Page, wanted: impl Fn(&Comparison) -> bool, ours: &str) -> Option<Drawing> {
    let run = view.run;
    let known =
        |c: &&Comparison| [c.ours, c.value].iter().all(|number| number.known().is_some_and(|number| number >= 0.0));
    let place = |c: &Comparison| run.tests.iter().position(|test| test.id == c.test);
    // Points of a sweep have a table of their own.
    let of_sweep = |c: &&Comparison| place(c).is_some_and(|index| view.is_tabled(index));
    let pairs: Vec<&Comparison> = run.comparisons.iter().filter(known).filter(|c| wanted(c) && !of_sweep(c)).collect();
    if pairs.is_empty() {
        return None;
    }
    let higher = |pair: &Comparison| [pair.ours, pair.value].iter().filter_map(|n| n.known()).fold(0.0, f64::max);
    let pair_height = 66.0;
    // Space to the right of the longest bar for its value.
    let room = page.width() - 110.0;
    let body = html! {
        @for (pair, index) in pairs.iter().take(PAIRS).zip(0u32..) {
            @let top = f64::from(index) * pair_height;
            @let scale = Scale::linear(0.0, higher(pair), 0.0, room);
            @let title = with_sense(place(pair).map_or(pair.test.as_str(), |index| &view.labels[index]), &pair.unit);
            (plot::label(0.0, top + 14.0, Anchor::Start, "panel", &plot::fit_title(&title, page.width() - 70.0)))
            (plot::label(page.width(), top + 14.0, Anchor::End, "panel", &ratio(pair.ratio)))
            @for (place, number, name, class) in [(0.0, pair.ours, ours, "ours"), (1.0, pair.value, pair.name.as_str(), "peer")] {
                @let y = top + 21.0 + place * 19.0;
                @let end = number.known().map_or(0.0, |number| scale.at(number));
                rect x="0" y=(plot::px(y)) width=(plot::px(end.max(1.0))) height="17" rx="2" class=(format!("bar {class}")) {
                    title { (format!("{name}: {}", value(number, &pair.unit))) }
                }
                // The name is placed in the bar if that is long enough, otherwise after the value.
                @let inside = end > plot::width(name) + 12.0;
                @if inside { (plot::label(8.0, y + 13.0, Anchor::Start, &format!("in-bar on-{class}"), name)) }
                @let after = value(number, &pair.unit);
                @let after = if inside { after } else { plot::fit(&format!("{after}  {name}"), page.width() - end - 8.0) };
                (plot::label(end.max(1.0) + 8.0, y + 13.0, Anchor::Start, "value", &after))
            }
        }
    };
    let shown = pairs.len().min(PAIRS);
    let more = pairs.len().saturating_sub(PAIRS);
    let first = pairs[0];
    Some(Drawing {
        height: shown as f64 * pair_height - 10.0,
        body,
        description: format!(
            "{} comparisons; the first: {} {ours}, {} {}.",
            pairs.len(),
            value(first.ours, &first.unit),
            value(first.value, &first.unit),
            first.name
        ),
        legend: if more > 0 {
            vec![(None, format!("The first {PAIRS}; {more} more in the table"))]
        } else {
            Vec::new()
        },
        table: tables::comparisons(view),
    })
}
