//! Points of a sweep over streams as displayed: as a summary, and as a table.

mod beside;
mod summary;

pub(crate) use beside::beside;
pub(crate) use summary::summary;

use crate::published::nic::T5Nic;
use crate::varied::varied;
use linerate_load::Workload;
use linerate_load::stream::{TCP_BIDIR, TCP_MAERTS, TCP_SENDFILE, TCP_STREAM, UDP_STREAM};
use linerate_result::{RunResult, Test};

/// Workloads whose points are shown so, in the order of the report.
pub(crate) const WORKLOADS: [&Workload; 5] = [&TCP_STREAM, &TCP_MAERTS, &TCP_BIDIR, &TCP_SENDFILE, &UDP_STREAM];

/// True if a test is such a point.
pub(crate) fn is_point(test: &Test) -> bool {
    WORKLOADS.iter().any(|workload| workload.name == test.workload)
}

#[derive(Clone, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) workload: &'a str,
    pub(crate) mtu: u64,
    pub(crate) io_bytes: u64,
    /// Goodput: bits that arrived per second, without any header.
    pub(crate) bits_per_s: f64,
    /// Processor time at both ends, per cent of one core.
    pub(crate) cpu: Option<f64>,
    pub(crate) cpu_remote: Option<f64>,
    /// Rate of datagrams sent, bits per second, and share of them that did not arrive, per cent.
    pub(crate) offered: Option<f64>,
    pub(crate) lost: Option<f64>,
    /// Values of further parameters in which the points of this workload differ; empty if they do not.
    pub(crate) varied: String,
    /// Index of the test among the run's tests.
    index: usize,
    /// Published row for the same I/O size.
    pub(crate) published: Option<T5Nic>,
}

/// All measured points of a run.
pub(crate) fn points(run: &RunResult) -> Vec<Shown<'_>> {
    let mut points: Vec<Shown<'_>> =
        run.tests.iter().enumerate().filter_map(|(index, test)| measured(index, test)).collect();
    for workload in WORKLOADS {
        let mut of: Vec<_> = points.iter_mut().filter(|point| point.workload == workload.name).collect();
        let tests: Vec<&Test> = of.iter().map(|point| &run.tests[point.index]).collect();
        let texts = varied(&tests, &["io_bytes", "mtu"]);
        of.iter_mut().zip(texts).for_each(|(point, text)| point.varied = text);
    }
    points
}

fn measured(index: usize, test: &Test) -> Option<Shown<'_>> {
    let further = |name: &str| test.further.get(name).and_then(|summary| summary.median.known());
    let count = |name: &str| test.parameters.get(name)?.count();
    Some(Shown {
        workload: Some(test.workload.as_str()).filter(|_| is_point(test))?,
        mtu: count("mtu").unwrap_or(1500),
        io_bytes: count("io_bytes").filter(|bytes| *bytes > 0)?,
        bits_per_s: test.value.as_ref()?.median.known()?,
        cpu: further("cpu"),
        cpu_remote: further("cpu_remote"),
        offered: further("offered"),
        lost: further("lost"),
        varied: String::new(),
        index,
        published: crate::published::nic::of(test).ok().flatten(),
    })
}
