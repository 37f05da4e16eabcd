//! Figures of an imported run by what its tests differ in: a chart for each test and direction, with a line for each MTU and
//! whatever else varies over the size of what is handed over; beside netperf's throughput its service demand. Tests without
//! such a size are rows.

use linerate_result::{Counted, RunResult, Test, Unit};
use maud::{Markup, html};

use super::plot::{self, Anchor, Area, COLOURS, Look};
use super::scale::Scale;
use super::{Drawing, Frame, Page};
use crate::import;
use crate::quantity::{range, value};
use crate::table::Table;
use crate::tables::counted_cell;
use crate::varied::{AXES, differing};
use linerate_text::size;

/// Parameters that make a chart of their own: lines of one chart go the same way and are seen from the same end.
const FACETS: &[&str] = &["reverse", "direction", "bidir", "side", "figure"];

/// Charts at most, so that a log of many programs' tests stays a page.
const MOST: usize = 24;

struct Point {
    /// Size on the axis; of rows their number.
    at: f64,
    label: String,
    median: f64,
    least: f64,
    greatest: f64,
    counted: Counted,
    repeats: crate::table::Cell,
}

struct Line {
    name: String,
    look: Look,
    points: Vec<Point>,
}

/// A chart: its axis is a size, or none.
struct Facet {
    title: String,
    unit: Unit,
    axis: Option<String>,
    lines: Vec<Line>,
}

/// A test's figure, or one of its further figures.
type Figure = fn(&Test) -> Option<Point>;

fn point(summary: &linerate_result::Summary, counted: Counted, test: &Test) -> Option<Point> {
    let (median, least, greatest) = (summary.median.known()?, summary.least.known()?, summary.greatest.known()?);
    let label = if test.title.is_empty() { test.id.clone() } else { test.title.clone() };
    (least > 0.0).then(|| Point { at: 0.0, label, median, least, greatest, counted, repeats: counted_cell(test) })
}

fn own(test: &Test) -> Option<Point> {
    point(test.value.as_ref()?, test.counted(), test)
}

fn demand_here(test: &Test) -> Option<Point> {
    point(test.further.get("service_demand_local")?, test.counted(), test)
}

fn demand_there(test: &Test) -> Option<Point> {
    point(test.further.get("service_demand_remote")?, test.counted(), test)
}

/// Charts of an imported run; none of a run of linerate's own. Packet rates by frame size have a chart already.
fn facets(run: &RunResult) -> Vec<Facet> {
    if import::source(run).is_none() {
        return Vec::new();
    }
    let mut groups: Vec<(String, Vec<&Test>)> = Vec::new();
    for test in run.tests.iter().filter(|test| own(test).is_some() && test.wire_bytes.is_none()) {
        let unit = test.value.as_ref().map_or("", |value| value.unit.name());
        let facet = FACETS.iter().filter_map(|name| Some(format!("{name} {}", test.parameters.get(*name)?)));
        let key = [test.workload.clone(), unit.to_owned()].into_iter().chain(facet).collect::<Vec<_>>().join("\n");
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, tests)) => tests.push(test),
            None => groups.push((key, vec![test])),
        }
    }
    let mut all = Vec::new();
    let of_groups: Vec<&Test> = groups.iter().map(|(_, tests)| tests[0]).collect();
    // Directions or ends of one test each are rows of one chart.
    let (groups, alone): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, tests)| tests.len() > 1);
    let mut rows: Vec<Vec<&Test>> = Vec::new();
    for (_, tests) in &alone {
        let unit = |test: &Test| test.value.as_ref().map(|value| value.unit.clone());
        let alike =
            |known: &&mut Vec<&Test>| (&known[0].workload, unit(known[0])) == (&tests[0].workload, unit(tests[0]));
        match rows.iter_mut().find(alike) {
            Some(known) => known.push(tests[0]),
            None => rows.push(vec![tests[0]]),
        }
    }
    for tests in rows.iter().filter(|tests| tests.len() > 1) {
        let unit = tests[0].value.as_ref().map_or(Unit::Other("".into()), |value| value.unit.clone());
        all.push(in_rows(title(&tests[0].workload), &unit, tests));
    }
    for (_, tests) in &groups {
        let alike: Vec<&Test> = of_groups.iter().filter(|test| test.workload == tests[0].workload).copied().collect();
        // What tells it from the other charts of its workload.
        let facet = FACETS
            .iter()
            .filter(|name| alike.iter().any(|test| test.parameters.get(**name) != alike[0].parameters.get(**name)));
        let facet = facet.filter_map(|name| Some(format!(", {name} {}", tests[0].parameters.get(*name)?)));
        let title = title(&tests[0].workload) + &facet.collect::<String>();
        let unit = tests[0].value.as_ref().map_or(Unit::Other("".into()), |value| value.unit.clone());
        all.extend(charts(&title, &unit, tests, &[("", own)]));
        let demand = tests.iter().find_map(|test| Some(test.further.get("service_demand_local")?.unit.clone()));
        if let Some(unit) = demand {
            let both: &[(&str, Figure)] = &[("here", demand_here), ("there", demand_there)];
            all.extend(
                charts(&format!("{title}, service demand"), &unit, tests, both)
                    .into_iter()
                    .filter(|facet| facet.axis.is_some()),
            );
        }
    }
    all.truncate(MOST);
    all
}

/// The name of a workload for people.
fn title(workload: &str) -> String {
    workload
        .split_once('-')
        .map_or_else(|| workload.to_owned(), |(program, what)| format!("{program} {}", what.to_uppercase()))
}

/// A chart of a row for each test.
fn in_rows(title: String, unit: &Unit, tests: &[&Test]) -> Facet {
    let points =
        tests.iter().filter_map(|test| own(test)).enumerate().map(|(at, point)| Point { at: at as f64, ..point });
    let lines = vec![Line { name: String::new(), look: Look::FIRST, points: points.collect() }];
    Facet { title, unit: unit.clone(), axis: None, lines }
}

/// The charts of tests that differ in parameters: as many lines each as there are colours.
fn charts(title: &str, unit: &Unit, tests: &[&Test], figures: &[(&str, Figure)]) -> Vec<Facet> {
    let parameters: Vec<_> = tests.iter().map(|test| &test.parameters).collect();
    let names = differing(&parameters);
    let count = |test: &Test, name: &str| test.parameters.get(name).and_then(linerate_result::Parameter::count);
    let is_size = |name: &&&String| {
        AXES.contains(&name.as_str()) && tests.iter().all(|test| count(test, name).is_some_and(|n| n > 0))
    };
    let axis = names.iter().filter(is_size).map(|name| (*name).clone()).next();
    let Some(axis) = axis else {
        return vec![in_rows(title.to_owned(), unit, tests)];
    };
    let mut series: Vec<(String, Vec<&Test>)> = Vec::new();
    for test in tests {
        let told = names.iter().filter(|name| ***name != axis);
        let told = told.filter_map(|name| Some(format!("{} {}", word(name), test.parameters.get(*name)?)));
        let name = told.collect::<Vec<_>>().join(", ");
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, tests)) => tests.push(test),
            None => series.push((name, vec![test])),
        }
    }
    let parts = series.len().div_ceil(COLOURS);
    let chart = |(part, series): (usize, &[(String, Vec<&Test>)])| {
        let mut lines = Vec::new();
        for (colour, (name, tests)) in series.iter().enumerate() {
            for (place, (end, figure)) in figures.iter().enumerate() {
                let Some(solid) = Look::solid(colour) else { continue };
                let sized = |test: &&Test| Some(Point { at: count(test, &axis)? as f64, ..figure(test)? });
                let mut points: Vec<Point> = tests.iter().filter_map(sized).collect();
                points.sort_by(|a, b| a.at.total_cmp(&b.at));
                let name =
                    [name.as_str(), end].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
                let look = if place > 0 { solid.hollow() } else { solid };
                if !points.is_empty() {
                    lines.push(Line { name, look, points });
                }
            }
        }
        let of = if parts > 1 { format!(" ({} of {parts})", part + 1) } else { String::new() };
        Facet { title: format!("{title}{of}"), unit: unit.clone(), axis: Some(axis.clone()), lines }
    };
    series.chunks(COLOURS).enumerate().map(chart).collect()
}

/// A parameter's name for people.
fn word(name: &str) -> String {
    if name == "mtu" { "MTU".to_owned() } else { name.trim_end_matches("_bytes").replace('_', " ") }
}

/// A unit's scale on an axis, and its name there.
fn scaled(unit: &Unit) -> (f64, String) {
    match unit {
        Unit::BitsPerSecond => (1e9, "Gb/s".to_owned()),
        Unit::BytesPerSecond => (1e6, "MB/s".to_owned()),
        Unit::TransactionsPerSecond => (1e3, "thousand transactions/s".to_owned()),
        Unit::Iops => (1e3, "thousand IOPS".to_owned()),
        other => (1.0, other.name().to_owned()),
    }
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
        let name = if line.name.is_empty() { &point.label } else { &line.name };
        format!("{name}: {} ({spread}; {} repeats)", figure(point.median), point.counted)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Line", "#Size", "#Median", "#Spread", "#Repeats"]);
        for line in &self.lines {
            for point in &line.points {
                let name = if line.name.is_empty() { &self.title } else { &line.name };
                let (name, at) = match self.axis {
                    Some(_) => (name.as_str(), format!("{} B", point.at)),
                    None => (point.label.as_str(), String::new()),
                };
                let spread = range(point.least.into(), point.greatest.into(), &self.unit);
                let median = value(point.median.into(), &self.unit);
                table.row([name.into(), at.into(), median.into(), spread.into(), point.repeats.clone()]);
            }
        }
        table
    }

    /// Lines over a size; both axes are logarithmic.
    fn lines(&self, axis: &str, page: Page) -> Drawing {
        let [smallest, largest] = self.span(|point| [point.at; 2]);
        let [lowest, highest] = self.span(|point| [point.least, point.greatest]);
        let height = page.pick(400.0, 320.0);
        let area = Area { left: 66.0, right: page.width() - 24.0, top: 30.0, bottom: height - 46.0 };
        let x = Scale::logarithmic(smallest / 1.15, largest * 1.15, area.left, area.right);
        let y = Scale::logarithmic(lowest / 1.4, highest * 1.4, area.bottom, area.top);
        let mut sizes: Vec<f64> = self.lines.iter().flat_map(|line| &line.points).map(|point| point.at).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are whole and positive")]
        let marks: Vec<_> = sizes.iter().map(|&bytes| (x.at(bytes), size(bytes as u64))).collect();
        let (scale, unit) = scaled(&self.unit);
        let axis = word(axis);
        let body = html! {
            (plot::label(0.0, 14.0, Anchor::Start, "unit", &unit))
            (plot::rows(area, &y, &y.ticks(page.pick(9, 7)), |tick| format!("{}", (tick / scale * 1e6).round() / 1e6)))
            (plot::columns(area, &marks))
            (plot::label(area.right, height - 6.0, Anchor::End, "unit", &format!("{axis}, bytes")))
            @for line in &self.lines {
                @let places: Vec<_> = line.points.iter().map(|point| (x.at(point.at), y.at(point.median))).collect();
                (plot::path(&places, &line.look.line()))
                @for (point, &place) in line.points.iter().zip(&places) {
                    @if point.least < point.greatest { (plot::whisker(line.look, place.0, y.at(point.least), y.at(point.greatest))) }
                    g class=[point.counted.few().then_some("few")] { (plot::mark(line.look, place, &self.hint(line, point))) }
                }
            }
        };
        let figure = |n: f64| value(n.into(), &self.unit);
        let description = format!(
            "{} lines over {axis} of {smallest} to {largest} bytes; from {} to {}.",
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
                g class=[point.counted.few().then_some("few")] {
                    (plot::mark(look, (x.at(point.median), y), &self.hint(&self.lines[0], point)))
                }
            }
        };
        let figure = |n: f64| value(n.into(), &self.unit);
        let description = format!("{} tests; from {} to {}.", points.len(), figure(lowest), figure(highest));
        Drawing { height, body, description, legend: Vec::new(), table: self.table() }
    }
}

const READING: &str =
    "Medians; whiskers run from the least to the greatest repeat. Hollow marks on a dotted line: the other end.";

/// All charts; `None` if the run was not imported, or has nothing that varies.
pub(in crate::report) fn body(run: &RunResult) -> Option<Markup> {
    let facets = facets(run);
    (!facets.is_empty()).then(|| html! {
        @for (number, facet) in facets.iter().enumerate() {
            @let id = format!("by-condition-{}", number + 1);
            h3 { (facet.title) }
            (Frame { id: &id, title: &facet.title, reading: READING }.figure(&facet.draw(Page::Wide), &facet.draw(Page::Narrow)))
        }
    })
}

/// The charts for one drawing, below what is there already.
pub(in crate::report) fn alone(run: &RunResult, below: &mut f64, gap: f64) -> Vec<Markup> {
    let part = |facet: &Facet| {
        let frame = Frame { id: "", title: &facet.title, reading: READING };
        let (part, height) = frame.alone(&facet.draw(Page::Wide), *below);
        *below += height + gap;
        part
    };
    facets(run).iter().map(part).collect()
}
