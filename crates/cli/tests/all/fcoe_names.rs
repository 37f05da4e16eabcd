//! Test of a port name that two stations use.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process};
use std::process::Command;

const WWPN: &str = "20:00:02:00:00:00:00:11";

/// Regression: a second station of a name took it, and the first one's I/O stood for 28 s.
#[test]
fn a_name_in_use_is_refused_and_its_holder_keeps_its_session() {
    let name = format!("names-{}", std::process::id());
    let port = |end: &str| format!("vale:{name}:{end}");
    let dir = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", dir.path().join("lun").display());
    let switch = Process::linerate(&["switch", &name], "runs");
    let target = Process::linerate(&["fcoe", "target", "-i", &port("t"), "--lun", "0=ram:16M"], "ready");
    let holder = ["--wwpn", WWPN, "--mac", "02:00:00:00:00:11", "--nbd", &socket];
    let mut holder = Process::linerate(&[&["fcoe", "initiator", "-i", &port("h")], &holder[..]].concat(), "export");

    for command in ["ls", "discover", "initiator"] {
        let nbd = format!("unix:{}", dir.path().join(command).display());
        let more = if command == "initiator" { vec!["--nbd", &nbd] } else { vec![] };
        let newcomer = Command::new("timeout")
            .args([&LIMIT.as_secs().to_string(), BINARY, "fcoe", command, "-i", &port("n"), "--wwpn", WWPN])
            .args(["--mac", "02:00:00:00:00:99"])
            .args(more)
            .output()
            .unwrap();
        let line = String::from_utf8_lossy(&newcomer.stderr).into_owned();
        assert_eq!((newcomer.status.code(), line.lines().count()), (Some(1), 1), "{command}: {line}");
        for word in [WWPN, "02:00:00:00:00:11", "--wwpn"] {
            assert!(line.contains(word), "{command}: {word} in {line}");
        }
    }
    let note = holder.until("belongs to MAC 02:00:00:00:00:11: refused to MAC 02:00:00:00:00:99");
    assert!(note.contains(WWPN), "{note}");
    let said = holder.stop();
    assert_eq!(said.matches("the session is over").count(), 1, "but for the end: {said}");
    let said = target.stop();
    assert_eq!(said.matches("the session is over: it logged out").count(), 1, "{said}");
    switch.stop();
}
