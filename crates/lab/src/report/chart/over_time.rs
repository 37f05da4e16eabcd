//! Each test's value over time: small multiples, each on its own scale from zero.

use linerate_result::{Sample, Test};
use maud::{Markup, html};

use super::plot::{self, Anchor, Area, Look};
use super::scale::{LARGEST, Scale};
use super::{Chart, Drawing, Page, Paper};
use crate::quantity::value;
use crate::table::Table;
use crate::view::{self, View};

pub(super) const CHART: Chart = Chart {
    id: "over-time",
    title: "Rate over time",
    reading: "One panel a test, each from zero to its own greatest sample. A shaded band spans the samples that share a \
              pixel; the dashed line is the median of the repeats, which stand one behind the other.",
    paper: Paper::Never,
    draw,
};

/// Greatest number of panels drawn; further tests are in the table.
const PANELS: usize = 24;

/// Samples that a panel needs: fewer are just the repeats, which are in the test's details.
const SAMPLES: usize = 8;

/// Points of a line; more samples are gathered into bands.
const POINTS: usize = 160;

/// Samples of one interval of time.
struct Stretch {
    t: f64,
    mean: f64,
    least: f64,
    greatest: f64,
}

fn draw(view: &View<'_>, page: Page) -> Option<Drawing> {
    let run = view.run;
    let labelled = run.tests.iter().zip(view.labels.iter().map(String::as_str));
    let series: Vec<((&Test, &str), Vec<Stretch>)> = labelled
        .map(|(test, label)| ((test, label), stretches(&test.samples)))
        .filter(|(_, list)| list.len() >= SAMPLES)
        .collect();
    if series.is_empty() {
        return None;
    }
    let across = page.pick(3, 1);
    let gap = 28.0;
    let width = (page.width() - gap * (f64::from(across) - 1.0)) / f64::from(across);
    let panel_height = 150.0;
    let mut table = Table::new(&["@Test", "#Samples", "#Last at", "#Mean", "#Least", "#Greatest"]);
    for ((test, label), list) in &series {
        let unit = &view::unit(test);
        let [mean, least, greatest] = [
            list.iter().map(|stretch| stretch.mean / length(list.len())).sum::<f64>(),
            list.iter().map(|stretch| stretch.least).fold(f64::MAX, f64::min),
            list.iter().map(|stretch| stretch.greatest).fold(f64::MIN, f64::max),
        ]
        .map(|number| value(number.into(), unit).into());
        let last = format!("{:.1} s", list.last().map_or(0.0, |stretch| stretch.t));
        table.row([(*label).into(), test.samples.len().to_string().into(), last.into(), mean, least, greatest]);
    }
    let panels = series.iter().take(PANELS).zip(0u32..).map(|(((test, label), list), index)| {
        let (column, row) = (f64::from(index % across), f64::from(index / across));
        let (left, top) = (column * (width + gap), row * (panel_height + gap));
        let area = Area { left, right: left + width, top: top + 44.0, bottom: top + panel_height - 20.0 };
        panel((test, label), list, area, top)
    });
    let shown = series.len().min(PANELS);
    let height = shown.div_ceil(across as usize) as f64 * (panel_height + gap);
    let more = series.len().saturating_sub(PANELS);
    Some(Drawing {
        height,
        body: html! { @for panel in panels { (panel) } },
        description: format!("{} tests, a panel each.", series.len()),
        legend: if more > 0 {
            vec![(None, format!("The first {PANELS} tests; {more} more in the table"))]
        } else {
            Vec::new()
        },
        table,
    })
}

fn panel((test, label): (&Test, &str), list: &[Stretch], area: Area, top: f64) -> Markup {
    let end = list.iter().map(|stretch| stretch.t).fold(0.0, f64::max);
    let highest = list.iter().map(|stretch| stretch.greatest).fold(0.0, f64::max);
    let x = Scale::linear(0.0, end, area.left, area.right);
    let y = Scale::linear(0.0, highest * 1.05, area.bottom, area.top);
    let upper = list.iter().map(|stretch| (x.at(stretch.t), y.at(stretch.greatest)));
    let lower = list.iter().rev().map(|stretch| (x.at(stretch.t), y.at(stretch.least)));
    let band: Vec<_> = upper.chain(lower).collect();
    let places: Vec<_> = list.iter().map(|stretch| (x.at(stretch.t), y.at(stretch.mean))).collect();
    let ends = [(end, area.bottom), (list.first().map_or(0.0, |stretch| stretch.t), area.bottom)];
    let ground: Vec<_> = places.iter().copied().chain(ends.map(|(t, y)| (x.at(t), y))).collect();
    let median = test.value.as_ref().and_then(|value| value.median.known());
    html! {
        (plot::label(area.left, top + 14.0, Anchor::Start, "panel", &plot::fit_title(label, area.right - area.left)))
        (plot::label(area.left, top + 32.0, Anchor::Start, "tick", &median.map_or_else(String::new, |median| format!("median {}", value(median.into(), &view::unit(test))))))
        (plot::label(area.right, top + 32.0, Anchor::End, "tick", &format!("max {}", value(highest.into(), &view::unit(test)))))
        (plot::line((area.left, area.bottom), (area.right, area.bottom), "axis"))
        (plot::label(area.left, area.bottom + 17.0, Anchor::Start, "tick", "0"))
        (plot::label(area.right, area.bottom + 17.0, Anchor::End, "tick", &format!("{end:.1} s")))
        (plot::shape(&ground, "ground s0"))
        (plot::shape(&band, "band s0"))
        @if let Some(median) = median.filter(|&median| y.holds(median)) {
            (plot::line((area.left, y.at(median)), (area.right, y.at(median)), "reference"))
        }
        (plot::path(&places, &format!("{} thin", Look::FIRST.line())))
        @if let [place] = places.as_slice() { (plot::mark(Look::FIRST, *place, "")) }
    }
}

/// The known samples, gathered into at most [`POINTS`] stretches of equal count.
fn stretches(samples: &[Sample]) -> Vec<Stretch> {
    let known = |sample: &Sample| {
        let (t, value) = (sample.t_s.known()?, sample.value.known()?);
        ((0.0..LARGEST).contains(&t) && (0.0..LARGEST).contains(&value)).then_some((t, value))
    };
    let known: Vec<(f64, f64)> = samples.iter().filter_map(known).collect();
    let gather = |chunk: &[(f64, f64)]| {
        let values = || chunk.iter().map(|&(_, value)| value);
        Stretch {
            t: chunk.last().map_or(0.0, |&(t, _)| t),
            mean: values().sum::<f64>() / length(chunk.len()),
            least: values().fold(f64::MAX, f64::min),
            greatest: values().fold(0.0, f64::max),
        }
    };
    known.chunks(known.len().div_ceil(POINTS).max(1)).map(gather).collect()
}

fn length(count: usize) -> f64 {
    count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use linerate_result::{Number, Sample};

    use super::{POINTS, stretches};

    #[test]
    fn many_samples_keep_their_extremes() {
        let sample =
            |t: u32| Sample { t_s: f64::from(t).into(), value: if t == 5000 { 99.0.into() } else { 1.0.into() } };
        let list = stretches(&(0..10_000).map(sample).collect::<Vec<_>>());
        assert!(list.len() <= POINTS);
        assert_eq!(list.iter().map(|stretch| stretch.greatest).fold(0.0, f64::max), 99.0);
        assert_eq!(list.last().unwrap().t, 9999.0);
    }

    #[test]
    fn unknown_samples_are_gaps() {
        let unknown = Sample { t_s: 1.0.into(), value: Number::UNKNOWN };
        assert!(stretches(&[unknown]).is_empty());
    }
}
