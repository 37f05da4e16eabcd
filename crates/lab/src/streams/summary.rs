//! Summary of a sweep over streams: its progress, and the least and greatest goodput of each test at each MTU.

use super::{Shown, WORKLOADS, is_point, points};
use crate::quantity::{ratio, value};
use crate::sweep::PLANNED;
use linerate_result::{RunResult, Unit};
use linerate_text::size;

pub(crate) struct SweepSummary {
    /// Numbers of points that were measured, and that were planned.
    pub(crate) done: usize,
    pub(crate) planned: usize,
    /// A line for each test and MTU: `TCP_STREAM, MTU 1500: 0.412 Gb/s (64) to 21.3 Gb/s (128K)`.
    pub(crate) lines: Vec<String>,
    /// Least and greatest ratio to the published figures.
    pub(crate) ratios: Option<(f64, f64)>,
    once: bool,
}

/// Summary of the run's sweep; `None` if the run has no such points.
pub(crate) fn summary(run: &RunResult) -> Option<SweepSummary> {
    let of_sweep = || run.tests.iter().filter(|test| is_point(test));
    let planned = of_sweep().filter_map(|test| usize::try_from(test.parameters.get(PLANNED)?.count()?).ok()).max();
    let points = points(run);
    let mut lines = Vec::new();
    for workload in WORKLOADS {
        let mut mtus: Vec<u64> = of(&points, workload.name).map(|point| point.mtu).collect();
        mtus.sort_unstable();
        mtus.dedup();
        for mtu in mtus {
            let here = || of(&points, workload.name).filter(|point| point.mtu == mtu);
            let least = here().min_by(|a, b| a.bits_per_s.total_cmp(&b.bits_per_s));
            let most = here().max_by(|a, b| a.bits_per_s.total_cmp(&b.bits_per_s));
            if let (Some(least), Some(most)) = (least, most) {
                lines.push(format!("{}, MTU {mtu}: {} to {}", workload.name, rate(least), rate(most)));
            }
        }
    }
    let ratios = points.iter().filter_map(|point| Some(point.bits_per_s / point.published?.bits_per_s));
    let ratios = ratios.fold(None, |span: Option<(f64, f64)>, n| {
        Some(span.map_or((n, n), |(least, most)| (least.min(n), most.max(n))))
    });
    of_sweep().next().map(|_| SweepSummary {
        done: points.len(),
        planned: planned.unwrap_or(0).max(of_sweep().count()),
        lines,
        ratios,
        once: !points.is_empty() && of_sweep().all(|test| test.counted().made <= 1),
    })
}

fn of<'a>(points: &'a [Shown<'a>], workload: &'a str) -> impl Iterator<Item = &'a Shown<'a>> {
    points.iter().filter(move |point| point.workload == workload)
}

fn rate(point: &Shown<'_>) -> String {
    format!("{} ({})", value(point.bits_per_s.into(), &Unit::BitsPerSecond), size(point.io_bytes))
}

impl SweepSummary {
    /// The sweep in a few words: its ratios to the published figures, or the span of its first test.
    pub(crate) fn headline(&self) -> String {
        match self.ratios {
            Some((least, most)) if least == most => ratio(least.into()),
            Some((least, most)) => format!("{} to {}", ratio(least.into()), ratio(most.into())),
            None => format!("{} of {} points", self.done, self.planned),
        }
    }

    pub(crate) fn about(&self) -> String {
        let times = if self.once { ", each measured once" } else { "" };
        match self.ratios {
            Some(_) => format!("of the published throughput; {} of {} points{times}", self.done, self.planned),
            None => format!("goodput by I/O size{times}; nothing was published to compare them with"),
        }
    }
}
