//! Tests of documents that come a line for each event (`--json-stream`): iperf3's form, the fields of `-J`, and all that may end a
//! test. `events.jsonl` has the lines of iperf3 3.21.

use super::document::{TESTS, document, skeleton_of};
use super::{End, client, pair, port, server};
use crate::process::Process;
use serde_json::Value;
use std::collections::BTreeSet;

const FORM: &str = include_str!("events.jsonl");

/// Name and data of the events of a text, each of which must be a line in iperf3's form; and what is behind the last one.
fn events(text: &str) -> (Vec<(String, Value)>, &str) {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((line, behind)) = rest.split_once('\n').filter(|(line, _)| line.starts_with("{\"event\":\"")) {
        let value = document(line);
        let fields = value.as_object().unwrap();
        let name = value["event"].as_str().unwrap().to_owned();
        assert!(line.starts_with(&format!("{{\"event\":\"{name}\",\"data\":")) && fields.len() == 2, "{line}");
        all.push((name, value["data"].clone()));
        rest = behind;
    }
    (all, rest)
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

/// Fields of the data of an event of this name: paths, with types.
fn fields(events: &[(String, Value)], name: &str) -> BTreeSet<(String, &'static str)> {
    let of = events.iter().filter(|(known, _)| known == name);
    of.flat_map(|(_, data)| skeleton_of(&data.to_string())).collect()
}

/// The lines are those of iperf3: the same frame, and no field that it has not.
#[test]
fn events_have_iperf3s_form() {
    let (form, rest) = events(FORM);
    assert_eq!(rest, "");
    for of_server in [&[][..], &["-J"]] {
        let words = ["-t", "1", "-b", "10M", "-i", "0.5", "--json-stream", "--get-server-output"];
        let (client, _) = pair((End::Ours, End::Ours), &words, of_server);
        let (ours, rest) = events(&client.out);
        let output = if of_server.is_empty() { "server_output_text" } else { "server_output_json" };
        // How many intervals there are in a second is for the clocks to say.
        let mut kinds = names(&ours);
        kinds.dedup();
        assert_eq!((kinds, rest), (vec!["start", "interval", output, "end"], ""), "{}", client.out);
        for name in ["start", "interval", "end"] {
            let (ours, theirs) = (fields(&ours, name), fields(&form, name));
            assert!(ours.is_subset(&theirs), "{name}: {:?}", ours.difference(&theirs).collect::<Vec<_>>());
            assert!(ours.len() > 10, "{name}: {ours:?}");
        }
        assert_eq!(form.iter().find(|(name, _)| name == output).unwrap().1.is_string(), of_server.is_empty());
        let told = &ours[ours.len() - 2].1;
        let words = if of_server.is_empty() { told.as_str().map(str::to_owned) } else { Some(told.to_string()) };
        assert!(words.unwrap().contains(if of_server.is_empty() { "receiver" } else { "\"intervals\":[{" }), "{told}");
    }
}

/// Data are those of the document, value for value, and fields those of `-J`, at both ends.
#[test]
fn events_have_the_data_of_the_document() {
    for test in TESTS {
        let words = [test, &["--json-stream", "--json-stream-full-output"][..]].concat();
        let (client, server) = pair((End::Ours, End::Ours), &words, &words[words.len() - 2..]);
        let (plain, of_server) = pair((End::Ours, End::Ours), &[test, &["-J"][..]].concat(), &["-J"]);
        for (said, alone) in [(&client.out, &plain.out), (&server.out, &of_server.out)] {
            let (events, rest) = events(said);
            let whole = document(rest);
            let mut parts = vec![("start".to_owned(), whole["start"].clone())];
            let intervals = whole["intervals"].as_array().unwrap();
            parts.extend(intervals.iter().map(|interval| ("interval".to_owned(), interval.clone())));
            parts.push(("end".to_owned(), whole["end"].clone()));
            assert!(!intervals.is_empty() && events == parts, "{words:?}: {said}");
            assert_eq!(skeleton_of(rest), skeleton_of(alone), "{words:?}");
        }
    }
}

/// Each line is there once its event has happened, and what cuts a test short is an event too.
#[test]
fn events_come_as_they_happen_and_faults_are_events() {
    let port = port();
    let mut server = server(End::Ours, port, &["--json-stream", "-i", "0.2"]);
    let words = ["-c", "127.0.0.1", "-p", &port.to_string(), "-t", "0", "-b", "10M", "-i", "0.2", "--json-stream"];
    let mut client = Process::start(End::Ours.command("stream", "iperf3", &words));
    client.until("{\"event\":\"start\",");
    client.until("{\"event\":\"interval\",");
    client.until("{\"event\":\"interval\",");
    client.signal("INT");
    let client = client.end();
    let (events_of_client, rest) = events(&client.out);
    let [.., (error, why), (end, data)] = &events_of_client[..] else { panic!("{}", client.out) };
    assert_eq!((client.code, error.as_str(), end.as_str(), rest), (Some(1), "error", "end", ""), "{}", client.out);
    assert_eq!(why, "interrupt - the client has terminated");
    assert!(data["sum_sent"]["bytes"].as_u64() > Some(0) && data["sum_received"]["bytes"].is_null(), "{data}");
    server.until("{\"event\":\"end\",");
    let said = server.end_by_signal();
    let (events_of_server, rest) = events(&said.out);
    let [(start, _), .., (error, why), (end, _)] = &events_of_server[..] else { panic!("{}", said.out) };
    assert_eq!([start.as_str(), error, end, rest], ["start", "error", "end", ""], "{}", said.out);
    assert_eq!(why, "the client has terminated");
}

#[test]
fn a_test_that_does_not_begin_has_an_error_and_an_empty_end() {
    let client = client(End::Ours, port(), &["--json-stream"]);
    let (all, rest) = events(&client.out);
    assert_eq!((client.code, names(&all), rest), (Some(1), vec!["error", "end"], ""), "{}", client.out);
    assert!(all[0].1.as_str().is_some_and(|why| why.starts_with("unable to connect to server")), "{}", client.out);
    assert_eq!(all[1].1, Value::Object(serde_json::Map::new()));
}
