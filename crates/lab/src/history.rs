//! The history of the bench: a file to which each figure is appended as one line of JSON.

use crate::store::room_beside;
use crate::{bench, environment};
use linerate_host::place;
use linerate_load::bench::Compared;
use linerate_result::{Environment, Kind, Number, Timestamp};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The open file, and the fields that all its new lines have in common.
pub struct History {
    path: PathBuf,
    file: File,
    date: String,
    cpu: Value,
    kernel: Value,
}

#[derive(Debug, Error)]
pub enum HistoryError {
    #[error("--history {}: {why}; give a file that can be written", path.display())]
    Open { path: PathBuf, why: io::Error },
    #[error("--history {}: {why}; free some space", path.display())]
    Write { path: PathBuf, why: io::Error },
}

impl History {
    /// Opens the file, or makes it; existing lines stay unchanged.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let opened = place::append(path);
        let regular = |file: &File| file.metadata().is_ok_and(|file| file.is_file());
        let room = |file: File| if regular(&file) { room_beside(path).map(|()| file) } else { Ok(file) };
        let file = opened.and_then(room).map_err(|why| HistoryError::Open { path: path.to_owned(), why })?;
        let host = environment::read(&[]);
        let date = Timestamp::now().to_string().chars().take("2026-03-05".len()).collect();
        Ok(Self { path: path.to_owned(), file, date, cpu: cpu(&host), kernel: kernel(&host) })
    }

    /// Adds a bench's line; no line if the bench gave no figure.
    pub fn add(&mut self, compared: &Compared) -> Result<(), HistoryError> {
        let Some(line) = self.line(compared) else { return Ok(()) };
        // One write per line, so that two benches that append to one file do not mix their lines.
        self.file.write_all(line.as_bytes()).map_err(|why| HistoryError::Write { path: self.path.clone(), why })
    }

    fn line(&self, Compared { test, comparisons }: &Compared) -> Option<String> {
        let value = test.value.as_ref()?;
        let counted = test.counted();
        let trip = bench::round_trips(test).and_then(|trips| trips.median.known());
        let trip = trip.map_or_else(|| "null".to_owned(), |median| format!("{median:.0}"));
        let number = |number: Number, digits| number.known().map(|n| json!(rounded(n, digits)).to_string());
        let beside = comparisons.iter().filter_map(|all| {
            let [ratio, least, greatest] = all.times_better().map(|times| number(times, 3));
            let (ratio, counted) = (ratio?, all.rounds()?);
            let variant = all.variant.as_ref().map(|name| ("variant", json!(name).to_string()));
            let valid = (all.kind == Kind::Roof).then(|| ("valid", json!(all.is_valid()).to_string()));
            let always = [
                ("ratio", ratio),
                ("least", least?),
                ("greatest", greatest?),
                ("counted", counted.counted.to_string()),
                ("made", counted.made.to_string()),
            ];
            Some((all.name.as_str(), object(always.into_iter().chain(variant).chain(valid))))
        });
        // A ratio to a roof that cannot be right is left out.
        let valid = comparisons.iter().filter(|all| all.is_valid());
        let ratios = valid.filter_map(|all| Some((all.name.as_str(), number(all.times_better()[0], 3)?)));
        let line = object([
            ("date", json!(self.date).to_string()),
            ("cpu", self.cpu.to_string()),
            ("kernel", self.kernel.to_string()),
            ("bench", json!(test.id).to_string()),
            ("value", number(value.median, 4)?),
            ("unit", json!(value.unit.name()).to_string()),
            ("round_trip_ns", trip),
            ("ratios", object(ratios)),
            // Lines of older versions end here.
            ("least", number(value.least, 4)?),
            ("greatest", number(value.greatest, 4)?),
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

/// Rounds to `digits` significant digits: a bench is not more repeatable than that.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Model, cores and hypervisor, as far as they are known.
fn cpu(host: &Environment) -> Value {
    let model = host.cpu.as_ref().map(|model| model.replace("(R)", "").replace("(TM)", ""));
    let cores = host.cores.map(|cores| format!("{cores} cores"));
    let under = host.hypervisor.clone().filter(|name| name != "none").map(|name| format!("hypervisor: {name}"));
    let known: Vec<String> = [model, cores, under].into_iter().flatten().collect();
    if known.is_empty() { Value::Null } else { Value::from(known.join(", ")) }
}

/// Kernel release without the system's name, which is always the same.
fn kernel(host: &Environment) -> Value {
    host.kernel.as_deref().map(|kernel| kernel.strip_prefix("Linux ").unwrap_or(kernel)).into()
}

#[cfg(test)]
mod tests {
    use super::{History, object, rounded};
    use linerate_load::bench::Compared;
    use linerate_result::{Comparison, Kind, Repeat, Test, Unit};
    use serde_json::Value;

    /// An old line of the file has the ratio 9.35 to a memory copy as if it were valid.
    #[test]
    fn a_line_names_the_roofs_variant_and_leaves_out_ratios_that_are_not_valid() {
        let repeat = |value: Option<f64>| Repeat { value: value.into(), valid: value.is_some(), ..Repeat::default() };
        let repeats = [Some(3.0), Some(1.0), Some(2.0), None].map(repeat).into();
        let mut test = Test { id: "b".to_owned(), repeats, ..Test::default() };
        test.summarize(Unit::BytesPerSecond);
        let beside = |kind, name, ratios: &[f64], made| {
            let all = Comparison::new(kind, "b", name, "", Unit::BytesPerSecond, 1.0.into(), 1.0.into());
            let rounds: Vec<_> = ratios.iter().map(|ratio| ((*ratio).into(), 1.0.into())).collect();
            all.with_rounds(&rounds, made)
        };
        let roof = beside(Kind::Roof, "roof", &[0.7, 0.5, 0.6], 3);
        let comparisons = vec![
            beside(Kind::Roof, "passed", &[9.35], 1),
            Comparison { variant: Some("wide".to_owned()), ..roof },
            beside(Kind::Peer, "peer", &[9.35], 2),
            beside(Kind::Peer, "missing", &[], 0),
        ];
        let compared = Compared { test, comparisons };
        let file = std::fs::File::open("/dev/null").unwrap();
        let history =
            History { path: "h".into(), file, date: "2001-02-03".into(), cpu: Value::Null, kernel: Value::Null };
        let line = history.line(&compared).unwrap();
        for part in [
            r#""value": 2.0, "unit": "B/s", "round_trip_ns": null, "ratios": {"roof": 0.6, "peer": 9.35}, "#,
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
