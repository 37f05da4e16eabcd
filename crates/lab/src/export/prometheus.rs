//! Prometheus' text format, version 0.0.4: gauges in base units (seconds, bytes, ratios of one), one family a unit.
//!
//! Samples over time are left out: the format has one value a series. No time-stamps are written, because a server
//! refuses old ones; a run's start is a gauge of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linerate_result::{Number, RunResult, Summary, Unit};

use linerate_text::plain;

use super::{Export, ExportError, parameters};

pub(super) const EXPORT: Export = Export {
    name: "prometheus",
    about: "Prometheus' text format: gauges of medians, least and greatest",
    packed: false,
    write,
};

/// Families by name, each with its help and lines.
type Families = BTreeMap<&'static str, (&'static str, Vec<String>)>;

#[expect(clippy::unnecessary_wraps, reason = "what the table takes")]
fn write(runs: &[RunResult]) -> Result<String, ExportError> {
    let mut families = Families::new();
    runs.iter().for_each(|run| of_run(run, &mut families));
    let mut text = String::new();
    for (name, (help, lines)) in families {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        lines.iter().for_each(|line| text += line);
    }
    Ok(text)
}

fn of_run(run: &RunResult, families: &mut Families) {
    let environment = &run.environment;
    let known = |text: &Option<String>| text.clone().unwrap_or_default();
    let labels = [
        ("run", run.run_id.clone()),
        ("outcome", run.outcome.word().to_owned()),
        ("host", known(&environment.host)),
        ("kernel", known(&environment.kernel)),
        ("cpu", known(&environment.cpu)),
        ("command", run.command_line.join(" ")),
    ];
    add(families, "linerate_run_info", "A run: its machine and its outcome.", &labels, 1.0.into());
    let only = [("run", run.run_id.clone())];
    let start = run.start.milliseconds() as f64 / 1000.0;
    add(families, "linerate_run_start_timestamp_seconds", "Start of a run, seconds since 1970.", &only, start.into());
    add(families, "linerate_run_duration_seconds", "Duration of a run.", &only, run.elapsed_s);
    for test in &run.tests {
        let labels = |metric: &str, statistic: &str| {
            [
                ("run", run.run_id.clone()),
                ("test", test.id.clone()),
                ("workload", test.workload.clone()),
                ("parameters", parameters(&test.parameters)),
                ("metric", metric.to_owned()),
                ("statistic", statistic.to_owned()),
            ]
        };
        let value = test.value.iter().map(|of| ("value".to_owned(), of));
        let further = test.further.iter().map(|(name, of)| (name.clone(), of));
        let stages = test
            .stages
            .iter()
            .filter_map(|stage| Some((format!("stage {} ({})", stage.name, stage.how.name()), stage.ns.as_ref()?)));
        for (metric, of) in value.chain(further).chain(stages) {
            let Summary { median, least, greatest, .. } = of;
            for (statistic, number) in [("median", median), ("least", least), ("greatest", greatest)] {
                in_unit(families, &labels(&metric, statistic), &of.unit, *number);
            }
        }
        for (timed, latency) in test.latencies() {
            for (name, ns) in latency.quantiles().into_iter().chain([("mean", latency.mean)]) {
                in_unit(families, &labels(&format!("latency{timed}"), name), &Unit::Ns, ns);
            }
        }
        let counted = test.counted();
        for (statistic, number) in [("counted", counted.counted), ("made", counted.made)] {
            let help = "Repeats of a test: all that were made, and those that count.";
            add(families, "linerate_test_repeats", help, &labels("repeats", statistic), Number::new(number as f64));
        }
    }
}

fn in_unit(families: &mut Families, labels: &[(&str, String)], unit: &Unit, value: Number) {
    let (name, help, scale) = match unit {
        Unit::Pps => ("linerate_test_packets_per_second", "Packets per second.", 1.0),
        Unit::BitsPerSecond => ("linerate_test_bytes_per_second", "Bytes per second.", 0.125),
        Unit::BytesPerSecond => ("linerate_test_bytes_per_second", "Bytes per second.", 1.0),
        Unit::Iops => ("linerate_test_requests_per_second", "Requests to a storage device per second.", 1.0),
        Unit::TransactionsPerSecond => {
            ("linerate_test_transactions_per_second", "Requests with their responses per second.", 1.0)
        }
        Unit::Ns => ("linerate_test_seconds", "A time in seconds.", 1e-9),
        Unit::Bytes => ("linerate_test_bytes", "Bytes of memory.", 1.0),
        Unit::Frames => ("linerate_test_frames", "Number of frames.", 1.0),
        Unit::Ratio => ("linerate_test_ratio", "Parts of one.", 1.0),
        Unit::PerCent => ("linerate_test_ratio", "Parts of one.", 0.01),
        Unit::Other(other) => {
            let labels = [labels, &[("unit", other.to_string())]].concat();
            return add(families, "linerate_test_value", "A figure in the unit that its label names.", &labels, value);
        }
    };
    add(families, name, help, labels, value.known().map(|value| value * scale).into());
}

fn add(families: &mut Families, name: &'static str, help: &'static str, labels: &[(&str, String)], value: Number) {
    let Some(value) = value.known() else { return };
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let line = format!("{name}{{{}}} {value}\n", labels.join(","));
    families.entry(name).or_insert((help, Vec::new())).1.push(line);
}

/// Text of a label: backslash, quote and line break are escaped, other control characters replaced.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    plain(&text)
}
