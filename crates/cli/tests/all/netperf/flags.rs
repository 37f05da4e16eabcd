//! Flags: those that have an effect show it, and the others are refused by name.

use super::{End, PAIRINGS, alike, client, has_netperf, numbers, pair, server};
use crate::process::{BINARY, Process, until};
use linerate_skip::{is_installed, skip};
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

/// As programs read them that drive netperf.
#[test]
fn figures_of_a_test_that_goes_on_have_keys_where_the_others_have() {
    let (_server, port) = server(End::Ours, &[]);
    let run = |form: &str| {
        let ended =
            client(End::Ours, &port, &format!("-P 0 -v 0 -l 1 -D -0.20 -t TCP_STREAM -f m -- {form} THROUGHPUT"));
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        ended.out
    };
    let text = run("-k");
    let (interim, last) = text.split_at(text.find("THROUGHPUT=").unwrap());
    let lines: Vec<&str> = interim.lines().collect();
    assert!(!lines.is_empty() && last.lines().count() == 1, "{text}");
    for (at, lines) in lines.chunks(4).enumerate() {
        let keys = ["INTERIM_RESULT", "UNITS", "INTERVAL", "ENDING"].map(|key| format!("NETPERF_{key}[{at}]="));
        let values: Vec<&str> = lines.iter().zip(&keys).filter_map(|(line, key)| line.strip_prefix(key)).collect();
        let [result, "10^6bits/s", interval, ending] = values[..] else { panic!("{text}") };
        assert!([result, interval, ending].iter().all(|n| n.parse::<f64>().is_ok_and(|n| n >= 0.0)), "{text}");
    }
    let text = run("-o");
    let first: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    assert!(first.len() == 4 && first[1] == "10^6bits/s", "{text}");
}

#[test]
fn types_of_service_and_priorities_are_those_of_both_ends() {
    if !has_netperf() {
        return;
    }
    let names = "LOCAL_SOCKET_TOS,REMOTE_SOCKET_TOS,LOCAL_SOCKET_PRIO,REMOTE_SOCKET_PRIO";
    for (words, values) in [
        ("-t TCP_STREAM -Y CS1,EF -y 3,4", "0x20,0xb8,3,4"),
        ("-t TCP_MAERTS -Y 0x20", "0x20,0x20,-1,-1"),
        ("-t UDP_RR -Y ,0x8", "0xffffffff,0x08,-1,-1"),
        ("-t TCP_RR", "0xffffffff,0xffffffff,-1,-1"),
    ] {
        for text in alike(&format!("{words} -P 0 -l 1 -- -o {names}")) {
            assert_eq!(text.trim_end(), values, "{words}");
        }
    }
    // Of TCP the lower two bits are the kernel's.
    let text = pair((End::Ours, End::Ours), &format!("-P 0 -l 1 -t TCP_STREAM -Y 0xbb -- -o {names}"));
    assert_eq!(text.trim_end(), "0xb8,0xb8,-1,-1");
}

/// The kernel says what is set.
#[test]
fn types_of_service_reach_the_sockets() {
    if !is_installed("ss") {
        skip!("ss is not installed");
        return;
    }
    let (_server, port) = server(End::Ours, &[]);
    let words = ["-H", "127.0.0.1", "-p", &port, "-l", "0", "-Y", "cs1,ef", "--", "-H", "127.0.0.2", "-P", ",0"];
    let client = Process::start(End::Ours.command("netperf", "netperf", &words));
    until("both sockets of the data have their types", || {
        let ss = Command::new("ss").args(["-tnOH", "--tos", "src 127.0.0.2 or dst 127.0.0.2"]).output().unwrap();
        let all = String::from_utf8(ss.stdout).unwrap();
        ["tos:0x20", "tos:0xb8"].iter().all(|word| all.contains(word))
    });
    client.signal("INT");
    assert_eq!(client.end().code, Some(130));
}

#[test]
fn data_go_by_addresses_of_their_own() {
    if !has_netperf() {
        return;
    }
    for pairing in [(End::Ours, End::Theirs), (End::Ours, End::Ours)] {
        for test in ["TCP_STREAM", "TCP_RR", "UDP_RR"] {
            let words =
                format!("-P 0 -l 1 -t {test} -- -H 127.0.0.2,4 -L 127.0.0.3,4 -o SOURCE_ADDR,DEST_ADDR,THROUGHPUT");
            let text = pair(pairing, &words);
            let throughput = text.trim_end().strip_prefix("127.0.0.3,127.0.0.2,").map(str::parse::<f64>);
            assert!(throughput.is_some_and(|n| n.is_ok_and(|n| n > 0.0)), "{pairing:?} {test}: {text}");
        }
    }
}

/// Regression: the server's time was over before the client's data came.
#[test]
fn a_client_that_waits_before_its_data_finds_the_server_there() {
    let (_server, port) = server(End::Ours, &[]);
    std::thread::scope(|scope| {
        for test in ["TCP_STREAM", "TCP_MAERTS", "TCP_RR", "TCP_CRR", "UDP_STREAM", "UDP_RR"] {
            let port = &port;
            scope.spawn(move || {
                let ended =
                    client(End::Ours, port, &format!("-P 0 -l 1 -s 7 -t {test} -C -- -k REMOTE_CPU_UTIL,THROUGHPUT"));
                assert_eq!((ended.code, ended.log.as_str()), (Some(0), ""), "{test}: {}", ended.said());
                let figure =
                    ended.out.lines().last().and_then(|line| line.strip_prefix("THROUGHPUT=")?.parse::<f64>().ok());
                assert!(figure.is_some_and(|figure| figure > 0.0), "{test}: {}", ended.said());
            });
        }
    });
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
