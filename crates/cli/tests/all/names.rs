//! Tests of file names of arbitrary bytes: the file opened has the bytes that were typed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A name that is not UTF-8: "café" in Latin 1.
const NAME: &[u8] = b"caf\xe9";

/// Runs `linerate …`; `@` in a word is replaced by the directory, `#` by the bytes of the name.
fn linerate(dir: &Path, words: &[&str]) -> Output {
    let word = |word: &&str| {
        let mut bytes = Vec::new();
        for byte in word.bytes() {
            match byte {
                b'@' => bytes.extend_from_slice(dir.as_os_str().as_bytes()),
                b'#' => bytes.extend_from_slice(NAME),
                byte => bytes.push(byte),
            }
        }
        OsString::from_vec(bytes)
    };
    let mut command = Command::new("timeout");
    command.arg("300").arg(env!("CARGO_BIN_EXE_linerate")).args(words.iter().map(word));
    command.stdin(Stdio::null()).env("HOME", dir).output().unwrap()
}

/// Each command makes or needs a file of that name.
#[test]
fn files_are_written_and_read_by_the_very_bytes_that_were_typed() {
    let dir = tempfile::tempdir().unwrap();
    let file = |suffix: &str| dir.path().join(OsStr::from_bytes(&[NAME, suffix.as_bytes()].concat()));
    std::fs::write(file(".toml"), "[[lun]]\nlun = 0\ndevice = \"ram:1M\"\n").unwrap();
    let cable = format!("cable:names-{}", std::process::id());
    let [left, right] = [format!("{cable}{{1"), format!("{cable}}}1")];
    for (words, made) in [
        (&["pkt-gen", "-f", "tx", "-n", "3", "-i", "pcap:@/#.pcap"][..], ".pcap"),
        (&["pkt-gen", "-f", "rx", "-W", "-i", "pcap:@/#.pcap,trace=@/#.trace"], ".trace"),
        (&["pkt-gen", "-f", "tx", "-n", "3", "-i", "null:", "-P", "@/#.pcap"], ".pcap"),
        (&["pkt-gen", "-f", "tx", "--speed", "0", "-i", "null:", "--pcap=@/#.pcap"], ".pcap"),
        (&["pkt-gen", "-f", "tx", "-n", "3", "-ipcap:@/#.attached"], ".attached"),
        (&["xdd", "-op", "write", "-targets", "1", "@/#.disk", "-numreqs", "8", "-csvout", "@/#.csv"], ".csv"),
        (&["xdd", "-op", "read", "-targetdir", "@", "-targets", "1", "#.disk", "-numreqs", "8"], ".disk"),
        (&["fcoe", "target", "-i", "null:", "--lun", "0=file:@/#.disk", "--check"], ".disk"),
        (&["fcoe", "target", "-i", "null:", "--config", "@/#.toml", "--check"], ".toml"),
        (&["bench", "null", "--time", "50", "--rounds", "1", "--history", "@/#.ndjson"], ".ndjson"),
        (&["qualify", &left, &right, "--time", "10", "--repeats", "1", "--out", "@/#.out"], ".out"),
    ] {
        let out = linerate(dir.path(), words);
        let log = String::from_utf8_lossy(&out.stderr).into_owned();
        // 3: slower than the target, as a debug build may be. 4: no figure, as on a machine busy with other tests.
        let held = out.status.code().is_some_and(|code| code == 0 || code == 3 || code == 4 && words[0] == "qualify");
        assert!(held, "{words:?}: {:?}: {log}", out.status);
        assert!(file(made).exists(), "{words:?}: {log}");
    }
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(name.as_bytes().starts_with(NAME) || name.to_str().is_some_and(str::is_ascii), "{name:?}");
    }
    assert!(file(".out").join("result.json").exists());
}

#[test]
fn what_is_wrong_with_such_a_file_is_one_line_of_valid_text() {
    let dir = tempfile::tempdir().unwrap();
    for words in [
        &["pkt-gen", "-f", "rx", "-i", "pcap:@/#.pcap"][..],
        &["pkt-gen", "-f", "tx", "-i", "null:", "-P", "@/#.pcap"],
        &["xdd", "-op", "read", "-targets", "1", "@/#", "-numreqs", "1"],
        &["fcoe", "target", "-i", "null:", "--config", "@/#.toml", "--check"],
    ] {
        let out = linerate(dir.path(), words);
        let log = String::from_utf8(out.stderr).unwrap();
        let line = log.lines().last().unwrap();
        assert!(!out.status.success() && line.contains("caf\u{fffd}"), "{words:?}: {log}");
    }
}
