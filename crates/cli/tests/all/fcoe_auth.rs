//! Tests of `--auth`: who proves its name is let in, who does not ends with a line, and files that others can read are refused.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, SEARCH};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "20:00:02:00:00:00:00:10";
const INITIATOR: &str = "20:00:02:00:00:00:00:01";
const OURS: [&str; 2] = ["--mac", "02:00:00:00:00:01"];

/// A file of secrets, for its owner only; its path.
fn secrets(dir: &Path, name: &str, lines: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, lines).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Exit code, output and errors of a command.
fn fcoe(words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new("timeout");
    let output = command.args([&LIMIT.as_secs().to_string(), BINARY, "fcoe"]).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn who_proves_its_name_is_let_in_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, lines: &str| secrets(dir.path(), name, lines);
    let of_target = file("target", &format!("own the-target's-secret\n{INITIATOR} the-initiator's-secret\n"));
    let known = file("known", "own the-initiator's-secret\n");
    let mutual = file("mutual", &format!("own the-initiator's-secret\n{TARGET} the-target's-secret\n"));
    let wrong = file("wrong", "own another-secret\n");
    let doubts = file("doubts", &format!("own the-initiator's-secret\n{TARGET} another-secret\n"));

    let cable = format!("cable:auth-{}", std::process::id());
    let (theirs, ours) = (format!("{cable}{{1"), format!("{cable}}}1"));
    let words = ["fcoe", "target", "-i", &theirs, "--wwpn", TARGET, "--lun", "0=ram:16M", "--auth", &of_target];
    let mut target = Process::linerate(&words, "LUN 0");
    let ls = |more: &[&str]| fcoe(&[&["ls", "-i", &ours], &OURS[..], &SEARCH, more].concat());

    let (code, out, line) = ls(&[]);
    assert_eq!((code, &out[..], line.lines().count()), (1, "", 1), "{line}");
    assert!(line.contains(TARGET) && line.contains("give --auth FILE"), "{line}");
    let (code, out, line) = ls(&["--auth", &wrong]);
    assert!(code == 1 && out.is_empty() && line.contains("it does not take our proof"), "{code} {out}{line}");
    let (code, out, line) = fcoe(&[&["read", "-i", &ours], &OURS[..], &SEARCH, &["--auth", &wrong]].concat());
    assert!(code == 1 && out.is_empty() && line.contains("it does not take our proof"), "{code} {line}");
    target.until(&format!("{INITIATOR} is not let in, or does not let us in: it does not know the secret"));
    let (code, out, line) = ls(&["--auth", &known]);
    assert!(code == 0 && out.contains("16777216 bytes\n"), "its name is not proved to us: {code} {out}{line}");
    target.until(&format!("{INITIATOR} has proved its name: DH-CHAP, SHA-1, Diffie-Hellman group of 2048 bits"));
    let (code, out, line) = ls(&["--auth", &mutual]);
    assert!(code == 0 && out.contains("16777216 bytes authenticated\n"), "{code} {out}{line}");
    target.until(&format!("{INITIATOR} has proved its name, and so have we"));
    let (code, _, line) = ls(&["--auth", &doubts]);
    assert!(code == 1 && line.contains(TARGET) && line.contains("it does not know the secret"), "{code} {line}");

    // An initiator that would wait for ever ends by itself.
    let nbd = format!("unix:{}", dir.path().join("lun").display());
    let initiator = [&["initiator", "-i", &ours, "--nbd", &nbd, "--target", TARGET], &OURS[..]].concat();
    let (code, _, line) = fcoe(&initiator);
    assert_eq!((code, line.lines().count()), (1, 1), "{line}");
    assert!(line.contains(TARGET) && line.contains("give --auth FILE"), "{line}");
    let serves = Process::linerate(&[&["fcoe"], &initiator[..], &["--auth", &mutual]].concat(), "export");
    let (code, shown, _) = fcoe(&["show", &theirs]);
    assert_eq!(code, 0);
    let row = shown.lines().find(|line| line.starts_with(INITIATOR)).unwrap();
    assert!(row.ends_with("yes"), "{shown}");
    assert!(shown.contains(&format!("{INITIATOR} was not authenticated ")), "{shown}");
    serves.stop();

    // An open name comes in without a proof, until it is open no more.
    let allow = |rule: &str| fcoe(&["lun", "allow", "-i", &theirs, &format!("{INITIATOR}={rule}")]);
    assert_eq!(allow("0,open").1, format!("{INITIATOR} sees LUN 0, and need not prove its name\n"));
    let (code, out, line) = ls(&[]);
    assert!(code == 0 && out.contains("16777216 bytes\n"), "{code} {out}{line}");
    assert_eq!(allow("0").1, format!("{INITIATOR} sees LUN 0\n"));
    assert_eq!(ls(&[]).0, 1);
    let said = target.stop();
    assert!(!said.contains("authenticates nobody"), "{said}");
}

#[test]
fn wrong_secrets_files_are_told_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let good = secrets(dir.path(), "good", &format!("{INITIATOR} abcdefghijkl\n"));
    let short = secrets(dir.path(), "short", "# ours\nown short\n");
    let shared = secrets(dir.path(), "shared", "own abcdefghijkl\n");
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = format!("{INITIATOR}=0,open");
    let target = ["target", "-i", "null:", "--lun", "0=ram:1M", "--check"];
    for (words, why) in [
        (&["--auth", &short[..]][..], "short: line 2: its secret is too short or too long: give 12 to 128"),
        (&["--auth", &shared], "shared: its mode is 644, and others can use it: chmod 600"),
        (&["--auth", "nothing"], "nothing: No such file"),
        (&["--allow", &open], "leave open out, or give --auth FILE"),
    ] {
        let (code, out, line) = fcoe(&[&target[..], words].concat());
        assert_eq!((code, &out[..], line.lines().count()), (2, "", 1), "{line}");
        assert!(line.contains(why), "{line}");
    }
    assert_eq!(fcoe(&[&target[..], &["--auth", &good, "--allow", &open]].concat()).0, 0);
    let (code, _, line) = fcoe(&["ls", "-i", "null:", "--auth", &good]);
    assert!(code == 2 && line.contains("write a line own SECRET"), "{code} {line}");
    // By the configuration file, too.
    let config = dir.path().join("san.toml");
    let text = format!("port = \"null:\"\nauth = \"{short}\"\n[[lun]]\nlun = 0\ndevice = \"ram:1M\"\n");
    std::fs::write(&config, text).unwrap();
    let (code, _, line) = fcoe(&["target", "--config", config.to_str().unwrap(), "--check"]);
    assert!(code == 2 && line.contains("short: line 2"), "{code} {line}");
}
