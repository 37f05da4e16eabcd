//! flent, which drives netperf by command lines of its own, with our programs under netperf's names.

use crate::ends::{port, until_open};
use crate::process::{BINARY, LIMIT, Process};
use linerate_skip::{is_installed, skip};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// A program, by the name of a link to ours.
fn by_name(links: &Path, words: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("PATH", format!("{}:{path}", links.display())).current_dir(links);
    command
}

#[test]
fn flent_has_its_data_from_netperf_and_netserver_by_name() {
    if !(is_installed("flent") && is_installed("fping")) {
        skip!("flent and fping are not there: run ./test tools");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for name in ["netperf", "netserver"] {
        symlink(BINARY, dir.path().join(name)).unwrap();
    }
    let (number, name) = (port(), dir.path().join("netserver"));
    let port = number.to_string();
    let _server = Process::start(by_name(dir.path(), &[name.to_str().unwrap(), "-D", "-p", &port]));
    until_open(number, false);
    // Each waits ten seconds beside its test: all at once.
    let tests = [("tcp_upload", 1), ("tcp_download", 1), ("rrul", 11)].map(|(test, flows)| {
        let table = format!("{test}.csv");
        let words = ["flent", test, "-H", "127.0.0.1", "--netperf-control-port", &port, "-l", "3", "-s", "0.2"];
        let out = ["-f", "csv", "-o", &table, "-D", "."];
        (
            test,
            flows,
            table.clone(),
            Process::start(by_name(dir.path(), &[&words[..], &out].concat())).within(3 * LIMIT),
        )
    });
    for (test, flows, table, flent) in tests {
        let ended = flent.end();
        assert_eq!(ended.code, Some(0), "{test}: {}", ended.said());
        assert!(!ended.said().contains("WARNING"), "{test}: {}", ended.said());
        let text = std::fs::read_to_string(dir.path().join(&table)).unwrap();
        let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let heads = rows.next().unwrap();
        let rows: Vec<_> = rows.collect();
        let flow = |head: &str| {
            let moves = head.starts_with("TCP upload") || head.starts_with("TCP download") || head.contains("UDP");
            moves && !head.ends_with("avg") && !head.ends_with("sum")
        };
        let columns: Vec<usize> = (0..heads.len()).filter(|at| flow(heads[*at])).collect();
        assert_eq!(columns.len(), flows, "{test}: {heads:?}");
        for at in columns {
            let figures = rows.iter().filter_map(|row| row.get(at)?.parse::<f64>().ok());
            assert!(figures.filter(|figure| *figure > 0.0).count() > 1, "{test}: {}: {text}", heads[at]);
        }
    }
}
