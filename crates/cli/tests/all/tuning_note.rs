//! The table of `docs/tuning-note.md`: its commands are run (`guides.rs` parses them), and the tests that it names are there.
#![cfg(target_os = "linux")]

use linerate_host::{Cause, Namespace, VethPair};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A row: step, the note's command, linerate's commands, and tests as file and function.
struct Row {
    step: String,
    commands: Vec<String>,
    tests: Vec<(String, String)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text between grave accents.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/tuning-note.md")).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    let row = |line: &str| {
        // A bar in a command has a stroke before it.
        let plain = line.replace("\\|", "\u{0}");
        let cells: Vec<&str> = plain.trim_matches('|').split('|').map(str::trim).collect();
        let [step, note, ours, tests] = cells[..] else { panic!("not four cells: {line}") };
        assert!(quoted(note).next().is_some(), "{step}: no command of the note");
        Row {
            step: step.to_owned(),
            commands: quoted(ours).filter(|word| word.starts_with("linerate ")).map(str::to_owned).collect(),
            tests: quoted(tests)
                .map(|test| test.split_once("::").unwrap_or_else(|| panic!("{step}: {test}: no test")))
                .map(|(file, name)| (file.to_owned(), name.to_owned()))
                .collect(),
        }
    };
    lines.map(row).collect()
}

/// Runs words behind `linerate`, with settings of its own.
fn run(command: &str, config: &Path) -> Output {
    let trees = root().join("crates/host/tests/freebsd/oce-be3");
    let words = command.split(' ').skip(1);
    let words = words.map(|word| if word == "DIR" { trees.to_str().unwrap() } else { word });
    let mut program = Command::new(env!("CARGO_BIN_EXE_linerate"));
    program
        .args(words)
        .current_dir(config)
        .env("XDG_CONFIG_HOME", config)
        .env("XDG_DATA_HOME", config)
        .output()
        .unwrap()
}

#[test]
fn each_test_of_the_table_is_there() {
    let rows = rows();
    assert!(rows.len() >= 9, "{}", rows.len());
    for row in &rows {
        assert!(!row.tests.is_empty() && !row.commands.is_empty(), "{}", row.step);
        for (file, name) in &row.tests {
            let text = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{}: {file}: {e}", row.step));
            let before = text.split(&format!("fn {name}()")).next().filter(|before| before.len() < text.len());
            let before = before.unwrap_or_else(|| panic!("{}: {file} has no {name}", row.step));
            // The last attribute is of this function.
            let marked = before.rsplit_once("#[test]").is_some_and(|(_, between)| !between.contains("fn "));
            assert!(marked, "{}: {file}: {name} is no test", row.step);
        }
    }
}

#[test]
fn each_command_that_needs_no_interface_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut ran = 0;
    for command in rows().iter().flat_map(|row| &row.commands) {
        let whole = command.contains(" --from DIR") || command.contains(" -i null:") || command.ends_with(" --dry-run");
        if whole {
            let out = run(command, dir.path());
            assert!(out.status.success() && !out.stdout.is_empty(), "{command}: {out:?}");
            ran += 1;
        }
    }
    assert!(ran >= 8, "{ran}");
}

#[test]
fn each_command_for_an_interface_does_what_the_table_says() {
    let made = Namespace::quiet();
    let Some(ns) = linerate_skip::permitted(made, |e| e.cause == Cause::Capability) else { return };
    ns.run_in(|| {
        let _pair = VethPair::new(["eth0", "far"], 2, 1500).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut ran = 0;
        let rows = rows();
        let elsewhere = |command: &str| ["--from", "--remote"].iter().any(|flag| command.contains(flag));
        let here = |command: &&String| command.contains(" eth0") && !elsewhere(command);
        for command in rows.iter().flat_map(|row| &row.commands).filter(here) {
            let out = run(command, dir.path());
            // 1: a virtual pair has no moderation, rings and LRO to set, and says so. 3: there are findings.
            let codes: &[i32] = match command.split(' ').nth(1) {
                Some("doctor") => &[0, 3],
                _ if command.contains("rx-usecs") || command.contains(" lro") => &[1],
                _ => &[0],
            };
            assert!(out.status.code().is_some_and(|code| codes.contains(&code)), "{command}: {out:?}");
            // Nothing differs from what was just saved.
            assert_eq!(out.stdout.is_empty(), command.contains(" diff "), "{command}: {out:?}");
            ran += 1;
        }
        assert!(ran >= 12, "{ran}");
    })
    .unwrap();
}
