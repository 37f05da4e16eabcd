//! The tables of a result, one function each.

use linerate_result::{Comparison, Cpu, Kind, Ledger, Number, RunResult, Test, Unit};

use crate::facts;
use crate::facts::has_own_table;
use crate::quantity::{UNKNOWN, count, count_if_known, difference, per_cent, range, ratio, seconds, value};
use crate::table::{Cell, Table, Tone, anchor};

fn test_cell(index: usize, test: &Test) -> Cell {
    let title = if test.title.is_empty() { &test.id } else { &test.title };
    let cell = Cell::from(title.as_str()).anchor(anchor(index));
    if test.title.is_empty() { cell } else { cell.note(test.id.as_str()) }
}

/// Table of every test's value beside the figure it is first compared with, and its unexplained frames. A sweep's
/// points have a table of their own.
pub(crate) fn summary(run: &RunResult) -> Table {
    let mut table =
        Table::new(&["Test", "#Frame", "#Median", "#Spread", "#Repeats", "#Compared with", "#Ratio", "#Unexplained"]);
    let shown = |(_, test): &(usize, &Test)| !has_own_table(test) || test.value.is_none();
    for (index, test) in run.tests.iter().enumerate().filter(shown) {
        let unknown = || Cell::from(UNKNOWN).tone(Tone::Absent);
        let frame = test.wire_bytes.map_or_else(unknown, |bytes| format!("{bytes} B").into());
        let (median, spread) = match &test.value {
            Some(summary) if test.counted().counted > 1 => (
                Cell::from(value(summary.median, &summary.unit)),
                range(summary.least, summary.greatest, &summary.unit).into(),
            ),
            Some(summary) => (value(summary.median, &summary.unit).into(), unknown()),
            None if test.skipped.is_some() => (Cell::from("skipped").tone(Tone::Quiet), unknown()),
            None => (unknown(), unknown()),
        };
        let repeats = counted_cell(test);
        let median = if repeats.tone == Tone::Doubtful { median.tone(Tone::Doubtful) } else { median };
        // Only comparisons of the test's figure are shown here; those of its stages are shown further down.
        let whole = |ours: f64| test.value.as_ref().and_then(|value| value.median.known()) == Some(ours);
        let compared = run.comparisons.iter().find(|c| c.test == test.id && c.ours.known().is_some_and(whole));
        let (figure, times) = compared.map_or_else(
            || (unknown(), unknown()),
            |c| (Cell::from(value(c.value, &c.unit)).note(c.name.as_str()), ratio(c.ratio).into()),
        );
        let left = test.ledger.as_ref().map_or_else(unknown, unexplained);
        table.row([test_cell(index, test), frame, median, spread, repeats, figure, times, left]);
    }
    table
}

/// Further figures that have a column, with its title.
const FURTHER: &[(&str, &str)] = &[
    ("sent", "#Sent"),
    ("lost", "#Lost"),
    ("jitter", "#Jitter"),
    ("throughput", "#Throughput"),
    ("cpu_local", "#CPU here"),
    ("cpu_remote", "#CPU there"),
    ("cpu_client", "#CPU, client"),
    ("cpu_server", "#CPU, server"),
    ("service_demand_local", "#Service demand here"),
    ("service_demand_remote", "#Service demand there"),
];

/// Table of further figures, of the tests that have no table of their own. Columns without a figure are left out.
pub(crate) fn further(run: &RunResult) -> Table {
    let tests = || run.tests.iter().enumerate().filter(|(_, test)| !has_own_table(test));
    let columns: Vec<_> =
        FURTHER.iter().filter(|(name, _)| tests().any(|(_, test)| test.further.contains_key(*name))).collect();
    let titles: Vec<&str> = ["Test"].into_iter().chain(columns.iter().map(|(_, title)| *title)).collect();
    let mut table = Table::new(&titles);
    for (index, test) in tests() {
        let cell = |name: &str| match test.further.get(name) {
            Some(summary) => Cell::from(value(summary.median, &summary.unit)),
            None => Cell::from(UNKNOWN).tone(Tone::Absent),
        };
        if columns.iter().any(|(name, _)| test.further.contains_key(*name)) {
            let cells = columns.iter().map(|(name, _)| cell(name));
            table.row([test_cell(index, test)].into_iter().chain(cells).collect::<Vec<_>>());
        }
    }
    table
}

/// Text such as `3 of 3`; amber where so many repeats were discarded that the figure is doubtful.
pub(crate) fn counted_cell(test: &Test) -> Cell {
    match test.counted() {
        counted if counted.made == 0 => Cell::from(UNKNOWN).tone(Tone::Absent),
        counted if counted.few() => Cell::from(format!("only {counted}")).tone(Tone::Doubtful),
        counted => counted.to_string().into(),
    }
}

/// Number of unexplained frames: green at zero, red otherwise, grey when not counted.
fn unexplained(ledger: &Ledger) -> Cell {
    match ledger.settle().frames() {
        None => Cell::from("not counted").tone(Tone::Quiet),
        Some(0) => Cell::from("0").tone(Tone::Good),
        Some(frames) => Cell::from(count(frames)).tone(Tone::Bad),
    }
}

/// Table of the comparisons of the tests that `wanted` selects.
pub(crate) fn comparisons(run: &RunResult, wanted: fn(&Test) -> bool) -> Table {
    let mut table = Table::new(&["Test", "#This run", "#Figure", "Of", "#Ratio"]);
    for comparison in &run.comparisons {
        let test = run.tests.iter().enumerate().find(|(_, test)| test.id == comparison.test);
        if test.is_some_and(|(_, test)| !wanted(test)) {
            continue;
        }
        let ours = Cell::from(value(comparison.ours, &comparison.unit));
        let ours = match test.map(|(_, test)| test.counted()).filter(|counted| counted.few()) {
            Some(counted) => ours.note(format!("only {counted} repeats")).tone(Tone::Doubtful),
            None => ours,
        };
        table.row([
            test.map_or_else(|| Cell::from(comparison.test.as_str()), |(index, test)| test_cell(index, test)),
            ours,
            value(comparison.value, &comparison.unit).into(),
            Cell::from(comparison.name.as_str()).note(comparison.source.as_str()),
            ratio_cell(comparison),
        ]);
    }
    table
}

fn ratio_cell(comparison: &Comparison) -> Cell {
    let cell = Cell::from(ratio(comparison.ratio));
    match comparison.kind {
        Kind::Published => cell.note("published"),
        Kind::Peer | Kind::Roof | Kind::Before => {
            cell.note(format!("{} to {}", ratio(comparison.ratio_least), ratio(comparison.ratio_greatest)))
        }
    }
}

/// Table of every ledger, one row per test.
pub(crate) fn ledgers(run: &RunResult) -> Table {
    let mut table = Table::new(&[
        "Test, in frames",
        "#Offered",
        "#Refused",
        "#Sent",
        "#Dropped",
        "#In flight",
        "#Received",
        "#Twice",
        "#Foreign",
        "#Unexplained",
    ]);
    let sum =
        |terms: &std::collections::BTreeMap<String, u64>| count(terms.values().fold(0, |a, b| a.saturating_add(*b)));
    for (index, test) in run.tests.iter().enumerate() {
        let Some(ledger) = &test.ledger else { continue };
        table.row([
            test_cell(index, test),
            count_if_known(ledger.offered).into(),
            sum(&ledger.refused).into(),
            count_if_known(ledger.sent).into(),
            sum(&ledger.dropped).into(),
            count(ledger.in_flight).into(),
            count_if_known(ledger.received).into(),
            count(ledger.duplicated).into(),
            count(ledger.foreign).into(),
            unexplained(ledger),
        ]);
    }
    table
}

/// Table of one ledger, term by term, with the reasons.
pub(crate) fn ledger(ledger: &Ledger) -> Table {
    let mut table = Table::new(&["Frames", "#Count"]);
    let left = ledger.settle();
    let side = |frames: Option<i64>| match frames {
        None => Cell::from("not counted").tone(Tone::Quiet),
        Some(0) => Cell::from("0").tone(Tone::Good),
        Some(frames) => Cell::from(difference(frames)).tone(Tone::Bad),
    };
    table.row(["offered".into(), count_if_known(ledger.offered).into()]);
    for (reason, frames) in &ledger.refused {
        table.row([Cell::from(format!("refused: {reason}")), count(*frames).into()]);
    }
    table.row(["sent".into(), count_if_known(ledger.sent).into()]);
    table.row(["unexplained: offered − sent − refused".into(), side(left.sending)]);
    for (reason, frames) in &ledger.dropped {
        table.row([Cell::from(format!("dropped: {reason}")), count(*frames).into()]);
    }
    table.row(["in flight after the drain".into(), count(ledger.in_flight).into()]);
    table.row(["received".into(), count_if_known(ledger.received).into()]);
    table.row(["unexplained: sent − received − dropped − in flight".into(), side(left.receiving)]);
    table.row(["received again (duplicated)".into(), count(ledger.duplicated).into()]);
    table.row(["foreign (not of this run)".into(), count(ledger.foreign).into()]);
    table
}

/// Table of the processor time of every thread of every test, all repeats together.
pub(crate) fn cpu(run: &RunResult) -> Table {
    let mut table = Table::new(&[
        "Test",
        "Thread",
        "#Core",
        "#User time",
        "#System time",
        "#Soft interrupt time",
        "#Polls",
        "#Polls that found work",
    ]);
    for (index, test) in run.tests.iter().enumerate() {
        for cpu in together(&test.cpu) {
            let polls = cpu.busy_polls.zip(cpu.empty_polls).map(|(busy, empty)| busy.saturating_add(empty));
            table.row([
                Cell { note: None, ..test_cell(index, test) },
                cpu.thread.as_str().into(),
                cpu.core.map_or_else(|| "any".to_owned(), |core| core.to_string()).into(),
                seconds(cpu.user_s).into(),
                seconds(cpu.system_s).into(),
                seconds(cpu.softirq_s).into(),
                count_if_known(polls).into(),
                per_cent(cpu.busy_share()).into(),
            ]);
        }
    }
    table
}

/// Adds up the repeats' threads that have the same name and core.
fn together(list: &[Cpu]) -> Vec<Cpu> {
    let mut all: Vec<Cpu> = Vec::new();
    for cpu in list {
        let Some(sum) = all.iter_mut().find(|sum| (&sum.thread, sum.core) == (&cpu.thread, cpu.core)) else {
            all.push(cpu.clone());
            continue;
        };
        let add = |a: Number, b: Number| Number::from(a.known().zip(b.known()).map(|(a, b)| a + b));
        let add_polls = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        sum.user_s = add(sum.user_s, cpu.user_s);
        sum.system_s = add(sum.system_s, cpu.system_s);
        sum.softirq_s = add(sum.softirq_s, cpu.softirq_s);
        sum.busy_polls = add_polls(sum.busy_polls, cpu.busy_polls);
        sum.empty_polls = add_polls(sum.empty_polls, cpu.empty_polls);
    }
    all
}

/// Table of the repeats of one test, including the discarded ones.
pub(crate) fn repeats(test: &Test) -> Table {
    let unit = &facts::unit(test);
    let mut table =
        Table::new(&["#Repeat", "#Value", "#Time", "#Core to core before", "#Core to core after", "Counts"]);
    for (index, repeat) in test.repeats.iter().enumerate() {
        let counts = match (&repeat.why_invalid, repeat.valid) {
            (_, true) => Cell::from("yes"),
            (Some(why), false) => Cell::from(format!("no: {why}")).tone(Tone::Bad),
            (None, false) => Cell::from("no").tone(Tone::Bad),
        };
        table.row([
            (index + 1).to_string().into(),
            value(repeat.value, unit).into(),
            seconds(repeat.seconds).into(),
            value(repeat.rtt_ns_before, &Unit::Ns).into(),
            value(repeat.rtt_ns_after, &Unit::Ns).into(),
            counts,
        ]);
    }
    table
}

/// Table of the raw counters of one test.
pub(crate) fn counters(test: &Test) -> Table {
    let mut table = Table::new(&["Port", "Counter", "#Count"]);
    for (port, name, counted) in test.counters.iter() {
        let port = port.map_or_else(|| Cell::from(UNKNOWN).tone(Tone::Absent), Cell::from);
        table.row([port, Cell::from(name), count(counted).into()]);
    }
    table
}
