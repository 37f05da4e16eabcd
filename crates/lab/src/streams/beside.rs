//! Table of the points, beside the published figures where there are some.

use super::points;
use crate::quantity::{UNKNOWN, ratio, value};
use crate::table::{Cell, Table, Tone, anchor};
use linerate_result::{RunResult, Unit};
use linerate_text::size;

/// Table of all points; without rows if the run has none. Columns without a figure are left out.
pub(crate) fn beside(run: &RunResult) -> Table {
    let points = points(run);
    let (datagrams, published) =
        (points.iter().any(|point| point.offered.is_some()), points.iter().any(|point| point.published.is_some()));
    let varied = points.iter().any(|point| !point.varied.is_empty());
    let mut columns = vec!["Test", "#MTU", "#I/O"];
    if varied {
        columns.push("With");
    }
    columns.extend(["#Goodput", "#CPU here", "#CPU there"]);
    if datagrams {
        columns.extend(["#Offered", "#Lost"]);
    }
    if published {
        columns.extend(["#Published, at least", "#Ratio"]);
    }
    let mut table = Table::new(&columns);
    let unknown = || Cell::from(UNKNOWN).tone(Tone::Absent);
    let figure = |figure: Option<f64>, unit: &Unit| figure.map_or_else(unknown, |n| value(n.into(), unit).into());
    for point in points {
        let mut row = vec![
            Cell::from(point.workload).anchor(anchor(point.index)),
            point.mtu.to_string().into(),
            size(point.io_bytes).into(),
        ];
        if varied {
            row.push(point.varied.as_str().into());
        }
        row.extend([
            figure(Some(point.bits_per_s), &Unit::BitsPerSecond),
            figure(point.cpu, &Unit::PerCent),
            figure(point.cpu_remote, &Unit::PerCent),
        ]);
        if datagrams {
            row.extend([figure(point.offered, &Unit::BitsPerSecond), figure(point.lost, &Unit::PerCent)]);
        }
        if published {
            let theirs = point.published.map(|row| row.bits_per_s);
            row.push(figure(theirs, &Unit::BitsPerSecond).tone(Tone::Quiet));
            row.push(theirs.map_or_else(unknown, |theirs| ratio((point.bits_per_s / theirs).into()).into()));
        }
        table.row(row);
    }
    table
}
