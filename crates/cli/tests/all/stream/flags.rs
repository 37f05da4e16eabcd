//! Tests of flags: those that are refused, and that those that are taken reach the sockets.

use super::{End, PAIRINGS, client, has_iperf3, pair, port, server};
use crate::process::{BINARY, Process, until};
use linerate_skip::{is_installed, skip};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// Exit code and error line of a command line.
fn refused(line: &str) -> (Option<i32>, String) {
    let mut command = Command::new(BINARY);
    command.arg("stream").args(line.split_whitespace());
    let run = Process::start(command).end();
    assert!(run.out.is_empty(), "{line}: {}", run.out);
    (run.code, run.log)
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_passed_over() {
    // A file has no files in it.
    let file = tempfile::NamedTempFile::new().unwrap();
    let nowhere = format!("{}/x", file.path().display());
    for (line, why) in [
        ("", "no part in the test"),
        ("-s -c x", "-s and -c"),
        ("-s -t 5", "-t: the client decides"),
        ("-c x -1", "-1: that is for a server"),
        ("-c x -R --bidir", "-R and --bidir"),
        ("-c x -t 1 -n 5", "-t, -n and -k"),
        ("-c x -n 1 -k 5", "-t, -n and -k"),
        ("-c x -t 1.5", "-t 1.5: give a number"),
        ("-c x -l 2M", "-l 2097152: give a size from 1 to 1048576"),
        ("-c x -u -l 15", "-l 15: give a size from 16 to 65507"),
        ("-c x -P 129", "-P 129: "),
        ("-c x -i 0.05", "-i 0.05: "),
        ("-c x -p 0", "-p 0: "),
        ("-c x -f x", "-f x: "),
        ("-c x -b 1Q", "-b 1Q: "),
        ("-c x -b 0/5", "-b: a burst"),
        ("-c x -S 256", "-S 256: "),
        ("-c x --dscp 64", "--dscp 64: "),
        ("-c x -L 0", "-L 0: "),
        ("-c x -w 513M", "-w 513M: "),
        ("-c x -O 61", "-O 61: "),
        ("-c x -u -Z", "-Z: UDP has no such thing"),
        ("-c x -u -C cubic", "-C: UDP has no such thing"),
        ("-c x --dont-fragment", "--dont-fragment: TCP has no such thing"),
        ("-c x --rcv-timeout 500", "--rcv-timeout: this client receives nothing"),
        ("-c x -R --rcv-timeout 50", "--rcv-timeout 50: "),
        ("-c x --cport 65535 -P 2", "--cport 65535: "),
        ("-c x -F NOWHERE", "-F NOWHERE: "),
        ("-s --logfile NOWHERE", "--logfile NOWHERE: "),
        ("-c x --revers", "--revers: no such flag; did you mean --reverse?"),
        ("-c x --username u", "--username: a login needs the server's key"),
        ("-c x --rsa-public-key-path f", "--rsa-public-key-path: a login needs a user"),
        ("-c x --username u --rsa-public-key-path NOWHERE", "--rsa-public-key-path NOWHERE: Not a directory"),
        ("-c x --rsa-private-key-path f", "--rsa-private-key-path: that is for a server"),
        ("-s --rsa-private-key-path f", "--rsa-private-key-path: logins need users"),
        ("-s --authorized-users-path f", "--authorized-users-path: logins need a key"),
        ("-s --username u", "--username: the client decides"),
        ("-s --time-skew-threshold 5", "--time-skew-threshold: there is no login"),
        ("-s --time-skew-threshold 0", "--time-skew-threshold 0: "),
        ("-s --use-pkcs1-padding", "--use-pkcs1-padding: there is no login"),
        ("-c x --use-pkcs1-padding", "--use-pkcs1-padding: there is no login"),
        // Flags of iperf3 that are not built.
        ("-c x --sctp", "--sctp: there is no SCTP"),
        ("-c x --nstreams 3", "--nstreams: there is no SCTP"),
        ("-c x -X a", "-X: there is no SCTP"),
        ("-s --server-bitrate-limit 0", "--server-bitrate-limit 0: give a rate"),
        ("-s --server-bitrate-limit 5M/61", "--server-bitrate-limit 5M/61: give seconds"),
        ("-c x --server-bitrate-limit 5", "--server-bitrate-limit: that is for a server"),
        ("-s --server-max-duration 0", "--server-max-duration 0: "),
        ("-s --idle-timeout 5", "--idle-timeout: a server that waits needs no restart"),
        ("-s --idle-timeout x -1", "--idle-timeout x: "),
        ("-c x --cntl-ka=1/x", "--cntl-ka 1/x: "),
        ("-c x --skip-rx-copy", "--skip-rx-copy: "),
        ("-c x -u --gsro", "--gsro: "),
        ("-s -m", "-m: there is no Multipath TCP"),
        ("-c x --pacing-timer 5", "--pacing-timer: "),
        ("-c x --no-fq-socket-pacing", "--no-fq-socket-pacing: "),
        ("-c x --snd-timeout 0", "--snd-timeout 0: "),
        ("-c x -u --snd-timeout 5", "--snd-timeout: UDP has no such thing"),
        ("-c x -J --timestamps", "--timestamps: documents have times of their own"),
        (
            "-c x --json-stream-full-output",
            "--json-stream-full-output: -J has the whole document; give --json-stream too",
        ),
        ("-c x -J --json-stream-full-output", "--json-stream-full-output: "),
        ("-c x --json-stream -T title", "-T: no event of --json-stream has a place for it"),
        ("-c x --json-stream --extra-data text", "--extra-data: no event"),
        ("-c x -d", "-d: "),
    ] {
        let (line, why) = (line.replace("NOWHERE", &nowhere), why.replace("NOWHERE", &nowhere));
        let (code, log) = refused(&line);
        assert_eq!((code, log.lines().count()), (Some(2), 1), "{line}: {log}");
        assert!(log.starts_with(&format!("linerate stream: {why}")), "{line}: {log}");
    }
}

#[test]
fn lines_have_their_time_in_front() {
    if !has_iperf3() {
        return;
    }
    let timed = |line: &&str| line.starts_with("at 20") && line.get(7..9) == Some(": ");
    for pairing in PAIRINGS {
        let stamp = "--timestamps=at %Y: ";
        let (client, server) = pair(pairing, &["-n", "1M", stamp], &[stamp]);
        for said in [client, server] {
            assert!(said.out.lines().filter(timed).count() > 5, "{pairing:?}: {}", said.out);
        }
    }
    let (client, server) =
        pair((End::Ours, End::Ours), &["-n", "1M", "-T", "x", "--timestamps=at %Y: "], &["--timestamps"]);
    assert!(
        client.out.lines().all(|line| line.starts_with("at 20") && line[9..].starts_with("x:  ")),
        "{}",
        client.out
    );
    let year = client.out[3..7].to_owned();
    assert!(server.out.lines().all(|line| line.contains(&format!("{year} "))), "{}", server.out);
}

#[test]
fn a_server_keeps_the_limits_that_it_sets() {
    if !has_iperf3() {
        return;
    }
    let total = "total required bandwidth is larger than server limit";
    let long = "client's requested duration exceeds the server's maximum permitted limit";
    for (limit, refused, served, why) in [
        // Asked for; moved.
        (
            &["--server-bitrate-limit", "10M"][..],
            &["-b", "6M", "-P", "2", "-t", "1"][..],
            &["-b", "5M", "-t", "2"][..],
            total,
        ),
        (&["--server-bitrate-limit", "10M/1"], &["-t", "30"], &["-R", "-b", "5M", "-t", "3"], total),
        (&["--server-max-duration", "3"], &["-t", "3", "-O", "1"], &["-t", "1"], long),
        (&["--server-max-duration", "3"], &["-n", "1M"], &["-t", "1"], long),
    ] {
        for of_client in [End::Ours, End::Theirs] {
            let port = port();
            let _server = server(End::Ours, port, limit);
            let ended = client(of_client, port, refused);
            // iperf3 3.12 has no words for a limit of time.
            let said = if of_client == End::Theirs && why == long { "int_errno=37" } else { why };
            assert!(ended.code == Some(1) && ended.said().contains(said), "{limit:?} {refused:?}: {}", ended.said());
            let ended = client(of_client, port, served);
            assert_eq!(ended.code, Some(0), "{limit:?} {served:?}: {}", ended.said());
        }
    }
}

#[test]
fn a_server_for_one_client_ends_if_none_comes() {
    let port = port();
    let ended = server(End::Ours, port, &["-1", "--idle-timeout", "1"]).end();
    assert_eq!((ended.code, ended.log.as_str()), (Some(0), ""), "{}", ended.said());
    // One who has come is waited for.
    let (client, _) = pair((End::Ours, End::Ours), &["-t", "3", "-b", "1M"], &["--idle-timeout", "1"]);
    assert_eq!(client.code, Some(0), "{}", client.said());
}

/// All flags that iperf3 3.12 has are known: taken or refused by name.
#[test]
fn every_flag_of_iperf3_is_known() {
    if !has_iperf3() {
        return;
    }
    let help = Command::new("iperf3").arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let letters = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let flags: Vec<&str> = help
        .lines()
        .filter(|line| line.starts_with("  -"))
        .flat_map(|line| line.split(letters).filter(|word| word.starts_with('-') && word.len() > 1).take(2))
        .collect();
    assert!(flags.len() > 80, "{flags:?}");
    for flag in flags {
        let run = Command::new(BINARY).args(["stream", flag, flag, "--no-such-thing"]).output().unwrap();
        let log = String::from_utf8(run.stderr).unwrap();
        assert!(!log.contains(&format!("{flag}: no such flag")), "{flag}: {log}");
    }
}

/// A client's sockets, a line each, as the kernel describes them.
pub(super) fn sockets(port: u16) -> String {
    let ss = Command::new("ss").args(["-tinemOH", "--tos", &format!("dport = :{port}")]).output().unwrap();
    String::from_utf8(ss.stdout).unwrap()
}

/// The socket whose line has all these words.
fn socket(port: u16, words: &[&str]) -> String {
    let mut socket = None;
    until(&format!("a socket has {words:?}"), || {
        let all = sockets(port);
        socket = all.lines().find(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned);
        socket.is_some()
    });
    socket.unwrap()
}

#[test]
fn flags_reach_the_sockets() {
    if !is_installed("ss") {
        skip!("ss is not installed");
        return;
    }
    let port = port();
    let _server = server(End::Ours, port, &[]);
    let own = super::port();
    let line = format!(
        "-c 127.0.0.1%lo -p {port} -t 0 -i 0 --cntl-ka=70/5/2 -M 700 -C reno --dscp ef -w 100k --cport {own} -B 127.0.0.1 --fq-rate 80M -b 10M -A 0"
    );
    let words: Vec<&str> = line.split(' ').collect();
    let client = Process::start(End::Ours.command("stream", "iperf3", &words));
    // Of both ends: the options are the server's too.
    let mine = socket(port, &[&format!("127.0.0.1%lo:{own}"), "mss:688"]);
    for word in ["reno", "tos:0xb8", "tb204800", "rb204800"] {
        assert!(mine.contains(word), "{word}: {mine}");
    }
    socket(port, &["timer:(keepalive,1min"]);
    let affinity = fs::read_to_string(format!("/proc/{}/status", client.id())).unwrap();
    assert!(affinity.contains("Cpus_allowed_list:\t0\n"), "{affinity}");
    client.signal("INT");
    let ended = client.end();
    assert!(ended.log.ends_with("interrupt - the client has terminated\n"), "{}", ended.said());
}

#[test]
fn a_flow_label_is_sent() {
    if !is_installed("ss") {
        skip!("ss is not installed");
        return;
    }
    let port = port();
    let _server = server(End::Ours, port, &[]);
    let ended = client(End::Ours, port, &["-c", "::1", "-L", "0x12345", "-n", "1M"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let ended = client(End::Ours, port, &["-L", "0x12345", "-n", "1M"]);
    assert!(ended.code == Some(1) && ended.log.contains("unable to set IPv6 flow label"), "{}", ended.said());
}

#[test]
fn files_are_sent_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let content: Vec<u8> = (0..300_001_u32).map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]).collect();
    fs::write(path("from"), &content).unwrap();
    for more in [&[][..], &["-Z"], &["-R"], &["-l", "7"]] {
        let (from, to) = (path("from"), path("to"));
        let reverse = more.contains(&"-R");
        let (of_client, of_server) = if reverse { (&to, &from) } else { (&from, &to) };
        let _ = fs::remove_file(&to);
        let end: &[&str] = if reverse { &["-t", "1"] } else { &[] };
        pair((End::Ours, End::Ours), &[&["-F", of_client][..], more, end].concat(), &["-F", of_server]);
        assert!(fs::read(&to).unwrap() == content, "{more:?}");
    }
    // Digits over and over.
    let to = path("digits");
    pair((End::Ours, End::Ours), &["-n", "30", "-l", "10", "--repeating-payload"], &["-F", &to]);
    assert_eq!(fs::read_to_string(&to).unwrap(), "0123456789".repeat(3));
}

#[test]
fn lines_go_to_a_file_and_a_daemon_has_a_number() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (pid, log) = (path("pid"), path("log"));
    let port = port();
    let parent = server(End::Ours, port, &["-D", "-I", &pid, "--logfile", &log]).end();
    assert_eq!((parent.code, parent.said()), (Some(0), String::new()));
    let mut number = String::new();
    until("its number is written", || {
        number = fs::read_to_string(&pid).unwrap_or_default();
        !number.is_empty()
    });
    let own = path("client");
    let ended = client(End::Ours, port, &["-n", "100K", "--logfile", &own, "-I", &path("own")]);
    assert_eq!((ended.code, ended.said()), (Some(0), String::new()));
    assert!(fs::read_to_string(&own).unwrap().ends_with("iperf Done.\n") && !fs::exists(path("own")).unwrap());
    let second = server_fails(port, &["-I", &pid]);
    assert!(second.contains("unable to start listener") || second.contains("Another instance"), "{second}");
    assert!(Command::new("kill").args(["-s", "INT", &number]).status().unwrap().success());
    until("its file is deleted in the end", || !fs::exists(&pid).unwrap());
    assert!(fs::read_to_string(&log).unwrap().contains("Accepted connection from 127.0.0.1"));
}

/// Errors of a server that cannot start.
fn server_fails(port: u16, more: &[&str]) -> String {
    let port = port.to_string();
    let ended = Process::start(End::Ours.command("stream", "iperf3", &[&["-s", "-p", &port][..], more].concat())).end();
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    ended.log
}

#[test]
fn times_are_kept() {
    // A server that takes connections and says nothing; one address that nobody has.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ended = client(End::Ours, 1, &["-t", "1"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.log.contains("error - unable to connect to server: Connection refused"), "{}", ended.log);
    let port = super::port();
    let ended = client(End::Ours, port, &["-c", "192.0.2.1", "--connect-timeout", "200", "-J"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(ended.code, Some(1));
    assert!(document["error"].as_str().unwrap().starts_with("unable to connect to server"), "{document}");
    drop(listener);
}

#[test]
fn a_link_called_iperf3_is_iperf3() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("iperf3");
    symlink(BINARY, &link).unwrap();
    let said = |words: &[&str]| {
        let run = Command::new(&link).args(words).output().unwrap();
        (run.status.code(), String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap())
    };
    for word in ["-v", "--version"] {
        let version = format!("iperf 3.12 (linerate {})\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(said(&[word]), (Some(0), version, String::new()));
    }
    assert!(said(&["--help"]).1.starts_with("Usage: iperf3 -s|-c HOST"));
    let (code, _, log) = said(&["--bogus"]);
    assert!(code == Some(2) && log.starts_with("iperf3: --bogus: "), "{log}");
    let (code, _, log) = said(&["-c", "127.0.0.1", "-p", "1"]);
    assert!(code == Some(1) && log.starts_with("iperf3: error - unable to connect to server: "), "{log}");
}
