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
