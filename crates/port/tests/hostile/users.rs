//! Other users: neither served, nor joined, nor trusted with the directory of sockets. A directory's mode keeps them away
//! already; here they have root's way past it.

use super::switch::Host;
use super::{Honest, cable, joins, makers};
use crate::stranger::*;
use linerate_port::{Link, open};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

/// Reply of a socket to a hello from another user, with its number of descriptors; None if the test is skipped.
fn says_hello(path: &Path, hello: &[u8]) -> Option<(Vec<u8>, usize)> {
    let said = as_nobody(|| {
        let socket = connect(path).unwrap();
        // It may be hung up on already.
        send(&socket, hello, &[]);
        let (words, fds) = receive(&socket);
        (words, fds.len())
    });
    if said.is_none() {
        linerate_skip::skip!("a thread of another user needs root");
    }
    said
}

#[test]
fn are_not_let_in_by_a_cable() {
    let mut honest = Honest::new("user");
    let Some(said) = says_hello(&honest.path, &hello()) else { return };
    assert_eq!(said, (vec![], 0), "hung up");
    assert_eq!(honest.port.link(), Link::Down);
    joins(&mut honest);
}

#[test]
fn are_not_let_in_by_a_switch() {
    let mut host = Host::new("user", &[]);
    let Some(said) = says_hello(&host.path, &switch_hello("evil", 64, 2048)) else { return };
    assert_eq!(said, (vec![], 0), "hung up");
    assert_eq!(host.listener.counters().refused, 1);
    host.talks("after one of another user");
}

#[test]
fn are_not_joined() {
    let (left, right, path) = cable("other-user");
    drop(open(&left).unwrap());
    let Some(listener) = as_nobody(|| listen(&path)) else {
        return linerate_skip::skip!("a thread of another user needs root");
    };
    let line = makers::met("of another user", listener, &right, &makers::proper());
    std::fs::remove_file(path).unwrap();
    assert!(line.contains(&format!("the other end is of user {NOBODY}; run both ends as one user")), "{line}");
}

/// The role of a process that opens a cable with another directory of sockets.
#[test]
#[ignore = "a role of another test"]
fn opens_a_cable() {
    if std::env::var_os("LINERATE_ROLE").is_some() {
        match open("cable:user{1") {
            Ok(_) => println!("said: opened"),
            Err(e) => println!("said: {e}"),
        }
    }
}

/// Outcome of opening a cable under a umask of 0.
fn opened_in(runtime: &Path) -> String {
    let out = Command::new("sh")
        .args(["-c", "umask 0; exec \"$0\" users::opens_a_cable --exact --nocapture --ignored"])
        .arg(std::env::current_exe().unwrap())
        .envs([("LINERATE_ROLE", "1".as_ref()), ("XDG_RUNTIME_DIR", runtime)])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&out.stdout).into_owned();
    out.lines().find_map(|line| line.split_once("said: ")).unwrap_or_else(|| panic!("{out}")).1.to_owned()
}

#[test]
fn have_no_part_in_the_directory_of_sockets() {
    let refused = |what: &str, runtime: &Path| {
        let line = opened_in(runtime);
        let named = runtime.join("linerate").display().to_string();
        assert!(line.contains(&named) && line.contains("yours alone (mode 0700)"), "{what}: {line}");
    };
    let fresh = || {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("linerate");
        (dir, inner)
    };
    let (dir, inner) = fresh();
    let mode = || std::fs::metadata(&inner).unwrap().permissions().mode() & 0o7777;
    assert_eq!(opened_in(dir.path()), "opened");
    assert_eq!(mode(), 0o700, "as it was made");
    assert_eq!(opened_in(dir.path()), "opened", "it was there");
    for bit in (0..6).map(|k| 1 << k) {
        std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o700 | bit)).unwrap();
        refused(&format!("mode {:o}", mode()), dir.path());
    }
    let (dir, inner) = fresh();
    std::fs::write(&inner, "").unwrap();
    refused("a file", dir.path());
    let (dir, inner) = fresh();
    let (elsewhere, target) = fresh();
    assert_eq!(opened_in(elsewhere.path()), "opened");
    symlink(target, inner).unwrap();
    refused("a link", dir.path());
    if as_nobody(|| ()).is_none() {
        return linerate_skip::skip!("another user's directory needs root");
    }
    let (dir, inner) = fresh();
    assert_eq!(opened_in(dir.path()), "opened");
    chown(inner, Some(NOBODY), None).unwrap();
    refused("another user's", dir.path());
}
