//! Tests of `linerate bench` with the shortest measurement: its output and files, not its speed.

use linerate_result::{RunResult, Unit};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::{Command, Output};

/// Runs `null`, the bench that needs neither a privilege nor two cores, in a folder of its own.
fn bench(dir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.current_dir(dir).env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.args(["bench", "null", "--time", "50", "--rounds", "1"]).args(more);
    command.output().unwrap()
}

fn files(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn without_a_history_no_file_is_written_where_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let out = bench(dir.path(), &["--json"]);
    // 3: slower than the target, as a debug build may be.
    assert!(matches!(out.status.code(), Some(0 | 3)), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    let run = RunResult::from_json(text.lines().last().unwrap()).unwrap();
    let test = &run.tests[0];
    assert_eq!(
        (test.id.as_str(), test.workload.as_str(), run.exit_code().into()),
        ("null", "bench", out.status.code().unwrap())
    );
    let value = test.value.as_ref().unwrap();
    assert!(value.median.known() > Some(0.0) && value.unit == Unit::Ns && run.environment.cores.is_some(), "{text}");
    assert_eq!(files(dir.path()), 0);
}

/// Regression: `cable-2p` failed since the counters of a result are a list. A measurement may be thrown away, because the
/// machine changed meanwhile; none may fail.
#[test]
fn no_bench_fails() {
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .current_dir(dir.path())
        .env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .args(["bench", "--time", "50", "--rounds", "1", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let run = RunResult::from_json(text.lines().last().unwrap()).unwrap();
    let failed: Vec<_> = run.tests.iter().filter(|test| !test.failures.is_empty()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(run.tests.len() > 20, "{text}");
}

#[test]
fn a_history_grows_by_one_line_a_bench_in_the_form_of_the_one_that_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.ndjson");
    std::fs::write(&path, "{\"what\": \"was there\"}\n").unwrap();
    for _ in 0..2 {
        let out = bench(dir.path(), &["--history", "history.ndjson"]);
        assert!(matches!(out.status.code(), Some(0 | 3)), "{out:?}");
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), files(dir.path())), (3, 1), "{text}");
    assert_eq!(lines[0], "{\"what\": \"was there\"}");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/history.ndjson");
    let kept = std::fs::read_to_string(kept).unwrap();
    let kept: Map<String, Value> = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    for line in &lines[1..] {
        let entry: Map<String, Value> = serde_json::from_str(line).unwrap();
        // New fields follow the fields of older lines.
        assert!(kept.keys().all(|name| entry.contains_key(name)), "{line}");
        let (_, added) = line.split_once("\"ratios\": {}, ").unwrap();
        let names = ["least", "greatest", "counted", "made", "beside"];
        let places: Vec<_> = names.iter().map(|name| added.find(&format!("\"{name}\": ")).unwrap()).collect();
        assert!(places.is_sorted() && entry.len() == 8 + names.len(), "{line}");
        assert_eq!((&entry["counted"], &entry["made"], &entry["beside"]), (&json!(1), &json!(1), &json!({})));
        assert_eq!((&entry["least"], &entry["greatest"]), (&entry["value"], &entry["value"]));
        assert!(line.starts_with("{\"date\": \"2"), "{line}");
        let date: Vec<&str> = entry["date"].as_str().unwrap().split('-').collect();
        assert_eq!(date.iter().map(|part| part.len()).collect::<Vec<_>>(), [4, 2, 2], "{line}");
        assert_eq!((&entry["bench"], &entry["unit"]), (&json!("null"), &json!("ns")));
        assert!(entry["value"].as_f64().is_some_and(|ns| ns > 0.0), "{line}");
        // The bench uses one core, and has no peer.
        assert_eq!((&entry["round_trip_ns"], &entry["ratios"]), (&Value::Null, &json!({})));
        assert!(entry["cpu"].as_str().is_some_and(|cpu| cpu.contains("cores")), "{line}");
        assert!(entry["kernel"].is_string(), "{line}");
    }
}

#[test]
fn a_history_that_cannot_be_written_is_named_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let out = bench(dir.path(), &["--history", "no/such/folder"]);
    let log = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(log.lines().count() == 1 && log.contains("--history no/such/folder"), "{log}");
}
