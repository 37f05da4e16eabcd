//! The published FCoE table: throughput, IOPS and the target's processor time by I/O size.

use super::{Published, TableError};
use linerate_load::fcoe::{Mix, WORKLOAD};
use linerate_result::{Comparison, Kind, Parameter, Test, Unit};

pub(super) const TABLE: Published = Published {
    id: "t5-fcoe",
    source: "Chelsio, \"FCoE at 40Gbps with FC-BB-6\" (VN2VN), T580-CR",
    csv: include_str!("../../data/t5_fcoe.csv"),
};

#[derive(Clone, Debug, PartialEq)]
pub struct T5Fcoe {
    pub io_bytes: u32,
    pub mix: Mix,
    /// Millions of bytes per second.
    pub mb_per_s: f64,
    pub iops: f64,
    /// The target's processor time, per cent of its 8 cores.
    pub cpu_percent: f64,
}

/// All 21 rows: 63 figures.
///
/// # Errors
/// The copied table cannot be read.
pub fn t5_fcoe() -> Result<Vec<T5Fcoe>, TableError> {
    let rows = TABLE.rows()?;
    let read = |row: usize| {
        let word: String = TABLE.field(&rows, row, "op")?;
        let mix = Mix::parse(&word).ok_or_else(|| TABLE.error(rows.rows[row].0, &format!("unknown op {word:?}")))?;
        Ok(T5Fcoe {
            io_bytes: TABLE.field(&rows, row, "io_bytes")?,
            mix,
            mb_per_s: TABLE.field(&rows, row, "mb_per_s")?,
            iops: TABLE.field(&rows, row, "iops")?,
            cpu_percent: TABLE.field(&rows, row, "cpu_percent")?,
        })
    };
    (0..rows.rows.len()).map(read).collect()
}

/// Measurement and set-up, in the table's words.
pub fn setup() -> Result<String, TableError> {
    TABLE.rows().map(|rows| rows.setup)
}

/// Comparison of a sweep's points with the published throughput, IOPS and processor time of the same request size and mix, whatever the
/// wire: the published port had 40 Gb/s in each direction.
pub fn compare(tests: &[Test]) -> Result<Vec<Comparison>, TableError> {
    let (rows, setup) = (t5_fcoe()?, setup()?);
    let mut comparisons = Vec::new();
    for test in tests.iter().filter(|test| test.workload == WORKLOAD.name) {
        let parameter = |name: &str| test.parameters.get(name);
        let (op, bytes) = (parameter("op").and_then(Parameter::text), parameter("io_bytes").and_then(Parameter::count));
        let same = |row: &&T5Fcoe| op == Some(row.mix.word()) && bytes == Some(row.io_bytes.into());
        let Some(row) = rows.iter().find(same) else { continue };
        let mut add = |what: &str, unit, published: f64, ours| {
            let name = format!("T5 FCoE, {} of {} bytes, {what}", row.mix.title(), row.io_bytes);
            let kind = Kind::Published;
            comparisons.push(Comparison::new(kind, &test.id, &name, &setup, unit, published.into(), ours));
        };
        if let Some(value) = &test.value {
            add("throughput", Unit::BytesPerSecond, row.mb_per_s * 1e6, value.median);
        }
        if let Some(iops) = test.further.get("iops") {
            add("IOPS", Unit::Iops, row.iops, iops.median);
        }
        if let Some(cpu) = test.further.get("cpu") {
            add("the target's processor time", Unit::PerCent, row.cpu_percent, cpu.median);
        }
    }
    Ok(comparisons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_63_figures_are_as_published() {
        let rows = t5_fcoe().unwrap();
        assert_eq!(rows.len() * 3, 63);
        let row = |io_bytes, mix, mb_per_s, iops, cpu_percent| T5Fcoe { io_bytes, mix, mb_per_s, iops, cpu_percent };
        assert_eq!(rows[0], row(512, Mix::Read, 1049.0, 2_050_764.0, 91.0));
        assert_eq!(rows[11], row(4096, Mix::ReadWrite, 6325.0, 1_544_316.0, 93.0));
        assert_eq!(rows[20], row(32768, Mix::ReadWrite, 9423.0, 287_579.0, 78.0));
        let sum = |of: fn(&T5Fcoe) -> f64| rows.iter().map(of).sum::<f64>();
        assert_eq!((sum(|r| r.mb_per_s), sum(|r| r.iops), sum(|r| r.cpu_percent)), (91_208.0, 24_430_967.0, 1733.0));
        for row in &rows {
            let from_iops = row.iops * f64::from(row.io_bytes) / 1e6;
            assert!((from_iops / row.mb_per_s - 1.0).abs() < 0.002, "rate and IOPS agree: {row:?}");
        }
    }
}
