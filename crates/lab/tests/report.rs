//! The page as its readers get it.

mod sample;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use linerate_lab::report;
use linerate_load::result::{Outcome, RunResult, Timestamp};
use serde_json::Value;

/// Breaks out of an element, an attribute with either quote, a comment, a style sheet and a script, if it is let.
const HOSTILE: &str =
    "</title></style><script>alert(1)</script>\" onload=\"x\"' onclick='x'--><!--&lt;<img src=x>\u{1b}[2J";

/// Replaces every text and every name of a map, save those whose form the schema fixes.
fn poison(value: &mut Value, key: &str) {
    match value {
        // Units decide what is drawn: they have a test of their own.
        Value::String(text) if !["schema", "start", "outcome", "role", "kind", "unit"].contains(&key) => {
            HOSTILE.clone_into(text);
        }
        Value::Array(list) => list.iter_mut().for_each(|item| poison(item, key)),
        Value::Object(map) => {
            let names: Vec<String> = map.keys().cloned().collect();
            for name in &names {
                poison(&mut map[name], name);
            }
            if ["parameters", "counters", "refused", "dropped", "interfaces", "offloads"].contains(&key) {
                *map = std::mem::take(map).into_iter().map(|(name, item)| (format!("{name}{HOSTILE}"), item)).collect();
            }
        }
        _ => {}
    }
}

fn poisoned() -> RunResult {
    let mut document: Value = serde_json::from_str(&sample::failed().to_json()).unwrap();
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
    let clean = report::render(&sample::failed());
    assert!(html.matches("&lt;script&gt;alert(1)").count() > 100, "the text was there to be escaped");
    for raw in ["<script", "<img", "<!--", "\" onload", "</title></style>"] {
        assert!(!html.contains(raw), "{raw}");
    }
    assert_eq!(elements(&html), elements(&clean), "no element came from outside");
}

#[test]
fn a_hostile_unit_stays_text_too() {
    let mut run = sample::passed();
    for test in &mut run.tests {
        if let Some(value) = &mut test.value {
            HOSTILE.clone_into(&mut value.unit);
        }
    }
    for comparison in &mut run.comparisons {
        HOSTILE.clone_into(&mut comparison.unit);
    }
    let html = report::render(&run);
    assert!(!html.contains("<script") && html.contains("&lt;script"));
}

#[test]
fn the_page_loads_nothing() {
    for run in [sample::passed(), sample::failed(), poisoned()] {
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
    let html = report::render(&sample::passed());
    for link in html.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap();
        assert_eq!(html.matches(&format!("id=\"{target}\"")).count(), 1, "{target}");
    }
}

#[test]
fn numbers_that_are_not_known_are_dashes() {
    let mut run = sample::passed();
    for test in &mut run.tests {
        test.repeats.iter_mut().for_each(|repeat| repeat.value = f64::NAN.into());
        test.summarize("pps");
        test.latency = test.latency.take().map(|_| linerate_load::result::Latency::default());
        test.samples.iter_mut().for_each(|sample| sample.value = f64::INFINITY.into());
    }
    run.elapsed_s = f64::NAN.into();
    let html = report::render(&run);
    assert!(!html.contains("NaN") && !html.contains("inf ") && !html.contains(">inf"), "{html}");
    assert!(html.contains('–'));
}

#[test]
fn the_verdict_the_figures_and_the_losses_are_told() {
    let html = report::render(&sample::passed());
    for told in [
        "44.567 Mpps",
        "53.597 Mpps",
        "single port",
        "Chelsio",
        "cable:test{1, cable:test{2 → cable:test}1, cable:test}2",
        "figure good",
        "/dev/netmap is not there",
    ] {
        assert!(html.contains(told), "{told}");
    }
    let html = report::render(&sample::failed());
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

/// The pages to look at, beside the test's other files.
#[test]
fn pages_to_look_at() {
    for (name, run) in [("passed", sample::passed()), ("failed", sample::failed()), ("poisoned", poisoned())] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.html"));
        fs::write(&path, report::render(&run)).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 1 << 20, "a page stays under 1 MiB");
    }
}
