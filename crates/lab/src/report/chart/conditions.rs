//! Figures of points by what they differ in: a chart for each metric of a group, and for each direction, with a line for each MTU
//! and whatever else varies over the size of what is handed over, or over another whole number. Points without such an axis are
//! rows. Beside a figure hollow marks have the other end's, or what was published.

use std::collections::BTreeSet;

use linerate_result::{Summary, Test, Unit};
use maud::{Markup, html};

use super::plot::{self, Anchor, Area, COLOURS, Look};
use super::scale::Scale;
use super::{Drawing, Frame, Page};
use crate::quantity::{range, value};
use crate::table::{Cell, Table, Tone};
use crate::varied::AXES;
use crate::view::{Group, Metric, View, at, beside, counted_cell, less_is_better, number, with_sense, word};
use linerate_text::size;

/// Parameters that make a chart of their own: lines of one chart go the same way and are seen from the same end.
const FACETS: &[&str] = &["reverse", "direction", "bidir", "side", "figure"];

/// Charts at most, so that a log of many programs' tests stays a page.
const MOST: usize = 24;

struct Point {
    /// Place on the axis; of rows their number.
    at: f64,
    label: String,
    median: f64,
    least: f64,
    greatest: f64,
    repeats: Cell,
    /// True if few repeats count, or the figure is not to be relied on.
    doubtful: bool,
}

struct Line {
    name: String,
    look: Look,
    points: Vec<Point>,
}

/// A chart: its axis is a number, or none.
struct Facet {
    title: String,
    unit: Unit,
    axis: Option<String>,
    lines: Vec<Line>,
}

/// A test with its place in the run.
type Placed<'a> = (usize, &'a Test);

/// Figures of a chart, each with the name of its end.
struct Figures<'a> {
    view: &'a View<'a>,
    ends: Vec<(&'static str, Metric)>,
    /// True to draw what was published beside the first one.
    published: bool,
}

impl Figures<'_> {
    fn unit(&self) -> &Unit {
        &self.ends[0].1.unit
    }

    fn point(&self, metric: &Metric, (index, test): Placed<'_>) -> Option<Point> {
        let summary = metric.of(test)?;
        let (median, least, greatest) = (summary.median.known()?, summary.least.known()?, summary.greatest.known()?);
        let doubtful = test.counted().few() || metric.name.is_none() && self.view.doubts.contains_key(&index);
        let label = self.view.labels[index].clone();
        let repeats = counted_cell(test);
        (least > 0.0 || summary.unit == Unit::PerCent && least >= 0.0).then_some(Point {
            at: 0.0,
            label,
            median,
            least,
            greatest,
            repeats,
            doubtful,
        })
    }

    /// Figure that was published for a test.
    fn theirs(&self, (index, test): Placed<'_>) -> Option<Point> {
        let figure: &Summary = self.ends[0].1.of(test)?;
        let theirs = beside(self.view.run, test, figure)?.value.known().filter(|value| *value > 0.0)?;
        let repeats = Cell::from("published").tone(Tone::Quiet);
        let label = self.view.labels[index].clone();
        Some(Point { at: 0.0, label, median: theirs, least: theirs, greatest: theirs, repeats, doubtful: false })
    }
}

/// Charts of all groups of more than one point, and the number of those that a page has no room for.
fn facets(view: &View<'_>) -> (Vec<Facet>, usize) {
    let mut all = Vec::new();
    for group in view.groups.iter().filter(|group| group.has_table()) {
        for figures in figures(view, group) {
            let metric = &figures.ends[0].1;
            // The figure of another program's test needs no name.
            let title = match (group.own, metric.name) {
                (false, None) => group.title.clone(),
                (own, _) => {
                    let name = metric.title.trim_end_matches(" here").to_owned();
                    format!("{}, {}", group.title, if own { name } else { name.to_lowercase() })
                }
            };
            all.extend(of_group(&title, &figures, group));
        }
    }
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    (all, more)
}

/// The figures of a group that have charts: each metric, with that of the other end. Of other programs' tests it is the value
/// and the service demand.
fn figures<'a>(view: &'a View<'a>, group: &Group<'_>) -> Vec<Figures<'a>> {
    let there = |of: &Metric| {
        group.metrics.iter().find(|metric| metric.title.strip_suffix(" there") == of.title.strip_suffix(" here"))
    };
    let mut all = Vec::new();
    for metric in group.metrics.iter().filter(|metric| !metric.title.ends_with(" there")) {
        if group.own || metric.name.is_none() || metric.name == Some("service_demand_local") {
            let mut ends = vec![("", metric.clone())];
            if let Some(there) = there(metric).filter(|_| metric.title.ends_with(" here")) {
                ends = vec![("here", metric.clone()), ("there", there.clone())];
            }
            all.push(Figures { view, published: ends.len() == 1, ends });
        }
    }
    all
}

fn of_group(title: &str, figures: &Figures<'_>, group: &Group<'_>) -> Vec<Facet> {
    let points: Vec<Placed<'_>> =
        group.points.iter().copied().filter(|point| figures.point(&figures.ends[0].1, *point).is_some()).collect();
    let mut facets: Vec<&str> = group.axes.iter().copied().filter(|axis| FACETS.contains(axis)).collect();
    let is_number = |axis: &&&str| points.iter().all(|(_, test)| number(test, axis).is_some());
    let is_size = |axis: &&&str| AXES.contains(*axis);
    let axis = group.axes.iter().filter(is_number).find(is_size).or_else(|| group.axes.iter().find(is_number)).copied();
    let mut others: Vec<&str> =
        group.axes.iter().copied().filter(|name| Some(*name) != axis && !facets.contains(name)).collect();
    // As many lines as there are colours; what has the fewest values makes the charts.
    let values = |names: &[&str]| {
        let of = |(_, test): &Placed<'_>| names.iter().map(|name| at(test, name)).collect::<Vec<_>>();
        points.iter().map(of).collect::<BTreeSet<_>>().len()
    };
    while others.len() > 1 && values(&others) > COLOURS {
        let Some(place) = (0..others.len()).min_by_key(|place| values(&[others[*place]])) else { break };
        facets.push(others.remove(place));
    }
    let told = |names: &[&str], test: &Test| {
        names.iter().map(|name| format!("{} {}", word(name), at(test, name))).collect::<Vec<_>>().join(", ")
    };
    let mut parts: Vec<(String, Vec<Placed<'_>>)> = Vec::new();
    for point in points {
        let name = told(&facets, point.1);
        match parts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => parts.push((name, vec![point])),
        }
    }
    // Directions or ends of one test each are rows of one chart.
    if axis.is_none() || parts.iter().all(|(_, points)| points.len() == 1) {
        let all: Vec<Placed<'_>> = parts.into_iter().flat_map(|(_, points)| points).collect();
        return if all.len() > 1 && figures.ends.len() == 1 { vec![in_rows(title, figures, &all)] } else { Vec::new() };
    }
    let charts = parts.into_iter().flat_map(|(name, points)| {
        let title = if name.is_empty() { title.to_owned() } else { format!("{title}, {name}") };
        over(&title, figures, &points, axis.unwrap_or_default(), |test| told(&others, test))
    });
    charts.collect()
}

/// A chart of a row for each test.
fn in_rows(title: &str, figures: &Figures<'_>, tests: &[Placed<'_>]) -> Facet {
    let points = tests.iter().filter_map(|test| figures.point(&figures.ends[0].1, *test)).enumerate();
    let points = points.map(|(at, point)| Point { at: at as f64, ..point }).collect();
    let lines = vec![Line { name: String::new(), look: Look::FIRST, points }];
    Facet { title: title.to_owned(), unit: figures.unit().clone(), axis: None, lines }
}

/// The charts of tests over an axis, with as many lines each as there are colours.
fn over(
    title: &str,
    figures: &Figures<'_>,
    tests: &[Placed<'_>],
    axis: &str,
    name: impl Fn(&Test) -> String,
) -> Vec<Facet> {
    let mut series: Vec<(String, Vec<Placed<'_>>)> = Vec::new();
    for test in tests {
        let name = name(test.1);
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, tests)) => tests.push(*test),
            None => series.push((name, vec![*test])),
        }
    }
    let parts = series.len().div_ceil(COLOURS);
    let chart = |(part, series): (usize, &[(String, Vec<Placed<'_>>)])| {
        let mut lines = Vec::new();
        for (colour, (name, tests)) in series.iter().enumerate() {
            let Some(solid) = Look::solid(colour) else { continue };
            let mut line = |end: &str, look, point: &dyn Fn(Placed<'_>) -> Option<Point>| {
                let sized = |test: &Placed<'_>| Some(Point { at: number(test.1, axis)? as f64, ..point(*test)? });
                let mut points: Vec<Point> = tests.iter().filter_map(sized).collect();
                points.sort_by(|a, b| a.at.total_cmp(&b.at));
                let name =
                    [name.as_str(), end].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
                if !points.is_empty() {
                    lines.push(Line { name, look, points });
                }
            };
            for (place, (end, metric)) in figures.ends.iter().enumerate() {
                let look = if place > 0 { solid.hollow() } else { solid };
                line(end, look, &|test| figures.point(metric, test));
            }
            if figures.published {
                line("published", solid.hollow(), &|test| figures.theirs(test));
            }
        }
        let of = if parts > 1 { format!(" ({} of {parts})", part + 1) } else { String::new() };
        Facet { title: format!("{title}{of}"), unit: figures.unit().clone(), axis: Some(axis.to_owned()), lines }
    };
    series.chunks(COLOURS).enumerate().map(chart).collect()
}

/// A unit's scale on an axis, and its name there.
fn scaled(unit: &Unit) -> (f64, String) {
    let (scale, name) = match unit {
        Unit::Pps => (1e6, "Mpps"),
        Unit::BitsPerSecond => (1e9, "Gb/s"),
        Unit::BytesPerSecond => (1e6, "MB/s"),
        Unit::TransactionsPerSecond => (1e3, "thousand transactions/s"),
        Unit::Iops => (1e3, "thousand IOPS"),
        Unit::Ns => (1e3, "µs"),
        other => (1.0, other.name()),
    };
    (scale, if less_is_better(unit) { with_sense(name, unit) } else { format!("{name}, more is better") })
}

impl Facet {
    fn draw(&self, page: Page) -> Drawing {
        match &self.axis {
            Some(axis) => self.lines(axis, page),
            None => self.rows(page),
        }
    }

    /// Least and greatest of what is drawn.
    fn span(&self, of: fn(&Point) -> [f64; 2]) -> [f64; 2] {
        let all = self.lines.iter().flat_map(|line| &line.points).map(of);
        all.fold([f64::MAX, 0.0], |[least, most], [low, high]| [least.min(low), most.max(high)])
    }

    fn hint(&self, line: &Line, point: &Point) -> String {
        let figure = |n: f64| value(n.into(), &self.unit);
        let spread = format!("{} to {}", figure(point.least), figure(point.greatest));
        let name = match &self.axis {
            Some(axis) => format!("{} {} {}", line.name, word(axis), point.at),
            None => point.label.clone(),
        };
        format!("{}: {} ({spread}; {} repeats)", name.trim(), figure(point.median), point.repeats.text)
    }

    fn table(&self) -> Table {
        let axis = self.axis.as_ref().map(|axis| format!("@#{}", word(axis)));
        let titles = ["@Line".to_owned()].into_iter().chain(axis);
        let titles = titles.chain(["#Median", "#Spread", "#Repeats"].map(str::to_owned)).collect::<Vec<_>>();
        let mut table = Table::new(&titles);
        for line in &self.lines {
            for point in &line.points {
                let spread = range(point.least.into(), point.greatest.into(), &self.unit);
                let name = match self.axis {
                    Some(_) if line.name.is_empty() => &self.title,
                    Some(_) => &line.name,
                    None => &point.label,
                };
                let unit = if self.axis.as_ref().is_some_and(|axis| axis.ends_with("_bytes")) { " B" } else { "" };
                let at = self.axis.as_ref().map(|_| Cell::from(format!("{}{unit}", point.at)));
                let tone = if point.doubtful { Tone::Doubtful } else { Tone::Plain };
                let median = Cell::from(value(point.median.into(), &self.unit)).tone(tone);
                let figures = [median, spread.into(), point.repeats.clone()];
                table.row([Cell::from(name.as_str())].into_iter().chain(at).chain(figures).collect::<Vec<_>>());
            }
        }
        table
    }

    /// Lines over a number; both axes are logarithmic, but that of a share.
    fn lines(&self, axis: &str, page: Page) -> Drawing {
        let [smallest, largest] = self.span(|point| [point.at; 2]);
        let [lowest, highest] = self.span(|point| [point.least, point.greatest]);
        let height = page.pick(400.0, 320.0);
        let area = Area { left: 66.0, right: page.width() - 24.0, top: 30.0, bottom: height - 46.0 };
        let x = Scale::logarithmic(smallest / 1.15, largest * 1.15, area.left, area.right);
        let y = match self.unit {
            Unit::PerCent => Scale::linear(0.0, highest * 1.1, area.bottom, area.top),
            _ => Scale::logarithmic(lowest / 1.4, highest * 1.4, area.bottom, area.top),
        };
        let mut sizes: Vec<f64> = self.lines.iter().flat_map(|line| &line.points).map(|point| point.at).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let bytes = axis.ends_with("_bytes");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers are whole and positive")]
        let short = |n: f64| if bytes { size(n as u64) } else { format!("{n}") };
        let marks: Vec<_> = sizes.iter().map(|&n| (x.at(n), short(n))).collect();
        // On a narrow page every second one, the largest among them.
        let step = page.pick(1, if marks.len() > 7 { 2 } else { 1 });
        let first = (marks.len() + 1) % step;
        let marks: Vec<_> = marks.into_iter().skip(first).step_by(step).collect();
        let (scale, unit) = scaled(&self.unit);
        let axis = word(axis);
        let body = html! {
            (plot::label(0.0, 14.0, Anchor::Start, "unit", &unit))
            (plot::rows(area, &y, &y.ticks(page.pick(9, 7)), |tick| format!("{}", (tick / scale * 1e6).round() / 1e6)))
            (plot::columns(area, &marks))
            (plot::label(area.right, height - 6.0, Anchor::End, "unit", &format!("{axis}{}", if bytes || axis == "MTU" { ", bytes" } else { "" })))
            @for line in &self.lines {
                @let places: Vec<_> = line.points.iter().map(|point| (x.at(point.at), y.at(point.median))).collect();
                (plot::path(&places, &line.look.line()))
                @for (point, &place) in line.points.iter().zip(&places) {
                    @if point.least < point.greatest { (plot::whisker(line.look, place.0, y.at(point.least), y.at(point.greatest))) }
                    g class=[point.doubtful.then_some("few")] { (plot::mark(line.look, place, &self.hint(line, point))) }
                }
            }
        };
        let figure = |n: f64| value(n.into(), &self.unit);
        let description = format!(
            "{} lines over {axis} of {smallest} to {largest}; from {} to {}.",
            self.lines.len(),
            figure(lowest),
            figure(highest)
        );
        let named = self.lines.iter().filter(|line| !line.name.is_empty());
        let legend = named.map(|line| (Some(line.look), line.name.clone())).collect();
        Drawing { height, body, description, legend, table: self.table() }
    }

    /// A row for each test, from nought.
    fn rows(&self, page: Page) -> Drawing {
        let [lowest, highest] = self.span(|point| [point.least, point.greatest]);
        let (points, step) = (&self.lines[0].points, 40.0);
        let height = step * points.len() as f64 + 56.0;
        let area = Area { left: 8.0, right: page.width() - 24.0, top: 10.0, bottom: height - 46.0 };
        let x = Scale::linear(0.0, highest * 1.05, area.left, area.right);
        let (scale, unit) = scaled(&self.unit);
        let ticks = x.ticks(page.pick(8, 4));
        let marks: Vec<_> = ticks.iter().map(|&n| (x.at(n), format!("{}", (n / scale * 1e6).round() / 1e6))).collect();
        let look = Look::FIRST;
        let body = html! {
            (plot::columns(area, &marks))
            (plot::label(area.right, height - 6.0, Anchor::End, "unit", &unit))
            @for point in points {
                @let y = area.top + step * (point.at + 0.7);
                (plot::label(area.left, y - 12.0, Anchor::Start, "tick", &plot::fit(&point.label, area.right - area.left)))
                (plot::line((x.at(point.least), y), (x.at(point.greatest), y), "whisker s0"))
                g class=[point.doubtful.then_some("few")] {
                    (plot::mark(look, (x.at(point.median), y), &self.hint(&self.lines[0], point)))
                }
            }
        };
        let figure = |n: f64| value(n.into(), &self.unit);
        let description = format!("{} tests; from {} to {}.", points.len(), figure(lowest), figure(highest));
        Drawing { height, body, description, legend: Vec::new(), table: self.table() }
    }
}

const READING: &str = "Medians; whiskers run from the least to the greatest repeat. Hollow marks on a dotted line: the other \
                       end, or what was published. Amber marks: few repeats count, or a figure not to be relied on.";

/// All charts; `None` if nothing varies.
pub(in crate::report) fn body(view: &View<'_>) -> Option<Markup> {
    let (facets, more) = facets(view);
    (!facets.is_empty()).then(|| html! {
        @for (number, facet) in facets.iter().enumerate() {
            @let id = format!("by-condition-{}", number + 1);
            h3 { (facet.title) }
            (Frame { id: &id, title: &facet.title, reading: READING }.figure(&facet.draw(Page::Wide), &facet.draw(Page::Narrow)))
        }
        @if more > 0 { p class="reading" { "The first " (MOST) " charts; the figures of " (more) " more are in the tables." } }
    })
}

/// The charts for one drawing, below what is there already.
pub(in crate::report) fn alone(view: &View<'_>, below: &mut f64, gap: f64) -> Vec<Markup> {
    let part = |facet: &Facet| {
        let frame = Frame { id: "", title: &facet.title, reading: READING };
        let (part, height) = frame.alone(&facet.draw(Page::Wide), *below);
        *below += height + gap;
        part
    };
    facets(view).0.iter().map(part).collect()
}
