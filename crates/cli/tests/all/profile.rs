//! Tests of `linerate profile` as it is typed.

use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

fn profile(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.arg("profile").args(words).env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_is_wrong_is_one_line_and_exit_2() {
    for (words, named) in [
        (&["tx", "--kernel", "--size", "42"][..], "--size"),
        (&["tx", "--kernel", "--size", "1515"], "--size"),
        (&["rx", "--kernel", "--rounds", "0"], "--rounds"),
        (&["tx", "--kernel", "--time", "ten"], "--time"),
        (&["rx"], "--kernel"),
        (&["tx", "--tcp", "--size", "66"], "--size"),
        (&["rx", "--tcp", "--size", "1515"], "--size"),
        (&["sideways"], "sideways"),
        (&["flood", "nowhere"], "nowhere"),
        (&["flood", "127.0.0.1:9", "--batch", "1025"], "--batch"),
        (&["flood", "127.0.0.1:9", "--size", "65508"], "--size"),
    ] {
        let Output { status, stderr, .. } = profile(words).output().unwrap();
        let line = text(&stderr);
        assert_eq!(status.code(), Some(2), "{words:?}: {line}");
        assert!(line.contains(named) && line.trim_end().lines().count() == 1, "{words:?}: {line}");
    }
}

/// Both directions of TCP, with the stages in words and the sum beside the whole. That two ways disagree (exit 3) may be on a
/// machine with other load.
#[test]
fn tcp_has_its_stages_in_both_directions() {
    for (way, words) in [
        ("tx", &["send buffer", "tcp output", "tcp header", "nic and ring", "super-frame"][..]),
        ("rx", &["ethernet header", "tcp header", "tcp input", "acknowledgement", "read"]),
    ] {
        let output = profile(&[way, "--tcp", "--time", "1", "--rounds", "2"]).output().unwrap();
        let told = text(&output.stdout);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{told}{}", text(&output.stderr));
        let common = ["TCP, 1514-byte frames", "sum of the stages", "all of it, unstamped", "without probes"];
        for word in words.iter().chain(&common) {
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}

#[test]
fn a_paced_flood_sends_what_is_due_and_no_more() {
    let reader = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = reader.local_addr().unwrap().to_string();
    let output = profile(&["flood", &to, "--rate", "1000", "--time", "100", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ledger = &run["tests"][0]["ledger"];
    let sent = ledger["sent"].as_u64().unwrap();
    assert_eq!(ledger["unexplained"]["sending"], 0);
    // The rate is kept by count: however late it was, it sent no more than was due when it ended.
    let seconds = run["tests"][0]["repeats"][0]["seconds"].as_f64().unwrap();
    assert!(sent >= 1 && sent as f64 <= seconds * 1000.0 + 4.0, "{sent} in {seconds} s");
}

#[test]
fn a_flood_says_what_was_refused() {
    let output = profile(&["flood", "127.0.0.1:9", "--size", "65507", "--time", "20"]).output().unwrap();
    let told = text(&output.stdout);
    for word in ["offered", "sent", "refused", "a datagram"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

/// Without privileges no cut point can be set: each column is skipped with the reason, and the run is partial.
#[test]
fn without_privileges_it_is_skipped_with_the_reason() {
    let mut command = profile(&["tx", "--kernel", "--time", "1", "--rounds", "1"]);
    let data = tempfile::tempdir().unwrap();
    command.env("XDG_DATA_HOME", data.path());
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        std::os::unix::fs::chown(data.path(), Some(65534), Some(65534)).unwrap();
        command.uid(65534).gid(65534);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(why) => return linerate_skip::skip!("nobody cannot run the program: {why}"),
    };
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{told}{}", text(&output.stderr));
    assert!(told.contains("skipped: kernel send: ") && told.contains("CAP_SYS_ADMIN"), "{told}");
}
