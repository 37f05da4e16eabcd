//! Tests of hosts and switches with a neighbour that means them ill, or that are ended at a bad time.

use crate::process::{BINARY, Ended, LIMIT, Process, counter};
use serde_json::Value;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const FRAMES: usize = 30_000;
/// Longest frame.
const LONGEST: usize = 200;

/// Beginnings of frames to groups: ARP, IGMP, MLD, a router's advertisement, a neighbour's.
const BEGINNINGS: [&[u8]; 5] = [
    b"\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x09\x08\x06\0\x01\x08\0\x06\x04\0\x01",
    b"\x01\0\x5e\0\0\x01\x02\0\0\0\0\x09\x08\0\x46\xc0\0\x24\0\0\0\0\x01\x02\0\0\x0a\0\0\x09\xe0\0\0\x01\x94\x04\0\0\x22",
    b"\x33\x33\0\0\0\x16\x02\0\0\0\0\x09\x86\xdd\x60\0\0\0\0\x24\0\x01\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x16\x3a\0\x05\x02\0\0\x01\0\x8f",
    b"\x33\x33\0\0\0\x01\x02\0\0\0\0\x09\x86\xdd\x60\0\0\0\0\x38\x3a\xff\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x86\0",
    b"\x33\x33\0\0\0\x01\x02\0\0\0\0\x09\x86\xdd\x60\0\0\0\0\x20\x3a\xff\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x88\0",
];

/// Numbers without an order, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    /// A frame that begins well, goes on with garbage, and in which a byte is changed here or there.
    fn frame(&mut self) -> Vec<u8> {
        let mut frame = BEGINNINGS[self.below(BEGINNINGS.len())].to_vec();
        let len = frame.len().max(60) + self.below(LONGEST - 60);
        while frame.len() < len {
            frame.push(u8::try_from(self.below(256)).unwrap());
        }
        for _ in 0..self.below(3) {
            let at = 12 + self.below(len - 12);
            frame[at] = u8::try_from(self.below(256)).unwrap();
        }
        frame
    }
}

/// Our end of a `unix:` port, and the port's name.
fn end(place: &Path, name: &str) -> (UnixDatagram, String) {
    let [theirs, ours] = ["theirs", "ours"].map(|end| place.join(format!("{name}-{end}")));
    (UnixDatagram::bind(&ours).unwrap(), format!("unix:{}:{}", theirs.display(), ours.display()))
}

/// Sends as fast as the frames are taken; what is sent back is not read.
fn garbage(from: &UnixDatagram, port: &str) {
    let to = port.split(':').nth(1).unwrap();
    let mut numbers = Numbers(0x9e37_79b9);
    for _ in 0..FRAMES {
        from.send_to(&numbers.frame(), to).unwrap();
    }
}

fn linerate(words: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(words);
    command
}

fn ended(process: Process, signal: &str, code: i32) -> Ended {
    process.signal(signal);
    let ended = process.end();
    assert_eq!(ended.code, Some(code), "{}", ended.said());
    assert!(!ended.log.contains("panicked"), "{}", ended.log);
    ended
}

#[test]
fn a_host_counts_the_garbage_of_a_neighbour() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, port) = end(dir.path(), "host");
    let host = linerate(&["stack", "up", "-i", &port, "--addr", "10.0.0.2/24", "--addr", "auto"]);
    let host = Process::ready(host, "link up");
    garbage(&ours, &port);
    let said = ended(host, "INT", 130).out;
    assert_eq!(counter(&said, "unexplained"), 0, "{said}");
    let lost = said.lines().filter(|line| line.starts_with("discarded.")).count();
    assert!(counter(&said, "frames") > 0 && lost > 2, "{said}");
}

#[test]
fn a_switch_counts_the_garbage_of_a_neighbour() {
    let dir = tempfile::tempdir().unwrap();
    let ((ours, a), (_unread, b)) = (end(dir.path(), "a"), end(dir.path(), "b"));
    let name = format!("trial-{}", std::process::id());
    let switch = ["switch", &name, "--attach", &a, "--attach", &b, "--querier", "--json"];
    let switch = Process::ready(linerate(&switch), "attach to it as vale:");
    garbage(&ours, &a);
    let shown = || -> Value {
        let out = linerate(&["switch", "show", &name, "--json"]).output().unwrap();
        serde_json::from_slice(&out.stdout).unwrap()
    };
    let taken = |shown: &Value| {
        let port = shown["ports"].as_array().unwrap().iter().find(|port| port["flooded"].as_u64() > Some(0)).cloned();
        let port = port.unwrap_or_default();
        let refused = port["refused"].as_object().into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum::<u64>();
        port["received"].as_u64().unwrap_or(0) + refused
    };
    let deadline = Instant::now() + LIMIT;
    while taken(&shown()) < FRAMES as u64 {
        assert!(Instant::now() < deadline, "{}", shown());
        std::thread::sleep(Duration::from_millis(20));
    }
    let document: Value = serde_json::from_str(&ended(switch, "INT", 130).out).unwrap();
    assert_eq!(document["ledger"]["unexplained"], 0, "{document}");
    assert!(document["group_table"]["known"].as_u64() <= Some(2048), "{document}");
}

#[test]
fn sigterm_ends_a_host_whose_addresses_are_still_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (_ours, port) = end(dir.path(), "checked");
    let host = linerate(&["stack", "up", "-i", &port, "--addr", "10.0.0.2/24", "--addr", "fd00::2/64", "--json"]);
    let host = Process::start(host);
    let deadline = Instant::now() + LIMIT;
    let state = loop {
        let shown = linerate(&["stack", "show", &port, "--json"]).output().unwrap();
        if let Ok(shown) = serde_json::from_slice::<Value>(&shown.stdout) {
            break shown["address_states"][0]["state"].clone();
        }
        assert!(Instant::now() < deadline, "{}", String::from_utf8_lossy(&shown.stderr));
        std::thread::sleep(Duration::from_millis(5));
    };
    // On a busy machine the check may be over by now.
    assert!(state == "checking" || state == "preferred", "{state}");
    let document: Value = serde_json::from_str(&ended(host, "TERM", 143).out).unwrap();
    let addresses = document["addresses"].as_array().unwrap();
    assert!(["10.0.0.2/24", "fd00::2/64"].iter().all(|given| addresses.contains(&(*given).into())), "{document}");
}
