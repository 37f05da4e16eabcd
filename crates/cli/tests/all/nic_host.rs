//! Tests of `linerate nic list`, `show NAME`, `stats NAME` and `record NAME` on interfaces of the host: beside `ethtool`
//! and `ip` on software interfaces, on the machine's own and on a virtual machine's, on recorded cards, and on recorded hosts of FreeBSD.
#![cfg(target_os = "linux")]

mod beside;
mod freebsd;
mod machine;
mod many;
mod recorded;
mod said;
mod settings;

use linerate_host::{Cause, Namespace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a program to its end, in the namespace of the calling thread.
fn run(program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).env("LC_ALL", "C").output().unwrap()
}

/// Standard output of a command that succeeds.
fn printed(program: &str, words: &[&str]) -> String {
    let out = run(program, words);
    assert!(out.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Standard output of `linerate nic`.
fn nic(words: &[&str]) -> String {
    printed(env!("CARGO_BIN_EXE_linerate"), &[&["nic"], words].concat())
}

/// A document of `linerate nic`.
fn document(words: &[&str]) -> Value {
    serde_json::from_str(&nic(&[words, &["--json"]].concat())).unwrap()
}

/// Document of an interface for `nic show NAME --json`.
fn adapter(name: &str) -> Value {
    document(&["show", name])["adapter"].clone()
}

/// Runs a test in a namespace of its own; skipped, with the reason reported, if none can be made.
fn apart(test: impl FnOnce() + Send) {
    let made = Namespace::quiet();
    if let Some(ns) = linerate_skip::permitted(made, |e| e.cause == Cause::Capability) {
        ns.run_in(test).unwrap();
    }
}

/// A recorded tree.
fn card(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/cards").join(name)
}

/// Columns of a line, with tabs of eight.
fn columns(line: &str) -> usize {
    line.chars().fold(0, |at, c| if c == '\t' { at / 8 * 8 + 8 } else { at + 1 })
}

#[track_caller]
fn fits(text: &str) {
    let wide: Vec<&str> = text.lines().filter(|line| columns(line) > 80).collect();
    assert!(wide.is_empty(), "more than 80 columns: {wide:#?}");
}
