//! Streams by I/O size: goodput, and processor time beside it, a line for each MTU.

use linerate_load::stream::{TCP_BIDIR, TCP_MAERTS, TCP_SENDFILE, TCP_STREAM, UDP_STREAM};
use linerate_result::{RunResult, Unit};

use super::by_io_size::{Axis, Line, lines_of};
use super::plot::Look;
use super::{Chart, Drawing, Page, Paper};
use crate::quantity::value;
use crate::streams::{Shown, points};

const GOODPUT: Axis = Axis {
    title: "Goodput, Gb/s (higher is better)",
    column: "#Goodput",
    logarithmic: true,
    tick: |bits| format!("{}", bits / 1e9),
    value: |bits| value(bits.into(), &Unit::BitsPerSecond),
};
const CPU: Axis = Axis {
    title: "CPU, per cent of a core (lower is better)",
    column: "#CPU",
    logarithmic: false,
    tick: |cent| format!("{cent:.0}"),
    value: |cent| value(cent.into(), &Unit::PerCent),
};

macro_rules! charts {
    ($goodput:ident, $cpu:ident, $workload:ident, $id:literal, $title:literal) => {
        pub(super) const $goodput: Chart = Chart {
            id: concat!($id, "-goodput"),
            title: concat!($title, ", goodput"),
            reading: "Bits that arrived, without headers, all streams together; both axes are logarithmic. Hollow marks on a \
                      dotted line, where there are some: what was published, at least.",
            paper: Paper::Half,
            draw: |run, page| goodput(run, $workload.name, page),
        };
        pub(super) const $cpu: Chart = Chart {
            id: concat!($id, "-cpu"),
            title: concat!($title, ", processor time"),
            reading: "Processor time of the threads of the test, per cent of one core. Solid: the end that asks for the test. \
                      Hollow marks on a dotted line: the other end.",
            paper: Paper::Half,
            draw: |run, page| cpu(run, $workload.name, page),
        };
    };
}

charts!(STREAM, STREAM_CPU, TCP_STREAM, "tcp-stream", "TCP_STREAM");
charts!(MAERTS, MAERTS_CPU, TCP_MAERTS, "tcp-maerts", "TCP_MAERTS");
charts!(BIDIR, BIDIR_CPU, TCP_BIDIR, "tcp-bidir", "TCP_BIDIR");
charts!(SENDFILE, SENDFILE_CPU, TCP_SENDFILE, "tcp-sendfile", "TCP_SENDFILE");
charts!(UDP, UDP_CPU, UDP_STREAM, "udp-stream", "UDP_STREAM");

/// Points of a test, by MTU, in the order of size; none if they differ in more than that: a line joins like points.
fn by_mtu<'a>(run: &'a RunResult, workload: &str) -> Vec<(u64, Vec<Shown<'a>>)> {
    let mut points: Vec<_> = points(run).into_iter().filter(|point| point.workload == workload).collect();
    if points.iter().any(|point| !point.varied.is_empty()) {
        return Vec::new();
    }
    points.sort_by_key(|point| (point.mtu, point.io_bytes));
    let mut groups: Vec<(u64, Vec<Shown<'a>>)> = Vec::new();
    for point in points {
        match groups.last_mut().filter(|(mtu, _)| *mtu == point.mtu) {
            Some((_, list)) => list.push(point),
            None => groups.push((point.mtu, vec![point])),
        }
    }
    groups
}

/// Points of a line: those that have this figure.
fn line(points: &[Shown<'_>], of: impl Fn(&Shown<'_>) -> Option<f64>) -> Vec<(f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "sizes of I/O")]
    points.iter().filter_map(|point| Some((point.io_bytes as f64, of(point)?))).collect()
}

fn goodput(run: &RunResult, workload: &str, page: Page) -> Option<Drawing> {
    let mut lines = Vec::new();
    for (colour, (mtu, points)) in by_mtu(run, workload).into_iter().enumerate() {
        let Some(look) = Look::solid(colour) else { continue };
        let ours = line(&points, |point| Some(point.bits_per_s).filter(|bits| *bits > 0.0));
        lines.push(Line { name: format!("MTU {mtu}"), look, measured: true, points: ours });
        let theirs = line(&points, |point| Some(point.published?.bits_per_s));
        if !theirs.is_empty() {
            let (name, look) = ("published, at least".to_owned(), look.hollow());
            lines.push(Line { name, look, measured: false, points: theirs });
        }
    }
    lines_of(&lines, page, &GOODPUT)
}

fn cpu(run: &RunResult, workload: &str, page: Page) -> Option<Drawing> {
    let mut lines = Vec::new();
    for (colour, (mtu, points)) in by_mtu(run, workload).into_iter().enumerate() {
        let Some(look) = Look::solid(colour) else { continue };
        let here = line(&points, |point| point.cpu);
        lines.push(Line { name: format!("MTU {mtu}, here"), look, measured: true, points: here });
        let there = line(&points, |point| point.cpu_remote);
        lines.push(Line { name: format!("MTU {mtu}, there"), look: look.hollow(), measured: true, points: there });
    }
    lines_of(&lines, page, &CPU)
}
