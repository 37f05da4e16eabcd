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

/// A command with a data directory of its own: the index of runs is nobody else's.
fn linerate(home: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.env("XDG_DATA_HOME", home.join("data"));
    command
}

/// Starts a sweep in a folder of `home` and kills it once so many points are stored.
fn killed(home: &Path, words: &[&str], folder: &Path, after: usize) {
    let mut sweep = linerate(home)
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
    let words = ["sweep", "t5-nic", "--via", via, "--repeats", "1", "--shared"];
    killed(dir.path(), &words, &folder, 2);
    let kept = points(&folder);
    assert!(kept >= 2, "{kept} points");
    let first = std::fs::read_to_string(folder.join("points.ndjson")).unwrap();
    // It is on the list, and says how to go on.
    let list = linerate(dir.path()).arg("runs").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.lines().count() == 2 && list.contains("partial") && list.contains("sweep t5-nic"), "{list}");
    let shown = linerate(dir.path()).args(["show", "last"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("go on with: linerate sweep t5-nic") && shown.contains("--resume"), "{shown}");
    let run = linerate(dir.path()).args(words).args(["--resume", "--json", "--out"]).arg(&folder).output().unwrap();
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
    assert!(page.contains("<h3>TCP_STREAM, Throughput</h3>") && page.contains("<span>published</span>"));
    let list = linerate(dir.path()).arg("runs").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.lines().count() == 2 && list.contains("pass"), "it is one run: {list}");
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
        let home = tempfile::tempdir().unwrap();
        let run = linerate(home.path()).args(words).output().unwrap();
        let line = String::from_utf8(run.stderr).unwrap();
        assert_eq!((run.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.contains(told), "{line}");
    }
}

const PLAN: &str = r#"
name = "mine"
repeats = 2
[[test]]
workload = "TCP_STREAM"
parameters = { via = "stack" }
axes = { io_bytes = [1000, 64000] }
"#;

fn sweep(home: &Path, words: &[&str]) -> std::process::Output {
    linerate(home).arg("sweep").args(words).output().unwrap()
}

#[test]
fn a_plan_in_a_file_is_measured_in_rounds_and_resumed_as_long_as_it_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (file, folder) = (dir.path().join("plan.toml"), dir.path().join("sweep"));
    std::fs::write(&file, PLAN).unwrap();
    let (file, at) = (file.to_str().unwrap(), folder.to_str().unwrap());
    // On a busy machine it may be killed too late.
    let is_cut_short = (0..20).any(|_| {
        let _ = std::fs::remove_dir_all(&folder);
        killed(dir.path(), &["sweep", file, "--shared"], &folder, 1);
        (1..4).contains(&points(&folder))
    });
    assert!(is_cut_short, "{} measurements", points(&folder));
    let run = sweep(dir.path(), &[file, "--out", at, "--resume", "--json", "--shared"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(points(&folder), 4, "none was made twice");
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let tests = document["tests"].as_array().unwrap();
    let ids: Vec<&Value> = tests.iter().map(|test| &test["id"]).collect();
    assert_eq!(ids, ["tcp-stream-1000", "tcp-stream-64000"]);
    for test in tests {
        assert_eq!(test["repeats"].as_array().unwrap().len(), 2);
        assert_eq!((&test["value"]["counted"], &test["parameters"]["via"]), (&2.into(), &"stack".into()));
    }
    // In rounds: neither point had its second repeat before the other one had its first.
    let text = std::fs::read_to_string(folder.join("points.ndjson")).unwrap();
    let order = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone());
    assert_eq!(
        order.collect::<Vec<_>>(),
        ["tcp-stream-1000", "tcp-stream-64000", "tcp-stream-1000", "tcp-stream-64000"]
    );
    std::fs::write(file, PLAN.replace("64000", "32000")).unwrap();
    let run = sweep(dir.path(), &[file, "--out", at, "--resume"]);
    let line = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(line.contains("is of another sweep (mine, as its file was then, "), "{line}");
}

/// Latency beside streams each way, over the kernel's sockets and over ours, from the plan to what is shown.
#[test]
fn workloads_at_once_have_a_test_each_and_are_shown_with_what_was_beside_them() {
    const LOADED: &str = r#"
name = "loaded"
repeats = 1
[[test]]
name = "ping"
workload = "UDP_RR"
parameters = { via = "VIA", seconds = 1 }
[[test.beside]]
name = "up"
workload = "TCP_STREAM"
parameters = { io_bytes = 16384, parallel = 4 }
[[test.beside]]
name = "down"
workload = "TCP_MAERTS"
parameters = { io_bytes = 16384, parallel = 4 }
"#;
    for via in ["kernel", "stack"] {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("plan.toml"), dir.path().join("sweep"));
        std::fs::write(&file, LOADED.replace("VIA", via)).unwrap();
        let (file, at) = (file.to_str().unwrap(), folder.to_str().unwrap());
        let run = sweep(dir.path(), &[file, "--out", at, "--json", "--shared"]);
        let document: Value = serde_json::from_slice(&run.stdout).unwrap();
        let tests = document["tests"].as_array().unwrap();
        if let Some(why) = tests[0]["skipped"].as_str().filter(|why| why.contains("network namespace")) {
            linerate_skip::skip!("{why}");
            continue;
        }
        // What did not run at the same time, on a machine that is busy, is no figure to be shown, and has no sum.
        if tests.iter().any(|test| test["value"].is_null()) {
            linerate_skip::skip!("{via}: {}", tests[0]["repeats"][0]["why_invalid"]);
            continue;
        }
        let ids: Vec<&str> = tests.iter().map(|test| test["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["ping", "ping-up", "ping-down", "ping-ping-alone", "ping-sum"], "{via}");
        assert!(tests.iter().all(|test| test["failures"].as_array().is_some_and(Vec::is_empty)), "{via}: {tests:?}");
        let beside = |place: usize| tests[place]["parameters"]["beside"].as_str();
        assert_eq!([0, 1, 3].map(beside), ["up, down", "ping, down", "nothing"].map(Some), "{via}");
        // Of a measurement before it whose workloads ran apart there is no sum.
        let values =
            |place: usize| tests[place]["repeats"].as_array().unwrap().last().unwrap()["value"].as_f64().unwrap();
        assert!((values(4) / (values(1) + values(2)) - 1.0).abs() < 1e-9, "{via}");
        for (test, unit) in [(0, "ns"), (3, "ns")] {
            assert_eq!(tests[test]["further"]["p99"]["unit"], unit, "{via}");
        }
        let fair = tests[1]["further"]["fairness"]["median"].as_f64().unwrap();
        assert!((0.25..=1.0).contains(&fair), "{via}: {fair}");
        assert_eq!(run.status.code(), Some(0), "{via}: {}", String::from_utf8_lossy(&run.stderr));
        let shown = linerate(dir.path()).args(["show", "last"]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        for told in ["up, down", "nothing", "sum of up, down"] {
            assert!(shown.contains(told), "{via}: {told}: {shown}");
        }
        let compared = linerate(dir.path()).args(["compare", at, at]).output().unwrap();
        let compared = String::from_utf8(compared.stdout).unwrap();
        assert!(ids.iter().all(|id| compared.contains(id)), "{via}: {compared}");
    }
}

/// Regression: of a sweep that was killed none of its points was shown, though they were on the disk.
#[test]
fn a_killed_sweep_is_shown_with_what_it_measured_and_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (file, folder) = (dir.path().join("plan.toml"), dir.path().join("sweep"));
    std::fs::write(&file, PLAN).unwrap();
    let words = ["sweep", file.to_str().unwrap(), "--shared"];
    // On a busy machine it may be killed too late.
    let is_cut_short = (0..20).any(|_| {
        let _ = std::fs::remove_dir_all(&folder);
        killed(dir.path(), &words, &folder, 3);
        points(&folder) == 3
    });
    assert!(is_cut_short, "{} measurements", points(&folder));
    // The line that was being written is no measurement.
    let mut file = std::fs::File::options().append(true).open(folder.join("points.ndjson")).unwrap();
    std::io::Write::write_all(&mut file, b"{\"id\":\"tcp-stream-64000\",").unwrap();
    let show = |words: &[&str]| {
        let shown = linerate(dir.path()).args(["show", "last"]).args(words).output().unwrap();
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        String::from_utf8(shown.stdout).unwrap()
    };
    let document: Value = serde_json::from_str(&show(&["--json"])).unwrap();
    let made: Vec<(&str, usize)> = document["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| (test["id"].as_str().unwrap(), test["repeats"].as_array().unwrap().len()))
        .collect();
    assert_eq!(made, [("tcp-stream-1000", 2), ("tcp-stream-64000", 1)]);
    assert_eq!(document["outcome"], "partial");
    let text = show(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("did not come to its end; go on with: linerate sweep") && text.contains("--resume"),
        "{text}"
    );
    assert!(text.contains("b/s"), "{text}");
}

#[test]
fn a_dry_run_prints_each_step_and_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = |words: &[&str]| sweep(dir.path(), words);
    for (words, points, told) in [
        (
            &["t5-nic"][..],
            27,
            "1. nic-tx-1K: TCP_STREAM io_bytes=1024 mtu=1500 parallel=8 seconds=1 via=kernel window=512000\n    two network namespaces",
        ),
        (&["t5-fcoe", "--full"], 63, "1. fcoe-unlimited-read-512: fcoe "),
        (
            &["emulex-netperf", "--via", "stack", "--repeats", "3,10", "--confidence", "95,5"],
            111,
            "until the mean is known to 5 % with 95 %",
        ),
        (&["rrul"], 1, "at once for 1 s; before that UDP_RR, TCP_RR for 1 s\n"),
        (&["latency-under-load", "--full"], 3, "at once for 60 s; before that UDP_RR for 5 s\n"),
    ] {
        let run = sweep(&[words, &["--dry-run"]].concat());
        let text = String::from_utf8(run.stdout).unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
        assert!(text.contains(told) && text.contains(&format!("\n{points}. ")), "{told}: {text}");
        assert!(!text.contains(&format!("\n{}. ", points + 1)));
    }
    assert!(!dir.path().join("data").exists());
    let run = sweep(&["--workloads"]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("\nTCP_STREAM: ") && text.contains("\n  io_bytes N "), "{text}");
}

#[test]
fn what_is_wrong_with_a_plan_is_said_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("plan.toml"), dir.path().join("sweep"));
    std::fs::write(&path, PLAN.replace("1000, ", "0, ")).unwrap();
    let (file, at) = (path.to_str().unwrap(), out.to_str().unwrap());
    let in_file = format!("{file}, line 7: io_bytes: give a number from 1 to");
    for (words, told) in [
        (&[file, "--out", at][..], in_file.as_str()),
        (&["t5-nic", "--repeats", "3,10", "--out", at], "--repeats: give one number, or say by a confidence"),
        (&["t5-nic", "--repeats", "1,2,3", "--out", at], "--repeats: give one number, or the least and the most"),
        (&["t5-nic", "--repeats", "2,9", "--confidence", "95", "--out", at], "--confidence: give a level and a width"),
        (&["t5-nix", "--out", at], "t5-nix: no such preset or file; did you mean t5-nic?"),
        (&["none", "--out", at], "none: No such file or directory (os error 2); give one of t5-fcoe, "),
        (&["t5-nic", "--dry-run", "--out", at], "--dry-run"),
    ] {
        let run = sweep(dir.path(), words);
        let line = String::from_utf8(run.stderr).unwrap();
        assert_eq!((run.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.contains(told), "{told}: {line}");
    }
    std::fs::write(&path, PLAN).unwrap();
    let run = sweep(dir.path(), &[file, "--quick", "--out", at]);
    let line = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.code() == Some(2) && line.contains("--quick is for presets; write it in "), "{line}");
    assert!(!out.exists());
}

#[test]
fn a_sweep_that_is_interrupted_says_how_to_go_on_and_that_line_does() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.toml");
    std::fs::write(&file, PLAN.replace("repeats = 2", "repeats = 20")).unwrap();
    let mut command = linerate(dir.path());
    command.args(["sweep", file.to_str().unwrap(), "--shared"]);
    let mut process = crate::process::Process::start(command);
    process.until("2/40 ");
    process.signal("INT");
    let ended = process.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    let last = ended.log.lines().last().unwrap();
    let (_, line) = last.split_once("go on with: linerate ").unwrap_or_else(|| panic!("{}", ended.said()));
    assert!(line.contains("--out ") && line.ends_with(" --resume"), "{line}");
    // The line is one for a shell; what is left is not waited for.
    let more = linerate(dir.path());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec '{BINARY}' {line}")]);
    for (name, value) in more.get_envs() {
        shell.env(name, value.unwrap());
    }
    let mut process = crate::process::Process::start(shell);
    process.until("each measurement is kept in ");
    process.signal("INT");
    let again = process.end();
    assert_eq!(again.code, Some(130), "{}", again.said());
}

#[test]
fn runs_that_are_removed_are_gone_and_all_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let out = linerate(dir.path()).args(words).output().unwrap();
        (out.status.code(), String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
    };
    for frames in ["1000", "2000", "3000"] {
        assert_eq!(run(&["pkt-gen", "-i", "null:", "-f", "tx", "-n", frames, "--keep"]).0, Some(0));
    }
    let list = || -> Vec<(String, String)> {
        let document: Value = serde_json::from_str(&run(&["runs", "--json"]).1).unwrap();
        let text = |run: &Value, name: &str| run[name].as_str().unwrap().to_owned();
        document["runs"].as_array().unwrap().iter().map(|run| (text(run, "id"), text(run, "folder"))).collect()
    };
    let kept = list();
    assert_eq!(kept.len(), 3);
    // Of a run and what is none, nothing is removed.
    let (code, out, error) = run(&["runs", "rm", &kept[0].0, "nothing"]);
    assert_eq!((code, out.as_str(), error.lines().count()), (Some(2), "", 1), "{error}");
    assert_eq!(list(), kept);
    // Another file keeps its folder.
    let note = Path::new(&kept[0].1).join("note");
    std::fs::write(&note, "mine").unwrap();
    let (code, out, error) = run(&["runs", "rm", "last", &kept[0].0, &kept[1].1]);
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{out}{error}");
    assert_eq!(list(), kept[2..]);
    assert!(note.exists() && !note.with_file_name("result.json").exists() && !Path::new(&kept[1].1).exists());
    assert!(Path::new(&kept[2].1).join("result.json").exists());
    assert_eq!(run(&["runs", "--reindex"]).0, Some(0));
    assert_eq!(list(), kept[2..]);
}
