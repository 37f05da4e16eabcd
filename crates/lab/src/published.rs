//! Published tables, copied figure by figure, and the tests of ours that they stand beside.
//!
//! A table is a CSV file under `data/` and one row of [`TABLES`]. Lines that start with `#` say what was measured on what,
//! in the publication's words; then come the names of the columns and the rows. The figures are shown as published and are
//! not measurements of this machine: other hardware, another day.

use linerate_load::result::{Comparison, Kind, Test, unit};
use thiserror::Error;

/// A table as it was published, still text.
pub struct Published {
    /// Name to look it up by.
    pub id: &'static str,
    /// Publisher and title.
    pub source: &'static str,
    /// The CSV file.
    pub csv: &'static str,
}

const T5_OUTPUT: Published = Published {
    id: "t5-netmap-pktgen",
    source: "Chelsio, \"T5 netmap Performance on FreeBSD\", pkt-gen output",
    csv: include_str!("../data/t5_netmap_pktgen.csv"),
};

const T5_SUMMARY: Published = Published {
    id: "t5-netmap-summary",
    source: "Chelsio, \"T5 netmap Performance on FreeBSD\", summary table",
    csv: include_str!("../data/t5_netmap_summary.csv"),
};

/// Every published table.
pub const TABLES: &[Published] = &[T5_OUTPUT, T5_SUMMARY];

/// A published table's text.
#[must_use]
pub fn table(id: &str) -> Option<&'static Published> {
    TABLES.iter().find(|table| table.id == id)
}

/// A line of a table that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("published table {table}, line {line}: {why}")]
pub struct TableError {
    /// The table's id.
    pub table: &'static str,
    /// Line of the CSV file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// A table's columns and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// What was measured on what.
    pub setup: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows with the line they stand on, each as long as `columns`.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl Published {
    /// Reads the table: comma-separated, without quotes.
    ///
    /// # Errors
    /// The first line whose length differs from the first's, or a table without columns.
    pub fn rows(&self) -> Result<Rows, TableError> {
        let mut setup = Vec::new();
        let mut lines = Vec::new();
        for (index, line) in self.csv.lines().enumerate() {
            match line.strip_prefix('#') {
                Some(comment) => setup.push(comment.trim()),
                None if line.trim().is_empty() => {}
                None => {
                    lines.push((index + 1, line.split(',').map(|field| field.trim().to_owned()).collect::<Vec<_>>()))
                }
            }
        }
        let mut lines = lines.into_iter();
        let (_, columns) = lines.next().ok_or_else(|| self.error(1, "no columns"))?;
        let rows: Vec<_> = lines.collect();
        if let Some((line, row)) = rows.iter().find(|(_, row)| row.len() != columns.len()) {
            return Err(self.error(*line, &format!("{} fields where {} columns are", row.len(), columns.len())));
        }
        Ok(Rows { setup: setup.join(" "), columns, rows })
    }

    fn error(&self, line: usize, why: &str) -> TableError {
        TableError { table: self.id, line, why: why.to_owned() }
    }

    /// The field of `column` in `row`, as a `T`.
    fn field<T: std::str::FromStr>(&self, rows: &Rows, row: usize, column: &str) -> Result<T, TableError> {
        let (line, fields) = &rows.rows[row];
        let at = rows.columns.iter().position(|name| name == column);
        let at = at.ok_or_else(|| self.error(1, &format!("no column {column}")))?;
        fields[at].parse().map_err(|_| self.error(*line, &format!("{:?} is no {column}", fields[at])))
    }
}

/// One figure of the T5's netmap paper: `pkt-gen -f tx`, frames of 64 bytes, summed over the ports that sent together.
#[derive(Clone, Debug, PartialEq)]
pub struct T5Netmap {
    /// The configuration's name as published, as `single port`.
    pub configuration: String,
    /// Ports that sent together.
    pub ports: usize,
    /// Packets per second over all of them, from pkt-gen's output.
    pub pps: f64,
    /// The rounded figure of the summary table, millions of packets per second.
    pub mpps: f64,
    /// Publication and set-up, in the table's own words.
    pub source: String,
}

/// The T5's netmap figures, one a configuration.
///
/// # Errors
/// The copied tables cannot be read or do not belong together.
pub fn t5_netmap() -> Result<Vec<T5Netmap>, TableError> {
    let (output, summary) = (T5_OUTPUT, T5_SUMMARY);
    let (lines, totals) = (output.rows()?, summary.rows()?);
    let mut figures = Vec::new();
    for row in 0..totals.rows.len() {
        let configuration: String = summary.field(&totals, row, "configuration")?;
        let ports = match configuration.as_str() {
            "single port" => 1,
            "dual port" => 2,
            other => return Err(summary.error(totals.rows[row].0, &format!("unknown configuration {other:?}"))),
        };
        let mut pps = 0.0;
        for line in 0..lines.rows.len() {
            if output.field::<usize>(&lines, line, "ports")? == ports {
                pps += output.field::<f64>(&lines, line, "pps")?;
            }
        }
        let mpps = summary.field(&totals, row, "mpps")?;
        let source = lines.setup.clone();
        figures.push(T5Netmap { configuration, ports, pps, mpps, source });
    }
    Ok(figures)
}

/// The published figures that stand beside `tests`: transmit rates of 64-byte frames (with FCS), by number of sending ports.
///
/// # Errors
/// See [`t5_netmap`].
pub fn compare(tests: &[Test]) -> Result<Vec<Comparison>, TableError> {
    let figures = t5_netmap()?;
    let mut comparisons = Vec::new();
    for test in tests.iter().filter(|test| test.workload == "tx" && test.wire_bytes == Some(64)) {
        let Some(value) = test.value.as_ref().filter(|value| value.unit == unit::PPS) else { continue };
        for figure in figures.iter().filter(|figure| figure.ports == test.senders()) {
            let name = format!("T5 netmap, {}", figure.configuration);
            let published = figure.pps.into();
            let kind = Kind::Published;
            comparisons.push(Comparison::new(
                kind,
                &test.id,
                &name,
                &figure.source,
                unit::PPS,
                published,
                value.median,
            ));
        }
    }
    Ok(comparisons)
}

#[cfg(test)]
mod tests {
    use linerate_load::result::{Number, PortUsed, Role, Summary};

    use super::*;

    #[test]
    fn every_table_reads_and_says_its_source() {
        for table in TABLES {
            let rows = table.rows().unwrap();
            assert!(!rows.rows.is_empty() && !rows.setup.is_empty() && !table.source.is_empty(), "{}", table.id);
        }
        assert!(table("t5-netmap-summary").is_some() && table("other").is_none());
    }

    #[test]
    fn the_t5_figures_are_the_papers() {
        let figures = t5_netmap().unwrap();
        let list: Vec<_> = figures.iter().map(|f| (f.configuration.as_str(), f.ports, f.pps, f.mpps)).collect();
        assert_eq!(list, [("single port", 1, 44_566_673.0, 45.0), ("dual port", 2, 53_596_764.0, 54.0)]);
        for figure in figures {
            assert_eq!((figure.pps / 1e6).round(), figure.mpps, "the two tables agree");
            assert!(figure.source.contains("Chelsio") && figure.source.contains("T580-CR"));
        }
    }

    #[test]
    fn a_ragged_or_empty_table_is_an_error_that_names_the_line() {
        let error = Published { id: "x", source: "", csv: "# s\na,b\n1,2\n3\n" }.rows().unwrap_err();
        assert_eq!(error.to_string(), "published table x, line 4: 1 fields where 2 columns are");
        assert!(Published { id: "x", source: "", csv: "" }.rows().is_err());
    }

    #[test]
    fn only_64_byte_transmit_tests_are_compared_and_by_their_senders() {
        let port = |role| PortUsed { role, ..PortUsed::default() };
        let value = |median: f64| Summary {
            median: median.into(),
            least: median.into(),
            greatest: median.into(),
            unit: unit::PPS.to_owned(),
        };
        let one = Test {
            id: "one".to_owned(),
            workload: "tx".to_owned(),
            wire_bytes: Some(64),
            ports: vec![port(Role::Tx), port(Role::Rx)],
            value: Some(value(22_283_336.5)),
            ..Test::default()
        };
        let two = Test { ports: vec![port(Role::Tx), port(Role::Both)], id: "two".to_owned(), ..one.clone() };
        let large = Test { wire_bytes: Some(1518), ..one.clone() };
        let receive = Test { workload: "rx".to_owned(), ..one.clone() };
        let unmeasured = Test { value: None, ..one.clone() };
        let found = compare(&[one, two, large, receive, unmeasured]).unwrap();
        let list: Vec<_> = found.iter().map(|c| (c.test.as_str(), c.name.as_str(), c.value.known())).collect();
        assert_eq!(
            list,
            [
                ("one", "T5 netmap, single port", Some(44_566_673.0)),
                ("two", "T5 netmap, dual port", Some(53_596_764.0))
            ]
        );
        assert_eq!(found[0].ratio, Number::new(0.5));
    }
}
