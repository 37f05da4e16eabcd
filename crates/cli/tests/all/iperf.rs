//! Tests of `linerate iperf` as a program: with iperf 2 and with itself, in all pairings. Its lines, its flags and peers that
//! do wrong have files of their own.
#![cfg(target_os = "linux")]

mod flags;
mod hostile;
mod lines;
mod own;

use crate::ends::{End, PAIRINGS, port, until_open};
use crate::process::{BINARY, Ended, Process, until};
use linerate_skip::{is_installed, skip};
use std::process::Command;
use std::time::{Duration, Instant};

/// True if iperf 2 is installed; reported otherwise.
#[track_caller]
fn has_iperf() -> bool {
    let has = is_installed("iperf");
    if !has {
        skip!("iperf is not installed");
    }
    has
}

/// Starts a server, and waits until clients can come.
fn server(end: End, port: u16, more: &[&str]) -> Process {
    let name = port.to_string();
    let process = Process::start(end.command("iperf", "iperf", &[&["-s", "-p", &name][..], more].concat()));
    until_open(port, more.contains(&"-u"));
    process
}

/// Runs a client to its end.
fn client(end: End, port: u16, more: &[&str]) -> Ended {
    let port = port.to_string();
    Process::start(end.command("iperf", "iperf", &[&["-c", "127.0.0.1", "-p", &port][..], more].concat())).end()
}

/// Ends a server once all sessions have ended, each by a thread. iperf's own needs more than one signal.
fn ended(end: End, server: Process) -> Ended {
    // iperf's waits for more than a minute where datagrams that say the end have been lost, unless it is told to end.
    let mut told_at = (end == End::Theirs).then(|| Instant::now() + Duration::from_secs(5));
    until("all sessions have ended", || {
        if told_at.take_if(|at| Instant::now() > *at).is_some() {
            server.signal("INT");
        }
        let threads = threads(&server);
        // iperf's others are its main thread, the one that listens, and the one that prints before a session's ends.
        if end == End::Theirs { threads.len() <= 3 } else { threads.iter().all(|name| name != "iperf-session") }
    });
    if end == End::Theirs {
        server.signal("KILL");
        return server.end();
    }
    cut_short(server)
}

/// Names of the threads of a process.
fn threads(process: &Process) -> Vec<String> {
    let all = std::fs::read_dir(format!("/proc/{}/task", process.id())).unwrap();
    let name = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm")).ok();
    all.filter_map(|thread| Some(name(thread.ok()?)?.trim().to_owned())).collect()
}

/// Ends a server of ours by Ctrl-C.
fn cut_short(server: Process) -> Ended {
    server.signal("INT");
    let ended = server.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    ended
}

/// Runs a test between two ends; the client must succeed. `LPORT` in the words is replaced by a free port.
fn pair(pairing: (End, End), words: &[&str], of_server: &[&str]) -> (Ended, Ended) {
    let (client, server) = whole(pairing.0, || once(pairing, words, of_server));
    assert_eq!(client.code, Some(0), "{pairing:?} {words:?}: {}", client.said());
    (client, server)
}

/// Runs a client and its server, until the client ends by itself: iperf's own frees something twice now and then when it ends, and
/// is killed for it.
fn whole(client: End, once: impl Fn() -> (Ended, Ended)) -> (Ended, Ended) {
    let is_whole = |ended: &(Ended, Ended)| ended.0.code.is_some() || client == End::Ours;
    (0..3).map(|_| once()).find(is_whole).expect("iperf was killed three times")
}

fn once(pairing: (End, End), words: &[&str], of_server: &[&str]) -> (Ended, Ended) {
    let (port, back) = (port(), port().to_string());
    let words: Vec<&str> = words.iter().map(|word| if *word == "LPORT" { &back } else { *word }).collect();
    let udp: &[&str] = if words.contains(&"-u") { &["-u"] } else { &[] };
    let server = server(pairing.1, port, &[udp, of_server].concat());
    let client = client(pairing.0, port, &words);
    (client, ended(pairing.1, server))
}

/// Amounts of the lines of whole tests (`0.0000-`), without sums: how many are above nothing.
fn moved(said: &str) -> usize {
    let whole = |line: &&str| line.contains("] 0.0000-") && !line.starts_with("[SUM") && !line.contains("out-of-order");
    said.lines().filter(whole).filter(|line| !line.contains(" 0.000 Byte")).count()
}

/// Words of a test, and the number of flows that lines of the client and of the server tell of.
const TESTS: [(&[&str], usize, usize); 16] = [
    (&["-t", "1"], 1, 1),
    (&["-n", "4M", "-l", "8K"], 1, 1),
    (&["-t", "1", "-l", "64", "-N"], 1, 1),
    (&["-t", "1", "-P", "8", "-w", "512k"], 8, 8),
    (&["-t", "1", "-b", "20m", "-R"], 1, 1),
    (&["-t", "1", "-b", "20m", "-R", "-P", "2"], 2, 2),
    (&["-t", "1", "-b", "20m", "--full-duplex"], 2, 2),
    (&["-t", "1", "-b", "20m", "-d", "-L", "LPORT"], 2, 2),
    (&["-t", "1", "-b", "20m", "-r", "-L", "LPORT"], 2, 2),
    (&["-t", "1", "-b", "20m", "--trip-times"], 1, 1),
    (&["-u", "-t", "1"], 2, 1),
    (&["-u", "-t", "1", "-b", "10m", "-P", "2"], 4, 2),
    (&["-u", "-n", "200k", "-b", "10m"], 2, 1),
    (&["-u", "-t", "1", "-b", "10m", "-R"], 1, 1),
    (&["-u", "-t", "1", "-b", "10m", "--full-duplex"], 2, 2),
    (&["-u", "-t", "1", "-b", "1000pps", "-r", "-L", "LPORT"], 3, 3),
];

#[test]
fn data_flow_in_all_pairings_and_directions() {
    if !has_iperf() {
        return;
    }
    for (words, of_client, of_server) in TESTS {
        std::thread::scope(|scope| {
            for pairing in PAIRINGS {
                scope.spawn(move || {
                    let (client, server) = pair(pairing, words, &[]);
                    let said = format!("{pairing:?} {words:?}:\n{}\nserver:\n{}", client.said(), server.said());
                    assert_eq!(moved(&client.out), of_client, "{said}");
                    assert_eq!(moved(&server.out), of_server, "{said}");
                    if pairing.0 == End::Ours {
                        assert!(client.log.is_empty(), "{said}");
                    }
                    if pairing.1 == End::Ours {
                        assert!(server.log.is_empty(), "{said}");
                    }
                });
            }
        });
    }
}

/// Field of the row of a table (`-y C`).
fn field(row: &str, at: usize) -> u64 {
    row.trim().split(',').nth(at).and_then(|field| field.parse().ok()).unwrap_or_else(|| panic!("{row}"))
}

/// The bytes that one end reports as sent are those that the other reports as received.
#[test]
fn both_ends_count_the_same_bytes() {
    if !has_iperf() {
        return;
    }
    for pairing in PAIRINGS {
        let (client, server) = pair(pairing, &["-n", "3000000", "-l", "7000", "-y", "C"], &["-y", "c"]);
        let bytes = |ended: &Ended| field(ended.out.lines().next().unwrap_or_default(), 7);
        assert_eq!((bytes(&client), bytes(&server)), (3_000_000, 3_000_000), "{pairing:?}");
    }
    // Datagrams: iperf counts the one that says the end, which we do not.
    let (client, server) = pair((End::Ours, End::Ours), &["-u", "-n", "294000", "-b", "10m", "-y", "C"], &["-y", "C"]);
    assert_eq!((field(&client.out, 7), field(&client.out, 11)), (294_000, 200), "{}", client.out);
    // Some may be lost in the receiver's queue on a busy machine; each is said. So is the end, which is said again by another
    // number then.
    let (bytes, lost, sent) = (field(&server.out, 7), field(&server.out, 10), field(&server.out, 11));
    let ends = sent.checked_sub(200).filter(|ends| *ends <= lost);
    assert_eq!(ends.map(|ends| bytes + (lost - ends) * 1470), Some(294_000), "{}", server.out);
}

/// A file is sent to its end.
#[test]
fn a_file_is_sent_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    std::fs::write(&file, vec![7; 1_234_567]).unwrap();
    let file = file.to_str().unwrap();
    let (client, server) = pair((End::Ours, End::Ours), &["-F", file, "-y", "C"], &["-y", "C"]);
    // The header counts too.
    let whole = 1_234_567 + 60;
    assert_eq!((field(&client.out, 7), field(&server.out, 7)), (whole, whole));
}

/// Links under the program's name, and the very words that people have in their scripts.
#[test]
fn scripts_run_as_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let iperf = dir.path().join("iperf");
    std::os::unix::fs::symlink(BINARY, &iperf).unwrap();
    let port = port().to_string();
    let mut command = Command::new(&iperf);
    command.args(["-s", "-p", &port, "-w", "512k"]);
    let server = Process::ready(command, "TCP window size");
    until_open(port.parse().unwrap(), false);
    for size in ["1K", "128K"] {
        let mut command = Command::new(&iperf);
        command.args(["-c", "127.0.0.1", "-p", &port, "-l", size, "-t", "1", "-P", "8", "-w", "512k"]);
        let client = Process::start(command).end();
        assert_eq!((client.code, moved(&client.out)), (Some(0), 8), "{}", client.said());
        assert!(client.out.contains("(WARNING: requested  500 KByte)"), "{}", client.out);
        assert_eq!(client.out.lines().filter(|line| line.starts_with("[SUM] ")).count(), 1, "{}", client.out);
    }
    assert_eq!(moved(&ended(End::Ours, server).out), 16);
}

/// A server takes in several clients at once, of all kinds.
#[test]
fn several_clients_are_served_at_once() {
    let (port, udp) = (port(), port());
    let (server_tcp, server_udp) = (server(End::Ours, port, &[]), server(End::Ours, udp, &["-u"]));
    let end = if is_installed("iperf") { End::Theirs } else { End::Ours };
    std::thread::scope(|scope| {
        for (words, port) in [
            (&["-t", "2"][..], port),
            (&["-t", "2", "-R", "-P", "2"], port),
            (&["-t", "2", "--full-duplex", "-b", "50m"], port),
            (&["-u", "-t", "2", "-b", "5m"], udp),
            (&["-u", "-t", "2", "-b", "5m", "-R"], udp),
        ] {
            scope.spawn(move || {
                let client = client(end, port, words);
                // iperf may be killed at its end: see above.
                assert!(client.code.map_or(end == End::Theirs, |code| code == 0), "{words:?}: {}", client.said());
            });
        }
    });
    let (tcp, udp) = (ended(End::Ours, server_tcp), ended(End::Ours, server_udp));
    assert_eq!((moved(&tcp.out), moved(&udp.out)), (5, 2), "{}{}", tcp.said(), udp.said());
}

/// A signal ends a server and a client with their last lines.
#[test]
fn a_signal_ends_both_with_their_last_lines() {
    let port = port();
    let server = server(End::Ours, port, &["-i", "0.5"]);
    let name = port.to_string();
    let words = ["-c", "127.0.0.1", "-p", &name, "-t", "60", "-i", "0.2", "-b", "50m"];
    let mut client = Process::start(End::Ours.command("iperf", "iperf", &words));
    client.until("] 0.2");
    server.signal("TERM");
    let server = server.end();
    assert_eq!((server.code, moved(&server.out)), (Some(143), 1), "{}", server.said());
    let client = client.end();
    assert_eq!(client.code, Some(1), "its server is gone: {}", client.said());
    assert_eq!(client.log.lines().count(), 1, "{}", client.said());
    let port = crate::ends::port();
    let server = self::server(End::Ours, port, &[]);
    let name = port.to_string();
    let mut client =
        Process::start(End::Ours.command("iperf", "iperf", &["-c", "127.0.0.1", "-p", &name, "-t", "60", "-i", "0.2"]));
    client.until("] 0.2");
    client.signal("INT");
    let client = client.end();
    assert_eq!(client.code, Some(130), "{}", client.said());
    assert!(client.out.lines().last().is_some_and(|line| line.contains("] 0.0000-0.")), "{}", client.out);
    assert_eq!(moved(&ended(End::Ours, server).out), 1);
}

/// A failed test ends with code 1 and one line.
#[test]
fn failures_end_with_one_and_a_line() {
    for (words, why) in [
        (&["-t", "1"][..], "iperf: tcp connect failed: "),
        (&["-u", "-t", "1"], "did not receive ack of last datagram: connection refused"),
        (&["-u", "-n", "1470", "--no-udp-fin"], "write failed: connection refused"),
        (&["-u", "-t", "1", "-R"], "no answer from the server"),
    ] {
        let port = port().to_string();
        let run = Process::start(End::Ours.command(
            "iperf",
            "iperf",
            &[&["-c", "127.0.0.1", "-p", &port][..], words].concat(),
        ))
        .end();
        assert_eq!((run.code, run.log.lines().count()), (Some(1), 1), "{words:?}: {}", run.said());
        assert!(run.log.contains(why), "{words:?}: {}", run.log);
    }
    let run = Process::start(End::Ours.command("iperf", "iperf", &["-c", "no.such.host.invalid"])).end();
    assert_eq!((run.code, run.log.lines().count()), (Some(1), 1), "{}", run.said());
    // A port that is taken.
    let port = port();
    let server = server(End::Ours, port, &[]);
    let run = Process::start(End::Ours.command("iperf", "iperf", &["-s", "-p", &port.to_string()])).end();
    assert_eq!(run.code, Some(1));
    assert!(run.log.contains("listener bind failed: "), "{}", run.log);
    ended(End::Ours, server);
}

/// `-P` and `-t` end a server by themselves.
#[test]
fn a_server_ends_after_its_clients_or_its_time() {
    let port = port();
    let server = server(End::Ours, port, &["-P", "2"]);
    let run = client(End::Ours, port, &["-n", "100K", "-P", "2"]);
    assert_eq!(run.code, Some(0), "{}", run.said());
    let ended = server.end();
    assert_eq!((ended.code, moved(&ended.out)), (Some(0), 2), "{}", ended.said());
    let run = Process::start(End::Ours.command(
        "iperf",
        "iperf",
        &["-s", "-p", &crate::ends::port().to_string(), "-t", "0.5"],
    ))
    .end();
    assert_eq!((run.code, run.log.as_str()), (Some(0), ""), "{}", run.said());
}

/// IPv6, and both families at a server.
#[test]
fn both_families_are_served() {
    let port = port();
    let server = server(End::Ours, port, &["-V"]);
    let name = port.to_string();
    for words in [&["-c", "::1", "-V"][..], &["-c", "::1"], &["-c", "127.0.0.1"]] {
        let words = [words, &["-p", &name, "-n", "100K"]].concat();
        let run = Process::start(End::Ours.command("iperf", "iperf", &words)).end();
        assert_eq!((run.code, moved(&run.out)), (Some(0), 1), "{words:?}: {}", run.said());
    }
    let said = ended(End::Ours, server);
    assert!(said.out.contains("local ::1 port") && said.out.contains("local 127.0.0.1 port"), "{}", said.out);
}
