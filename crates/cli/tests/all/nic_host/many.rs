//! Many interfaces, and some that come and go.

use super::{apart, document, fits, nic, run};
use crate::process::until;
use linerate_host::adapter::{Fate, Machine, find, read};
use linerate_skip::{is_installed, skip};
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs commands of `ip -batch`.
fn batch(lines: &str) {
    let mut ip = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut ip.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    assert!(ip.wait().unwrap().success());
}

#[test]
fn a_thousand_interfaces_are_listed_in_less_than_a_second() {
    if !is_installed("ip") {
        return skip!("ip is not installed");
    }
    apart(|| {
        let pairs = (0..500).fold(String::new(), |mut text, n| {
            writeln!(text, "link add la{n} type veth peer name lb{n}").unwrap();
            text
        });
        batch(&pairs);
        // Beside other tests it takes several attempts.
        until("they are listed in less than a second", || {
            let began = Instant::now();
            let text = nic(&["list"]);
            let took = began.elapsed();
            fits(&text);
            assert_eq!(text.lines().filter(|line| line.contains(" veth ")).count(), 1000);
            took < Duration::from_secs(1)
        });
        // Each row has its own values, not a neighbour's.
        assert!(run("ethtool", &["-L", "la77", "rx", "1"]).status.success() || !is_installed("ethtool"));
        let all = document(&["list"]);
        let row = all["host"].as_array().unwrap().iter().find(|row| row["name"] == "la77").unwrap();
        assert_eq!(
            (row["kind"].as_str(), row["speed_mbps"].as_u64(), row["mtu"].as_u64()),
            (Some("veth"), Some(10_000), Some(1500))
        );
    });
}

#[test]
fn interfaces_that_come_and_go_meanwhile_are_read_as_far_as_they_are_there() {
    if !is_installed("ip") {
        return skip!("ip is not installed");
    }
    apart(|| {
        batch("link add na type veth peer name nb\n");
        let mut machine = Machine::new();
        let found = find(&mut machine, "na").unwrap();
        batch("link set na name nz\n");
        let renamed = read(&mut machine, found.clone());
        assert_eq!(renamed.fate, Fate::Renamed("nz".to_owned()));
        // Netlink goes by the index.
        assert!(renamed.features.is_ok() && renamed.channels.is_ok() && renamed.driver.unwrap_err().is_gone());
        batch("link del nz\n");
        let gone = read(&mut machine, found);
        assert_eq!(gone.fate, Fate::Gone);
        assert!(gone.features.unwrap_err().is_gone() && gone.modes.unwrap_err().is_gone());
        // Lists, while others make and delete: each is whole or a line that says why not.
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    batch("link add xa type veth peer name xb\nlink set xb name xc\nlink del xa\n");
                }
            });
            for _ in 0..20 {
                assert!(nic(&["list"]).starts_with("NAME"));
                let show = run(env!("CARGO_BIN_EXE_linerate"), &["nic", "show", "xa"]);
                assert!([Some(0), Some(2)].contains(&show.status.code()), "{show:?}");
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    });
}
