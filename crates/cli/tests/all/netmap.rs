//! Tests of `linerate netmap run`: what reaches the program, and what is said where nothing can.
#![cfg(target_os = "linux")]

use crate::process::BINARY;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// This binary, alone in a directory.
fn alone(place: &Path) -> PathBuf {
    let binary = place.join("linerate");
    fs::hard_link(BINARY, &binary).or_else(|_| fs::copy(BINARY, &binary).map(drop)).unwrap();
    binary
}

/// This binary with a file beside it in the library's place. The dynamic linker passes over what is no library.
fn beside(place: &Path) -> PathBuf {
    fs::write(place.join("liblinerate_netmap.so"), "").unwrap();
    alone(place)
}

fn run(binary: &Path, words: &[&str]) -> Output {
    Command::new(binary).args(["netmap", "run"]).args(words).env_remove("LD_PRELOAD").output().unwrap()
}

fn line(out: &Output) -> String {
    let line = String::from_utf8(out.stderr.clone()).unwrap();
    assert!(out.status.code() == Some(1) && line.lines().count() == 1, "{out:?}");
    line
}

#[test]
fn a_program_gets_the_library_and_the_table_and_its_exit_code_is_the_commands() {
    let place = tempfile::tempdir().unwrap();
    let binary = beside(place.path());
    let script = "echo \"$LD_PRELOAD|$LINERATE_NETMAP_PORTS|$0\"; exit 7";
    let out = run(&binary, &["--port", "eth0=null:", "--port", "a=vale:x:a", "--", "sh", "-c", script, "word"]);
    let library = place.path().canonicalize().unwrap().join("liblinerate_netmap.so");
    assert_eq!(String::from_utf8_lossy(&out.stdout), format!("{}|eth0=null:\na=vale:x:a|word\n", library.display()));
    assert_eq!(out.status.code(), Some(7));
}

#[test]
fn a_program_that_is_not_reached_is_not_started() {
    let place = tempfile::tempdir().unwrap();
    let binary = beside(place.path());
    // An ELF head for x86-64 with no program headers, and so without an interpreter.
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(64, 0);
    let program = place.path().join("static");
    fs::write(&program, &head).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let name = program.to_str().unwrap();
    assert!(line(&run(&binary, &["--", name])).contains("is linked statically"));
    // No user of this machine; as root, it can be given away.
    if std::os::unix::fs::chown(&program, Some(12345), None).is_ok() {
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(line(&run(&binary, &["--", name])).contains("is setuid or setgid"));
    } else {
        linerate_skip::skip!("a program cannot be made another user's");
    }
    assert!(line(&run(&binary, &["--", "/no/such/program"])).contains("/no/such/program: No such file"));
}

#[test]
fn without_the_library_beside_it_one_line_says_how_it_is_built() {
    let place = tempfile::tempdir().unwrap();
    let said = line(&run(&alone(place.path()), &["--", "true"]));
    assert!(said.contains("is not there") && said.contains("cargo build --release -p linerate-netmap"), "{said}");
    let out = run(&beside(tempfile::tempdir().unwrap().path()), &["--port", "eth0", "--", "true"]);
    assert_eq!(out.status.code(), Some(2), "{out:?}");
}
