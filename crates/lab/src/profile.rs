//! Time of each stage of a path: the columns measured, and the table that shows them beside each other.

use std::fmt::Write;

#[cfg(target_os = "linux")]
use crate::run::seconds;
use linerate_load::profile::Flood;
use linerate_load::profile::{Direction, Order, Source};
use linerate_result::{Agreement, How, Outcome, RunResult, Stage, Test, Unit};
use linerate_rt::{Stop, monotonic_ns};

use crate::noise::{Time, noise, spread};
use crate::progress::{Step, Steps};
use crate::quantity::{self, count};
use crate::{environment, facts, published, qualify};

/// Measures the columns of each source. `tell` is given a step when something new begins.
///
/// The outcome is `gate` if two methods of measuring the same figure do not agree, `partial` if a column is missing.
pub fn run(
    order: &Order,
    sources: &[&Source],
    mut run: RunResult,
    stop: &Stop,
    mut tell: impl FnMut(&Step),
) -> RunResult {
    let start = monotonic_ns();
    let mut steps = Steps::new(vec![1.0; sources.len()], &mut tell);
    for source in sources {
        steps.next(source.name);
        run.tests.extend((source.measure)(order, stop, &mut |line| steps.within(line)));
    }
    // The published tables are compiled in and read by a test, so an error cannot occur.
    run.comparisons = published::compare_stages(&run.tests).unwrap_or_default();
    run.reasons = run.tests.iter().flat_map(disagreements).collect();
    finish(run, start, stop, Outcome::Gate)
}

/// Floods; see [`flood`](linerate_load::profile::flood).
///
/// The outcome is `failed` if nothing could be sent.
///
/// # Errors
/// The socket cannot be made or connected.
#[cfg(target_os = "linux")]
pub fn flood(order: &Flood, command: Vec<String>, stop: &Stop) -> std::io::Result<RunResult> {
    let start = monotonic_ns();
    let mut run = qualify::begin(command);
    let mut test = linerate_load::profile::flood(order, stop)?;
    let ledger = test.ledger.clone().unwrap_or_default();
    if ledger.sent == Some(0) && ledger.offered > Some(0) {
        let reasons: Vec<&str> = ledger.refused.keys().map(String::as_str).collect();
        test.failures.push(format!("nothing was sent: {}", reasons.join("; ")));
    }
    run.tests.push(test);
    run.reasons = run.failures().collect();
    Ok(finish(run, start, stop, Outcome::Failed))
}

/// Fills in the environment, the duration and the outcome at the end. With reasons, the outcome is `wrong`.
fn finish(mut run: RunResult, start: u64, stop: &Stop, wrong: Outcome) -> RunResult {
    run.environment = environment::read(&[]);
    run.elapsed_s = seconds(monotonic_ns() - start).into();
    run.signal = stop.signal();
    let whole = !run.tests.is_empty() && run.tests.iter().all(|test| test.value.is_some());
    run.outcome = match (run.signal, whole, run.reasons.is_empty()) {
        (Some(_), ..) | (None, false, _) => Outcome::Partial,
        (None, true, false) => wrong,
        (None, true, true) => Outcome::Pass,
    };
    run
}

/// Pairs of measurements of one figure that differ too much, one per line.
fn disagreements(test: &Test) -> Vec<String> {
    let wrong = test.agreements().into_iter().filter(|one| !one.holds);
    let line = |one: Agreement| {
        let other = if one.what == "sum" { "the whole way without them" } else { How::EarlyReturn.name() };
        let (id, what, how) = (&test.id, one.what, one.how.name());
        let [ns, other_ns] = [one.ns, one.other_ns].map(|ns| Time::of(ns, 0.0).short());
        format!("{id}: {what} by {how} {ns} ns, by {other} {other_ns} ns")
    };
    wrong.map(line).collect()
}

/// Text of the columns beside each other, one row per stage; then the description of the stages, and the published
/// figures.
#[must_use]
pub fn text(run: &RunResult) -> String {
    let mut text = String::new();
    let ran: Vec<&Test> = run.tests.iter().filter(|test| test.skipped.is_none()).collect();
    if let Some(first) = ran.first() {
        let of = |name: &str| first.parameters.get(name).map(ToString::to_string).unwrap_or_default();
        let machine: Vec<String> =
            facts::machine(run).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(
            text,
            "{}, {}-byte frames; {} rounds of {} ms a point, one thread on one core",
            of("protocol").to_uppercase(),
            of("size"),
            of("rounds"),
            of("time")
        );
        let _ = writeln!(text, "on {}\n", machine.join(", "));
        grid(&mut text, &rows(&ran));
        text.push('\n');
        for test in &ran {
            about(&mut text, test);
        }
    }
    for test in &run.tests {
        if let Some(why) = &test.skipped {
            let _ = writeln!(text, "skipped: {}: {why}", test.title);
        }
        for warning in &test.warnings {
            let _ = writeln!(text, "warning: {}: {warning}", test.title);
        }
    }
    for reason in &run.reasons {
        let _ = writeln!(text, "does not agree: {reason}");
    }
    if run.tests.iter().any(|test| test.workload == Direction::Tx.workload()) {
        published(&mut text);
    }
    for one in &run.comparisons {
        let ns = |number| quantity::value(number, &Unit::Ns);
        let _ = writeln!(text, "  {:20} {} where {} is {}", one.test, ns(one.ours), one.name, ns(one.value));
    }
    text
}

/// Text of a flood's result, in lines.
#[must_use]
pub fn flood_text(run: &RunResult) -> String {
    let mut text = String::new();
    for test in &run.tests {
        let ledger = test.ledger.clone().unwrap_or_default();
        let number = quantity::count_if_known;
        let refused: u64 = ledger.refused.values().sum();
        let seconds = test.repeats.first().and_then(|repeat| repeat.seconds.known());
        let _ = writeln!(text, "{}", test.title);
        let _ = writeln!(
            text,
            "  offered {}, sent {}, refused {}",
            number(ledger.offered),
            number(ledger.sent),
            count(refused)
        );
        for (reason, n) in &ledger.refused {
            let _ = writeln!(text, "  refused: {reason}: {}", count(*n));
        }
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let rate = ledger.sent.zip(seconds).map(|(sent, seconds)| sent as f64 / seconds);
        let rate = quantity::value(rate.into(), &Unit::Pps);
        let ns = test.value.as_ref().map_or(quantity::UNKNOWN.to_owned(), |ns| quantity::value(ns.median, &ns.unit));
        let _ = writeln!(text, "  {rate}, {ns} a datagram offered, in the calls");
        for (_, name, n) in test.counters.iter() {
            let _ = writeln!(text, "  {name}: {}", count(n));
        }
    }
    for reason in &run.reasons {
        let _ = writeln!(text, "failed: {reason}");
    }
    text
}

/// Rows of the table: nanoseconds per packet, the median and in brackets the spread.
fn rows(tests: &[&Test]) -> Vec<Vec<String>> {
    let several = tests.iter().any(|test| test.ways().len() > 1);
    let columns: Vec<(&Test, How)> =
        tests.iter().flat_map(|test| test.ways().into_iter().map(|how| (*test, how))).collect();
    let mut names: Vec<&str> = Vec::new();
    for test in tests {
        // A stage that other columns do not have is inserted at its place in its own path.
        let mut at = 0;
        for stage in &test.stages {
            match names.iter().position(|name| *name == stage.name) {
                Some(there) => at = there + 1,
                None => {
                    names.insert(at, &stage.name);
                    at += 1;
                }
            }
        }
    }
    let mut rows = vec![row("ns a packet", columns.iter().map(|(test, _)| test.title.clone()))];
    if several {
        rows.push(row("", columns.iter().map(|(_, how)| how.name().to_owned())));
    }
    for name in names {
        let cell = |(test, how): &(&Test, How)| {
            let stage = test.stages.iter().find(|stage| stage.name == name && stage.how == *how);
            match stage {
                Some(Stage { skipped: Some(_), .. }) => "skipped".to_owned(),
                Some(stage @ Stage { ns: Some(ns), .. }) => spread(ns, noise(stage)),
                _ => String::new(),
            }
        };
        rows.push(row(name, columns.iter().map(cell)));
    }
    let sum = |(test, how): &(&Test, How)| test.stage_sum(*how).map_or(String::new(), |ns| Time::of(ns, 0.0).short());
    rows.push(row("sum of the stages", columns.iter().map(sum)));
    rows.push(row(
        "all of it, unstamped",
        columns.iter().map(|(test, _)| test.value.as_ref().map_or(String::new(), |ns| spread(ns, 0.0))),
    ));
    rows
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn grid(text: &mut String, rows: &[Vec<String>]) {
    let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let width = wide(at);
            let _ = if at == 0 { write!(line, "{cell:width$}") } else { write!(line, "  {cell:>width$}") };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Adds the description of each stage of a column, and the further figures.
fn about(text: &mut String, test: &Test) {
    let _ = writeln!(
        text,
        "{}, by {}:",
        test.title,
        test.ways().iter().map(|how| how.name()).collect::<Vec<_>>().join(" and ")
    );
    let mut told: Vec<&str> = Vec::new();
    for stage in &test.stages {
        if !told.contains(&stage.name.as_str()) {
            let _ = writeln!(text, "  {:22} {}", stage.name, stage.about);
            told.push(&stage.name);
        }
    }
    for (name, ns) in &test.further {
        let _ = writeln!(text, "  {name:22} {} ns, beside the stages", spread(ns, 0.0));
    }
    text.push('\n');
}

fn published(text: &mut String) {
    let Ok(rows) = published::ether_output() else { return };
    if let Some(first) = rows.first() {
        let _ = writeln!(text, "published: {}", first.source);
    }
    for row in rows {
        let range = if row.least == row.most {
            format!("{:.0}", row.least)
        } else {
            format!("{:.0} to {:.0}", row.least, row.most)
        };
        let _ = writeln!(text, "  {:50} {range:>8} ns", row.stage);
    }
}

#[cfg(test)]
mod tests {
    use linerate_result::{Repeat, Timestamp};

    use super::*;

    fn column(title: &str, stages: &[(&str, How, f64)], whole: f64) -> Test {
        let mut test = Test {
            id: title.to_owned(),
            title: title.to_owned(),
            stages: stages.iter().map(|(name, how, ns)| Stage::new(name, *how, "what it holds", &[*ns])).collect(),
            repeats: vec![Repeat { value: whole.into(), valid: true, ..Repeat::default() }],
            ..Test::default()
        };
        test.summarize(Unit::Ns);
        test
    }

    #[test]
    fn stages_stand_in_the_order_of_their_paths() {
        use How::{CutPoint, EarlyReturn, TimeStamps};
        let own =
            column("own", &[("socket", TimeStamps, 5.0), ("ring", TimeStamps, 2.0), ("socket", EarlyReturn, 6.0)], 7.0);
        let kernel = column(
            "kernel",
            &[("system call", CutPoint, 80.0), ("socket", CutPoint, 90.0), ("route", CutPoint, -1.5)],
            168.5,
        );
        let rows = rows(&[&own, &kernel]);
        let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(
            names,
            ["ns a packet", "", "system call", "socket", "route", "ring", "sum of the stages", "all of it, unstamped"]
        );
        assert_eq!(rows[0][1..], ["own", "own", "kernel"]);
        assert_eq!(rows[1][1..], ["time-stamps", "early return", "cut point"]);
        assert_eq!(rows[4][3], "under 1.5", "no time is negative");
        assert_eq!(rows[6][1..], ["7.0", "6.0", "168"]);
    }

    #[test]
    fn the_text_says_what_is_missing_and_what_was_published() {
        let mut run = RunResult::new("x".to_owned(), Vec::new(), Timestamp::default());
        let out = column("a", &[("udp", How::CutPoint, 10.0)], 20.0);
        run.tests.push(Test { workload: Direction::Tx.workload().to_owned(), ..out });
        run.tests.push(Test { title: "b".to_owned(), skipped: Some("no privilege".to_owned()), ..Test::default() });
        let text = text(&run);
        for part in ["what it holds", "skipped: b: no privilege", "Rizzo", "210 ns", "30 to 40 ns"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(disagreements(&run.tests[0]).len(), 1, "10 is not 20");
    }
}
