//! The history of the bench: a file to which each figure is added as one line of JSON.

use crate::environment;
use linerate_load::bench::{Bench, Compared, spread};
use linerate_result::{Environment, Timestamp};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The open file, and what all its new lines have in common.
pub struct History {
    path: PathBuf,
    file: File,
    date: String,
    cpu: Value,
    kernel: Value,
}

/// Why a history cannot be kept.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The file could not be opened or made.
    #[error("--history {}: {why}; give a file that can be written", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        why: io::Error,
    },
    /// A line could not be added.
    #[error("--history {}: {why}; free some space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        why: io::Error,
    },
}

impl History {
    /// Opens the file, or makes it; nothing in it is changed.
    ///
    /// # Errors
    /// [`HistoryError::Open`].
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let opened = OpenOptions::new().append(true).create(true).open(path);
        let file = opened.map_err(|why| HistoryError::Open { path: path.to_owned(), why })?;
        let host = environment::read(&[]);
        let date = Timestamp::now().to_string().chars().take("2026-03-05".len()).collect();
        Ok(Self { path: path.to_owned(), file, date, cpu: cpu(&host), kernel: kernel(&host) })
    }

    /// Adds a bench's line; none if it gave no figure.
    ///
    /// # Errors
    /// [`HistoryError::Write`].
    pub fn add(&mut self, bench: &Bench, compared: &Compared) -> Result<(), HistoryError> {
        let Some(line) = self.line(bench, compared) else { return Ok(()) };
        // In one piece, so that two benches that write to one file do not mix their lines.
        self.file.write_all(line.as_bytes()).map_err(|why| HistoryError::Write { path: self.path.clone(), why })
    }

    fn line(&self, bench: &Bench, compared: &Compared) -> Option<String> {
        let [value, least, greatest] = compared.own_spread()?;
        let counted = compared.counted();
        let trips: Vec<f64> = compared.own.iter().filter_map(|figure| figure.round_trips).flatten().collect();
        let trip = spread(&trips).map_or_else(|| "null".to_owned(), |[median, ..]| format!("{median:.0}"));
        // A ratio to a roof that cannot be right is none.
        let valid = || bench.peers.iter().filter(|peer| compared.is_valid(peer));
        let ratios = valid().filter_map(|peer| {
            let [ratio, ..] = compared.ratio_of(peer)?;
            Some((peer.name, json!(rounded(ratio, 3)).to_string()))
        });
        let beside = bench.peers.iter().filter_map(|peer| {
            let ratio = compared.ratio_of(peer)?;
            let [ratio, least, greatest] = ratio.map(|ratio| json!(rounded(ratio, 3)).to_string());
            let counted = compared.counted_of(peer);
            let variant = compared.variant_of(peer).map(|name| ("variant", json!(name).to_string()));
            let valid = peer.is_roof().then(|| ("valid", json!(compared.is_valid(peer)).to_string()));
            let always = [
                ("ratio", ratio),
                ("least", least),
                ("greatest", greatest),
                ("counted", counted.counted.to_string()),
                ("made", counted.made.to_string()),
            ];
            Some((peer.name, object(always.into_iter().chain(variant).chain(valid))))
        });
        let line = object([
            ("date", json!(self.date).to_string()),
            ("cpu", self.cpu.to_string()),
            ("kernel", self.kernel.to_string()),
            ("bench", json!(bench.name).to_string()),
            ("value", json!(rounded(value, 4)).to_string()),
            ("unit", json!(bench.unit.name()).to_string()),
            ("round_trip_ns", trip),
            ("ratios", object(ratios)),
            // Lines of before end here.
            ("least", json!(rounded(least, 4)).to_string()),
            ("greatest", json!(rounded(greatest, 4)).to_string()),
            ("counted", counted.counted.to_string()),
            ("made", counted.made.to_string()),
            ("beside", object(beside)),
        ]);
        Some(line + "\n")
    }
}

/// A JSON object whose members stay in this order, for people who read the file.
fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let members: Vec<String> =
        members.into_iter().map(|(name, value)| format!("{}: {value}", Value::from(name))).collect();
    format!("{{{}}}", members.join(", "))
}

/// To so many digits: what a bench repeats is not better than that.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Model, cores, and what it runs under, as far as they are known.
fn cpu(host: &Environment) -> Value {
    let model = host.cpu.as_ref().map(|model| model.replace("(R)", "").replace("(TM)", ""));
    let cores = host.cores.map(|cores| format!("{cores} cores"));
    let under = host.hypervisor.clone().filter(|name| name != "none").map(|name| format!("hypervisor: {name}"));
    let known: Vec<String> = [model, cores, under].into_iter().flatten().collect();
    if known.is_empty() { Value::Null } else { Value::from(known.join(", ")) }
}

/// The release alone: the name is the same everywhere.
fn kernel(host: &Environment) -> Value {
    host.kernel.as_deref().map(|kernel| kernel.strip_prefix("Linux ").unwrap_or(kernel)).into()
}

#[cfg(test)]
mod tests {
    use super::{History, object, rounded};
    use linerate_load::bench::{Bench, Compared, Figure, How, Peer, Unit};
    use serde_json::Value;

    /// The ratio 9.35 to a copy stands in a line of before, as if it were one.
    #[test]
    fn a_line_names_the_roofs_variant_and_leaves_out_ratios_that_are_not_valid() {
        const BENCH: Bench = Bench {
            name: "b",
            about: "",
            unit: Unit::BytesPerSecond,
            two_cores: false,
            bound: None,
            run: |_| Ok(1.0),
            peers: &[
                Peer { name: "passed", how: How::Best(Vec::new), wanted: None },
                Peer { name: "roof", how: How::Best(Vec::new), wanted: None },
                Peer { name: "peer", how: How::Own(|_| Ok(1.0)), wanted: None },
            ],
        };
        let compared = Compared {
            own: [3.0, 1.0, 2.0].map(|value| Figure { value, round_trips: None }).into(),
            made: 4,
            ratios: [("passed", vec![9.35]), ("roof", vec![0.7, 0.5, 0.6]), ("peer", vec![9.35])].into(),
            peers_made: [("passed", 1), ("roof", 3), ("peer", 2)].into(),
            variants: [("roof", vec!["wide".to_owned()])].into(),
            ..Compared::default()
        };
        let file = std::fs::File::open("/dev/null").unwrap();
        let history =
            History { path: "h".into(), file, date: "2001-02-03".into(), cpu: Value::Null, kernel: Value::Null };
        let line = history.line(&BENCH, &compared).unwrap();
        for part in [
            r#""value": 2.0, "unit": "bytes/s", "round_trip_ns": null, "ratios": {"roof": 0.6, "peer": 9.35}, "#,
            r#""least": 1.0, "greatest": 3.0, "counted": 3, "made": 4, "beside": {"#,
            r#""passed": {"ratio": 9.35, "least": 9.35, "greatest": 9.35, "counted": 1, "made": 1, "valid": false}"#,
            r#""roof": {"ratio": 0.6, "least": 0.5, "greatest": 0.7, "counted": 3, "made": 3, "variant": "wide", "valid": true}"#,
            r#""peer": {"ratio": 9.35, "least": 9.35, "greatest": 9.35, "counted": 1, "made": 2}"#,
        ] {
            assert!(line.contains(part), "{part}\n{line}");
        }
    }

    #[test]
    fn figures_keep_so_many_digits() {
        for (value, digits, wanted) in
            [(71_612_345.6, 4, 71_610_000.0), (2.843_21, 4, 2.843), (0.0, 4, 0.0), (1.0549, 3, 1.05)]
        {
            assert_eq!(rounded(value, digits).to_bits(), f64::to_bits(wanted), "{value}");
        }
    }

    #[test]
    fn members_stay_in_order_and_names_are_escaped() {
        assert_eq!(object([("b", "1".to_owned()), ("a\"", object([]))]), r#"{"b": 1, "a\"": {}}"#);
    }
}
