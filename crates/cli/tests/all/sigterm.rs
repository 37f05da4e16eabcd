//! Tests that SIGTERM ends every command, in whatever state it is, and that a measurement has its result.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, killed_by, until};
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One state of a command.
struct Case {
    words: Vec<String>,
    /// Words that it prints when it is in that state; if empty, it is in it as soon as it catches signals.
    ready: &'static str,
    /// Words that it prints at its end.
    last: &'static str,
}

fn case(words: &str, ready: &'static str, last: &'static str) -> Case {
    Case { words: words.split(' ').map(str::to_owned).collect(), ready, last }
}

/// True if SIGTERM is caught: the 15th bit from the right.
fn catches(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 << 14 != 0)
}

fn ends(case: &Case, place: &Path) {
    let mut command = Command::new(BINARY);
    command.args(&case.words).env("XDG_DATA_HOME", place);
    let mut process = Process::start(command);
    let what = case.words.join(" ");
    if case.ready.is_empty() {
        // From then on the exact time of the signal does not matter.
        until(&format!("{what}: it catches signals"), || catches(process.id()));
    } else {
        process.until(case.ready);
    }
    process.signal("TERM");
    let ended = process.end();
    assert_eq!(ended.code, Some(143), "{what}: {ended:?}");
    assert!(ended.said().contains(case.last), "{what}: no '{}' in {ended:?}", case.last);
}

#[test]
fn sigterm_ends_every_command() {
    let id = std::process::id();
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().display();
    std::fs::write(dir.path().join("file"), vec![0; 1 << 20]).unwrap();
    // Connections are accepted but not answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    let shown = Process::linerate(&["switch", &format!("term-shown-{id}")], "runs");
    let lonely = |n: u32| format!("cable:term-{id}-{n}{{1");
    let cases = [
        // Commands that wait for a link, a peer, a login, a target.
        case(&format!("pkt-gen -i {} -f tx -w 3600", lonely(1)), "", "Ledger"),
        case(&format!("pkt-gen -i {} -f rx -w 0", lonely(2)), "", "Ledger"),
        case(&format!("pkt-gen -i {} -f ping -w 0", lonely(3)), "", ""),
        case(&format!("pkt-gen -i {} -f pong -w 0", lonely(4)), "", ""),
        case(&format!("bridge -i {} -i {} -w 3600", lonely(5), lonely(6)), "", "Forwarded"),
        case(&format!("bridge -i {} -i {} -w 0", lonely(7), lonely(8)), "", "Forwarded"),
        case(&format!("switch term-{id}"), "runs", "Ledger"),
        case(&format!("switch show term-shown-{id} --watch"), "nothing moved", ""),
        case(&format!("nic up -i {} --vis 3", lonely(18)), "adapter runs", "Ledger"),
        case(&format!("stack up -i {} --addr 10.9.0.2/24", lonely(9)), "link down", "frames"),
        case(&format!("fcoe target -i {} --lun 0=ram:1M", lonely(10)), "LUN 0", "commands"),
        case(&format!("fcoe target -i {} --lun 0=ram:1M --status 1", lonely(11)), "exchanges", "commands"),
        case(&format!("fcoe initiator -i {} --nbd unix:{place}/nbd", lonely(12)), "serves NBD", ""),
        case(&format!("fcoe discover -i {} --seconds 3600", lonely(13)), "", "nobody else"),
        case(&format!("fcoe ls -i {} --timeout 3600", lonely(14)), "", ""),
        case(&format!("fcoe inq -i {} --timeout 3600 --json", lonely(15)), "", ""),
        case(&format!("fcoe read -i {} --timeout 3600 {place}/out", lonely(16)), "", "0 bytes were copied"),
        case(&format!("fcoe write -i {} --timeout 3600 {place}/file", lonely(17)), "", "0 bytes were copied"),
        case(&format!("xdd -op read -targets 1 nbd://{silent}/x -numreqs 1"), "", ""),
        // Commands at work.
        case("pkt-gen -i null: -f tx", "pps", "Ledger"),
        case("pkt-gen -i null: -f tx --json", "", "\"signal\": 15"),
        case(
            &format!("xdd -op read -targets 1 {place}/file -reqsize 8 -numreqs 8 -passes 1000000000"),
            "Op_Type",
            "COMBINED",
        ),
        case(
            &format!("xdd -op read -targets 1 {place}/file -reqsize 8 -numreqs 8 -passes 9 -passdelay 3600"),
            "Op_Type",
            "COMBINED",
        ),
        case(&format!("sweep t5-fcoe --full --out {place}/sweep"), "", "Result"),
        case(&format!("qualify --time 600000 --out {place}/qualify"), "", "Result"),
        case("profile tx --time 10000 --rounds 1000", "", ""),
        case("profile rx --kernel --time 10000 --rounds 1000", "", ""),
        case(&format!("profile flood {silent} --time 86400000"), "", ""),
        case(&format!("profile flood {silent} --time 86400000 --rate 1"), "", ""),
    ];
    // Two at a time: some of them use whole cores.
    let (first, second) = cases.split_at(cases.len() / 2);
    std::thread::scope(|scope| {
        for half in [first, second] {
            scope.spawn(|| half.iter().for_each(|case| ends(case, dir.path())));
        }
    });
    shown.stop();
}

/// Standard output is a full pipe that nobody reads, and the command still writes: it can only end.
#[test]
fn sigterm_ends_a_command_whose_output_nobody_takes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, vec![0; 4096]).unwrap();
    let file = file.to_str().unwrap();
    for words in [
        &["pkt-gen", "-i", "null:", "-f", "tx", "-T", "10", "--ndjson"][..],
        &[
            "xdd", "-op", "read", "-targets", "1", file, "-reqsize", "1", "-numreqs", "1", "-passes", "1000000",
            "-verbose",
        ],
    ] {
        let mut child = Command::new(BINARY)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        // A pipe holds 64 KiB; the command waits in write(2) for longer than any line takes.
        let id = child.id();
        until(&format!("{words:?}: it waits"), || waits_in_write(id));
        assert!(Command::new("kill").arg(id.to_string()).status().unwrap().success());
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{words:?}: it goes on");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((status.code().or(killed_by(status).map(|n| 128 + n))), Some(143), "{words:?}");
        out.read_to_end(&mut Vec::new()).unwrap();
    }
}

/// True if a thread of a process was in write(2) to standard output in ten samples in a row.
fn waits_in_write(pid: u32) -> bool {
    let writes = || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let mut calls = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("syscall")).ok());
        Some(calls.any(|call| call.starts_with("1 0x1 ")))
    };
    (0..10).all(|_| {
        std::thread::sleep(Duration::from_millis(10));
        writes() == Some(true)
    })
}

/// The only case of an earlier stop request, by `--seconds`. A signal after it still ends the command.
#[test]
fn sigterm_ends_a_command_that_has_been_told_to_end_and_does_not() {
    let cable = format!("cable:term-{}-late{{1", std::process::id());
    let mut child = Command::new(BINARY)
        .args(["fcoe", "target", "-i", &cable, "--lun", "0=ram:1M", "--seconds", "1", "--json"])
        .stdin(Stdio::null())
        .stdout(full_pipe())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = child.id();
    until("it waits", || waits_in_write(id));
    assert!(Command::new("kill").arg(id.to_string()).status().unwrap().success());
    until("it ends", || child.try_wait().unwrap().is_some());
    assert_eq!(killed_by(child.wait().unwrap()), Some(15));
}

/// A pipe whose buffer is full, and whose reader is this process for as long as it lives.
fn full_pipe() -> Stdio {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut to = theirs.try_clone().unwrap();
    while to.write(&[0; 4096]).is_ok() {}
    while to.write(&[0]).is_ok() {}
    theirs.set_nonblocking(false).unwrap();
    ours.set_nonblocking(true).unwrap();
    let _ = ours.flush();
    std::mem::forget(ours);
    OwnedFd::from(theirs).into()
}
