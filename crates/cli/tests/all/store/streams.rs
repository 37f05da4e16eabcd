//! Tests of runs that stream, iperf and netperf keep.

use super::{Data, said};
use crate::ends::{port, until_open};
use crate::process::Process;
use linerate_result::{Outcome, RunResult, Unit};
use linerate_skip::{is_installed, skip};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Runs from the last one on, each with its workload, its tests' directions, and its value.
fn kept(data: &Data) -> Vec<(String, Vec<bool>, f64)> {
    let one = |id: &String| {
        let run = RunResult::from_json(&data.out(&["show", id, "--json"])).unwrap();
        assert!(run.reasons.is_empty() && run.environment.linerate.is_some(), "{run:?}");
        for test in &run.tests {
            // A server of iperf3's protocol does not hear what arrived of what it sent.
            let told = "the document does not tell what arrived: the figure is what was sent";
            // What was in the way of the test: its own other end is a program beside it.
            let ledger =
                ["other programs took", "other guests", "heat slowed", "segments", "whether other programs ran"];
            let known = |warning: &String| warning == told || ledger.iter().any(|of| warning.contains(of));
            assert!(test.warnings.iter().all(known), "{test:?}");
            assert_eq!(test.ports[0].path, "the kernel's sockets", "{test:?}");
        }
        let reverse =
            |test: &linerate_result::Test| test.parameters.get("reverse").is_some_and(|on| *on == true.into());
        let value = run.tests[0].value.as_ref().unwrap();
        assert!(matches!(value.unit, Unit::BitsPerSecond | Unit::TransactionsPerSecond), "{value:?}");
        (run.tests[0].workload.clone(), run.tests.iter().map(reverse).collect(), value.median.known().unwrap())
    };
    data.ids().iter().map(one).collect()
}

/// Both ends keep each test, with the same figure: what the receiver counted.
#[test]
fn both_ends_of_a_stream_keep_its_tests() {
    for (program, udp, client, workload, ways, senders) in [
        ("stream", false, "-t 1 -P 2", "iperf3-tcp", &[false][..], 2),
        ("stream", false, "-t 1 --bidir", "iperf3-tcp", &[false, true], 2),
        ("stream", false, "-u -b 5M -t 1 -R", "iperf3-udp", &[true], 0),
        ("iperf", false, "-t 1 -P 3", "iperf-tcp", &[false], 3),
        ("iperf", false, "-t 1 -i 0.2 --full-duplex", "iperf-tcp", &[false, true], 2),
        ("iperf", true, "-u -b 5M -t 1", "iperf-udp", &[false], 0),
    ] {
        let (data, at) = (Data::new(), port());
        let number = at.to_string();
        let words = [program, "-s", if udp { "-u" } else { "-4" }, "-p", &number, "--keep"];
        let server = Process::start(data.command(&words));
        until_open(at, udp);
        let asked: Vec<&str> = client.split(' ').collect();
        let words = [&[program, "-c", "127.0.0.1", "-p", &number, "--keep"][..], &asked].concat();
        let said = data.run(&words);
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
        crate::process::until("the server has kept it", || data.ids().len() >= 2);
        server.signal("INT");
        server.end();
        let runs = data.ids();
        let runs = runs.iter().map(|id| RunResult::from_json(&data.out(&["show", id, "--json"])).unwrap());
        let connections: Vec<_> = runs.flat_map(|run| run.tests).flat_map(|test| test.connections).collect();
        // Each connection is known at its sender, whichever end that is.
        assert_eq!(connections.iter().filter(|of| of.rtt_ns.known() > Some(0.0)).count(), senders, "{words:?}");
        assert!(connections.iter().all(|of| of.sent_again.is_some()), "{words:?}: {connections:?}");
        let kept = kept(&data);
        let [(a, a_ways, one), (b, b_ways, other)] = &kept[..] else { panic!("{words:?}: {kept:?}") };
        assert_eq!((a.as_str(), b.as_str()), (workload, workload), "{words:?}");
        assert_eq!((&a_ways[..], &b_ways[..]), (ways, ways), "{words:?}");
        assert!(one / other > 0.2 && one / other < 5.0, "{words:?}: {kept:?}");
        // The list has both command lines, and what it shows was printed by nobody else.
        let list: Value = serde_json::from_str(&data.out(&["runs", "--json"])).unwrap();
        let of = |n: usize| list["runs"][n]["command_line"][1].as_str().unwrap().to_owned();
        assert_eq!([of(0), of(1)], [program, program], "{list}");
    }
}

#[test]
fn netperf_keeps_its_test() {
    let (data, at) = (Data::new(), port());
    let number = at.to_string();
    let server = Process::start(data.command(&["netserver", "-D", "-p", &number]));
    until_open(at, false);
    for (words, workload) in [("-t TCP_STREAM -c", "netperf-tcp_stream"), ("-t TCP_RR -l -100", "netperf-tcp_rr")] {
        let words: Vec<&str> = words.split(' ').collect();
        let words = [&["netperf", "-H", "127.0.0.1", "-p", &number, "-l", "1", "--keep"][..], &words].concat();
        let said = data.run(&words);
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
        let kept = kept(&data);
        assert_eq!(kept[0].0, workload);
        let run = RunResult::from_json(&data.out(&["show", "last", "--json"])).unwrap();
        let [connection] = &run.tests[0].connections[..] else { panic!("{words:?}: {run:?}") };
        assert!(
            connection.rtt_ns.known() > Some(0.0) && connection.window_bytes > Some(0),
            "{words:?}: {connection:?}"
        );
    }
    server.signal("INT");
    server.end();
    assert_eq!(data.ids().len(), 2);
}

/// Regression: a test that was cut short by a signal was kept as passed by iperf and netperf, and as failed by stream.
#[test]
fn a_test_that_is_interrupted_is_kept_as_partial() {
    for (server, client, begun) in [
        ("stream -s", "stream -c 127.0.0.1 -t 60 -i 0.2", "0.20-"),
        ("iperf -s", "iperf -c 127.0.0.1 -t 60 -i 0.2", "0.4"),
        ("netserver -D", "netperf -H 127.0.0.1 -l 60 -D 0.2", "Interim result"),
    ] {
        let (data, at) = (Data::new(), port());
        let number = at.to_string();
        let words = |text: &'static str| text.split(' ').chain(["-p", &number]).map(str::to_owned).collect::<Vec<_>>();
        let start =
            |words: Vec<String>| Process::start(data.command(&words.iter().map(String::as_str).collect::<Vec<_>>()));
        let server = start(words(server));
        until_open(at, false);
        let mut asked = words(client);
        asked.push("--keep".to_owned());
        let mut client = start(asked.clone());
        client.until(begun);
        client.signal("INT");
        client.end();
        server.signal("INT");
        server.end();
        let run = RunResult::from_json(&data.out(&["show", "last", "--json"])).unwrap();
        assert_eq!((run.outcome, run.signal, &run.reasons[..]), (Outcome::Partial, Some(2), &[][..]), "{asked:?}");
        assert!(run.tests[0].value.is_some(), "{run:?}");
    }
}

/// Regression: a client that vanished left a test that had passed, and one that asked for no test left a failed one.
#[test]
fn a_server_keeps_tests_that_broke_as_failed_and_none_of_who_asked_for_none() {
    if !is_installed("python3") {
        return skip!("python3 is not installed");
    }
    let (data, at) = (Data::new(), port());
    let number = at.to_string();
    let mut server = Process::start(data.command(&["iperf", "-s", "-p", &number, "--keep"]));
    until_open(at, false);
    // A connection that lingers for no time is reset at its end.
    let script = "import socket, struct, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(bytes(65536))
sys.stdin.readline()
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
s.close()";
    let mut other = Command::new("python3").args(["-c", script, &number]).stdin(Stdio::piped()).spawn().unwrap();
    server.until("connected with");
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    crate::process::until("the server has kept it", || data.run(&["show", "last"]).code == 0);
    server.signal("INT");
    server.end();
    let run = RunResult::from_json(&data.out(&["show", "last", "--json"])).unwrap();
    assert!(run.outcome == Outcome::Failed && run.reasons[0].contains("reset"), "{run:?}");

    let (data, at) = (Data::new(), port());
    let number = at.to_string();
    let server = Process::start(data.command(&["stream", "-s", "-p", &number, "--keep"]));
    until_open(at, false);
    let mut scanner = TcpStream::connect(("127.0.0.1", at)).unwrap();
    scanner.write_all(&[b'x'; 200]).unwrap();
    let mut told = Vec::new();
    let _ = scanner.read_to_end(&mut told);
    let said = data.run(&["stream", "-c", "127.0.0.1", "-p", &number, "-n", "1M"]);
    assert_eq!(said.code, 0, "{said:?}");
    crate::process::until("the server has kept it", || data.run(&["show", "last"]).code == 0);
    server.signal("INT");
    server.end();
    assert_eq!(data.ids().len(), 1);
}

/// The place is asked for before anything is measured, by each command that keeps what it measures.
#[test]
fn a_run_that_could_not_be_kept_is_refused_before_it_is_measured() {
    let data = Data::new();
    std::fs::write(data.path("file"), "").unwrap();
    let commands: [&[&str]; 9] = [
        &["stream", "-c", "127.0.0.1", "-p", "9", "--keep"],
        &["iperf", "-c", "127.0.0.1", "-p", "9", "--keep"],
        &["netperf", "-H", "127.0.0.1", "-p", "9", "--keep"],
        &["pkt-gen", "-i", "null", "-f", "tx", "-n", "1", "--keep"],
        &["xdd", "-op", "read", "-targets", "1", "/dev/zero", "-reqsize", "1", "-numreqs", "1", "--keep"],
        &["bench", "null", "--time", "50", "--rounds", "1"],
        &["profile", "tx", "--rounds", "1", "--time", "1"],
        &["profile", "flood", "127.0.0.1:9", "--time", "1"],
        &["qualify", "--time", "50", "--repeats", "1"],
    ];
    for words in commands {
        for home in [data.path("file"), "relative".into()] {
            let mut command = data.command(words);
            let said = said(command.env("XDG_DATA_HOME", &home).env_remove("HOME"));
            let named = if home.is_absolute() { "Not a directory" } else { "XDG_DATA_HOME" };
            assert!(said.code == 2 && said.out.is_empty() && said.log.contains(named), "{words:?}: {said:?}");
            assert_eq!(said.log.lines().count(), 1, "{words:?}: {said:?}");
        }
    }
}

/// A disk that fills up while it is measured.
#[test]
fn a_run_that_cannot_be_kept_in_the_end_says_so_and_fails() {
    let (data, at) = (Data::new(), port());
    let number = at.to_string();
    let server = Process::start(data.command(&["stream", "-s", "-1", "-p", &number]));
    until_open(at, false);
    let words = ["stream", "-c", "127.0.0.1", "-p", &number, "-t", "60", "--keep", "--forceflush"];
    let client = Process::ready(data.command(&words), "Interval");
    std::fs::remove_dir_all(data.path("data")).unwrap();
    std::fs::write(data.path("data"), "").unwrap();
    server.signal("INT");
    let said = client.end();
    assert!(said.code == Some(1) && said.log.contains("--keep: no result can be kept"), "{said:?}");
    server.end();
}
