//! Tests of `linerate sweep` over streams: killed and resumed, over the kernel's sockets and our own, with its report.
#![cfg(target_os = "linux")]

use crate::process::BINARY;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn points(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("points.ndjson")).unwrap_or_default();
    text.lines().count().saturating_sub(1)
}

/// Starts a sweep and kills it once so many points are stored.
fn killed(words: &[&str], folder: &Path, after: usize) {
    let mut sweep = Command::new(BINARY)
        .args(words)
        .arg("--out")
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    while points(folder) < after && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    sweep.kill().unwrap();
    sweep.wait().unwrap();
}

/// Interfaces of the machine, which a sweep must not touch.
fn interfaces() -> String {
    let out = Command::new("ip").args(["-o", "link"]).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

fn goes_on(via: &str) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("sweep");
    let words = ["sweep", "t5-nic", "--via", via];
    killed(&words, &folder, 2);
    let kept = points(&folder);
    assert!(kept >= 2, "{kept} points");
    let first = std::fs::read_to_string(folder.join("points.ndjson")).unwrap();
    let run = Command::new(BINARY).args(words).args(["--resume", "--json", "--out"]).arg(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    if let Some(why) = document["tests"][0]["skipped"].as_str() {
        linerate_skip::skip!("{why}");
        return;
    }
    assert_eq!(run.status.code(), Some(0), "{said}");
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 27);
    assert!(tests.iter().all(|test| test["value"]["median"].as_f64().is_some_and(|bits| bits > 0.0)));
    // What was measured before is what it was.
    let last = std::fs::read_to_string(folder.join("points.ndjson")).unwrap();
    assert!(last.starts_with(first.trim_end_matches(|c| c != '\n')), "points were changed");
    assert_eq!(points(&folder), 27);
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("id=\"tcp-stream-goodput\"") && page.contains("published, at least"));
}

#[test]
fn a_sweep_of_the_kernels_streams_is_killed_and_goes_on_and_touches_no_interface() {
    if !linerate_skip::is_installed("ip") {
        linerate_skip::skip!("ip is not installed");
        return;
    }
    let before = interfaces();
    goes_on("kernel");
    // Other tests make interfaces of their own meanwhile: what a sweep makes is called lr0 and lr1.
    let after = interfaces();
    assert_eq!(before.matches(": lr").count(), after.matches(": lr").count(), "{after}");
}

#[test]
fn a_sweep_of_our_streams_is_killed_and_goes_on() {
    goes_on("stack");
}

#[test]
fn sockets_that_a_preset_has_not_are_refused() {
    for (words, told) in [
        (&["sweep", "t5-fcoe", "--via", "stack"][..], "--via: t5-fcoe has no sockets"),
        (&["sweep", "t5-nic", "--via", "air"], "--via"),
    ] {
        let run = Command::new(BINARY).args(words).output().unwrap();
        let line = String::from_utf8(run.stderr).unwrap();
        assert_eq!((run.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.contains(told), "{line}");
    }
}
