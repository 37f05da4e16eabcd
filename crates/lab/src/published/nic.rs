//! Published figures of iperf by I/O size: what a T5 carried at least, from a size on.

use super::{Published, TableError};
use linerate_load::stream::{TCP_MAERTS, TCP_STREAM};
use linerate_result::{Comparison, Kind, Test, Unit};
use linerate_text::bytes;

pub(super) const TABLE: Published = Published {
    id: "t5-nic-iperf",
    source: "Chelsio, \"FreeBSD NIC at 40Gbps\", iperf -P 8 -w 512k, T580-LP-CR",
    csv: include_str!("../../data/t5_nic_iperf.csv"),
};

/// The plan of a published sweep, which has no figures.
pub(super) const PLAN: Published = Published {
    id: "emulex-netperf-plan",
    source: "Emulex, FreeBSD application note, netperf sweep",
    csv: include_str!("../../data/emulex_netperf_plan.csv"),
};

/// A figure: throughput from an I/O size on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct T5Nic {
    /// Bytes of the smallest I/O.
    pub io_bytes: u64,
    /// Bits per second, at least.
    pub bits_per_s: f64,
}

/// Number of streams of the published measurement.
const PARALLEL: u64 = 8;

/// The figure for one direction. For both directions none was published.
///
/// # Errors
/// The copied table cannot be read.
pub fn one_way() -> Result<T5Nic, TableError> {
    let rows = TABLE.rows()?;
    for row in 0..rows.rows.len() {
        if TABLE.field::<String>(&rows, row, "direction")? == "one-way" {
            let gigabits: f64 = TABLE.field(&rows, row, "gbit_per_s_at_least")?;
            let io_bytes = TABLE.field(&rows, row, "smallest_io_bytes_at_line_rate")?;
            return Ok(T5Nic { io_bytes, bits_per_s: gigabits * 1e9 });
        }
    }
    Err(TABLE.error(1, "no row of one direction"))
}

/// Published figure for a test: one direction, as many streams, an I/O at least as large.
pub fn of(test: &Test) -> Result<Option<T5Nic>, TableError> {
    let count = |name: &str| test.parameters.get(name).and_then(linerate_result::Parameter::count);
    let same =
        [TCP_STREAM.name, TCP_MAERTS.name].contains(&test.workload.as_str()) && count("parallel") == Some(PARALLEL);
    let row = one_way()?;
    Ok(Some(row).filter(|row| same && count("io_bytes").is_some_and(|bytes| bytes >= row.io_bytes)))
}

/// Comparison of the points that have a published counterpart.
pub fn compare(tests: &[Test]) -> Result<Vec<Comparison>, TableError> {
    let setup = TABLE.rows()?.setup;
    let mut comparisons = Vec::new();
    for test in tests {
        let (Some(row), Some(value)) = (of(test)?, &test.value) else { continue };
        let (name, published) = ("T5 NIC, one way, at least", row.bits_per_s.into());
        let (kind, unit) = (Kind::Published, Unit::BitsPerSecond);
        comparisons.push(Comparison::new(kind, &test.id, name, &setup, unit, published, value.median));
    }
    Ok(comparisons)
}

/// A row of a published plan: a test, its I/O sizes, and its socket buffers if it sets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Name of the test, as netperf has it.
    pub test: String,
    /// I/O sizes, bytes.
    pub sizes: Vec<u64>,
    /// Bytes of both socket buffers.
    pub buffers: Option<u64>,
}

/// The plan of the Emulex note.
///
/// # Errors
/// The copied table cannot be read.
pub fn emulex_plan() -> Result<Vec<Planned>, TableError> {
    let rows = PLAN.rows()?;
    let mut plan = Vec::new();
    for row in 0..rows.rows.len() {
        let wrong = |word: &str| PLAN.error(rows.rows[row].0, &format!("{word:?} is no size"));
        let sizes: String = PLAN.field(&rows, row, "block_sizes")?;
        let sizes = sizes.split_whitespace().map(|word| bytes(word).ok_or_else(|| wrong(word)));
        let buffers: String = PLAN.field(&rows, row, "socket_buffers")?;
        let buffers = match buffers.as_str() {
            "" => None,
            word => Some(bytes(word).ok_or_else(|| wrong(word))?),
        };
        plan.push(Planned { test: PLAN.field(&rows, row, "test")?, sizes: sizes.collect::<Result<_, _>>()?, buffers });
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::{Summary, parameters};

    #[test]
    fn the_figures_and_the_plan_are_as_published() {
        assert_eq!(one_way().unwrap(), T5Nic { io_bytes: 2048, bits_per_s: 37e9 });
        let plan = emulex_plan().unwrap();
        let sizes: Vec<_> = plan.iter().map(|row| (row.test.as_str(), row.sizes.len(), row.buffers)).collect();
        let wanted = [("TCP_STREAM", 13, None), ("TCP_SENDFILE", 13, None), ("UDP_STREAM", 11, Some(131_072))];
        assert_eq!(sizes, wanted);
        assert_eq!((plan[0].sizes[12], plan[2].sizes[10]), (262_144, 65_500));
    }

    #[test]
    fn only_what_was_published_is_compared() {
        let test = |workload: &str, io_bytes: u32, parallel: u32| Test {
            id: "t".into(),
            workload: workload.into(),
            parameters: parameters([("io_bytes", io_bytes.into()), ("parallel", parallel.into())]),
            value: Some(Summary::once(18.5e9, Unit::BitsPerSecond)),
            ..Test::default()
        };
        for (workload, io_bytes, parallel, compared) in [
            ("TCP_STREAM", 2048, 8, true),
            ("TCP_MAERTS", 262_144, 8, true),
            ("TCP_STREAM", 1024, 8, false),
            ("TCP_STREAM", 2048, 1, false),
            ("TCP_BIDIR", 4096, 8, false),
        ] {
            let found = compare(&[test(workload, io_bytes, parallel)]).unwrap();
            assert_eq!(found.len(), usize::from(compared), "{workload} {io_bytes} {parallel}");
            assert!(found.iter().all(|comparison| comparison.ratio.known() == Some(0.5)));
        }
    }
}
