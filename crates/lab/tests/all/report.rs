//! Tests of the page as its readers see it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use linerate_lab::report;
use linerate_result::{Outcome, RunResult, Timestamp, Unit};
use serde_json::Value;

/// Breaks out of an element, an attribute with either quote, a comment, a style sheet and a script, unless it is
/// escaped.
const HOSTILE: &str =
    "</title></style><script>alert(1)</script>\" onload=\"x\"' onclick='x'--><!--&lt;<img src=x>\u{1b}[2J";

/// Replaces every text and every key of a map, except those whose form the schema fixes.
fn poison(value: &mut Value, key: &str) {
    match value {
        // Units select the charts: they have a test of their own.
        Value::String(text) if !["schema", "start", "outcome", "role", "kind", "unit"].contains(&key) => {
            HOSTILE.clone_into(text);
        }
        Value::Array(list) => list.iter_mut().for_each(|item| poison(item, key)),
        Value::Object(map) => {
            let names: Vec<String> = map.keys().cloned().collect();
            for name in &names {
                poison(&mut map[name], name);
            }
            if ["parameters", "refused", "dropped", "interfaces", "offloads"].contains(&key) {
                *map = std::mem::take(map).into_iter().map(|(name, item)| (format!("{name}{HOSTILE}"), item)).collect();
            }
        }
        _ => {}
    }
}

fn poisoned() -> RunResult {
    let mut document: Value = serde_json::from_str(&crate::sample::failed().to_json()).unwrap();
    poison(&mut document, "");
    RunResult::from_json(&document.to_string()).unwrap()
}

/// Names of all elements of the page.
fn elements(html: &str) -> BTreeSet<&str> {
    let names = html.split('<').skip(1).map(|rest| rest.trim_start_matches('/'));
    names.map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()).collect()
}

#[test]
fn hostile_text_stays_text() {
    let html = report::render(&poisoned());
    let clean = report::render(&crate::sample::failed());
    assert!(html.matches("&lt;script&gt;alert(1)").count() > 100, "the text was there to be escaped");
    for raw in ["<script", "<img", "<!--", "\" onload", "</title></style>"] {
        assert!(!html.contains(raw), "{raw}");
    }
    assert_eq!(elements(&html), elements(&clean), "no element came from outside");
}

#[test]
fn a_hostile_unit_stays_text_too() {
    let mut run = crate::sample::passed();
    for test in &mut run.tests {
        if let Some(value) = &mut test.value {
            value.unit = Unit::named(HOSTILE);
        }
    }
    for comparison in &mut run.comparisons {
        comparison.unit = Unit::named(HOSTILE);
    }
    let html = report::render(&run);
    assert!(!html.contains("<script") && html.contains("&lt;script"));
}

#[test]
fn the_page_loads_nothing() {
    for run in [crate::sample::passed(), crate::sample::failed(), poisoned()] {
        let html = report::render(&run);
        for load in [
            "http://",
            "https://",
            "url(",
            "@import",
            "<link",
            "<script",
            "<iframe",
            "<img",
            "<object",
            "<use",
            "href=\"//",
        ] {
            assert!(!html.contains(load), "{load}");
        }
        let links = html.matches("href=").count();
        assert_eq!(links, html.matches("href=\"#").count(), "every link stays on the page");
        assert!(html.contains("default-src 'none'"));
    }
}

#[test]
fn every_link_has_its_target() {
    let html = report::render(&crate::sample::passed());
    for link in html.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap();
        assert_eq!(html.matches(&format!("id=\"{target}\"")).count(), 1, "{target}");
    }
}

#[test]
fn numbers_that_are_not_known_are_dashes() {
    let mut run = crate::sample::passed();
    for test in &mut run.tests {
        test.repeats.iter_mut().for_each(|repeat| repeat.value = f64::NAN.into());
        test.summarize(Unit::Pps);
        test.latency = test.latency.take().map(|_| linerate_result::Latency::default());
        test.samples.iter_mut().for_each(|sample| sample.value = f64::INFINITY.into());
    }
    run.elapsed_s = f64::NAN.into();
    let html = report::render(&run);
    assert!(!html.contains("NaN") && !html.contains("inf ") && !html.contains(">inf"), "{html}");
    assert!(html.contains('–'));
}

#[test]
fn the_verdict_the_figures_and_the_losses_are_told() {
    let html = report::render(&crate::sample::passed());
    for told in [
        "44.567 Mpps",
        "53.597 Mpps",
        "single port",
        "Chelsio",
        "cable:test{1 → cable:test}1",
        "figure good",
        "/dev/netmap is not there",
    ] {
        assert!(html.contains(told), "{told}");
    }
    let html = report::render(&crate::sample::failed());
    for told in ["verdict failed", "37 frames are unexplained", "figure bad", "+37", "Signal 2"] {
        assert!(html.contains(told), "{told}");
    }
}

#[test]
fn an_empty_run_and_every_outcome_make_a_page() {
    let mut run = RunResult::new(String::new(), Vec::new(), Timestamp::default());
    for outcome in [Outcome::Pass, Outcome::Failed, Outcome::Gate, Outcome::Partial] {
        run.outcome = outcome;
        let html = report::render(&run);
        assert!(html.contains("Nothing was measured") && html.contains(outcome.word()));
    }
}

/// The headline has the first rate, its spread and the number of repeats that counted; not the best of all rates.
#[test]
fn the_headline_stands_with_its_spread_and_its_repeats() {
    let run = crate::sample::passed();
    let html = report::render(&run);
    let (_, top) = html.split_once("<h1").unwrap();
    let (top, _) = top.split_once("class=\"verdict").unwrap();
    let value = run.tests[0].value.as_ref().unwrap();
    assert!(top.contains(&linerate_lab::quantity::value(value.median, &Unit::Pps)), "{top}");
    assert!(top.contains("median of 4 of 5 repeats, ") && top.contains(" Mpps</p>"), "{top}");
    assert!(!top.contains("doubtful") && !top.contains("5 of 5"), "{top}");
    assert!(run.tests[6].value.as_ref().unwrap().median > value.median, "two ports were faster");
}

#[test]
fn a_figure_of_few_repeats_is_amber_where_it_stands() {
    let mut run = crate::sample::passed();
    run.tests[0].repeats[..4].iter_mut().for_each(|repeat| repeat.valid = false);
    run.tests[0].summarize(Unit::Pps);
    let html = report::render(&run);
    assert!(
        html.contains("<h1 class=\"doubtful\">")
            && html.contains("<p class=\"lead doubtful\">only 1 of 5 repeats counted")
    );
    assert!(html.contains("data-label=\"Repeats\" class=\"number doubtful\"><span class=\"cell\">only 1 of 5<"));
    assert!(html.contains("data-label=\"Repeats\" class=\"number\"><span class=\"cell\">4 of 5<"));
    let text = linerate_lab::text::render(&run, false, usize::MAX);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().contains(" Mpps (only 1 of 5 repeats counted), "), "{text}");
    assert!(text.contains("of 52 repeats do not count; one figure") && text.contains("only 1 of 5"), "{text}");
}

/// Contents and machine are shown before the first figure of the tables.
#[test]
fn contents_and_machine_stand_above_the_figures() {
    let html = report::render(&crate::sample::passed());
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    let (machine, contents, main) = (at("class=\"machine\""), at("<nav aria-label=\"Contents\">"), at("<main>"));
    assert!(at("class=\"verdict") < machine && machine < contents && contents < main);
    let top = &html[machine..contents];
    for told in
        ["Sample Processor T-1000", "Linux 6.0.0-test", "test0: veth, 10000 Mb/s claimed", "119 ns (118 to 241 ns)"]
    {
        assert!(top.contains(told), "{told}: {top}");
    }
    let sections = html.matches("<section id=\"").count();
    assert_eq!(html[contents..main].matches("<a href=\"#").count(), sections, "a link for each section");
    for titled in html.split("<section id=\"").skip(1) {
        let id = titled.split('"').next().unwrap();
        assert!(html[contents..main].contains(&format!("href=\"#{id}\"")), "{id}");
    }
}

/// Columns of numbers and axes have units: in the heading or in every cell.
#[test]
fn processor_time_and_axes_have_their_units() {
    let html = report::render(&crate::sample::passed());
    for label in [
        "User time",
        "System time",
        "Soft interrupt time",
        "Polls that found work",
        "Packet rate, Mpps",
        "Frame size with FCS, bytes",
        "Latency, logarithmic",
        "Share of frames or requests that were quicker, %",
        "All columns count frames",
    ] {
        assert!(html.contains(label), "{label}");
    }
}

/// Parts that are collapsed on the screen, or too long, are left out on paper.
#[test]
fn paper_gets_no_folded_parts_and_no_dark_colours() {
    let html = report::render(&crate::sample::passed());
    let style = html.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let (screen, paper) = style.split_once("@media print {").unwrap();
    assert!(paper.contains(".screen, details:not([open]) { display: none; }"));
    assert!(screen.contains("@media screen and (prefers-color-scheme: dark)"));
    for id in ["tests", "cpu", "over-time"] {
        assert!(html.contains(&format!("<section id=\"{id}\" class=\"screen\">")), "{id}");
    }
    assert!(html.contains("<section id=\"results\"><h2>"));
}

/// Writes the pages beside the test's other files, to look at.
#[test]
fn pages_to_look_at() {
    for (name, run) in
        [("passed", crate::sample::passed()), ("failed", crate::sample::failed()), ("poisoned", poisoned())]
    {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.html"));
        fs::write(&path, report::render(&run)).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 1 << 20, "a page stays under 1 MiB");
    }
}

#[test]
fn what_failed_stands_beside_its_test() {
    let mut run = crate::sample::failed();
    assert!(!report::render(&run).contains("Failed: "));
    run.tests[0].failures = vec!["3 frames <of 9> are unexplained".to_owned()];
    assert!(report::render(&run).contains("Failed: 3 frames &lt;of 9&gt; are unexplained"));
}
