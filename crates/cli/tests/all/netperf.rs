//! Tests of `linerate netperf` and `linerate netserver` as programs: with netperf 2.7.0 and with themselves, in all
//! pairings. Flags, values by name and peers that do wrong have files of their own.
#![cfg(target_os = "linux")]

mod flags;
mod flent;
mod hostile;
mod lines;
mod own;
mod selected;

use crate::ends::{End, PAIRINGS, are_alike, port, shape as shape_of, until_open};
use crate::process::{BINARY, Ended, Process};
use linerate_skip::{is_installed, skip};
use std::process::Command;

/// True if netperf and its server are installed; reported otherwise.
#[track_caller]
fn has_netperf() -> bool {
    let has = is_installed("netperf") && is_installed("netserver");
    if !has {
        skip!("netperf is not there: run ./test tools, where Debian's non-free component can be reached");
    }
    has
}

/// Starts a server, and waits until clients can come.
fn server(end: End, more: &[&str]) -> (Process, String) {
    let port = port();
    let name = port.to_string();
    let process = Process::start(end.command("netserver", "netserver", &[&["-D", "-p", &name][..], more].concat()));
    until_open(port, false);
    (process, name)
}

/// Runs a client to its end.
fn client(end: End, port: &str, words: &str) -> Ended {
    let words: Vec<&str> = words.split_whitespace().collect();
    Process::start(end.command("netperf", "netperf", &[&["-H", "127.0.0.1", "-p", port][..], &words].concat())).end()
}

/// Output of a client, which must succeed.
fn pair(pairing: (End, End), words: &str) -> String {
    let (_server, port) = server(pairing.1, &[]);
    let ended = client(pairing.0, &port, words);
    assert_eq!(ended.code, Some(0), "{pairing:?} {words}: {}", ended.said());
    assert_eq!(ended.log, "", "{pairing:?} {words}");
    ended.out
}

/// Lines without their numbers. netperf says an address that is longer than its buffer as none.
fn shape(text: &str) -> Vec<String> {
    text.replace("(127.0.0.1)", "()").lines().map(|line| shape_of(line.trim_end())).collect()
}

/// Compares what our client prints, with either server, with what netperf prints with its own.
fn alike(words: &str) -> Vec<String> {
    let mut printed = Vec::new();
    are_alike(&[words], || {
        // Most of the time is waited for: all at once.
        let (theirs, ours) = std::thread::scope(|scope| {
            let ours = PAIRINGS.map(|pairing| scope.spawn(move || pair(pairing, words)));
            (pair((End::Theirs, End::Theirs), words), ours.map(|said| said.join().expect(words)))
        });
        let shapes = [ours.iter().map(|ours| shape(ours)).collect(), vec![shape(&theirs); ours.len()]];
        printed = ours.into();
        shapes
    });
    printed
}

/// Numbers of a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn streams_flow_in_all_pairings_and_print_the_same_columns() {
    if !has_netperf() {
        return;
    }
    for test in ["TCP_STREAM", "TCP_MAERTS", "TCP_SENDFILE"] {
        for text in alike(&format!("-t {test} -l 1 -c -C")) {
            let [receive, send, size, seconds, rate, local, remote, own, other] =
                numbers(text.lines().last().unwrap())[..]
            else {
                panic!("{text}")
            };
            assert!(receive > 0.0 && send > 0.0 && size > 0.0 && (0.9..30.0).contains(&seconds), "{text}");
            assert!(rate > 0.0 && own > 0.0 && other > 0.0, "{text}");
            assert!([local, remote].iter().all(|cpu| (0.0..=100.1).contains(cpu)), "{text}");
        }
    }
}

#[test]
fn datagrams_flow_in_all_pairings_and_print_the_same_columns() {
    if !has_netperf() {
        return;
    }
    for text in alike("-t UDP_STREAM -l 1 -c -C -- -m 1000") {
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).map(numbers).collect();
        let [.., sent, received] = &lines[..] else { panic!("{text}") };
        let ([_, size, _, sends, errors, out, ..], [_, _, receives, arrived, ..]) = (&sent[..], &received[..]) else {
            panic!("{text}")
        };
        assert!(*size == 1000.0 && *errors >= 0.0 && receives <= sends && *receives > 0.0, "{text}");
        assert!(arrived <= out && *arrived > 0.0, "{text}");
    }
}

#[test]
fn requests_are_answered_in_all_pairings_and_print_the_same_columns() {
    if !has_netperf() {
        return;
    }
    for test in ["TCP_RR", "UDP_RR", "TCP_CRR"] {
        for text in alike(&format!("-t {test} -l 1 -c -C -- -r 100,200")) {
            let line = text.lines().nth_back(1).unwrap();
            let [_, _, request, response, seconds, rate, local, ..] = numbers(line)[..] else { panic!("{text}") };
            assert_eq!((request, response), (100.0, 200.0), "{text}");
            assert!((0.9..30.0).contains(&seconds) && rate > 0.0 && (0.0..=100.1).contains(&local), "{text}");
        }
    }
}

#[test]
fn a_number_of_bytes_or_transactions_ends_a_test_in_all_pairings() {
    if !has_netperf() {
        return;
    }
    for pairing in PAIRINGS {
        for test in ["TCP_STREAM", "TCP_MAERTS", "TCP_SENDFILE", "UDP_STREAM", "TCP_RR", "TCP_CRR"] {
            // netperf says nothing of this to its own server in the older dialect.
            if test == "TCP_SENDFILE" && pairing != (End::Ours, End::Ours) {
                continue;
            }
            let count = if test.ends_with("RR") { 500 } else { 3_000_000 };
            let text = pair(pairing, &format!("-t {test} -l -{count}"));
            assert!(text.lines().count() >= 6, "{pairing:?} {test}: {text}");
        }
    }
}

#[test]
fn a_server_serves_several_clients_at_once_and_one_after_the_other_if_it_is_told_to() {
    for (more, least) in [(&[][..], 0.0), (&["-f"], 3.0)] {
        let (server, port) = server(End::Ours, more);
        let begin = std::time::Instant::now();
        let start = |test: &&str| {
            let words = ["-H", "127.0.0.1", "-p", &port, "-P", "0", "-l", "1", "-t", test];
            Process::start(End::Ours.command("netperf", "netperf", &words))
        };
        let clients: Vec<_> = ["TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR"].iter().map(start).collect();
        for client in clients {
            let ended = client.end();
            assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{}", ended.said());
        }
        assert!(begin.elapsed().as_secs_f64() >= least, "{more:?}: {:?}", begin.elapsed());
        server.signal("TERM");
        assert_eq!(server.end().code, Some(143));
    }
}

#[test]
fn ctrl_c_ends_a_client_with_what_was_measured_and_sigterm_a_server_with_its_sessions() {
    let (server, port) = server(End::Ours, &[]);
    let words = ["-H", "127.0.0.1", "-p", &port, "-l", "0", "-D", "0.1"];
    let client = Process::ready(End::Ours.command("netperf", "netperf", &words), "Interim result");
    client.signal("INT");
    let ended = client.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    assert!(ended.out.lines().last().is_some_and(|line| numbers(line).len() == 5), "{}", ended.said());

    let client = Process::ready(End::Ours.command("netperf", "netperf", &words), "Interim result");
    server.signal("TERM");
    assert_eq!(server.end().code, Some(143));
    let ended = client.end();
    assert_eq!((ended.code, ended.log.lines().count()), (Some(1), 1), "{}", ended.said());
}

#[test]
fn programs_of_those_names_are_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["netperf", "netserver"] {
        let link = dir.path().join(name);
        std::os::unix::fs::symlink(BINARY, &link).unwrap();
        let out = Command::new(&link).arg("-h").output().unwrap();
        assert!(String::from_utf8(out.stdout).unwrap().starts_with(&format!("Usage: {name} ")));
        let wrong = Command::new(&link).arg("--bogus").output().unwrap();
        assert!(String::from_utf8(wrong.stderr).unwrap().starts_with(&format!("{name}: --bogus: ")));
    }
}
