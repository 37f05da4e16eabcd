//! Tests of flags: those that are refused, and that those that are taken reach the sockets.

use super::{End, has_iperf, pair, port, server};
use crate::process::{BINARY, Process, until};
use std::process::Command;

/// Exit code and output of a command line.
fn run(words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(BINARY);
    command.arg("iperf").args(words);
    let run = Process::start(command).end();
    (run.code, run.out, run.log)
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_passed_over() {
    // A file has no files in it.
    let file = tempfile::NamedTempFile::new().unwrap();
    let nowhere = format!("{}/x", file.path().display());
    for (line, why) in [
        ("", "no part in the test"),
        ("-s -c x", "-s and -c"),
        ("-s -n 5", "-n: the client decides"),
        ("-s -b 5m", "-b: the client decides"),
        ("-c x -D", "-D: that is for a server"),
        ("-c x -R -d", "-R and -d"),
        ("-c x --full-duplex -r", "--full-duplex and -r"),
        ("-c x -t 1 -n 5", "-t and -n"),
        ("-c x -t", "-t: no value"),
        ("-c x -t x", "-t x: give 0, or a number of seconds"),
        ("-c x -l 0", "-l 0: give a size from 1 to"),
        ("-c x -l 17M", "-l 17825792: give a size from 1 to"),
        ("-c x -u -l 15", "-l 15: give a size from 16 to 65507"),
        ("-c x -P 129", "-P 129: "),
        ("-c x -P 0", "-P 0: "),
        ("-c x -i 0.001", "-i 0.001: "),
        ("-c x -i f", "-i f: "),
        ("-c x -p 0", "-p 0: "),
        ("-c x -p 6002-6008", "-p 6002-6008: "),
        ("-c x -f x", "-f x: "),
        ("-c x -b 1Q", "-b 1Q: "),
        ("-c x -b 0", "-b 0: "),
        ("-c x -b 10m,1m", "-b 10m,1m: rates do not vary"),
        ("-c x -b 100pps", "-b: byte streams have no packets"),
        ("-c x -S 256", "-S 256: "),
        ("-c x -w 2G", "-w 2G: "),
        ("-c x -w 0", "-w 0: "),
        ("-c x -y X", "-y X: give C"),
        ("-c x -x Q", "-x Q: "),
        ("-c x -x M", "-x M: "),
        ("-c x -u -N", "-N: UDP has no such thing"),
        ("-c x -u -Z cubic", "-Z: UDP has no such thing"),
        ("-c x -u -M 1000", "-M: UDP has no such thing"),
        ("-c x -M 10", "-M 10: "),
        ("-c x -L 5002", "-L: no connection is awaited"),
        ("-c x -C -R", "-C and -R"),
        ("-c x -C --trip-times", "-C and --trip-times"),
        ("-c x --no-udp-fin", "--no-udp-fin: "),
        ("-c x --trip-times -d", "--trip-times: "),
        ("-c x --trip-times -l 91", "--trip-times: the time takes room; give -l 92"),
        ("-c x -u --trip-times -l 100", "--trip-times: the time takes room; give -l 128"),
        ("-c x -R -t 0", "-t 0: "),
        ("-c x -R -n 3G", "-n 3221225472: "),
        ("-c x -F NOWHERE", "-F NOWHERE: "),
        ("-c x -F /dev/null -t 1", "-F: its end is the end"),
        ("-c x -F /dev/null -R", "-F and -R"),
        ("-c x -4 -V", "-4 and -V"),
        ("-s -B 127.0.0.1:5001", "-B: a server's port"),
        ("-c x -B 127.0.0.1:65535 -P 2", "-B: the ports behind 65535"),
        ("-s -o NOWHERE", "-o NOWHERE: "),
        ("-c x --revers", "--revers: no such flag; did you mean --reverse?"),
        // Flags of iperf that are not built.
        ("-c x -I", "-I: give -F /dev/stdin"),
        ("-s -1", "-1: "),
        ("-s -U", "-U: "),
        ("-c x -X", "-X: "),
        ("-c x -k 5", "-k: "),
        ("-s -H a", "-H: there are no groups"),
        ("-c x -W", "-W: "),
        ("-c x --bounceback", "--bounceback: "),
        ("-c x --isochronous=60:20m", "--isochronous: "),
        ("-c x --permit-key=abcd", "--permit-key: "),
        ("-c x --connect-only", "--connect-only: "),
        ("-s --histograms", "--histograms: "),
        ("-c x --incr-dstip", "--incr-dstip: "),
        ("-c x --txstart-time 5", "--txstart-time: "),
        ("-c x --sum-only", "--sum-only: "),
        ("-c x --fq-rate 5m", "--fq-rate: "),
        ("-s --tap-dev", "--tap-dev: "),
    ] {
        let (line, why) = (line.replace("NOWHERE", &nowhere), why.replace("NOWHERE", &nowhere));
        let words: Vec<&str> = line.split_whitespace().collect();
        let (code, out, log) = run(&words);
        assert_eq!((code, out.as_str(), log.lines().count()), (Some(2), "", 1), "{line}: {log}");
        assert!(log.starts_with(&format!("linerate iperf: {why}")), "{line}: {log}");
    }
}

/// All flags that iperf's help names are known: taken or refused by name.
#[test]
fn every_flag_of_iperf_is_known() {
    if !has_iperf() {
        return;
    }
    let help = Command::new("iperf").arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap() + &String::from_utf8(help.stderr).unwrap();
    let mut flags = Vec::new();
    for line in help.lines().filter(|line| line.trim_start().starts_with('-')) {
        let names =
            line.trim_start().split([' ', ',', '=']).take_while(|word| word.is_empty() || word.starts_with('-'));
        flags.extend(names.filter(|word| !word.is_empty()));
    }
    assert!(flags.len() > 90, "{flags:?}");
    for flag in flags {
        // Another word that is none, so that nothing is started.
        let (_, _, log) = run(&[flag, "--nonsense"]);
        assert!(!log.contains(&format!("{flag}: no such flag")), "{flag}: {log}");
    }
}

#[test]
fn help_and_version_are_printed() {
    for flag in ["-h", "--help", "help"] {
        let (code, out, log) = run(&[flag]);
        assert_eq!((code, log.as_str()), (Some(0), ""));
        assert!(out.contains("--full-duplex") && out.contains("512k is 512000 bytes"), "{out}");
    }
    let (code, out, _) = run(&["-v"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("iperf version 2.1.8 (linerate "), "{out}");
}

/// Sockets have the options that were given.
#[test]
fn flags_reach_the_sockets() {
    let port = port();
    let server = server(End::Ours, port, &["-w", "100k"]);
    let name = port.to_string();
    let words = [
        "-c",
        "127.0.0.1",
        "-p",
        &name,
        "-t",
        "0",
        "-b",
        "1m",
        "-l",
        "1000",
        "-Z",
        "reno",
        "-M",
        "1000",
        "-B",
        "127.0.0.5",
    ];
    let client = Process::start(End::Ours.command("iperf", "iperf", &words));
    let of_port = format!(":{port}");
    let words = ["-tinmO", "sport", "=", &of_port, "or", "dport", "=", &of_port];
    until("both sockets have what was asked for", || {
        let ss = Command::new("ss").args(words).output().unwrap();
        let said = String::from_utf8(ss.stdout).unwrap();
        let has = |words: &[&str]| {
            said.lines().any(|line| line.contains("ESTAB") && words.iter().all(|word| line.contains(word)))
        };
        (has(&[" reno ", "mss:988 "]) || has(&[" reno ", "mss:1000 "])) && has(&["rb200000", &format!("{of_port} ")])
    });
    let said = client.stop();
    assert!(said.contains("local 127.0.0.5 port"), "{said}");
    super::ended(End::Ours, server);
}

/// A server with `-D` leaves the terminal once clients can come.
#[test]
fn a_daemon_serves() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let port = port().to_string();
    let words = ["-s", "-D", "-p", &port, "-P", "1", "-t", "30", "-o", log.to_str().unwrap()];
    let (code, out, err) = run(&words);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    let run =
        Process::start(End::Ours.command("iperf", "iperf", &["-c", "127.0.0.1", "-p", &port, "-n", "100K"])).end();
    assert_eq!(run.code, Some(0), "{}", run.said());
    until("it has told of its client", || super::moved(&std::fs::read_to_string(&log).unwrap_or_default()) == 1);
}

/// A client with `-C` says nothing of the test, and is served.
#[test]
fn a_silent_client_is_served() {
    for end in [End::Ours, End::Theirs] {
        if end == End::Theirs && !has_iperf() {
            return;
        }
        for words in [&["-C", "-n", "100k", "-y", "C"][..], &["-C", "-n", "100k", "-u", "-b", "10m", "-y", "C"]] {
            let (_, server) = pair((end, End::Ours), words, &["-y", "C"]);
            let bytes = super::field(&server.out, 7);
            assert!((98_000..=102_000).contains(&bytes), "{end:?} {words:?}: {}", server.said());
        }
    }
}

/// As programs ask for it that drive iperf. The scheduler's class stands in the field 41 of a process's figures.
#[test]
fn a_server_is_in_the_class_of_real_time_programs_or_says_why_not() {
    let port = port();
    let mut server = server(End::Ours, port, &["-z"]);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    let class = stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().to_owned();
    if class != "2" {
        let line = server.line_with("-z: ");
        assert!(line.ends_with("; run it as root"), "{line}");
    }
    let (client, _) = pair((End::Ours, End::Ours), &["-z", "-n", "1M"], &["-z"]);
    assert_eq!(client.code, Some(0), "{}", client.said());
}
