//! The corpus of foreign logs, `tests/logs/foreign`: each is read with its right values, which stand in its file `expected`, or
//! refused with one line that names the file's line.

use crate::import::read;
use linerate_lab::import::Import;
use linerate_lab::report;
use linerate_result::{RunResult, Test};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs/foreign")
}

/// A log and what it must be read as: a format and its tests, or a refusal.
struct Expected {
    file: String,
    format: String,
    /// Part of the line with which it is refused.
    refused: Option<String>,
    tests: Vec<String>,
}

fn expected() -> Vec<Expected> {
    let mut all: Vec<Expected> = Vec::new();
    let text = fs::read_to_string(folder().join("expected")).unwrap();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(test) = line.strip_prefix("    ") {
            all.last_mut().unwrap().tests.push(test.to_owned());
            continue;
        }
        let (file, rest) = line.split_once(' ').unwrap();
        let (format, part) = rest.split_once(' ').unwrap_or((rest, ""));
        let refused = (format == "refused").then(|| part.to_owned());
        all.push(Expected { file: file.to_owned(), format: format.to_owned(), refused, tests: Vec::new() });
    }
    all
}

fn text(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap()
}

/// Three digits are written by most programs.
fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 6e-3 * wanted.abs()
}

/// Differences of a test from a line: `id | median unit | xREPEATS name=value +name=figure #name=count ~samples !part @start`.
fn wrong(run: &RunResult, test: &Test, line: &str) -> Option<String> {
    let [id, figure, rest] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
    let found = test.value.as_ref().and_then(|value| Some((value.median.known()?, value.unit.name().to_owned())));
    let as_wanted = match figure.split_once(' ') {
        Some((wanted, unit)) => {
            found.as_ref().is_some_and(|(found, of)| near(*found, wanted.parse().unwrap()) && of == unit)
        }
        None => found.is_none(),
    };
    if test.id != id || !as_wanted {
        return Some(format!("{} {found:?}", test.id));
    }
    for word in rest.split(' ') {
        let (sign, told) = word.split_at(1);
        let pair = told.split_once('=');
        let median = |name: &str| test.further.get(name).and_then(|summary| summary.median.known());
        let holds = match (sign, pair) {
            ("x", _) => test.repeats.len().to_string() == told,
            ("~", _) => test.samples.len().to_string() == told,
            ("!", _) => test.failures.iter().any(|failure| failure.contains(told)),
            ("@", _) => run.start.to_string().starts_with(told),
            ("+", Some((name, wanted))) => median(name).is_some_and(|found| near(found, wanted.parse().unwrap())),
            ("#", Some((name, count))) => test.counters.total(name).is_some_and(|total| total.to_string() == count),
            _ => {
                let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("{word} in {line}"));
                test.parameters.get(name).is_some_and(|found| found.to_string() == value)
            }
        };
        if !holds {
            let all = (&test.parameters, &test.further, &test.failures, test.samples.len(), test.repeats.len());
            return Some(format!("{id}: {word}, in {all:?}"));
        }
    }
    let failures = rest.matches(" !").count();
    (test.failures.len() > failures).then(|| format!("{id}: {:?}", test.failures))
}

#[test]
fn each_foreign_log_has_its_right_values_or_is_refused_by_the_line() {
    let all = expected();
    let files: BTreeSet<String> = all.iter().map(|row| row.file.clone()).collect();
    let there = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.filter(|name| name != "expected").collect::<BTreeSet<_>>(), files, "each log has its row");
    assert!(all.len() >= 60 && files.len() == all.len(), "{}", all.len());
    let mut wrongs = Vec::new();
    for row in &all {
        let text = text(&row.file);
        match (read(&row.file, &text), &row.refused) {
            (Err(why), Some(part)) => {
                let why = why.to_string();
                let place = why.strip_prefix(&row.file).and_then(|rest| rest.strip_prefix(':'));
                let number = place.and_then(|rest| rest.split(':').next()).and_then(|line| line.parse::<usize>().ok());
                let in_it = number.is_some_and(|number| (1..=text.lines().count()).contains(&number));
                if !in_it || why.lines().count() != 1 || !why.contains(part.as_str()) {
                    wrongs.push(format!("{}: {why}", row.file));
                }
            }
            (Err(why), None) => wrongs.push(why.to_string()),
            (Ok(runs), Some(_)) => wrongs.push(format!("{}: read, as {:?}", row.file, ids(&runs[0]))),
            (Ok(runs), None) => {
                let format = Import::detect(&text).map_or("none", |import| import.name);
                if format != row.format
                    || runs.len() != 1
                    || runs[0].tests.len() != row.tests.len()
                    || row.tests.is_empty()
                {
                    wrongs.push(format!("{}: {format}, {:?}", row.file, ids(&runs[0])));
                    continue;
                }
                let found = runs[0].tests.iter().zip(&row.tests).filter_map(|(test, line)| wrong(&runs[0], test, line));
                wrongs.extend(found.map(|what| format!("{}: {what}", row.file)));
            }
        }
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
}

fn ids(run: &RunResult) -> Vec<String> {
    run.tests.iter().map(|test| test.id.clone()).collect()
}

/// All logs of the corpus, by name.
pub(crate) fn texts() -> Vec<(String, String)> {
    expected().into_iter().map(|row| (row.file.clone(), text(&row.file))).collect()
}

/// Runs of all logs of the corpus that are read.
pub(crate) fn runs() -> Vec<(String, RunResult)> {
    let read = |row: &Expected| Some((row.file.clone(), read(&row.file, &text(&row.file)).ok()?.remove(0)));
    expected().iter().filter(|row| row.refused.is_none()).filter_map(read).collect()
}

/// Texts between two marks, each with what stands before the next one.
fn between<'a>(html: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    html.split(begin).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

#[test]
fn no_two_tests_rows_or_points_have_equal_labels() {
    for (file, run) in runs() {
        let unique = |what: &str, all: Vec<String>| {
            let mut seen = BTreeMap::new();
            for label in all {
                assert_eq!(seen.insert(label.clone(), ()), None, "{file}: {what} {label}");
            }
        };
        unique("id", ids(&run));
        unique("title", run.tests.iter().map(|test| test.title.clone()).collect());
        let html = report::render(&run);
        // The first cell of each row, and the row of a chart up to its figure.
        for table in between(&html, "<tbody", "</tbody>") {
            let rows = between(table, "<tr", "</tr>");
            let cells =
                |row: &&str| between(row, "<td", "</td>").into_iter().take(2).map(str::to_owned).collect::<Vec<_>>();
            unique("row", rows.iter().map(|row| cells(row).join("|")).collect());
        }
        let headings = between(&html, "<h3>", "</h3>").into_iter().map(str::to_owned).collect();
        unique("chart", headings);
        for legend in between(&html, "class=\"legend\"", "</ul>") {
            unique("line", between(legend, "<span>", "</span>").into_iter().map(str::to_owned).collect());
        }
        assert!(!html.contains("No packet rate") && !html.contains("every gate held"), "{file}");
        assert_eq!(html.matches("<h1").count(), 1, "{file}");
        let headline = between(&html, "<h1", "</h1>")[0];
        let figure =
            run.tests.iter().any(|test| test.value.as_ref().is_some_and(|value| value.median.known().is_some()));
        assert_eq!(headline.contains("Nothing was measured"), !figure, "{file}: {headline}");
        assert!(headline.len() < 40, "{file}: {headline}");
    }
}

#[test]
fn each_axis_of_an_imported_run_is_a_line_or_a_chart() {
    let all: BTreeMap<String, RunResult> = runs().into_iter().collect();
    let html = |file: &str| report::render(&all[file]);
    let page = html("netperf-by-mtu.txt");
    let charts = between(&page, "<h3>", "</h3>");
    assert_eq!(
        charts,
        [
            "netperf TCP_STREAM",
            "netperf TCP_STREAM, service demand",
            "netperf UDP_STREAM",
            "netperf UDP_STREAM, service demand"
        ]
    );
    let figures = between(&page, "<h3>netperf TCP_STREAM</h3>", "</figure>");
    let lines = between(figures[0], "<span>", "</span>");
    assert_eq!(&lines[..3], ["MTU 576", "MTU 1500", "MTU 9000"]);
    // A line of twelve points, drawn for wide pages and for narrow ones.
    assert_eq!(figures[0].matches("class=\"mark").count(), 2 * 12 + 3);
    assert!(figures[0].contains("message, bytes") && page.contains("Service demand there"));
    // Spread of repeats, directions and sizes.
    let lengths = html("iperf3-lengths.txt");
    assert_eq!(between(&lengths, "<h3>", "</h3>"), ["iperf3 TCP"]);
    assert!(lengths.contains("block, bytes"));
    assert!(html("iperf3-two-mtus.txt").contains("MTU, bytes"));
    // Both directions, of one test each, are rows of one chart.
    let both = html("iperf2-2.1-full-duplex.txt");
    let rows = between(&both, "<h3>iperf TCP</h3>", "</figure>")[0];
    assert!(rows.matches("server to client").count() >= 2 && rows.matches("class=\"mark").count() == 2 * 2, "{rows}");
}
