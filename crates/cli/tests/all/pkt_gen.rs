//! Tests of the real binary: exit codes, streams, signals, names; two processes over each kind of port; captures read
//! by tshark.

mod judged;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod published;
#[cfg(target_os = "linux")]
mod tshark;
mod two;

use crate::process::{BINARY, Ended, LIMIT, Process};
use linerate_result::{RunResult, Test};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn linerate(arguments: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(arguments: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = linerate(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

impl Ended {
    /// The one test of the document on standard output.
    fn test(&self) -> Test {
        let mut result = RunResult::from_json(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        assert_eq!(result.tests.len(), 1);
        result.tests.remove(0)
    }
}

/// Sends a signal as `kill` does.
fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

/// Waits for the end of the process.
fn end(mut child: Child) -> (Option<i32>, Option<i32>, String, String) {
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it goes on");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (mut out, mut log) = (String::new(), String::new());
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut out).unwrap();
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut log).unwrap();
    }
    (status.code(), std::os::unix::process::ExitStatusExt::signal(&status), out, log)
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    for (arguments, contains) in [
        ("frobnicate", "pkt-gen, bridge"),
        ("pkt-gen", "-i"),
        ("pkt-gen -i null: -f tx -Q", "-Q"),
        ("pkt-gen -i null: -f tx -D 1:2", "-D 1:2"),
        ("pkt-gen -i null: -f tx -S zz:zz:zz:zz:zz:zz", "-S zz"),
        ("pkt-gen -i null: -f tx -d 300.1.1.1", "-d 300.1.1.1"),
        ("pkt-gen -i null: -f tx -l 7", "-l 7"),
        ("pkt-gen -i null: -f tx -l 99999", "-l 99999"),
        ("pkt-gen -i null: -f tx -l 1600", "-l 1600"),
        ("pkt-gen -i null: -f tx -p 2", "-p 2"),
        ("pkt-gen -i null: -f tx -o 12", "two ways"),
        ("pkt-gen -i wire:x -f tx", "wire"),
        ("pkt-gen -i null:,slots=5 -f tx", "slots=5"),
        ("pkt-gen -i no-such-interface0 -f tx", "no-such-interface0"),
        ("pkt-gen -i null: -f tx --pcap /dev/null/x", "/dev/null/x"),
        ("bridge -i null:", "-i"),
        ("bridge -i null: -i null: -b 0", "-b"),
        ("bridge --frob", "--frob"),
        ("ports extra", "extra"),
    ] {
        let (code, out, log) = output(arguments);
        assert_eq!(code, Some(2), "{arguments}: {log}");
        assert!(out.is_empty() && log.lines().count() == 1 && log.contains(contains), "{arguments}: {out}{log}");
    }
}

#[test]
fn a_run_prints_netmaps_lines_and_passes() {
    let name = format!("cable:netmap{}", std::process::id());
    let (code, out, log) = output(&format!("pkt-gen -i {name}{{1 --to {name}}}1 -f tx -n 100000 -l 64"));
    assert_eq!(code, Some(0), "{log}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], format!("Sending on {name}{{1: 1 queues, 1 threads and 1 cpus."));
    assert_eq!(lines[1], "10.0.0.1 -> 10.1.0.1 (00:00:00:00:00:00 -> ff:ff:ff:ff:ff:ff)");
    let sent: Vec<&str> = lines[2].split(' ').collect();
    assert_eq!(
        (&sent[..5], sent[6..10].join(" ").as_str()),
        (&["Sent", "100000", "packets", "6400000", "bytes"][..], "events 64 bytes each")
    );
    assert!(lines[3].starts_with("Speed: ") && lines[3].contains("pps Bandwidth: ") && lines[3].ends_with(" pkts"));
    assert!(lines[4].ends_with("received 100000, dropped 0, in flight 0, unexplained 0."), "{}", lines[4]);
    assert!(log.lines().all(|line| line.as_bytes()[3] == b'.' && line.contains(" [")), "{log}");
}

#[test]
fn it_behaves_as_pkt_gen_when_it_is_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("pkt-gen");
    std::os::unix::fs::symlink(BINARY, &link).unwrap();
    let run = Command::new(&link).args(["-i", "null:", "-f", "tx", "-n", "1000"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0));
    assert!(String::from_utf8(run.stdout).unwrap().contains("Sent 1000 packets"));
    let wrong = Command::new(&link).arg("-Q").output().unwrap();
    let line = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(2) && line.starts_with("pkt-gen: -Q: "), "{line}");
}

/// Ctrl-C: the last lines, a whole document, the code of the signal.
#[test]
fn an_interrupted_run_ends_with_a_whole_result() {
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        for mode in ["tx", "rx", "txseq", "pong"] {
            let mut running = Process::start(linerate(&format!("pkt-gen -i null: -f {mode} --json -T 20")));
            // It runs when a periodic line has frames.
            while running.until("main_thread").contains("(0.000 pkts") {}
            running.signal(name);
            let Ended { code, out, log } = running.end();
            assert_eq!(code, Some(128 + number), "{mode}: {log}");
            let result: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(
                (result["schema"].as_str(), result["signal"].as_i64()),
                (Some("linerate.result"), Some(number.into()))
            );
            let test = &result["tests"][0];
            let samples = test["samples"].as_array().unwrap().iter().map(|sample| &sample["value"]);
            let frames: Vec<_> = if mode == "rx" { samples.collect() } else { vec![&test["ledger"]["sent"]] };
            assert!(frames.iter().any(|frames| frames.as_f64().unwrap() > 0.0), "{mode}: {out}");
            assert!(log.contains("Ledger: "), "{mode}: {log}");
        }
    }
}

#[test]
fn lines_come_as_they_are_written_and_a_lost_reader_ends_the_run() {
    let mut child = linerate("pkt-gen -i null: -f tx -R 1000 --ndjson -T 20").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        let event: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert!(event["event"].is_string());
    }
    drop(lines);
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    assert_eq!(end(child).0, Some(128 + 13));
    reader.join().unwrap().unwrap();
}

#[test]
fn the_ndjson_stream_ends_with_the_result() {
    let (code, out, _) = output("pkt-gen -i null: -f tx -n 5000 --ndjson");
    assert_eq!(code, Some(0));
    let last: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "result");
    assert_eq!(last["result"]["tests"][0]["ledger"]["sent"], 5000);
    assert!(last["result"]["environment"]["kernel"].is_string());
}

#[test]
fn a_bridge_forwards_and_counts() {
    // The first report comes after frames have been moved.
    let running = Process::ready(linerate("bridge -i null: -i null:,size=100 -w 0 -T 10"), "buffers exchanged");
    running.signal("INT");
    let Ended { code, out, log } = running.end();
    assert_eq!(code, Some(130));
    assert!(log.contains("by exchanging buffers"), "{log}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("Forwarded null: -> null:,size=100: ") && lines[0].ends_with(" by exchanging buffers.")
    );
    for (line, size) in lines.iter().zip([60, 100]) {
        let words: Vec<&str> = line.split(' ').collect();
        let (frames, bytes): (u64, u64) = (words[4].parse().unwrap(), words[6].parse().unwrap());
        assert!(frames > 0 && bytes == frames * size, "{line}");
    }
}

#[test]
fn the_second_signal_ends_it_at_once() {
    // Nobody receives, so the frames in the ring are waited for; the second Ctrl-C does not wait.
    let name = format!("cable:second{}{{1", std::process::id());
    let child = linerate(&format!("pkt-gen -i {name} -f tx")).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    signal(&child, "INT");
    let (code, by_signal, ..) = end(child);
    assert!(by_signal == Some(2) || code == Some(130), "{code:?} {by_signal:?}");
}

#[test]
fn ports_lists_every_kind_and_option() {
    let (code, out, _) = output("ports");
    assert_eq!(code, Some(0));
    for kind in linerate_port::KINDS {
        assert!(out.contains(&format!("\n{}:  {}", kind.name, kind.about)));
        assert!(linerate_port::option_rows(kind).all(|row| out.contains(&format!("{}={}", row.key, row.value))));
    }
}

/// `-` is standard input and output; lines go to standard error then.
#[test]
fn captures_are_written_to_standard_output_and_read_from_standard_input() {
    use std::io::Write;
    let run = |arguments: &str, input: &[u8]| {
        let mut child = linerate(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        // A program that needs no more closes it.
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let out = child.wait_with_output().unwrap();
        let _ = writer.join().unwrap();
        (out.status.code(), out.stdout, String::from_utf8(out.stderr).unwrap())
    };
    let (code, capture, log) = run("pkt-gen -i pcap:- -f tx -n 3000 -l 100", &[]);
    assert!(code == Some(0) && log.contains("Sent 3000 packets"), "{log}");
    assert_eq!(capture.len(), 24 + 3000 * 116, "the capture, and no line");
    for arguments in [
        "pkt-gen -i pcap:- -f rx",
        "pkt-gen -i null: -f tx --pcap - --speed 0",
        "pkt-gen -i null: -f tx -P - -n 3000",
        "bridge -i pcap:-,mode=r -i null:",
    ] {
        let (code, out, log) = run(arguments, &capture);
        let out = String::from_utf8(out).unwrap();
        assert!(code == Some(0) && out.contains("3000 packets"), "{arguments}: {out}{log}");
    }
    let (code, out, log) = run("bridge -i pcap:-,mode=r -i pcap:-,mode=w", &capture);
    assert!(code == Some(0) && log.contains("3000 packets"), "{log}");
    let frames = |capture: &[u8]| capture[24..].chunks(116).map(|record| record[16..].to_vec()).collect::<Vec<_>>();
    assert!(frames(&out) == frames(&capture), "{} bytes", out.len());
    let (code, _, log) = run("bridge -i pcap:- -i null:", &capture);
    assert!(code == Some(2) && log.contains("mode=r") && log.lines().count() == 1, "{log}");
}
