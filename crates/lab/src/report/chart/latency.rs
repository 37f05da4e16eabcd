//! Latency by percentile, as in HdrHistogram's plots: each step to the right leaves a tenth of the frames of the step
//! before.

use linerate_result::{Latency, Test, Unit};
use maud::html;

use super::plot::{self, Anchor, Area, Look};
use super::scale::Scale;
use super::{Chart, Drawing, LEAST_POINTS, Page, Paper};
use crate::quantity::{count, nanoseconds, value};
use crate::table::Table;
use crate::view::View;

pub(super) const CHART: Chart = Chart {
    id: "latency",
    title: "Latency by percentile",
    reading: "A point says that so many per cent of the frames (in a sweep: requests) were at least this quick. To the \
              right, each mark leaves a tenth as many slower ones; the greatest latency stands one mark beyond. Both axes are logarithmic.",
    paper: Paper::Half,
    draw,
};

/// Positions of [`Latency::quantiles`] on the axis: -log10 of the share of slower frames, the maximum one beyond the
/// last.
const PLACES: [f64; 7] = [0.0, 0.301, 1.0, 2.0, 3.0, 4.0, 5.0];

fn draw(view: &View<'_>, page: Page) -> Option<Drawing> {
    let run = view.run;
    // Round trips of frames and of queued requests differ too much for one scale.
    let of_sweep = |test: &&Test| test.wire_bytes.is_none();
    let frames = run.tests.iter().any(|test| test.latency.is_some() && !of_sweep(&test));
    let series: Vec<(String, &Latency)> = run
        .tests
        .iter()
        .zip(&view.labels)
        .filter(|(test, _)| !(frames && of_sweep(test)))
        .filter_map(|(test, label)| {
            let latency = test.latency.as_ref()?;
            let known = latency.quantiles().iter().any(|(_, ns)| ns.known().is_some());
            known.then(|| (label.clone(), latency))
        })
        .collect();
    let quantiles = |latency: &Latency| latency.quantiles().iter().filter(|(_, ns)| ns.known().is_some()).count();
    if series.iter().all(|(_, latency)| quantiles(latency) < LEAST_POINTS) {
        return None;
    }
    let known = || series.iter().flat_map(|(_, latency)| latency.quantiles()).filter_map(|(_, ns)| ns.known());
    let (lowest, highest) = (known().fold(f64::MAX, f64::min), known().fold(0.0, f64::max));

    let height = page.pick(360.0, 320.0);
    let area = Area { left: 66.0, right: page.width() - 24.0, top: 30.0, bottom: height - 46.0 };
    let x = Scale::linear(0.0, 5.0, area.left + 12.0, area.right);
    let y = Scale::logarithmic(lowest / 1.5, highest * 1.5, area.bottom, area.top);
    let names = Latency::default().quantiles().map(|(name, _)| name);
    let marks: Vec<_> = PLACES.iter().zip(names).map(|(&place, name)| (x.at(place), name.replace(' ', ""))).collect();

    let mut table =
        Table::new(&["@Test", "#Count", "#Min", "#50 %", "#90 %", "#99 %", "#99.9 %", "#99.99 %", "#Max", "#Mean"]);
    for (name, latency) in &series {
        let [min, p50, p90, p99, p99_9, p99_99, max] = latency.quantiles().map(|(_, ns)| value(ns, &Unit::Ns).into());
        let mean = value(latency.mean, &Unit::Ns).into();
        table.row([name.as_str().into(), count(latency.count).into(), min, p50, p90, p99, p99_9, p99_99, max, mean]);
    }

    let drawn = || (0..).zip(&series).map_while(|(k, (name, latency))| Some((name, latency, Look::solid(k)?)));
    let body = html! {
        (plot::label(0.0, 14.0, Anchor::Start, "unit", "Latency, logarithmic, less is better"))
        (plot::rows(area, &y, &y.ticks(page.pick(10, 8)), tick))
        (plot::columns(area, &marks))
        (plot::label(area.right, height - 6.0, Anchor::End, "unit", "Share of frames or requests that were quicker, %"))
        @for (name, latency, look) in drawn() {
            @let points: Vec<_> = latency.quantiles().into_iter().zip(PLACES)
                .filter_map(|((quantile, ns), place)| Some((quantile, ns.known()?, place))).collect();
            @let places: Vec<_> = points.iter().map(|&(_, ns, place)| (x.at(place), y.at(ns))).collect();
            (plot::path(&places, &look.line()))
            @for (&(quantile, ns, _), &place) in points.iter().zip(&places) {
                (plot::mark(look, place, &format!("{name}, {quantile}: {}", nanoseconds(ns))))
            }
        }
    };
    let mut legend: Vec<_> = drawn().map(|(name, _, look)| (Some(look), name.clone())).collect();
    if series.len() > legend.len() {
        legend.push((None, format!("and {} more in the table", series.len() - legend.len())));
    }
    let description =
        format!("{} lines; latencies from {} to {}.", series.len(), nanoseconds(lowest), nanoseconds(highest));
    Some(Drawing { height, body, description, legend, table })
}

/// A round time without insignificant digits: `3 µs`.
fn tick(ns: f64) -> String {
    let (scale, unit) = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")]
        .into_iter()
        .find(|&(scale, _)| ns >= scale * 0.999)
        .unwrap_or((1.0, "ns"));
    format!("{} {unit}", (ns / scale * 1000.0).round() / 1000.0)
}
