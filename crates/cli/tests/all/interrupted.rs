//! Tests of Ctrl-C during a measurement: the figures measured so far are a valid result, and the exit code is 130.

use crate::process::{BINARY, Ended, LIMIT, Process};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs a command and interrupts it when a line of its output has these words.
fn interrupted(arguments: &[&str], home: &Path, words: &str) -> Ended {
    let mut command = Command::new(BINARY);
    command.args(arguments).env("HOME", home).env_remove("XDG_DATA_HOME").current_dir(home);
    // A part of a long measurement comes before its words.
    let mut process = Process::start(command).within(5 * LIMIT);
    process.until(words);
    process.signal("INT");
    let ended = process.end();
    assert_eq!(ended.code, Some(130), "{arguments:?}: {}", ended.said());
    ended
}

fn document(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.said()))
}

/// Regression: the interrupted bench printed nothing.
#[test]
fn a_bench_that_is_interrupted_prints_the_rounds_that_were_measured() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["bench", "null", "forward", "--time", "50", "--rounds", "100", "--history", "h"];
    let ended = interrupted(&words, dir.path(), "round 3");
    assert!(ended.out.contains("forward: ") && ended.out.contains(" rounds)"), "{}", ended.said());
    assert!(ended.out.contains("partial: stopped in bench 1 of 2"), "{}", ended.said());
    let history = std::fs::read_to_string(dir.path().join("h")).unwrap();
    assert_eq!(history, "", "a bench that was cut short is not added");
    let ended = interrupted(&[&words[..7], &["--json"]].concat(), dir.path(), "round 3");
    let document = document(&ended);
    assert_eq!((&document["schema"], &document["signal"]), (&"linerate.result".into(), &2.into()));
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 1);
    let value = &tests[0]["value"];
    assert!(value["counted"].as_u64() >= Some(2) && value["median"].as_f64() > Some(0.0), "{document}");
}

/// One measurement of it takes a minute, and is not waited for.
#[test]
fn a_bench_that_is_interrupted_in_its_first_round_ends_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let ended = interrupted(&["bench", "null", "--time", "60000", "--rounds", "100"], dir.path(), "round 1");
    assert!(ended.out.contains("no round was measured to its end"), "{}", ended.said());
    assert!(!ended.log.contains("round 2"), "{}", ended.said());
}

#[test]
fn whatever_measures_leaves_a_valid_partial_result_when_it_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let cable = format!("cable:interrupted-{}", std::process::id());
    let [left, right] = [format!("{cable}{{1"), format!("{cable}}}1")];
    for (words, at) in [
        (&["qualify", &left, &right, "--time", "300", "--out", "q", "--json"][..], "2/"),
        (&["sweep", "t5-fcoe", "--out", "s", "--json"], "2/"),
        (&["profile", "tx", "--time", "1000", "--rounds", "1000", "--out", "p", "--json"], "1/1"),
        (&["profile", "flood", "127.0.0.1:9", "--time", "80000000", "--json"], ""),
        (&["xdd", "-targets", "1", "null:1G", "-runtime", "1000", "--json"], "opened by"),
        (&["pkt-gen", "-i", &left, "-f", "rx", "--json"], "Ready"),
    ] {
        let ended = if at.is_empty() { flooded(words, dir.path()) } else { interrupted(words, dir.path(), at) };
        let document = document(&ended);
        assert_eq!((&document["schema"], &document["signal"]), (&"linerate.result".into(), &2.into()), "{words:?}");
        assert!(document["tests"].is_array() && document["outcome"].is_string(), "{words:?}: {document}");
        if let Some(out) = words.iter().position(|word| *word == "--out") {
            let kept = std::fs::read_to_string(dir.path().join(words[out + 1]).join("result.json")).unwrap();
            assert_eq!(kept, ended.out, "{words:?}");
        }
    }
}

/// Runs a flood, which prints nothing before its end; the first datagram shows that it runs.
fn flooded(words: &[&str], home: &Path) -> Ended {
    let reader = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    reader.set_read_timeout(Some(LIMIT)).unwrap();
    let to = reader.local_addr().unwrap().to_string();
    let words: Vec<&str> = words.iter().map(|word| if *word == "127.0.0.1:9" { &to } else { *word }).collect();
    let mut command = Command::new(BINARY);
    command.args(&words).env("HOME", home);
    let process = Process::start(command);
    reader.recv(&mut [0; 64]).unwrap();
    process.signal("INT");
    let ended = process.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    ended
}
