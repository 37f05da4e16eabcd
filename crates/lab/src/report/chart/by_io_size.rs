//! Throughput by I/O size: the sweep's points over an unlimited wire, beside the published table.

use linerate_load::fcoe::{Mix, Wire};
use linerate_result::{RunResult, Unit};
use maud::html;

use super::plot::{self, Anchor, Area, Look};
use super::scale::Scale;
use super::{Chart, Drawing, LEAST_POINTS, Page, Paper};
use crate::fcoe::points;
use crate::published::fcoe::t5_fcoe;
use crate::quantity::value;
use crate::table::Table;

pub(super) const CHART: Chart = Chart {
    id: "throughput-by-io-size",
    title: "FCoE throughput by I/O size",
    reading: "All initiators together, over a wire without a limit; both axes are logarithmic. Hollow marks on a dotted line: \
              what was published for a port of 40 Gb/s each way; 50/50 counts both ways.",
    paper: Paper::Half,
    draw,
};

/// A line: its name, its look, and its points (bytes per request, bytes per second) in the order of size.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) look: Look,
    /// True if it was measured in this run.
    pub(super) measured: bool,
    pub(super) points: Vec<(f64, f64)>,
}

/// Points that a run measured for a mix over a wire, in the order of size; none if they differ in more than that.
pub(super) fn measured(run: &RunResult, mix: Mix, wire: Wire) -> Vec<(f64, f64)> {
    let all = points(run);
    if all.iter().any(|point| !point.varied.is_empty()) {
        return Vec::new();
    }
    let all = all.into_iter().filter(|point| point.mix == mix && point.wire == wire && point.bytes_per_s > 0.0);
    let mut list: Vec<_> = all.map(|point| (f64::from(point.io_bytes), point.bytes_per_s)).collect();
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    list
}

fn draw(run: &RunResult, page: Page) -> Option<Drawing> {
    let (published, mut lines) = (t5_fcoe().unwrap_or_default(), Vec::new());
    for (colour, mix) in Mix::ALL.into_iter().enumerate() {
        let Some(look) = Look::solid(colour) else { continue };
        let ours = measured(run, mix, Wire::Unlimited);
        if ours.is_empty() {
            continue;
        }
        let rows = published.iter().filter(|row| row.mix == mix);
        let theirs = rows.map(|row| (f64::from(row.io_bytes), row.mb_per_s * 1e6)).collect();
        lines.push(Line { name: mix.title().into(), look, measured: true, points: ours });
        let (name, look) = (format!("{}, published", mix.title()), look.hollow());
        lines.push(Line { name, look, measured: false, points: theirs });
    }
    lines_of(&lines, page, &BYTES)
}

pub(super) struct Axis {
    pub(super) title: &'static str,
    /// Heading of its column in the table.
    pub(super) column: &'static str,
    /// True for a logarithmic one; otherwise it begins at zero.
    pub(super) logarithmic: bool,
    pub(super) tick: fn(f64) -> String,
    pub(super) value: fn(f64) -> String,
}

pub(super) const BYTES: Axis = Axis {
    title: "Throughput, MB/s",
    column: "#Throughput",
    logarithmic: true,
    tick: |bytes| format!("{}", bytes / 1e6),
    value: |bytes| value(bytes.into(), &Unit::BytesPerSecond),
};

/// Draws the lines; `None` if too few points were measured.
pub(super) fn lines_of(lines: &[Line], page: Page, axis: &Axis) -> Option<Drawing> {
    let points = || lines.iter().flat_map(|line| &line.points);
    // Two points of one size differ in what is no axis.
    if lines.iter().any(|line| line.points.windows(2).any(|pair| pair[0].0 == pair[1].0)) {
        return None;
    }
    if !lines.iter().any(|line| line.measured && line.points.len() >= LEAST_POINTS) {
        return None;
    }
    let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::MAX, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let (smallest, largest) = (least(|p| p.0), most(|p| p.0));
    let (lowest, highest) = (least(|p| p.1), most(|p| p.1));

    let height = page.pick(400.0, 320.0);
    let area = Area { left: 66.0, right: page.width() - 24.0, top: 30.0, bottom: height - 46.0 };
    let x = Scale::logarithmic(smallest / 1.15, largest * 1.15, area.left, area.right);
    let y = if axis.logarithmic {
        Scale::logarithmic(lowest / 1.4, highest * 1.4, area.bottom, area.top)
    } else {
        Scale::linear(0.0, highest * 1.1, area.bottom, area.top)
    };
    let mut sizes: Vec<f64> = points().map(|point| point.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let marks: Vec<_> = sizes.iter().map(|&bytes| (x.at(bytes), short(bytes))).collect();
    // On a narrow page every second one, the largest among them.
    let step = page.pick(1, 2);
    let first = (marks.len() + 1) % step;
    let marks: Vec<_> = marks.into_iter().skip(first).step_by(step).collect();

    let rate = axis.value;
    let mut table = Table::new(&["Line", "#I/O", axis.column]);
    for line in lines {
        for (bytes, throughput) in &line.points {
            table.row([line.name.as_str().into(), format!("{bytes} B").into(), rate(*throughput).into()]);
        }
    }
    let body = html! {
        (plot::label(0.0, 14.0, Anchor::Start, "unit", axis.title))
        (plot::rows(area, &y, &y.ticks(page.pick(9, 7)), axis.tick))
        (plot::columns(area, &marks))
        (plot::label(area.right, height - 6.0, Anchor::End, "unit", "I/O size, bytes"))
        @for line in lines {
            @let places: Vec<_> = line.points.iter().map(|point| (x.at(point.0), y.at(point.1))).collect();
            (plot::path(&places, &line.look.line()))
            @for (point, &place) in line.points.iter().zip(&places) {
                (plot::mark(line.look, place, &format!("{}, {} B: {}", line.name, point.0, rate(point.1))))
            }
        }
    };
    let description = format!(
        "{} lines over I/O of {smallest} to {largest} bytes; from {} to {}.",
        lines.len(),
        rate(lowest),
        rate(highest)
    );
    let legend = lines.iter().map(|line| (Some(line.look), line.name.clone())).collect();
    Some(Drawing { height, body, description, legend, table })
}

/// A size as it is typed: `512`, `64K`.
fn short(bytes: f64) -> String {
    let kibi = bytes / 1024.0;
    if kibi >= 1.0 && kibi.fract() == 0.0 { format!("{kibi}K") } else { format!("{bytes}") }
}
