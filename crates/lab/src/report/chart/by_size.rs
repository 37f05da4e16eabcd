//! Packet rate by frame size, one line per workload and path, with the line rates of Ethernet behind.

use std::collections::BTreeSet;

use linerate_result::{Counted, Test, Unit};
use maud::html;

use super::plot::{self, Anchor, Area, Look};
use super::scale::Scale;
use super::{Chart, Drawing, LEAST_POINTS, Page, Paper};
use crate::quantity::{line_rate_pps, per_cent, range, value};
use crate::table::{Cell, Table};
use crate::varied::{AXES, varied};
use crate::view::{self, View, counted_cell};

pub(super) const CHART: Chart = Chart {
    id: "rate-by-size",
    title: "Packet rate by frame size",
    reading: "Points are medians, whiskers run from the least to the greatest repeat that counts; amber marks: few \
              repeats counted, or a rate not to be relied on. Both axes are logarithmic. Hollow marks on a dotted line: what was received of what the same colour sent. Dashed: what one Ethernet \
              link of that speed can carry.",
    paper: Paper::Half,
    draw,
};

/// Links whose line rate is drawn where it is in range: name and bits per second.
const LINKS: [(&str, f64); 3] = [("10 GbE", 10e9), ("40 GbE", 40e9), ("100 GbE", 100e9)];

struct Point {
    bytes: f64,
    median: f64,
    least: f64,
    greatest: f64,
    /// True if few repeats count, or the rate is not to be relied on.
    doubtful: bool,
    counted: Counted,
    /// `counted` as a cell.
    repeats: Cell,
}

fn draw(view: &View<'_>, page: Page) -> Option<Drawing> {
    let series = series(view);
    let points = || series.iter().flat_map(|(_, points)| points);
    if series.iter().all(|(_, points)| points.len() < LEAST_POINTS) {
        return None;
    }
    let fold = |value: fn(&Point) -> f64, pick: fn(f64, f64) -> f64, start| points().map(value).fold(start, pick);
    let (smallest, largest) = (fold(|p| p.bytes, f64::min, f64::MAX), fold(|p| p.bytes, f64::max, 0.0));
    let (lowest, highest) = (fold(|p| p.least, f64::min, f64::MAX), fold(|p| p.greatest, f64::max, 0.0));

    let height = page.pick(400.0, 320.0);
    let area = Area { left: 66.0, right: page.width() - 62.0, top: 30.0, bottom: height - 46.0 };
    let x = Scale::logarithmic(smallest / 1.15, largest * 1.15, area.left, area.right);
    let y = Scale::logarithmic(lowest / 1.6, highest * 1.6, area.bottom, area.top);

    let mut sizes: Vec<f64> = points().map(|point| point.bytes).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let marks: Vec<_> = sizes.iter().map(|&bytes| (x.at(bytes), format!("{bytes}"))).collect();

    let mut table = Table::new(&[
        "@Series",
        "@#Frame",
        "#Median",
        "#Spread",
        "#Repeats",
        "#Of 10 GbE",
        "#Of 40 GbE",
        "#Of 100 GbE",
    ]);
    let pps = |rate: f64| value(rate.into(), &Unit::Pps);
    for (name, points) in &series {
        for point in points {
            let share = |link: f64| per_cent((point.median / line_rate_pps(link, point.bytes)).into()).into();
            let [ten, forty, hundred] = LINKS.map(|(_, bits)| share(bits));
            let frame = format!("{} B", point.bytes).into();
            let spread = range(point.least.into(), point.greatest.into(), &Unit::Pps).into();
            let repeats = point.repeats.clone();
            table.row([name.as_str().into(), frame, pps(point.median).into(), spread, repeats, ten, forty, hundred]);
        }
    }

    let looks = looks(&series);
    let drawn = || series.iter().zip(&looks).filter_map(|((name, points), look)| Some((name, points, (*look)?)));
    let body = html! {
        (plot::label(0.0, 14.0, Anchor::Start, "unit", "Packet rate, Mpps"))
        (plot::rows(area, &y, &y.ticks(page.pick(9, 7)), |rate| format!("{}", (rate / 1e6 * 1e6).round() / 1e6)))
        (plot::columns(area, &marks))
        (plot::label(area.right, height - 6.0, Anchor::End, "unit", "Frame size with FCS, bytes"))
        @for (name, bits) in LINKS { (reference(name, bits, area, &x, &y, (smallest / 1.15, largest * 1.15))) }
        @for (name, points, look) in drawn() {
            @let places: Vec<_> = points.iter().map(|point| (x.at(point.bytes), y.at(point.median))).collect();
            (plot::path(&places, &look.line()))
            @for (point, &place) in points.iter().zip(&places) {
                (plot::whisker(look, place.0, y.at(point.least), y.at(point.greatest)))
                @let spread = format!("{} to {}", pps(point.least), pps(point.greatest));
                @let title = format!("{name}, {} B: {} ({spread}; {} repeats)", point.bytes, pps(point.median), point.counted);
                g class=[point.doubtful.then_some("few")] { (plot::mark(look, place, &title)) }
            }
        }
    };
    let mut legend: Vec<_> = drawn().map(|(name, _, look)| (Some(look), name.clone())).collect();
    if series.len() > legend.len() {
        legend.push((None, format!("and {} more in the table", series.len() - legend.len())));
    }
    let description = format!(
        "{} lines over frames of {smallest} to {largest} bytes; rates from {} to {}.",
        series.len(),
        pps(lowest),
        pps(highest)
    );
    Some(Drawing { height, body, description, legend, table })
}

/// The part of a link's line rate that lies in the area, with its name at the end.
fn reference(name: &str, bits: f64, area: Area, x: &Scale, y: &Scale, (from, to): (f64, f64)) -> maud::Markup {
    let sizes = (0..=96u32).map(|step| from * (to / from).powf(f64::from(step) / 96.0));
    let places: Vec<_> = sizes
        .map(|bytes| (bytes, line_rate_pps(bits, bytes)))
        .filter(|&(_, rate)| y.holds(rate))
        .map(|(bytes, rate)| (x.at(bytes), y.at(rate)))
        .collect();
    html! {
        (plot::path(&places, "reference"))
        @if let Some(&(right, low)) = places.last() && places.len() > 8 {
            // Beside the end of the line; above the axis if the line ends there.
            (plot::label(right + 6.0, (low + 4.0).min(area.bottom - 6.0), Anchor::Start, "reference-name", name))
        }
    }
}

/// Rates in the order of size, grouped into series of comparable points.
fn series(view: &View<'_>) -> Vec<(String, Vec<Point>)> {
    let mut series: Vec<(String, Vec<(usize, &Test)>)> = Vec::new();
    // A paced rate does not show the rate that can be reached.
    let tests = view.run.tests.iter().enumerate().filter(|(_, test)| test.workload != "paced");
    for (index, test) in tests.filter(|(index, test)| !view.is_grouped(*index) && point(view, *index, test).is_some()) {
        let name = name(test);
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, tests)) => tests.push((index, test)),
            None => series.push((name, vec![(index, test)])),
        }
    }
    // What two points of one size differ in is in the name of their lines.
    let mut lines: Vec<(String, Vec<Point>)> = Vec::new();
    for (name, tests) in series {
        let sizes: BTreeSet<_> = tests.iter().map(|(_, test)| test.wire_bytes).collect();
        let alone: Vec<&Test> = tests.iter().map(|(_, test)| *test).collect();
        let more = if sizes.len() < tests.len() { varied(&alone, AXES) } else { vec![String::new(); tests.len()] };
        for ((index, test), more) in tests.into_iter().zip(more) {
            let name = if more.is_empty() { name.clone() } else { format!("{name}, {more}") };
            let place = lines.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                lines.push((name, Vec::new()));
                lines.len() - 1
            });
            lines[place].1.extend(point(view, index, test));
        }
    }
    // Rates sent are drawn first: where nothing is lost, the rate received is at the same place, and drawn on top.
    lines.sort_by_key(|(name, _)| name.starts_with("rx"));
    for (_, points) in &mut lines {
        points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    }
    // Two points of one size differ in what is no parameter: their place is the table of results.
    lines.retain(|(_, points)| points.windows(2).all(|pair| pair[0].bytes != pair[1].bytes));
    lines
}

/// Look of each series; a rate received has the colour of the rate sent.
fn looks(series: &[(String, Vec<Point>)]) -> Vec<Option<Look>> {
    let (mut looks, mut colours): (Vec<Option<Look>>, _) = (Vec::new(), 0..);
    for (name, _) in series {
        let sent = name.strip_prefix("rx").map(|of| format!("tx{of}"));
        let sent = series.iter().take(looks.len()).position(|(name, _)| Some(name) == sent.as_ref());
        looks.push(match sent {
            Some(sent) => looks[sent].map(Look::hollow),
            None => colours.next().and_then(Look::solid),
        });
    }
    looks
}

fn point(view: &View<'_>, index: usize, test: &Test) -> Option<Point> {
    let value = test.value.as_ref().filter(|value| value.unit == Unit::Pps)?;
    let median = value.median.known().filter(|&rate| rate > 0.0)?;
    let positive = |rate: linerate_result::Number| rate.known().filter(|&rate| rate > 0.0).unwrap_or(median);
    let bytes = f64::from(test.wire_bytes.filter(|&bytes| bytes > 0)?);
    let (counted, repeats) = (test.counted(), counted_cell(test));
    let doubtful = counted.few() || view.doubts.contains_key(&index);
    Some(Point {
        bytes,
        median,
        least: positive(value.least),
        greatest: positive(value.greatest),
        doubtful,
        counted,
        repeats,
    })
}

/// Workload, path of the first sender (or first port), and the number of senders if there are several.
fn name(test: &Test) -> String {
    let path = view::path(test);
    let ports = if test.senders() > 1 { format!("{} ports", test.senders()) } else { String::new() };
    [test.workload.as_str(), &path, &ports].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
