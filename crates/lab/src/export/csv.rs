//! A tidy table (RFC 4180): one figure a row, with its run, test, parameters and unit.
//!
//! `n` numbers repeats and samples, `t_s` is a sample's time. Repeats that do not count are named `discarded`. Numbers are written
//! with all their digits.

use std::fmt::Write as _;

use linerate_result::{Number, Role, RunResult, Summary, Test, Unit};

use linerate_text::plain_lines;

use super::{Export, ExportError, parameters};

pub(super) const EXPORT: Export =
    Export { name: "csv", about: "a tidy table: a row for each figure, repeat and sample", packed: false, write };

const HEAD: &str = "run,test,parameters,metric,n,t_s,unit,value\r\n";

fn write(runs: &[RunResult]) -> Result<String, ExportError> {
    let mut text = HEAD.to_owned();
    for run in runs {
        if run.tests.is_empty() {
            return Err(ExportError::of(run, "it has no tests, so there is nothing for a table"));
        }
        run.tests.iter().for_each(|test| Rows { run, test, parameters: parameters(&test.parameters) }.write(&mut text));
    }
    Ok(text)
}

struct Rows<'a> {
    run: &'a RunResult,
    test: &'a Test,
    parameters: String,
}

impl Rows<'_> {
    fn row(&self, text: &mut String, metric: &str, place: (&str, &str), unit: &Unit, value: Number) {
        let Some(value) = value.known() else { return };
        let cells = [&self.run.run_id, &self.test.id, &self.parameters, metric, place.0, place.1, unit.name()];
        for cell in cells {
            text.push_str(&quoted(cell));
            text.push(',');
        }
        let _ = write!(text, "{value}\r\n");
    }

    fn summary(&self, text: &mut String, name: &str, of: &Summary) {
        for (kind, value) in [("median", of.median), ("least", of.least), ("greatest", of.greatest)] {
            let metric = if name.is_empty() { kind.to_owned() } else { format!("{name} {kind}") };
            self.row(text, &metric, ("", ""), &of.unit, value);
        }
    }

    fn write(&self, text: &mut String) {
        let test = self.test;
        let unit = crate::view::unit(test);
        if let Some(value) = &test.value {
            self.summary(text, "", value);
        }
        for (repeat, n) in test.repeats.iter().zip(1..) {
            let metric = if repeat.valid { "repeat" } else { "discarded" };
            self.row(text, metric, (&format!("{n}"), ""), &unit, repeat.value);
        }
        let sample_of = match test.samples_of {
            None => "sample",
            Some(Role::Tx) => "sample of the sender",
            Some(Role::Rx) => "sample of the receiver",
            Some(Role::Both) => "sample of both ways",
        };
        for (sample, n) in test.samples.iter().zip(1..) {
            let at = sample.t_s.known().map(|t| t.to_string()).unwrap_or_default();
            self.row(text, sample_of, (&format!("{n}"), &at), &unit, sample.value);
        }
        test.further.iter().for_each(|(name, of)| self.summary(text, name, of));
        for stage in &test.stages {
            if let Some(ns) = &stage.ns {
                self.summary(text, &format!("stage {} ({})", stage.name, stage.how.name()), ns);
            }
        }
        for (timed, latency) in test.latencies() {
            for (name, ns) in latency.quantiles().into_iter().chain([("mean", latency.mean)]) {
                self.row(text, &format!("latency{timed} {name}"), ("", ""), &Unit::Ns, ns);
            }
        }
        let count = Unit::Other("count".into());
        for (port, name, value) in test.counters.iter() {
            let metric = port.map_or_else(|| format!("counter {name}"), |port| format!("counter {name} of {port}"));
            #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 the last digits do not matter")]
            self.row(text, &metric, ("", ""), &count, Number::new(value as f64));
        }
    }
}

/// A cell, in quotes where it needs them. What a spreadsheet would take for a formula has an apostrophe before it.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    // A terminal would take control characters for commands; a line break stays in its quotes.
    let cell = plain_lines(cell);
    let cell = if formula { format!("'{cell}") } else { cell };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (cell, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("=1+1", "'=1+1"),
            ("\x1b[2J", "\u{fffd}[2J"),
            ("", ""),
        ] {
            assert_eq!(quoted(cell), written);
        }
    }
}
