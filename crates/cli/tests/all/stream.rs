//! Tests of `linerate stream` as a program: with iperf3 and with itself, in all pairings. Its documents, its flags and
//! peers that do wrong have files of their own.
#![cfg(target_os = "linux")]

mod document;
mod events;
mod flags;
mod hostile;
mod interrupt;
mod login;
mod own;
mod riperf3;

use crate::ends::{End, PAIRINGS, are_alike, kernels, port, shape, until_open};
use crate::process::{Ended, Process};
use linerate_skip::{is_installed, skip};

/// True if iperf3 is installed; reported otherwise.
#[track_caller]
fn has_iperf3() -> bool {
    let has = is_installed("iperf3");
    if !has {
        skip!("iperf3 is not installed");
    }
    has
}

/// Starts a server, and waits until clients can come.
fn server(end: End, port: u16, more: &[&str]) -> Process {
    let process =
        Process::start(end.command("stream", "iperf3", &[&["-s", "-p", &port.to_string()][..], more].concat()));
    // It prints nothing with -J: the kernel knows.
    until_open(port, false);
    process
}

/// Runs a client to its end.
fn client(end: End, port: u16, more: &[&str]) -> Ended {
    let port = port.to_string();
    Process::start(end.command("stream", "iperf3", &[&["-c", "127.0.0.1", "-p", &port][..], more].concat())).end()
}

/// Runs a test between two ends; the server serves one client. Both must succeed.
fn pair(pairing: (End, End), words: &[&str], of_server: &[&str]) -> (Ended, Ended) {
    let port = port();
    let server = server(pairing.1, port, &[&["-1"][..], of_server].concat());
    let client = client(pairing.0, port, words);
    assert_eq!(client.code, Some(0), "{pairing:?} {words:?}: {}", client.said());
    let server = server.end();
    assert_eq!(server.code, Some(0), "{pairing:?} {words:?}: {}", server.said());
    (client, server)
}

/// Lines with one of these words, in order.
fn lines<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(word)).collect()
}

#[test]
fn bytes_flow_in_all_pairings_and_directions() {
    if !has_iperf3() {
        return;
    }
    for pairing in PAIRINGS {
        for (words, rows) in [
            (&["-n", "4M"][..], 1),
            (&["-n", "4M", "-R"], 1),
            (&["-t", "1", "-b", "50M", "--bidir"], 2),
            (&["-n", "8M", "-P", "4"], 5),
            (&["-n", "8M", "-P", "4", "-R"], 5),
            (&["-t", "1", "-b", "50M", "-P", "2", "--bidir"], 6),
            (&["-k", "100", "-l", "10000"], 1),
            (&["-t", "1", "-l", "64", "-N"], 1),
            (&["-t", "1", "-b", "20M", "-i", "0.3"], 1),
            (&["-n", "4M", "-Z", "-6", "-c", "::1"], 1),
        ] {
            let (client, server) = pair(pairing, words, &[]);
            assert_eq!(lines(&client.out, "sender").len(), rows, "{pairing:?} {words:?}: {}", client.out);
            let received = lines(&client.out, "receiver");
            assert_eq!(received.len(), rows, "{pairing:?} {words:?}: {}", client.out);
            // The last line is the sum. Of several streams, one may have no share of so few bytes. A server of iperf3's
            // counts nothing if it hears of the end of a limit before it has read a byte.
            let by_iperf3 = pairing.1 == End::Theirs && !words.contains(&"-R") && !words.contains(&"-t");
            assert!(by_iperf3 || !received[rows - 1].contains(" 0.00 Bytes"), "{pairing:?} {words:?}: {}", client.out);
            assert!(client.out.ends_with("\niperf Done.\n") && client.log.is_empty(), "{words:?}: {}", client.said());
            assert!(server.out.contains("Accepted connection from "), "{words:?}: {}", server.said());
        }
    }
}

#[test]
fn datagrams_flow_in_all_pairings_and_directions() {
    if !has_iperf3() {
        return;
    }
    for pairing in PAIRINGS {
        for words in [
            &["-u", "-n", "500K", "-b", "20M", "-l", "1000"][..],
            &["-u", "-n", "500K", "-b", "20M", "-l", "1000", "-R"],
            &["-u", "-n", "500K", "-b", "20M", "-l", "1000", "-P", "4"],
            &["-u", "-t", "1", "-b", "20M", "--bidir", "--udp-counters-64bit"],
            &["-u", "-k", "20", "-b", "20M/2", "-l", "65507"],
            &["-u", "-t", "1"],
        ] {
            // Whoever is kept from reading for a while loses what has no room in its socket: the kernel says how many.
            let no_room = || kernels("snmp", "Udp", "RcvbufErrors");
            let before = no_room();
            let (client, _) = pair(pairing, words, &[]);
            let dropped = no_room() - before;
            // Lost/total behind the jitter.
            let receivers = lines(&client.out, "receiver");
            assert!(!receivers.is_empty(), "{words:?}: {}", client.out);
            for line in receivers {
                let share = |word: &str| -> Option<(u64, u64)> {
                    let (lost, total) = word.split_once('/')?;
                    Some((lost.parse().ok()?, total.parse().ok()?))
                };
                let (lost, total) = line.split_whitespace().find_map(share).unwrap();
                let few = lost * 2 < total || lost <= dropped;
                assert!(total > 0 && few, "{pairing:?} {words:?}: {dropped} dropped by the kernel: {}", client.out);
            }
        }
    }
}

/// Both programs print the same lines, but for the numbers in them.
#[test]
fn lines_are_those_of_iperf3() {
    if !has_iperf3() {
        return;
    }
    for words in [
        &["-t", "1", "-b", "50M", "-V"][..],
        &["-t", "1", "-b", "50M", "-T", "a title"],
        &["-t", "1", "-b", "50M", "-V", "-R"],
        &["-t", "1", "-b", "50M", "-V", "--bidir"],
        &["-t", "1", "-b", "50M", "-P", "2"],
        &["-t", "1", "-b", "50M", "-O", "1", "-f", "K"],
        &["-n", "1M", "-b", "50M", "-i", "0", "-V", "-M", "1000"],
        &["-u", "-t", "1", "-b", "5M"],
        &["-u", "-t", "1", "-b", "5M", "-V", "-P", "2"],
        &["-u", "-t", "1", "-b", "5M", "-R", "-P", "2"],
        &["-u", "-t", "1", "-b", "5M", "--bidir", "-V"],
    ] {
        let server_words: &[&str] = if words.contains(&"-V") { &["-V"] } else { &[] };
        let said = |client_is, server_is| {
            let (client, server) = pair((client_is, server_is), words, server_words);
            // A last interval is there or not, as the clocks have it; no set of lines depends on how many there are.
            let shapes = |text: &str| {
                let text = text.replace(&format!("iperf 3.12 (linerate {})", env!("CARGO_PKG_VERSION")), "iperf 3.12");
                let mut shapes: Vec<String> = Vec::new();
                // iperf3 leaves out the processor time where the client receives.
                let left_out = ["Cookie: ", "CPU Utilization: local/receiver"];
                for line in text.lines().filter(|line| !left_out.iter().any(|word| line.contains(word))) {
                    let shape = shape(line);
                    if !shapes.contains(&shape) {
                        shapes.push(shape);
                    }
                }
                shapes
            };
            let cpu = lines(&client.out, "CPU Utilization: local/");
            assert!(!words.contains(&"-V") || client_is != End::Ours || !cpu.is_empty(), "{}", client.out);
            (shapes(&client.out), shapes(&server.out))
        };
        are_alike(words, || [End::Ours, End::Theirs].map(|end| said(end, end)));
    }
}

/// Unlike iperf3's, our server takes in several clients at once.
#[test]
fn several_clients_are_served_at_once() {
    let port = port();
    let server = server(End::Ours, port, &[]);
    let end = if is_installed("iperf3") { End::Theirs } else { End::Ours };
    std::thread::scope(|scope| {
        for words in [
            &["-t", "2"][..],
            &["-t", "2", "-R", "-P", "2"],
            &["-t", "2", "-u", "-b", "10M", "-l", "1000"],
            &["-t", "2", "-u", "-b", "10M", "-l", "1000", "-R", "-P", "3"],
            &["-t", "2", "--bidir", "-b", "100M"],
        ] {
            scope.spawn(move || {
                let client = client(end, port, words);
                assert_eq!(client.code, Some(0), "{words:?}: {}", client.said());
            });
        }
    });
    let said = server.end_by_signal();
    assert_eq!(lines(&said.out, "Accepted connection").len(), 5, "{}", said.said());
    assert!(said.out.contains("(test #6)"), "{}", said.said());
}

impl Process {
    /// Sends Ctrl-C to a server, which ends with 1, as iperf3 does.
    fn end_by_signal(self) -> Ended {
        self.signal("INT");
        let ended = self.end();
        assert_eq!(ended.code, Some(1), "{}", ended.said());
        assert!(ended.log.ends_with("interrupt - the server has terminated\n"), "{}", ended.said());
        ended
    }
}
