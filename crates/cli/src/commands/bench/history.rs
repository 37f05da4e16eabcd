//! The history of the bench: a file to which each figure is added as one line of JSON.

use crate::trouble::Trouble;
use linerate_lab::environment;
use linerate_load::bench::{Bench, Compared, spread};
use linerate_load::result::{Environment, Timestamp};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The open file, and what all its new lines have in common.
pub(super) struct History {
    path: PathBuf,
    file: File,
    date: String,
    cpu: Value,
    kernel: Value,
}

impl History {
    /// Opens the file, or makes it; nothing in it is changed.
    pub(super) fn open(path: &Path) -> Result<Self, Trouble> {
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(|e| {
            Trouble::usage(format!("--history {}: {e}; give a file that can be written", path.display()))
        })?;
        let host = environment::read(&[]);
        let date = Timestamp::now().to_string().chars().take("2026-03-05".len()).collect();
        Ok(Self { path: path.to_owned(), file, date, cpu: cpu(&host), kernel: kernel(&host) })
    }

    /// Adds a bench's line; none if it gave no figure.
    pub(super) fn add(&mut self, bench: &Bench, compared: &Compared) -> Result<(), Trouble> {
        let Some(line) = self.line(bench, compared) else { return Ok(()) };
        // In one piece, so that two benches that write to one file do not mix their lines.
        self.file
            .write_all(line.as_bytes())
            .map_err(|e| Trouble::failed(format!("--history {}: {e}; free some space", self.path.display())))
    }

    fn line(&self, bench: &Bench, compared: &Compared) -> Option<String> {
        let own: Vec<f64> = compared.own.iter().map(|figure| figure.value).collect();
        let [value, ..] = spread(&own)?;
        let trips: Vec<f64> = compared.own.iter().filter_map(|figure| figure.round_trips).flatten().collect();
        let trip = spread(&trips).map_or_else(|| "null".to_owned(), |[median, ..]| format!("{median:.0}"));
        let ratios = bench.peers.iter().filter_map(|peer| {
            let [ratio, ..] = spread(compared.ratios.get(peer.name)?)?;
            Some((peer.name, json!(rounded(ratio, 3)).to_string()))
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
    use super::{object, rounded};

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
