//! Comparison of the sweep's figures with the published ones.

use super::WORKLOAD;
use crate::published::fcoe::{T5Fcoe, t5_fcoe};
use crate::quantity::UNKNOWN;
use crate::table::{Cell, Table, Tone, anchor};
use crate::varied::varied;
use linerate_load::fcoe::{Mix, Wire};
use linerate_result::{RunResult, Test};

/// A measured point of a sweep: its parameters and its figures.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) wire: Wire,
    pub(crate) mix: Mix,
    pub(crate) io_bytes: u32,
    pub(crate) bytes_per_s: f64,
    /// Values of further parameters in which the points differ; empty if they do not.
    pub(crate) varied: String,
    /// Index of the test among the run's tests.
    index: usize,
    iops: Option<f64>,
    cpu: Option<f64>,
}

/// All measured points of a run.
pub(crate) fn points(run: &RunResult) -> Vec<Shown> {
    let tests = run.tests.iter().enumerate().filter(|(_, test)| test.workload == WORKLOAD);
    let mut points: Vec<Shown> = tests.filter_map(|(index, test)| measured(index, test)).collect();
    let tests: Vec<&Test> = points.iter().map(|point| &run.tests[point.index]).collect();
    let texts = varied(&tests, &["wire", "op", "io_bytes"]);
    points.iter_mut().zip(texts).for_each(|(point, text)| point.varied = text);
    points
}

fn measured(index: usize, test: &Test) -> Option<Shown> {
    let further = |name: &str| test.further.get(name).and_then(|summary| summary.median.known());
    Some(Shown {
        wire: Wire::parse(test.parameters.get("wire")?.text()?)?,
        mix: Mix::parse(test.parameters.get("op")?.text()?)?,
        io_bytes: test.parameters.get("io_bytes")?.count()?.try_into().ok().filter(|bytes| *bytes > 0)?,
        bytes_per_s: test.value.as_ref()?.median.known()?,
        varied: String::new(),
        index,
        iops: further("iops"),
        cpu: further("cpu"),
    })
}

/// Published figures for a request size and an operation mix.
pub(super) fn published(rows: &[T5Fcoe], mix: Mix, io_bytes: u32) -> Option<&T5Fcoe> {
    rows.iter().find(|row| row.mix == mix && row.io_bytes == io_bytes)
}

/// Table of all points, our figures beside the published ones; without rows if the run has no such points.
pub(crate) fn beside(run: &RunResult) -> Table {
    let points = points(run);
    let varied = points.iter().any(|point| !point.varied.is_empty());
    let mut columns = vec!["Wire", "#Request", "Operation"];
    if varied {
        columns.push("With");
    }
    columns.extend([
        "#MB/s",
        "#Published MB/s",
        "#Ratio",
        "#IOPS",
        "#Published IOPS",
        "#Target's CPU %",
        "#Published CPU %",
    ]);
    let mut table = Table::new(&columns);
    let rows = t5_fcoe().unwrap_or_default();
    let number = |value: Option<f64>| match value {
        Some(value) => Cell::from(format!("{value:.0}")),
        None => Cell::from(UNKNOWN).tone(Tone::Absent),
    };
    for point in points {
        let theirs = published(&rows, point.mix, point.io_bytes);
        let megabytes = point.bytes_per_s / 1e6;
        let ratio = theirs.map(|theirs| format!("×{:.2}", megabytes / theirs.mb_per_s));
        let mut row = vec![
            Cell::from(point.wire.word()).anchor(anchor(point.index)),
            format!("{} B", point.io_bytes).into(),
            point.mix.title().into(),
        ];
        if varied {
            row.push(point.varied.as_str().into());
        }
        row.extend([
            number(Some(megabytes)),
            number(theirs.map(|row| row.mb_per_s)).tone(Tone::Quiet),
            ratio.map_or_else(|| Cell::from(UNKNOWN).tone(Tone::Absent), Cell::from),
            number(point.iops),
            number(theirs.map(|row| row.iops)).tone(Tone::Quiet),
            number(point.cpu),
            number(theirs.map(|row| row.cpu_percent)).tone(Tone::Quiet),
        ]);
        table.row(row);
    }
    table
}
