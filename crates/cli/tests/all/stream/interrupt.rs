//! Tests of Ctrl-C: the figures so far, the word to the other end, and iperf3's exit code.

use super::flags::sockets;
use super::{End, PAIRINGS, has_iperf3, lines, port, server};
use crate::process::{Process, until};
use linerate_skip::{is_installed, skip};
use serde_json::Value;

/// Starts a client that goes on until it is ended, and waits for figures of what was moved each way.
fn going(end: End, port: u16, more: &[&str]) -> Process {
    let port = port.to_string();
    let words = [&["-c", "127.0.0.1", "-p", &port, "-t", "0", "-b", "10M", "-i", "0.2"][..], more].concat();
    let mut client = Process::start(end.command("stream", "iperf3", &words));
    for way in if more.contains(&"--bidir") { &["[TX-C]", "[RX-C]"][..] } else { &["sec"] } {
        while {
            let figures = client.until("sec  ");
            !figures.contains(way) || figures.contains(" 0.00 Bytes")
        } {}
    }
    client
}

#[test]
fn a_client_that_is_interrupted_prints_what_was_measured_and_tells_its_server() {
    if !has_iperf3() {
        return;
    }
    for (of_client, of_server) in PAIRINGS {
        for more in [&[][..], &["-R"], &["-u"], &["-u", "-R"], &["--bidir"]] {
            let port = port();
            let server = server(of_server, port, &["-1"]);
            let client = going(of_client, port, more);
            client.signal("INT");
            let client = client.end();
            assert_eq!(client.code, Some(1), "{}", client.said());
            if of_client == End::Ours {
                // What the server counted it never tells: there is a row of what this end counted, and of nothing else. iperf3 prints
                // another of 0.00 Bytes.
                let (both, back) = (more.contains(&"--bidir"), more.contains(&"-R"));
                let rows = ["sender", "receiver"].map(|word| lines(&client.out, word).len());
                assert_eq!(rows, [usize::from(!back), usize::from(both || back)], "{more:?}: {}", client.said());
                let (_, summary) = client.out.split_once("- - - -").unwrap();
                assert!(!summary.contains(" 0.00 Bytes"), "{more:?}: {}", client.said());
            } else {
                assert!(!lines(&client.out, "sender").is_empty(), "{more:?}: {}", client.said());
            }
            assert!(client.log.ends_with("interrupt - the client has terminated\n"), "{more:?}: {}", client.said());
            let server = server.end();
            assert!(server.said().contains("the client has terminated"), "{more:?}: {}", server.said());
            assert!(server.out.contains("- - - -"), "{more:?}: {}", server.said());
        }
    }
}

#[test]
fn a_server_that_is_interrupted_tells_its_clients() {
    if !has_iperf3() {
        return;
    }
    for end in [End::Ours, End::Theirs] {
        let port = port();
        let server = server(End::Ours, port, &[]);
        let clients = [going(end, port, &[]), going(end, port, &["-R"])];
        let said = server.end_by_signal();
        assert!(!lines(&said.out, "receiver").is_empty() && !lines(&said.out, "sender").is_empty(), "{}", said.said());
        for client in clients {
            let client = client.end();
            assert_eq!(client.code, Some(1), "{}", client.said());
            assert!(client.log.contains("error - the server has terminated"), "{}", client.said());
            assert!(client.out.contains("- - - -"), "{}", client.said());
        }
    }
}

#[test]
fn a_document_that_is_cut_short_is_valid_and_says_why() {
    if !is_installed("ss") {
        skip!("ss is not installed");
        return;
    }
    let port = port();
    let mut server = server(End::Ours, port, &["-J", "-i", "0.2"]);
    let words = ["-c", "127.0.0.1", "-p", &port.to_string(), "-t", "0", "-b", "10M", "-i", "0.2", "-J"];
    let client = Process::start(End::Ours.command("stream", "iperf3", &words));
    // Nothing is printed before the end: the kernel says when more has been sent than the two tell each other.
    until("data flow", || {
        let sockets = sockets(port);
        let mut sent =
            sockets.split_whitespace().filter_map(|word| word.strip_prefix("bytes_sent:")?.parse::<u64>().ok());
        sent.any(|bytes| bytes > 100_000)
    });
    client.signal("INT");
    let client = client.end();
    let document: Value = serde_json::from_str(&client.out).unwrap_or_else(|e| panic!("{e}: {}", client.said()));
    assert_eq!((client.code, &document["error"]), (Some(1), &"interrupt - the client has terminated".into()));
    let end = &document["end"];
    assert!(end["sum_sent"]["bytes"].as_u64() > Some(0), "{document:#}");
    // What the server counted it never told.
    for unknown in [
        &end["sum_received"]["bytes"],
        &end["sum_received"]["bits_per_second"],
        &end["streams"][0]["receiver"]["bytes"],
        &end["cpu_utilization_percent"]["remote_total"],
    ] {
        assert_eq!(unknown, &Value::Null, "{document:#}");
    }
    // Before it has heard of it, the signal would be the reason.
    server.until("\"error\":");
    let said = server.end_by_signal();
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}", said.said()));
    assert_eq!(document["error"], "the client has terminated");
}
