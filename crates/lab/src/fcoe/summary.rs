//! Summary of a sweep: its progress, and its ratios to the published figures at each speed of the wire.

use super::WORKLOAD;
use super::beside::{Shown, points, published};
use crate::published::fcoe::t5_fcoe;
use crate::quantity::ratio;
use crate::sweep::PLANNED;
use linerate_load::fcoe::Wire;
use linerate_result::{RunResult, Test};

pub(crate) struct SweepSummary {
    pub(crate) done: usize,
    /// Number of points in the plan.
    pub(crate) planned: usize,
    /// Least and greatest number of repeats that count per measured point.
    repeats: (usize, usize),
    /// Ratios by wire; only wires that have a point with a published counterpart.
    pub(crate) spans: Vec<Span>,
}

/// The points over one wire with the least and the greatest ratio of throughput to the published throughput.
pub(crate) struct Span {
    wire: Wire,
    worst: (f64, Shown),
    best: (f64, Shown),
}

/// Summary of the run's sweep; `None` if the run has no points of a sweep.
pub(crate) fn summary(run: &RunResult) -> Option<SweepSummary> {
    let of_sweep = || run.tests.iter().filter(|test| test.workload == WORKLOAD);
    let planned = of_sweep().filter_map(|test| usize::try_from(test.parameters.get(PLANNED)?.count()?).ok()).max();
    let (points, rows) = (points(run), t5_fcoe().unwrap_or_default());
    let ratios = points.iter().filter_map(|point| {
        let theirs = published(&rows, point.mix, point.io_bytes)?;
        Some((point.bytes_per_s / 1e6 / theirs.mb_per_s, point.clone()))
    });
    let ratios: Vec<(f64, Shown)> = ratios.collect();
    let span = |wire: Wire| {
        let here = || ratios.iter().filter(|(_, point)| point.wire == wire).cloned();
        let worst = here().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let best = here().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Span { wire, worst, best })
    };
    of_sweep().next().map(|_| SweepSummary {
        done: points.len(),
        planned: planned.unwrap_or(0).max(of_sweep().count()),
        repeats: repeats(of_sweep()),
        spans: Wire::ALL.into_iter().filter_map(span).collect(),
    })
}

/// Least and greatest number of repeats that count, over the measured points.
fn repeats<'a>(tests: impl Iterator<Item = &'a Test>) -> (usize, usize) {
    let counted = tests.map(|test| test.counted().counted).filter(|counted| *counted > 0);
    counted.fold((0, 0), |(least, most), n| (if least == 0 { n } else { n.min(least) }, n.max(most)))
}

impl SweepSummary {
    /// Range of the ratios over the first wire, `×0.380 to ×1.02`; `None` if nothing was compared.
    pub(crate) fn range(&self) -> Option<String> {
        self.spans.first().map(Span::range)
    }

    /// Explanation of the range: `of the published throughput, unlimited wire; 27 of 27 points`.
    pub(crate) fn about(&self) -> String {
        let times = match self.repeats {
            (0, _) => String::new(),
            (1, 1) => ", each measured once".to_owned(),
            (least, most) if least == most => format!(", medians of {least} repeats each"),
            (least, most) => format!(", medians of {least} to {most} repeats"),
        };
        let done = format!("{} of {} points{times}", self.done, self.planned);
        match self.spans.first() {
            Some(span) => format!("of the published throughput, {}; {done}", span.wire.title()),
            None => done,
        }
    }
}

impl Span {
    fn range(&self) -> String {
        let [worst, best] = [&self.worst, &self.best].map(|(times, _)| ratio((*times).into()));
        if worst == best { best } else { format!("{worst} to {best}") }
    }

    /// Text such as `unlimited wire: ×0.380 (READ of 32768 bytes) to ×1.02 (WRITE of 512 bytes)`.
    pub(crate) fn line(&self) -> String {
        let [worst, best] = [&self.worst, &self.best].map(|(times, point)| {
            format!("{} ({} of {} bytes)", ratio((*times).into()), point.mix.title(), point.io_bytes)
        });
        let span = if worst == best { best } else { format!("{worst} to {best}") };
        format!("{}: {span}", self.wire.title())
    }
}
