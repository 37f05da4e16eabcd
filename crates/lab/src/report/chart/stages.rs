//! Time of each stage: one bar per column, with its stages end to end, all on one scale.

use linerate_load::profile::Direction;
use linerate_result::{How, Stage, Test};
use maud::{Markup, html};

use super::plot::{self, Anchor, COLOURS};
use super::scale::Scale;
use super::{Chart, Drawing, Page, Paper};
use crate::noise::{Time, noise, spread, time};
use crate::published::{self, EtherOutput};
use crate::quantity::{UNKNOWN, nanoseconds};
use crate::table::Table;
use crate::view::View;

pub(super) const CHART: Chart = Chart {
    id: "stages",
    title: "Nanoseconds a packet, stage by stage",
    reading: "Medians, one stage behind the other, all bars on one scale. The upright line is the same way measured \
              without stamps or cuts. Where a path is not ours, a stage is the difference of two measurements: one below \
              its noise has no length, and below the bar stands what it is under.",
    paper: Paper::Full,
    draw,
};

struct Bar {
    title: String,
    /// Name and time of each stage; no time for a stage that was not measured.
    parts: Vec<(String, Option<Time>)>,
    /// Sum of the stages as measured, ns.
    sum: f64,
    /// Time of the whole path, measured separately, ns.
    whole: Option<f64>,
}

/// Greatest number of bars drawn; the rest is in the table.
const BARS: usize = 16;
const BAR: f64 = 20.0;
const KEY: f64 = 18.0;

fn draw(view: &View<'_>, page: Page) -> Option<Drawing> {
    let run = view.run;
    let labelled = run.tests.iter().zip(&view.labels);
    let measured: Vec<((&Test, &str), How)> = labelled
        .flat_map(|(test, label)| test.ways().into_iter().map(move |how| ((test, label.as_str()), how)))
        .collect();
    if measured.is_empty() {
        return None;
    }
    let ours = measured.iter().map(|((test, label), how)| bar(test, label, *how));
    // The published figures are for transmission.
    let out = run.tests.iter().any(|test| test.workload == Direction::Tx.workload());
    let published = out.then(published::ether_output).and_then(|rows| of_2012(&rows.ok()?));
    let bars: Vec<Bar> = ours.take(BARS).chain(published).collect();

    // A stage has one colour in all bars.
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in bars.iter().flat_map(|bar| &bar.parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let colour = |name: &str| colour(names.iter().position(|known| *known == name).unwrap_or(0));

    let longest = bars.iter().map(|bar| bar.length().max(bar.whole.unwrap_or(0.0))).fold(1.0, f64::max);
    let scale = Scale::linear(0.0, longest, 0.0, page.width() - 12.0);
    let mut top = 0.0;
    let mut places = Vec::new();
    for bar in &bars {
        let keys = keys(bar, page.width());
        let height = 22.0 + BAR + 6.0 + KEY * rows_of(&keys) + 14.0;
        places.push((top, keys));
        top += height;
    }
    let ticks = scale.ticks(page.pick(9, 5));
    let body = html! {
        @for &tick in &ticks {
            (plot::line((scale.at(tick), 18.0), (scale.at(tick), top), "grid"))
            @let anchor = if tick > 0.0 { Anchor::Middle } else { Anchor::Start };
            (plot::label(scale.at(tick), top + 16.0, anchor, "tick", &format!("{tick}")))
        }
        (plot::label(page.width(), top + 34.0, Anchor::End, "unit", "ns a packet, less is better"))
        @for (bar, (top, keys)) in bars.iter().zip(&places) { (drawn(bar, *top, keys, &scale, page, &colour)) }
    };
    let first = &bars[0];
    Some(Drawing {
        height: top + 40.0,
        body,
        description: format!("{} bars; the first: {}, {}.", bars.len(), first.title, first.figures()),
        legend: if measured.len() > BARS {
            vec![(None, format!("The first {BARS}; {} more in the table", measured.len() - BARS))]
        } else {
            Vec::new()
        },
        table: numbers(&measured),
    })
}

fn bar(test: &Test, label: &str, how: How) -> Bar {
    let stages = test.stages.iter().filter(|stage| stage.how == how);
    let parts = stages.map(|stage| (stage.name.clone(), time(stage))).collect();
    let sum = test.stage_sum(how).unwrap_or(0.0);
    let whole = test.value.as_ref().and_then(|value| value.median.known());
    Bar { title: format!("{label}, by {}", how.name()), parts, sum, whole }
}

/// The bar of 2012: the parts published for the case without a flow table, and the rest.
fn of_2012(rows: &[EtherOutput]) -> Option<Bar> {
    let [whole, resolve, _, header] = rows else { return None };
    let part = |row: &EtherOutput| (row.stage.trim_start_matches("of which ").to_owned(), Some(Time::Is(row.most)));
    let rest = ("rest of ether_output()".to_owned(), Some(Time::Is(whole.most - resolve.most - header.most)));
    let title = "published 2012: ether_output() alone".to_owned();
    Some(Bar { title, parts: vec![part(resolve), part(header), rest], sum: whole.most, whole: Some(whole.most) })
}

impl Bar {
    /// Total length of the drawn stages, ns.
    fn length(&self) -> f64 {
        self.parts.iter().filter_map(|(_, time)| *time).map(Time::length).sum()
    }

    fn figures(&self) -> String {
        let whole = self.whole.map_or(String::new(), |whole| format!(", whole {}", nanoseconds(whole)));
        format!("sum {}{whole}", nanoseconds(self.sum))
    }
}

/// Class of a stage's colour: after the sixth stage the colours repeat, lighter, and then lighter still.
fn colour(index: usize) -> String {
    format!("stage s{}{}", index % COLOURS, ["", " again", " light again"][index / COLOURS % 3])
}

/// Labels below a bar: text and position (x, row).
fn keys(bar: &Bar, width: f64) -> Vec<(String, f64, f64)> {
    let (mut x, mut row) = (0.0, 0.0);
    let mut keys = Vec::new();
    for (name, time) in &bar.parts {
        let text = plot::fit(&format!("{name} {}", time.map_or(UNKNOWN.to_owned(), Time::short)), width - 18.0);
        let wide = 18.0 + plot::width(&text) + 10.0;
        if x > 0.0 && x + wide > width {
            (x, row) = (0.0, row + 1.0);
        }
        keys.push((text, x, row));
        x += wide;
    }
    keys
}

fn rows_of(keys: &[(String, f64, f64)]) -> f64 {
    keys.last().map_or(0.0, |(_, _, row)| row + 1.0)
}

fn drawn(
    bar: &Bar,
    top: f64,
    keys: &[(String, f64, f64)],
    scale: &Scale,
    page: Page,
    colour: &impl Fn(&str) -> String,
) -> Markup {
    let y = top + 22.0;
    let mut from = 0.0;
    let pieces: Vec<_> = bar
        .parts
        .iter()
        .map(|(name, time)| {
            let start = from;
            from += time.map_or(0.0, Time::length);
            (name, *time, scale.at(start), scale.at(from))
        })
        .collect();
    let figures = bar.figures();
    let room = page.width() - plot::width(&figures) - 12.0;
    html! {
        // On a narrow page the figures would not fit beside the title.
        (plot::label(0.0, top + 14.0, Anchor::Start, "panel", &plot::fit_title(&bar.title, page.pick(room, page.width()))))
        @if page == Page::Wide { (plot::label(page.width(), top + 14.0, Anchor::End, "value", &figures)) }
        @for (name, time, start, end) in &pieces {
            @if let Some(time) = *time && time.length() > 0.0 {
                rect x=(plot::px(*start)) y=(plot::px(y)) width=(plot::px((end - start).max(0.5))) height=(plot::px(BAR))
                    class=(colour(name)) { title { (format!("{name}: {}", time.long())) } }
                @let text = time.short();
                @if end - start > plot::width(&text) + 6.0 {
                    // Dark letters are easier to read on the lighter colours.
                    @let class = if colour(name).ends_with("again") { "in-bar" } else { "in-bar on-ours" };
                    (plot::label((start + end) / 2.0, y + BAR / 2.0 + 5.0, Anchor::Middle, class, &text))
                }
            }
        }
        @if let Some(whole) = bar.whole {
            (plot::line((scale.at(whole), y - 4.0), (scale.at(whole), y + BAR + 4.0), "whole"))
        }
        @for ((name, _), (text, x, row)) in bar.parts.iter().zip(keys) {
            @let line = y + BAR + 6.0 + KEY * row;
            rect x=(plot::px(*x)) y=(plot::px(line + 3.0)) width="12" height="12" rx="2" class=(colour(name)) {}
            (plot::label(x + 18.0, line + 14.0, Anchor::Start, "", text))
        }
    }
}

fn numbers(measured: &[((&Test, &str), How)]) -> Table {
    let mut table = Table::new(&["@Column", "@Stage", "@How", "#Median and spread, ns", "What lies in it"]);
    for ((test, label), how) in measured {
        for stage in test.stages.iter().filter(|stage| stage.how == *how) {
            let Stage { name, ns, about, skipped, .. } = stage;
            let ns = ns.as_ref().map_or(UNKNOWN.to_owned(), |ns| spread(ns, noise(stage)));
            let about = skipped.as_ref().map_or_else(|| about.clone(), |why| format!("skipped: {why}"));
            table.row([(*label).into(), name.as_str().into(), how.name().into(), ns.into(), about.into()]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(stages: &[(&str, f64)]) -> Test {
        let stages = stages.iter().map(|(name, ns)| Stage::new(name, How::CutPoint, "", &[*ns])).collect();
        Test { title: "column".to_owned(), stages, ..Test::default() }
    }

    #[test]
    fn stages_lie_end_to_end_and_one_below_its_noise_has_no_length() {
        let bar = bar(&test(&[("a", 40.0), ("b", -7.0), ("c", 60.0)]), "column", How::CutPoint);
        let scale = Scale::linear(0.0, 100.0, 0.0, 200.0);
        let html = drawn(&bar, 0.0, &keys(&bar, 800.0), &scale, Page::Wide, &|_| "stage".to_owned()).into_string();
        assert!(
            html.contains("x=\"0.0\" y=\"22.0\" width=\"80.0\"")
                && html.contains("x=\"80.0\" y=\"22.0\" width=\"120.0\""),
            "{html}"
        );
        assert_eq!(html.matches("height=\"20.0\"").count(), 2);
        assert!(html.contains("b under 7.0") && html.contains("sum 93.0 ns"), "{html}");
    }

    #[test]
    fn the_published_bar_is_the_published_sum() {
        let bar = of_2012(&published::ether_output().unwrap()).unwrap();
        assert_eq!((bar.length(), bar.whole), (210.0, Some(210.0)));
        let parts: Vec<_> = bar.parts.iter().filter_map(|(_, time)| *time).collect();
        assert_eq!(parts, [100.0, 100.0, 10.0].map(Time::Is));
    }

    #[test]
    fn keys_stay_on_the_page() {
        let many: Vec<(String, f64)> = (0..30).map(|i| (format!("stage number {i}"), f64::from(i))).collect();
        let many: Vec<(&str, f64)> = many.iter().map(|(name, ns)| (name.as_str(), *ns)).collect();
        for width in [352.0, 860.0] {
            let bar = bar(&test(&many), "column", How::CutPoint);
            assert!(keys(&bar, width).iter().all(|(text, x, _)| x + 18.0 + plot::width(text) <= width));
        }
        assert_eq!(colour(0), "stage s0");
        assert_eq!((colour(7), colour(13)), ("stage s1 again".to_owned(), "stage s1 light again".to_owned()));
    }
}
