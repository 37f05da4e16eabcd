//! Published tables, copied figure by figure, and the comparison of our tests with them.
//!
//! A table is a CSV file under `data/` and one row of [`TABLES`]. Lines that start with `#` describe measurement and
//! set-up, in the publication's words; then come the names of the columns and the rows. The figures are shown as
//! published and are not measurements of this machine: other hardware, another time.

pub mod fcoe;
pub mod nic;

use linerate_result::{Comparison, Kind, Test, Unit};
use thiserror::Error;

use crate::noise::{Time, noise};

/// A table as it was published, as text.
pub struct Published {
    pub id: &'static str,
    /// Publisher and title.
    pub source: &'static str,
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

const ETHER_OUTPUT: Published = Published {
    id: "ether-output-2012",
    source: "L. Rizzo, freebsd-current, April-May 2012, cost of stages of ether_output()",
    csv: include_str!("../data/ether_output_2012.csv"),
};

pub const TABLES: &[Published] = &[T5_OUTPUT, T5_SUMMARY, ETHER_OUTPUT, fcoe::TABLE, nic::TABLE, nic::PLAN];

#[must_use]
pub fn table(id: &str) -> Option<&'static Published> {
    TABLES.iter().find(|table| table.id == id)
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("published table {table}, line {line}: {why}")]
pub struct TableError {
    pub table: &'static str,
    /// Line of the CSV file, from 1.
    pub line: usize,
    pub why: String,
}

/// Columns and rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    pub setup: String,
    pub columns: Vec<String>,
    /// Rows with their line numbers in the file, each as long as `columns`.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl Published {
    /// Reads the table: comma-separated, without quotes.
    ///
    /// # Errors
    /// [`TableError`] for the first line whose number of fields differs from the header's, or for a table without
    /// columns.
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

    /// Parses the field of `column` in `row` as a `T`.
    fn field<T: std::str::FromStr>(&self, rows: &Rows, row: usize, column: &str) -> Result<T, TableError> {
        let (line, fields) = &rows.rows[row];
        let at = rows.columns.iter().position(|name| name == column);
        let at = at.ok_or_else(|| self.error(1, &format!("no column {column}")))?;
        fields[at].parse().map_err(|_| self.error(*line, &format!("{:?} is no {column}", fields[at])))
    }
}

/// One figure of the T5's netmap paper: `pkt-gen -f tx`, frames of 64 bytes, summed over the ports that sent at once.
#[derive(Clone, Debug, PartialEq)]
pub struct T5Netmap {
    /// Name of the configuration as published, such as `single port`.
    pub configuration: String,
    /// Number of ports that sent at once.
    pub ports: usize,
    /// Packets per second summed over the ports, from pkt-gen's output.
    pub pps: f64,
    /// Rounded figure of the summary table, millions of packets per second.
    pub mpps: f64,
    /// Publication and set-up, in the table's words.
    pub source: String,
}

/// The T5's netmap figures, one per configuration.
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

/// Workloads whose rates are what was sent: of qualify, and those of sweeps.
const SENT: [&str; 3] = ["tx", "pkt-gen", "pkt-gen-pair"];

/// Comparison of `tests` with the published figures: transmit rates of 64-byte frames (with FCS), by number of sending
/// ports.
pub fn compare(tests: &[Test]) -> Result<Vec<Comparison>, TableError> {
    let figures = t5_netmap()?;
    let mut comparisons = Vec::new();
    for test in tests.iter().filter(|test| SENT.contains(&&*test.workload) && test.wire_bytes == Some(64)) {
        let Some(value) = test.value.as_ref().filter(|value| value.unit == Unit::Pps) else { continue };
        for figure in figures.iter().filter(|figure| figure.ports == test.senders()) {
            let name = format!("T5 netmap, {}", figure.configuration);
            let published = figure.pps.into();
            let kind = Kind::Published;
            comparisons.push(Comparison::new(
                kind,
                &test.id,
                &name,
                &figure.source,
                Unit::Pps,
                published,
                value.median,
            ));
        }
    }
    Ok(comparisons)
}

/// Time of a stage of FreeBSD's `ether_output()`, published in 2012.
#[derive(Clone, Debug, PartialEq)]
pub struct EtherOutput {
    pub stage: String,
    /// Least value of the published range, ns per packet.
    pub least: f64,
    /// Greatest value of the range; the same as `least` where one figure was published.
    pub most: f64,
    /// Publication and set-up.
    pub source: String,
}

/// The figures of 2012: the whole of `ether_output()` first, then parts of it.
///
/// # Errors
/// The copied table cannot be read.
pub fn ether_output() -> Result<Vec<EtherOutput>, TableError> {
    let rows = ETHER_OUTPUT.rows()?;
    let read = |row: usize| {
        let range: String = ETHER_OUTPUT.field(&rows, row, "ns")?;
        let (least, most) = range.split_once('-').unwrap_or((&range, &range));
        let number = |text: &str| {
            let wrong = |_| ETHER_OUTPUT.error(rows.rows[row].0, &format!("{range:?} is no range of ns"));
            text.parse::<f64>().map_err(wrong)
        };
        let (least, most) = (number(least)?, number(most)?);
        Ok(EtherOutput { stage: ETHER_OUTPUT.field(&rows, row, "stage")?, least, most, source: rows.setup.clone() })
    };
    (0..rows.rows.len()).map(read).collect()
}

/// Published rows of [`ether_output`], and the stages of ours that together do the same work.
const SAME_AS_2012: &[(usize, &[&str])] = &[
    (0, &["neighbour, ethernet"]),
    (0, &["neighbour", "ethernet header", "loopback check"]),
    (1, &["neighbour"]),
    (3, &["ethernet header", "loopback check"]),
];

/// Comparison of stages of ours with the figures of 2012 for the same work. A published range is left out.
pub fn compare_stages(tests: &[Test]) -> Result<Vec<Comparison>, TableError> {
    let published = ether_output()?;
    let mut comparisons = Vec::new();
    for test in tests {
        for (row, names) in SAME_AS_2012 {
            let Some(theirs) = published.get(*row).filter(|row| row.least == row.most) else { continue };
            // A stage that was measured by two methods is compared by the one without clock readings in between.
            if let Some(how) = test.ways().last().copied() {
                let of = |name: &&str| test.stages.iter().find(|stage| stage.how == how && stage.name == *name);
                let Some(stages) = names.iter().map(of).collect::<Option<Vec<_>>>() else { continue };
                let Some(ours) = stages.iter().map(|stage| stage.median()).sum::<Option<f64>>() else { continue };
                // A time below its noise is not compared.
                let noise = stages.iter().map(|stage| noise(stage)).sum();
                let Time::Is(ours) = Time::of(ours, noise) else { continue };
                let name = format!("2012: {} / {}", theirs.stage, names.join(" + "));
                let kind = Kind::Published;
                let value = theirs.least.into();
                comparisons.push(Comparison::new(kind, &test.id, &name, &theirs.source, Unit::Ns, value, ours.into()));
            }
        }
    }
    Ok(comparisons)
}

/// Comparisons of the tests with the figures of all published tables.
#[must_use]
pub fn beside(tests: &[Test]) -> Vec<Comparison> {
    let tables = [compare(tests), compare_stages(tests), fcoe::compare(tests), nic::compare(tests)];
    tables.into_iter().flat_map(Result::unwrap_or_default).collect()
}

/// Measurement and set-up of the published table that one of these tests stands beside; empty if none does.
#[must_use]
pub(crate) fn setup(tests: &[(usize, &Test)]) -> String {
    let found = tests.iter().find_map(|(_, test)| beside(std::slice::from_ref(*test)).into_iter().next());
    found.map_or_else(String::new, |comparison| format!("Published: {}", comparison.source))
}

#[cfg(test)]
mod tests {
    use linerate_result::{Number, PortUsed, Role, Summary};

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
    fn the_2012_figures_are_as_published() {
        let rows = ether_output().unwrap();
        let figures: Vec<_> = rows.iter().map(|row| (row.least, row.most)).collect();
        assert_eq!(figures, [(210.0, 210.0), (100.0, 100.0), (30.0, 40.0), (100.0, 100.0)]);
        assert!(rows[0].source.contains("Rizzo") && rows[2].stage.contains("flowtable"));
    }

    #[test]
    fn stages_stand_beside_what_did_the_same_in_2012() {
        use linerate_result::{How, Stage};
        let stage = |name: &str, ns: f64| Stage::new(name, How::TimeStamps, "", &[ns]);
        let own = Test {
            id: "own".to_owned(),
            stages: vec![stage("neighbour", 20.0), stage("ethernet header", 10.0), stage("loopback check", 0.5)],
            ..Test::default()
        };
        let kernel = Test { id: "k".to_owned(), stages: vec![stage("neighbour, ethernet", 42.0)], ..Test::default() };
        let found = compare_stages(&[own, kernel, Test::default()]).unwrap();
        let list: Vec<_> = found.iter().map(|c| (c.test.as_str(), c.value.known(), c.ours.known())).collect();
        let known = |theirs, ours| (Some(theirs), Some(ours));
        let expected = [
            ("own", known(210.0, 30.5)),
            ("own", known(100.0, 20.0)),
            ("own", known(100.0, 10.5)),
            ("k", known(210.0, 42.0)),
        ];
        assert_eq!(list, expected.map(|(id, (theirs, ours))| (id, theirs, ours)));
    }

    #[test]
    fn a_stage_below_its_noise_is_not_compared() {
        use linerate_result::{How, Stage};
        let of = |rounds: &[f64]| Test {
            stages: vec![Stage::new("neighbour, ethernet", How::CutPoint, "", rounds)],
            ..Test::default()
        };
        assert!(compare_stages(&[of(&[-96.8]), of(&[-60.0, 5.0, 70.0])]).unwrap().is_empty());
        assert_eq!(compare_stages(&[of(&[40.0, 42.0, 45.0])]).unwrap().len(), 1);
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
        let value = |median: f64| Summary::once(median, Unit::Pps);
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
