//! Flags: those that have an effect show it, and the others are refused by name.

use super::{End, PAIRINGS, alike, has_netperf, numbers, pair, server};
use crate::process::{BINARY, Process};
use std::process::Command;

#[test]
fn flags_change_what_is_printed_as_netperfs_do() {
    if !has_netperf() {
        return;
    }
    for words in [
        "-t TCP_STREAM -v 0",
        "-t TCP_STREAM -v 0 -c",
        "-t TCP_STREAM -v 2 -P 0",
        "-t TCP_STREAM -C -f K",
        "-t TCP_STREAM -P 0 -B brand",
        "-t TCP_MAERTS -v 2",
        "-t UDP_STREAM -v 0",
        "-t UDP_STREAM -v 0 -C -c",
        "-t UDP_STREAM -v 2 -f M",
        "-t TCP_RR -v 2 -T 0,0",
        "-t TCP_RR -v 0 -C -c",
        "-t TCP_RR -f k",
        "-t TCP_RR -f k -c -- -r 32,64",
        "-t UDP_RR -v 2",
        "-t TCP_CRR -l -100 -v 2 -c",
        "-t TCP_RR -- -D -P 0,0",
        "-t TCP_SENDFILE -v 0",
    ] {
        alike(&if words.contains("-l ") { words.to_owned() } else { words.replacen("-t", "-l 1 -t", 1) });
    }
}

#[test]
fn a_mean_that_is_not_known_is_warned_of() {
    if !has_netperf() {
        return;
    }
    for pairing in PAIRINGS {
        let text = pair(pairing, "-t TCP_RR -l 1 -i 3 -I 99,0.001 -r");
        assert!(text.contains("+/-0.001% @ 99% conf.  on result only"), "{text}");
        assert!(
            text.contains("\n!!! WARNING\n") && text.contains("!!! Confidence intervals: Throughput      : "),
            "{text}"
        );
    }
}

#[test]
fn figures_come_while_a_test_goes_on() {
    let (_server, port) = server(End::Ours, &[]);
    for (test, unit) in [("TCP_STREAM", "10^6bits/s"), ("TCP_MAERTS", "10^6bits/s"), ("UDP_RR", "Trans/s")] {
        let words = ["-H", "127.0.0.1", "-p", &port, "-t", test, "-l", "0", "-D", "0.2"];
        let mut client = Process::start(End::Ours.command("netperf", "netperf", &words));
        // Where others compute, an interval may pass without anything.
        for _ in 0..2 {
            while numbers(&client.until("Interim result: "))[0] == 0.0 {}
        }
        client.signal("INT");
        let ended = client.end();
        let lines: Vec<&str> = ended.out.lines().filter(|line| line.starts_with("Interim result: ")).collect();
        assert!(lines.iter().all(|line| line.contains(&format!(" {unit} over "))), "{}", ended.said());
        // The last one has the rest.
        let [whole @ .., _] = &lines[..] else { panic!("{}", ended.said()) };
        assert!(ended.code == Some(130) && whole.iter().all(|line| numbers(line)[1] >= 0.2), "{}", ended.said());
    }
}

#[test]
fn sizes_go_by_1024_and_1000_and_reach_both_ends() {
    if !has_netperf() {
        return;
    }
    for pairing in PAIRINGS {
        let text = pair(pairing, "-P 0 -l 1 -t TCP_STREAM -- -m 3K -M 5k -s 32K -S 64K");
        assert_eq!(numbers(&text)[..3], [131_072.0, 65_536.0, 3072.0], "{pairing:?}: {text}");
        let text = pair(pairing, "-P 0 -l 1 -t TCP_MAERTS -- -m ,3k -s 32K -S 64K");
        assert_eq!(numbers(&text)[..3], [65_536.0, 131_072.0, 3000.0], "{pairing:?}: {text}");
    }
}

/// All flags that netperf and netserver have are known: taken or refused by name.
#[test]
fn every_flag_of_netperf_is_known() {
    for (program, before, letters) in [
        ("netperf", &[][..], "aABbcCdDfFhHiIjkKlLnNoOpPrsStTvVwWyYZ46"),
        ("netperf", &["--"], "abBcCdDeFgGhHiIjkKlLmMnNoOpPrRsStTuUVwW46"),
        ("netserver", &[], "hdDfLnNpvVZ46"),
    ] {
        for letter in letters.chars() {
            let flag = format!("-{letter}");
            let run =
                Command::new(BINARY).arg(program).args(before).args([&flag, "x", "--no-such-thing"]).output().unwrap();
            let log = String::from_utf8(run.stderr).unwrap();
            assert!(!log.contains(&format!("{flag}: no such flag")), "{program} {before:?} {flag}: {log}");
        }
        let run = Command::new(BINARY).arg(program).args(before).arg("--no-such-thing").output().unwrap();
        let log = String::from_utf8(run.stderr).unwrap();
        assert_eq!((run.status.code(), log.lines().count()), (Some(2), 1), "{log}");
        assert!(log.starts_with(&format!("linerate {program}: --no-such-thing: no such flag")), "{log}");
    }
}
