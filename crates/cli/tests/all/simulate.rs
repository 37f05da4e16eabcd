//! Tests of `linerate simulate`: runs that repeat in other processes, and files.

use crate::process::BINARY;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn simulate(words: &str) -> Output {
    Command::new(BINARY).args(["simulate", "san"]).args(words.split_whitespace()).output().unwrap()
}

fn document(words: &str) -> Value {
    let out = simulate(&format!("{words} --json"));
    assert!(out.status.success() && out.stderr.is_empty(), "{words}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Words of a short run.
const SHORT: &str = "--initiators 3 --op readwrite --target-rate 40G --warm 0 --time 1";

#[test]
fn equal_seeds_give_equal_documents_in_other_processes() {
    let [first, again, other] = ["1", "1", "2"].map(|seed| document(&format!("{SHORT} --seed {seed}")));
    assert_eq!(first, again);
    assert!(first["hash"].as_str().unwrap().len() == 16 && first["hash"] != other["hash"]);
    assert_eq!((first["unexplained"].as_u64(), first["flows"].as_array().unwrap().len()), (Some(0), 3));
    let text = simulate(SHORT);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&format!("hash {}", first["hash"].as_str().unwrap())), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn a_file_says_what_options_say_and_the_command_line_goes_before() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("san.toml");
    let written = "initiators = 3\nop = \"readwrite\"\ntarget-rate = \"40G\"\nwarm = 0\ntime = 9\nlossless = true\nloss = 0.001\n";
    fs::write(&file, written).unwrap();
    let by_file = document(&format!("--time 1 --config {}", file.display()));
    assert_eq!(by_file, document(&format!("{SHORT} --lossless --loss 0.001")));
    for (written, word) in [
        ("initiators = \n", "line 1: "),
        ("initiatorz = 3\n", "did you mean --initiators?"),
        ("initiators = 17\n", "--initiators 17: give a number from 1 to 16"),
        ("rate = [1, 2]\n", "rate: not one value"),
        ("json = true\n", "json: not in a file"),
    ] {
        fs::write(&file, written).unwrap();
        let out = simulate(&format!("--config {}", file.display()));
        let line = String::from_utf8(out.stderr).unwrap();
        assert!(line.contains(word) && line.contains("san.toml: ") && line.lines().count() == 1, "{written}: {line}");
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0));
    }
}

/// Settings and counts of marks and of congestion points, in the document and in a text of 80 columns.
#[test]
fn queues_are_shown_with_what_was_told_of_them() {
    let words = "--initiators 2 --op write --depth 64 --slots 64 --vlan 100 --warm 0 --time 4 --hosts 2 --host-tcp \
        --buffers 1M --ets prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:50 1:50 --pfc prio 3 --qcn prio 3:setpoint=32K --ecn 0=40K:80K:5 \
        --pfc-watchdog 200:action=forward";
    let done = document(words);
    let settings = &done["settings"]["buffers"];
    assert_eq!(settings["qcn"], serde_json::json!({"prio": [3], "setpoint": 32_768}));
    assert_eq!(settings["ecn"][0], serde_json::json!({"kmin": 40_960, "kmax": 81_920, "pmax": 5.0}));
    let watchdog = serde_json::json!({"detect_ms": 200.0, "restore_ms": 400.0, "action": "forward"});
    assert_eq!(settings["pfc_watchdog"], watchdog);
    assert!(settings["ecn"][1].is_null() && done["settings"]["host_tcp"] == true);
    let queue = |class: u64| {
        let queues = done["queues"].as_array().unwrap().iter();
        queues.clone().find(|queue| queue["port"] == "target" && queue["class"] == class).unwrap()
    };
    assert!(queue(0)["ecn_marked"].as_u64() > Some(0) && queue(0)["cnms"] == 0, "{}", queue(0));
    assert!(queue(1)["cnms"].as_u64() > Some(0) && queue(1)["ecn_marked"] == 0, "{}", queue(1));
    assert!(queue(1)["most_bytes"].as_f64() >= queue(1)["mean_bytes"].as_f64());
    let text = String::from_utf8(simulate(words).stdout).unwrap();
    let line = format!("target {:>12}", "0");
    assert!(text.contains(&line) && text.contains("segments sent again"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

/// Nodes of a lossless class that the switch tells them of lose nothing; they are of another, and do, when it says another.
#[test]
fn nodes_take_their_priority_from_the_switch() {
    let words = "--op write --depth 64 --slots 64 --warm 1 --time 3 --buffers 512K --ets prio-tc 3:1 tc-tsa 0:ets 1:ets \
        tc-bw 0:40 1:60 --pfc prio 3 --dcb";
    let [first, again, other] = ["1", "1", "2"].map(|seed| document(&format!("{words} --seed {seed}")));
    assert_eq!(first, again);
    assert_ne!(first["hash"], other["hash"]);
    let lossy = document(&format!("{words} --app ethtype 0x8906:1"));
    let tagged = document(&format!("{} --vlan 100", words.replace(" --dcb", "")));
    let classes = |done: &Value| -> Vec<u64> {
        done["queues"].as_array().unwrap().iter().filter_map(|queue| queue["class"].as_u64()).collect()
    };
    let lost =
        |done: &Value| done["stations"].as_array().unwrap().iter().any(|of| of["dropped"]["to"]["no_room"].is_u64());
    for (done, class, loses) in [(&first, 1, false), (&other, 1, false), (&lossy, 0, true)] {
        assert!(classes(done).iter().all(|of| *of == class) && lost(done) == loses, "{done}");
        assert_eq!(done["unexplained"], 0);
    }
    assert_eq!(first["settings"]["dcb"]["app"], serde_json::json!(["ethtype 0x8906:3", "ethtype 0x8914:3"]));
    assert_eq!(first["flows"], tagged["flows"], "as with a VLAN's tags");
    let text = String::from_utf8(simulate(words).stdout).unwrap();
    assert!(text.contains("dcbx: app ethtype 0x8906:3 ethtype 0x8914:3\n"), "{text}");
}
