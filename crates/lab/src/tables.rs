//! The tables of a result, one function each.

use linerate_result::{Comparison, Cpu, Kind, Ledger, Number, RunResult, Test, Unit};

use crate::published;
use crate::quantity::{UNKNOWN, count, count_if_known, difference, per_cent, range, ratio, seconds, value};
use crate::table::{Cell, Table, Tone, anchor};
use crate::view::{self, Metric, View, beside, counted_cell, figure_cell, with_sense};

fn label_cell(view: &View<'_>, index: usize) -> Cell {
    let (label, id) = (&view.labels[index], &view.run.tests[index].id);
    let cell = Cell::from(label.as_str()).anchor(anchor(index));
    if label == id { cell } else { cell.note(id.as_str()) }
}

/// The label beside a figure of the test.
fn test_cell(view: &View<'_>, index: usize) -> Cell {
    Cell { text: with_sense(&view.labels[index], &view::unit(&view.run.tests[index])), ..label_cell(view, index) }
}

/// Place of the test that has what was received of what another one sent, where both have a figure or neither has.
fn received(run: &RunResult, sent: &Test) -> Option<usize> {
    let id = sent.id.replacen("tx-", "rx-", 1);
    let alike = |test: &Test| (test.value.is_some(), &test.skipped) == (sent.value.is_some(), &sent.skipped);
    let is = |test: &Test| test.workload == "rx" && test.id == id && alike(test);
    run.tests.iter().position(is).filter(|_| sent.workload == "tx")
}

/// Table of every test's value beside the figure it is first compared with, and its unexplained frames. Points that have a
/// table of their own are left out; what was received is in the row of what was sent.
pub(crate) fn summary(view: &View<'_>) -> Table {
    let run = view.run;
    let titles =
        ["@Test", "#Frame", "#Median", "#Spread", "#Received", "#Repeats", "#Compared with", "#Ratio", "#Unexplained"];
    let mut table = Table::new(&titles);
    let received: Vec<Option<usize>> = run.tests.iter().map(|test| received(run, test)).collect();
    let shown = |index: &usize| !view.is_tabled(*index) && !received.contains(&Some(*index));
    for index in (0..run.tests.len()).filter(shown) {
        let test = &run.tests[index];
        let frame = test.wire_bytes.map_or_else(Cell::absent, |bytes| format!("{bytes} B").into());
        let (median, spread) = match &test.value {
            Some(summary) => {
                let spread =
                    (test.counted().counted > 1).then(|| range(summary.least, summary.greatest, &summary.unit));
                (figure_cell(test, summary, view.doubts.get(&index)), spread.map_or_else(Cell::absent, Cell::from))
            }
            None if test.skipped.is_some() => (Cell::from("skipped").tone(Tone::Quiet), Cell::absent()),
            None => (Cell::from(UNKNOWN).tone(Tone::Quiet), Cell::absent()),
        };
        let got = received[index].and_then(|place| {
            let figure = run.tests[place].value.as_ref()?;
            let cell = figure_cell(&run.tests[place], figure, view.doubts.get(&place));
            let spread = range(figure.least, figure.greatest, &figure.unit);
            Some(if cell.note.is_some() { cell } else { cell.note(spread) }.anchor(anchor(place)))
        });
        // Only comparisons of the test's figure are shown here; those of its stages are shown further down.
        let compared = test.value.as_ref().and_then(|value| beside(run, test, value));
        let (figure, times) = compared.map_or_else(
            || (Cell::absent(), Cell::absent()),
            |c| (Cell::from(value(c.value, &c.unit)).note(c.name.as_str()), ratio(c.ratio).into()),
        );
        let left = test.ledger.as_ref().map_or_else(Cell::absent, unexplained);
        let got = got.unwrap_or_else(Cell::absent);
        table.row([test_cell(view, index), frame, median, spread, got, counted_cell(test), figure, times, left]);
    }
    table.without_empty()
}

/// Table of further figures, of the tests that have no table of their own. Columns without a figure are left out.
pub(crate) fn further(view: &View<'_>) -> Table {
    let groups: Vec<_> = view.groups.iter().filter(|group| !group.has_table()).collect();
    let mut metrics: Vec<&Metric> = Vec::new();
    for metric in groups.iter().flat_map(|group| &group.metrics).filter(|metric| metric.name.is_some()) {
        if !metrics.iter().any(|known| known.name == metric.name) {
            metrics.push(metric);
        }
    }
    let titles = metrics.iter().map(|metric| format!("#{}", with_sense(&metric.title, &metric.unit)));
    let mut table = Table::new(&["@Test".to_owned()].into_iter().chain(titles).collect::<Vec<_>>());
    for (index, test) in groups.iter().flat_map(|group| &group.points) {
        let cell = |metric: &&Metric| metric.of(test).map_or_else(Cell::absent, |of| value(of.median, &of.unit).into());
        let cells: Vec<Cell> = metrics.iter().map(cell).collect();
        if cells.iter().any(|cell| cell.tone != Tone::Absent) {
            table.row([label_cell(view, *index)].into_iter().chain(cells).collect::<Vec<_>>());
        }
    }
    table
}

/// A table with its place and its heading, and how to read it.
pub(crate) struct Titled {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) reading: String,
    /// Conditions that all of its points have.
    pub(crate) alike: String,
    pub(crate) table: Table,
}

/// The tables of a run that have rows, in order.
pub(crate) fn all(view: &View<'_>) -> Vec<Titled> {
    let titled = |id: &str, title: &str, reading: &str, table: Table| Titled {
        id: id.to_owned(),
        title: title.to_owned(),
        reading: reading.to_owned(),
        alike: String::new(),
        table,
    };
    let mut all = vec![titled("results", "Results", RESULTS, summary(view))];
    for (number, group) in view.groups.iter().enumerate().filter(|(_, group)| group.has_table()) {
        let reading =
            if group.own { format!("{POINTS} {}", published::setup(&group.points)) } else { POINTS.to_owned() };
        let id = format!("points-{}", number + 1);
        all.push(Titled { alike: group.alike(), ..titled(&id, &group.title, &reading, view.table(group)) });
    }
    all.push(titled("further", "Beside the figures", FURTHER, further(view)));
    all.push(titled("beside", "Compared", "", comparisons(view)));
    all.push(titled("ledgers", "What became of every frame", LEDGERS, ledgers(view)));
    all.push(titled("cpu", "Processor time", CPU, cpu(view)));
    all.retain(|titled| !titled.table.rows.is_empty());
    all
}

const RESULTS: &str = "Medians of the repeats that count, with the least and the greatest of them; rates are sums over the sending \
                       ports. A repeat does not count if the time from core to core changed meanwhile. Amber, “only”: repeats \
                       were thrown away, and fewer than three or fewer than half are left. Amber with a reason: a figure not to \
                       be relied on.";
const POINTS: &str = "Medians of the repeats that count, of all streams, ports or initiators together. Rates of bits and bytes are \
                      of what arrived, without headers. Here is the end that asks for the test, there the other one; processor \
                      time does not hold what the kernel does in interrupts. Amber with a reason: a figure not to be relied on.";
const FURTHER: &str = "Medians of the repeats. Here is the end that wrote the log, there the other one.";
const LEDGERS: &str = "All columns count frames. offered = sent + refused; sent = received + dropped + in flight. Each term is \
                       counted where it happens; what they leave over, on either side, is unexplained.";
const CPU: &str = "Seconds of a core that each thread took, all repeats of a test together. A thread that polls is always busy; the \
                   last column says how often it found work.";

/// Number of unexplained frames: green at zero, red otherwise, grey when not counted.
fn unexplained(ledger: &Ledger) -> Cell {
    match ledger.settle().frames() {
        None => Cell::from("not counted").tone(Tone::Quiet),
        Some(0) => Cell::from("0").tone(Tone::Good),
        Some(frames) => Cell::from(count(frames)).tone(Tone::Bad),
    }
}

/// Table of the comparisons of the tests that have no table of their own.
pub(crate) fn comparisons(view: &View<'_>) -> Table {
    let run = view.run;
    let mut table = Table::new(&["@Test", "#This run", "#Figure", "@Of", "#Ratio"]);
    for comparison in &run.comparisons {
        let test = run.tests.iter().enumerate().find(|(_, test)| test.id == comparison.test);
        if test.is_some_and(|(index, _)| view.is_tabled(index)) {
            continue;
        }
        let ours = Cell::from(value(comparison.ours, &comparison.unit));
        let ours = match test.map(|(_, test)| test.counted()).filter(|counted| counted.few()) {
            Some(counted) => ours.note(format!("only {counted} repeats")).tone(Tone::Doubtful),
            None => ours,
        };
        table.row([
            test.map_or_else(|| Cell::from(comparison.test.as_str()), |(index, _)| test_cell(view, index)),
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

/// Table of a test's TCP connections, at their ends.
pub(crate) fn connections(test: &Test) -> Table {
    let mut table = Table::new(&["#Connection", "#Sent again", "#Round trip", "#Least", "#Window", "#Delivered"]);
    for (number, of) in test.connections.iter().enumerate() {
        let window = of.window_bytes.map_or(Number::UNKNOWN, |bytes| Number::new(bytes as f64));
        table.row([
            Cell::from((number + 1).to_string()),
            of.sent_again.map_or_else(Cell::absent, |segments| count(segments).into()),
            value(of.rtt_ns, &Unit::Ns).into(),
            value(of.least_rtt_ns, &Unit::Ns).into(),
            value(window, &Unit::Bytes).into(),
            value(of.delivered_bits_per_second, &Unit::BitsPerSecond).into(),
        ]);
    }
    table.without_empty()
}

/// Table of every ledger, one row per test.
pub(crate) fn ledgers(view: &View<'_>) -> Table {
    let run = view.run;
    let mut table = Table::new(&[
        "@Test, in frames",
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
            label_cell(view, index),
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
    let mut table = Table::new(&["@Frames", "#Count"]);
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
pub(crate) fn cpu(view: &View<'_>) -> Table {
    let run = view.run;
    let mut table = Table::new(&[
        "@Test",
        "@Thread",
        "@#Core",
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
                Cell { note: None, ..label_cell(view, index) },
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
    let unit = &view::unit(test);
    let mut table =
        Table::new(&["@#Repeat", "#Value", "#Time", "#Core to core before", "#Core to core after", "Counts"]);
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
    let mut table = Table::new(&["@Port", "@Counter", "#Count"]);
    for (port, name, counted) in test.counters.iter() {
        let port = port.map_or_else(|| Cell::from(UNKNOWN).tone(Tone::Absent), Cell::from);
        table.row([port, Cell::from(name), count(counted).into()]);
    }
    table
}
