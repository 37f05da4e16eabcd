//! Tests of documents (`-J`): the fields that iperf3 writes, with its types, and sums that add up.

use super::{End, PAIRINGS, client, has_iperf3, pair, port, server};
use crate::ends::are_alike;
use crate::process::Process;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(super) fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// All paths of a document, with the types of their values; elements of a list are taken together.
fn skeleton(value: &Value, path: &str, into: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "flag",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(all) => {
            all.iter().for_each(|value| skeleton(value, &format!("{path}[]"), into));
            "list"
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| skeleton(value, &format!("{path}.{name}"), into));
            "object"
        }
    };
    let before = into.insert(path.to_owned(), kind);
    assert!(before.is_none_or(|before| before == kind), "{path} is {before:?} and {kind}");
}

pub(super) fn skeleton_of(text: &str) -> BTreeMap<String, &'static str> {
    let mut all = BTreeMap::new();
    skeleton(&document(text), "", &mut all);
    all
}

pub(super) const TESTS: &[&[&str]] = &[
    &["-n", "2M", "-b", "20M"],
    &["-t", "1", "-R", "-O", "1", "-b", "50M"],
    &["-t", "1", "-b", "50M", "--bidir", "-P", "2", "-i", "0.4"],
    &["-t", "1", "-b", "50M", "-O", "1", "-T", "title", "--extra-data", "more", "-M", "1000", "-w", "64K"],
    &["-u", "-t", "1", "-b", "5M"],
    &["-u", "-t", "1", "-b", "5M", "-R", "-P", "2"],
    &["-u", "-t", "1", "-b", "5M", "--bidir"],
];

#[test]
fn fields_and_their_types_are_those_of_iperf3() {
    if !has_iperf3() {
        return;
    }
    for test in TESTS {
        let words = [test, &["-J"][..]].concat();
        let documents = |end| {
            let (client, server) = pair((end, end), &words, &["-J"]);
            (skeleton_of(&client.out), skeleton_of(&server.out))
        };
        are_alike(&words, || [End::Ours, End::Theirs].map(documents));
    }
}

fn bytes(value: &Value) -> u64 {
    value["bytes"].as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn sum<'a>(values: impl Iterator<Item = &'a Value>) -> u64 {
    values.map(bytes).sum()
}

/// Checks the sums of a document, of what one direction moved. `side` is what this end knows of it.
fn adds_up(document: &Value, sends: bool, name: &str, side: &str) {
    let intervals = document["intervals"].as_array().unwrap();
    assert!(!intervals.is_empty(), "{document:#}");
    let mut all = 0;
    for interval in intervals {
        let streams = interval["streams"].as_array().unwrap().iter().filter(|stream| stream["sender"] == sends);
        let total = bytes(&interval[name]);
        assert_eq!(sum(streams), total, "{interval:#}");
        all += if interval[name]["omitted"] == true { 0 } else { total };
    }
    let end = &document["end"];
    let total = &end[name.replace("sum", side)];
    assert_eq!(bytes(total), all, "{end:#}");
    let seconds = total["seconds"].as_f64().unwrap();
    let rate = all as f64 * 8.0 / seconds;
    assert!((total["bits_per_second"].as_f64().unwrap() / rate - 1.0).abs() < 1e-6, "{total}");
    let streams = end["streams"].as_array().unwrap().iter();
    let of = streams.filter_map(|stream| {
        let part = if side == "sum_sent" { &stream["sender"] } else { &stream["receiver"] };
        (part["sender"] == sends).then_some(part)
    });
    if end["streams"][0].get("udp").is_none() {
        assert_eq!(sum(of), all, "{end:#}");
    }
}

#[test]
fn sums_add_up_and_no_byte_is_received_that_was_not_sent() {
    if !has_iperf3() {
        return;
    }
    for pairing in PAIRINGS.into_iter().filter(|(client, _)| *client == End::Ours) {
        for test in TESTS {
            let words = [test, &["-J"][..]].concat();
            let (client, _) = pair(pairing, &words, &[]);
            let document = document(&client.out);
            let (both, reverse) = (words.contains(&"--bidir"), words.contains(&"-R"));
            if !reverse {
                adds_up(&document, true, "sum", "sum_sent");
            } else {
                adds_up(&document, false, "sum", "sum_received");
            }
            if both {
                adds_up(&document, false, "sum_bidir_reverse", "sum_received");
            }
            let end = &document["end"];
            let (sent, received) = (bytes(&end["sum_sent"]), bytes(&end["sum_received"]));
            // What was sent in the time that is omitted may arrive after it: a few blocks, and what the rate has for the time by
            // which the end of one of the two came later.
            let seconds = |sum: &str| end[sum]["seconds"].as_f64().unwrap();
            let later = (seconds("sum_received") - seconds("sum_sent")).abs();
            let under_way = if words.contains(&"-O") { 1_048_576.0 + 2.0 * later * 50e6 / 8.0 } else { 0.0 };
            assert!(received > 0 && received as f64 <= sent as f64 + under_way, "{words:?}: {end:#}");
            if let Some(cpu) = end["cpu_utilization_percent"]["host_total"].as_f64() {
                assert!(cpu > 0.0 && cpu < 100.0 * 64.0, "{end:#}");
            }
        }
    }
}

/// Regression: a client that was kept from running until its time was over counted what was omitted, in no interval.
#[test]
fn a_time_that_is_omitted_is_omitted_however_late_its_end_is_seen() {
    let port = port();
    let mut server = server(End::Ours, port, &["-1", "-i", "0.2"]);
    let words = ["-c", "127.0.0.1", "-p", &port.to_string(), "-t", "1", "-O", "1", "-b", "20M", "-J"];
    let client = Process::start(End::Ours.command("stream", "iperf3", &words));
    server.until("(omitted)");
    client.signal("STOP");
    std::thread::sleep(Duration::from_millis(2500));
    client.signal("CONT");
    let ended = client.end();
    let document = document(&ended.out);
    adds_up(&document, true, "sum", "sum_sent");
    assert!(document["end"]["sum_sent"]["seconds"].as_f64() >= Some(0.9), "{document:#}");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

/// A server that sends keeps to -n and -k as iperf3's does; it sent on until its client had heard of the end.
#[test]
fn limits_hold_for_what_a_server_sends() {
    if !has_iperf3() {
        return;
    }
    let all: [(&[&str], u64); 9] = [
        (&["-n", "10M", "-R"], 10 << 20),
        (&["-n", "10M", "-R", "-P", "4"], 10 << 20),
        (&["-n", "10M", "--bidir"], 10 << 20),
        (&["-k", "100", "-R"], 100 << 17),
        (&["-k", "100", "-R", "-l", "1000", "-P", "2"], 100_000),
        (&["-k", "100", "--bidir"], 100 << 17),
        (&["-u", "-n", "1M", "-b", "50M", "-l", "1000", "-R"], 1_049_000),
        (&["-u", "-k", "100", "-b", "50M", "-l", "1000", "-R"], 100_000),
        (&["-u", "-k", "100", "-b", "50M", "-l", "1000", "--bidir"], 100_000),
    ];
    for pairing in PAIRINGS {
        // iperf3's server leaves its client waiting for datagrams that were lost.
        for (words, most) in all.iter().filter(|(words, _)| pairing.1 == End::Ours || words[0] != "-u") {
            let (client, _) = pair(pairing, &[words, &["-J"][..]].concat(), &[]);
            let document = document(&client.out);
            let back = if words.contains(&"--bidir") { "_bidir_reverse" } else { "" };
            let sum = |side: &str| &document["end"][format!("sum_{side}{back}")];
            let sent = bytes(sum("sent"));
            // Ours sends on for a client that lacks datagrams, or does not end in time.
            let excused = words[0] == "-u"
                && (sum("received")["lost_packets"] != 0 || sum("sent")["seconds"].as_f64().unwrap() > 2.0);
            assert!(sent <= *most || excused, "{pairing:?} {words:?}: {sent} of {most}: {:#}", document["end"]);
            // iperf3's client ends a test of -k when it has read so often, and a read may be shorter than a block.
            let short = !back.is_empty() || pairing.0 == End::Theirs && words.contains(&"-k");
            assert!(short || sent >= *most, "{pairing:?} {words:?}: {sent} of {most}");
        }
    }
}

/// All that was sent until a limit is received by our server, which waits at the end for what is still under way.
#[test]
fn all_bytes_of_a_limited_test_arrive() {
    let port = port();
    let _server = server(End::Ours, port, &[]);
    for words in [&["-n", "3M", "-l", "100K"][..], &["-k", "31", "-l", "100K", "-P", "3"]] {
        let client = client(End::Ours, port, &[words, &["-J"]].concat());
        let document = document(&client.out);
        let expected = 31 * 102_400_u64;
        let end = &document["end"];
        assert_eq!((bytes(&end["sum_sent"]), bytes(&end["sum_received"])), (expected, expected), "{words:?}: {end:#}");
    }
}

/// The server's output, in its form, in the client's document or lines.
#[test]
fn the_servers_output_can_be_had() {
    if !has_iperf3() {
        return;
    }
    for pairing in PAIRINGS {
        let (client, _) = pair(pairing, &["-n", "100M", "--get-server-output", "-J"], &[]);
        let text =
            document(&client.out)["server_output_text"].as_str().unwrap_or_else(|| panic!("{}", client.out)).to_owned();
        assert!(text.contains("Accepted connection from ") && text.contains("receiver"), "{pairing:?}: {text}");
        let (client, _) = pair(pairing, &["-n", "100M", "--get-server-output"], &["-J"]);
        let (_, json) = client.out.split_once("Server JSON output:\n").unwrap_or_else(|| panic!("{}", client.out));
        let (json, _) = json.split_once("\n\niperf Done.").unwrap();
        let theirs = document(json);
        assert!(bytes(&theirs["end"]["sum_received"]) > 0, "{theirs:#}");
    }
}

/// Regression: the time in which a server waits for what may still be under way from iperf3 (2 s where a file is to be whole) was
/// part of the test's time.
#[test]
fn waiting_for_last_bytes_is_no_part_of_the_test() {
    if !has_iperf3() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (file, port) = (dir.path().join("file"), port());
    let _server = server(End::Ours, port, &["-F", file.to_str().unwrap()]);
    let began = Instant::now();
    let ended = client(End::Theirs, port, &["-n", "1M", "-J"]);
    let whole = began.elapsed().as_secs_f64();
    let told = &document(&ended.out)["end"]["sum_received"];
    let seconds = told["seconds"].as_f64().unwrap();
    assert!(seconds < whole - 1.9, "{seconds} s of {whole} s: {told}");
}

/// Regression: an error of a server's file behind the end of the test was no error.
#[test]
fn a_file_without_room_for_the_last_bytes_is_a_fault_at_both_ends() {
    for _ in 0..5 {
        let port = port();
        let server = server(End::Ours, port, &["-1", "-F", "/dev/full"]);
        let client = client(End::Ours, port, &["-n", "4K", "-l", "4K"]);
        let server = server.end();
        assert_eq!((client.code, server.code), (Some(1), Some(1)), "{client:?} {server:?}");
        assert!(server.said().contains("No space left") && client.said().contains("-F"), "{client:?} {server:?}");
    }
}
