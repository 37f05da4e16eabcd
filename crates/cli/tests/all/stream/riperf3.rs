//! A second program that talks iperf3's protocol, written apart from it: riperf3, as a client and as a server. `./soak streams`
//! installs it.

use crate::ends::{End, port, until_open};
use crate::process::{Ended, Process};
use linerate_skip::{is_installed, skip};

fn start(end: End, words: &[&str]) -> Process {
    Process::start(end.command("stream", "riperf3", words))
}

fn pair(client: End, server: End, words: &[&str]) -> (Ended, Ended) {
    let port = port();
    let name = port.to_string();
    let server = start(server, &["-s", "-1", "-p", &name]);
    until_open(port, false);
    let client = start(client, &[&["-c", "127.0.0.1", "-p", &name][..], words].concat()).end();
    (client, server.end())
}

#[test]
#[ignore = "by ./soak streams, which installs riperf3"]
fn riperf3_is_understood_at_both_ends() {
    if !is_installed("riperf3") {
        skip!("riperf3 is not installed");
        return;
    }
    for (client, server) in [(End::Ours, End::Theirs), (End::Theirs, End::Ours)] {
        for words in [
            &["-t", "1"][..],
            &["-t", "1", "-R"],
            &["-t", "1", "-P", "4"],
            &["-t", "1", "-b", "50M", "--bidir"],
            &["-n", "8M", "-l", "10000"],
            &["-u", "-t", "1", "-b", "20M", "-l", "1000"],
            &["-u", "-t", "1", "-b", "20M", "-l", "1000", "-R"],
        ] {
            let (asked, served) = pair(client, server, &[words, &["-J"]].concat());
            let said = format!("{client:?} {server:?} {words:?}: {}\nserver: {}", asked.said(), served.said());
            assert_eq!((asked.code, served.code), (Some(0), Some(0)), "{said}");
            let document: serde_json::Value = serde_json::from_str(&asked.out).expect(&said);
            let end = &document["end"];
            // Both ends counted the same bytes but for those that were under way when the time was over.
            let sum = |name: &str| end[name]["bytes"].as_f64().unwrap_or_else(|| panic!("{name}: {said}"));
            let (sent, received) = if end["sum_sent"].is_object() {
                (sum("sum_sent"), sum("sum_received"))
            } else {
                (sum("sum"), sum("sum"))
            };
            assert!(sent > 100_000.0 && received > 0.5 * sent && received <= 1.05 * sent, "{sent} {received}: {said}");
        }
    }
}
