//! Lines about words that are wrong, and rates of what flows.

use super::{apart, document, fits, nic, run};
use crate::process::{Process, until};
use linerate_host::VethPair;
use std::process::Command;

#[test]
fn what_cannot_be_is_one_line_and_exit_2() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    for (words, line) in [
        (&["show", "no-such-one"][..], "no-such-one: no such interface here"),
        (&["show", "a/b"], "no such interface"),
        (&["show", ""], "no such interface"),
        (&["show"], "NAME is missing"),
        (&["show", "lo", "-i", "null:"], "not together with -i"),
        (&["show", "lo", "--from", "/dev/null/place"], "--from /dev/null/place"),
        (&["show", "lo", "--from", dir], "not recorded"),
        (&["stats"], "NAME is missing"),
        (&["stats", "no-such-one"], "no such interface"),
        (&["stats", "lo", "--interval", "1e9"], "out of range"),
        (&["stats", "lo", "--interval", "soon"], "no number"),
        (&["stats", "lo", "--count", "-1"], "-1: no such option"),
        (&["record", "lo", dir], "does not exist yet"),
        (&["record", "no-such-one", "/tmp/never-made"], "no such interface"),
    ] {
        let out = run(env!("CARGO_BIN_EXE_linerate"), &[&["nic"], words].concat());
        let error = String::from_utf8(out.stderr).unwrap();
        let code = if line == "not recorded" { 1 } else { 2 };
        assert_eq!((out.status.code(), error.lines().count()), (Some(code), 1), "{words:?}: {error}");
        assert!(error.contains(line) && out.stdout.is_empty(), "{words:?}: {error}");
    }
}

#[test]
fn an_adapter_of_linerates_own_is_shown_as_before() {
    let text = nic(&["show", "-i", "null:"]);
    assert!(text.contains("options=507bb<RXCSUM") && text.contains("dev.lr.0."), "{text}");
}

#[test]
fn frames_that_flow_have_the_rate_at_which_they_are_sent() {
    apart(|| {
        let pair = VethPair::new(["fa", "fb"], 1, 1500).unwrap();
        let words = ["pkt-gen", "-i", "packet:fa", "-f", "tx", "-R", "2000", "-w", "0"];
        let sender = Process::start(command(&words));
        let mut total = 0;
        // The pace is 2000 a second; on a machine that has other things to do, some reading shows it.
        until("the rate is that of the sender", || {
            let document = document(&["stats", "fb", "--interval", "0.5", "--count", "1"]);
            let rows = document["counters"].as_array().unwrap();
            let row = rows.iter().find(|row| row["group"] == "link" && row["name"] == "rx_packets");
            let Some(row) = row else { return false };
            let (difference, rate) = (row["difference"].as_f64().unwrap(), row["rate"].as_f64().unwrap());
            assert!((rate * document["seconds"].as_f64().unwrap() - difference).abs() < 1e-3, "{row}");
            total = total.max(row["value"].as_u64().unwrap());
            (1500.0..2500.0).contains(&rate)
        });
        let said = sender.stop();
        let sent = said.lines().find_map(|line| line.strip_prefix("Sent ")?.split(' ').next()?.parse::<u64>().ok());
        let dropped = pair.link("fa").unwrap().stats.tx_dropped;
        assert!(total > 0 && sent.is_some_and(|sent| total <= sent), "{total}: {said}");
        let after = document(&["stats", "fb", "--interval", "0"]);
        let row = after["counters"].as_array().unwrap().iter().find(|row| row["name"] == "rx_packets").unwrap().clone();
        assert_eq!(row["value"].as_u64(), Some(pair.link("fb").unwrap().stats.rx_packets));
        assert_eq!(row["value"].as_u64().map(|received| received + dropped), sent, "{said}");
        assert!(row["rate"].is_null(), "{row}");
    });
}

#[test]
fn tables_have_80_columns_and_end_when_they_shall() {
    let text = nic(&["stats", "lo", "--interval", "0.01", "--count", "2", "--all"]);
    fits(&text);
    assert_eq!(text.matches("lo: ").count(), 2, "{text}");
    // Without an end: until it is told to.
    let mut endless = Process::start(command(&["nic", "stats", "lo", "--interval", "0.05", "--count", "0", "--json"]));
    endless.until("linerate.nic.stats");
    endless.until("linerate.nic.stats");
    endless.signal("INT");
    assert_eq!(endless.end().code, Some(130));
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.args(words);
    command
}
