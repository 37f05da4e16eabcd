//! `linerate switch` and two pkt-gens on it, as processes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_linerate");

fn linerate(arguments: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A process that is ended with the test.
struct Running(Child);

impl Running {
    fn new(arguments: &str) -> Self {
        Self(linerate(arguments).spawn().unwrap())
    }

    /// One that has said so much on standard error.
    fn once_it_says(word: &str, arguments: &str) -> Self {
        let mut running = Self::new(arguments);
        let mut log = BufReader::new(running.0.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ended before it said {word}");
        }
        // Whatever it says later has somewhere to go.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        running
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// Exit code and standard output; waits for the end, but not for ever.
    fn end(mut self) -> (Option<i32>, String) {
        let out = self.0.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            BufReader::new(out).read_to_string(&mut text).map(|_| text)
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "still running after a minute");
            std::thread::sleep(Duration::from_millis(5));
        };
        (status.code(), reader.join().unwrap().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    for (arguments, contains) in [
        ("switch", "required"),
        ("switch a/b", "no name"),
        ("switch x --mirror a", "--mirror a"),
        ("switch x --mirror a:a", "two ports"),
        ("switch x --mirror a:b:up", "a:b:up"),
        ("switch x --attach wire:y", "wire"),
        ("switch x --attach null: --vlan y=1", "no port of that name"),
        ("switch x --attach pcap:f --vlan f=0", "will not do"),
        ("switch x --attach pcap:f --pause f", "no ="),
        ("switch x --attach no-such-interface0", "no-such-interface0"),
        ("switch x --seconds 0", "--seconds"),
        ("switch x --wait long", "--wait"),
        ("pkt-gen -i vale:no-such-switch:a -f tx", "start `linerate switch no-such-switch`"),
    ] {
        let output = linerate(arguments).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {log}");
        let last = log.lines().last().unwrap_or_default();
        assert!(output.stdout.is_empty() && last.contains(contains), "{arguments}: {log}");
    }
}

#[test]
fn two_pkt_gens_meet_on_a_switch_and_the_ledgers_agree() {
    const FRAMES: u64 = 200_000;
    let name = format!("cli-{}", std::process::id());
    let runs = format!("switch {name} --json --ports a,b,m --mirror a:m:in");
    let switch = Running::once_it_says("attach to it as vale:", &runs);
    let receiver = |port: &str| {
        Running::once_it_says("threads and", &format!("pkt-gen -i vale:{name}:{port} -f rx -n {FRAMES} --json"))
    };
    let (rx, watcher) = (receiver("b,pause=255"), receiver("m"));
    let tx = Running::new(&format!("pkt-gen -i vale:{name}:a -f tx -n {FRAMES} --json"));
    let (code, out) = tx.end();
    assert_eq!(code, Some(0), "{out}");
    let sent = &json(&out)["tests"][0]["ledger"];
    assert_eq!((&sent["sent"], &sent["unexplained"]["sending"]), (&FRAMES.into(), &0.into()));
    let (code, out) = rx.end();
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(json(&out)["tests"][0]["ledger"]["received"], FRAMES, "nothing is lost where senders wait");
    watcher.signal("INT");
    let (_, out) = watcher.end();
    let watched = json(&out)["tests"][0]["ledger"].clone();
    switch.signal("INT");
    let (code, out) = switch.end();
    assert_eq!(code, Some(130), "{out}");
    let document = json(&out);
    let ledger = &document["ledger"];
    assert_eq!((&ledger["unexplained"], &ledger["received"]), (&0.into(), &FRAMES.into()), "{document}");
    assert_eq!(ledger["copies"], 2 * FRAMES, "one for b, one for its watcher");
    let port = |name: &str| document["ports"].as_array().unwrap().iter().find(|port| port["name"] == name).unwrap();
    assert_eq!((&port("a")["received"], &port("b")["sent"]), (&FRAMES.into(), &FRAMES.into()));
    let dropped = port("m")["dropped"]["no_room"].as_u64().unwrap_or(0);
    assert_eq!(watched["received"].as_u64().unwrap() + dropped, FRAMES, "the watcher's drops are counted");
    assert_eq!(watched["dropped"]["no_room"].as_u64().unwrap_or(0), dropped, "and it knows of them: {watched}");
}
