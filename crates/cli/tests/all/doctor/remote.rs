//! Tests of `doctor --remote`: both ends are read, and what they do not have in common is found.

use crate::process::BINARY;
use crate::remote_rig::Rig;
use serde_json::Value;
use std::process::{Command, Output};

impl Rig {
    fn doctor(&self, more: &[&str]) -> Output {
        self.run_in_sight(&self.command(&["doctor", "data0"], more))
    }

    /// Runs a command of the first machine, whose sysfs shows its interfaces.
    fn run_in_sight(&self, command: &Command) -> Output {
        let mut seeing = Command::new("unshare");
        seeing.args(["-m", "sh", "-c", "mount -t sysfs none /sys; exec \"$@\"", "sh"]);
        seeing.arg(command.get_program()).args(command.get_args());
        seeing.env("XDG_DATA_HOME", self.path("state"));
        self.spaces[0].run_in(|| seeing.output()).unwrap().unwrap()
    }

    fn shell(&self, at: usize, line: &str) {
        let out = self.spaces[at].run_in(|| Command::new("sh").args(["-ec", line]).output()).unwrap().unwrap();
        assert!(out.status.success(), "{line}: {out:?}");
    }
}

fn document(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
}

/// Rules with a finding of more than a note about a subject.
fn warned<'a>(findings: &'a Value, subject: &str) -> Vec<&'a str> {
    let all = findings.as_array().unwrap();
    let grave = all.iter().filter(|one| one["subject"] == subject && one["severity"] != "note");
    grave.map(|one| one["rule"].as_str().unwrap()).collect()
}

#[test]
fn both_ends_are_read() {
    let Some(rig) = Rig::new() else { return };
    let healthy = document(&rig.doctor(&["--json"]));
    let remote = &healthy["remote"];
    assert_eq!(remote["end"], serde_json::json!({"name": "data1", "mtu": 1500, "speed": null, "pause": null}));
    assert!(remote["at"].as_str().unwrap().starts_with("root@10.99.1.2 (linerate "), "{remote}");
    assert!(healthy["peer"].as_str().unwrap().starts_with("10.99.2.2 by data0: 20 of 20 "), "{healthy}");
    assert_eq!(warned(&healthy["findings"], "data0"), [""; 0]);
    assert_eq!(warned(&remote["examination"]["findings"], "data1"), [""; 0]);
    // Another interface than that of the way is not compared, and that is told.
    let aside = document(&rig.run_in_sight(&rig.command(&["doctor", "manage0"], &["--json"])));
    let untold = aside["unable"].as_array().unwrap().iter().find(|one| one[1] == "ends-mtu");
    assert!(untold.is_some_and(|one| one[2] == "it is reached by data0, which was not named"), "{aside}");
    assert!(healthy["unable"].as_array().unwrap().iter().all(|one| one[1] != "ends-mtu"), "{healthy}");
    // A fault that only the far end can see, and one that only both can.
    rig.shell(1, "ethtool -K data1 tso off; ip link set data1 mtu 9000");
    let out = rig.doctor(&["--json", "--for", "tcp"]);
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let faulty = document(&out);
    assert!(warned(&faulty["findings"], "data0").contains(&"ends-mtu"), "{faulty}");
    assert!(warned(&faulty["remote"]["examination"]["findings"], "data1").contains(&"tso"), "{faulty}");
    // The same in words, with the machine of each.
    let out = rig.doctor(&[]);
    let text = String::from_utf8(out.stdout).unwrap();
    let (near, far) = text.split_once("\nAt root@10.99.1.2 (linerate ").unwrap_or_else(|| panic!("{text}"));
    assert!(near.contains("warning  data0: the MTU is 1500 here and 9000 at the other end [ends-mtu]"), "{text}");
    assert!(far.contains("[tso]") && !near.contains("[tso]"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn only_this_end_is_mended() {
    let Some(rig) = Rig::new() else { return };
    rig.shell(0, "ethtool -K data0 tso off");
    rig.shell(1, "ethtool -K data1 tso off");
    let out = rig.doctor(&["--fix", "--yes", "--json", "--only", "tso"]);
    let all = document(&out);
    assert_eq!(warned(&all["before"]["findings"], "data0"), ["tso"]);
    assert_eq!(warned(&all["after"]["findings"], "data0"), [""; 0]);
    assert_eq!(warned(&all["after"]["remote"]["examination"]["findings"], "data1"), ["tso"]);
    // The other end is worse than nothing.
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    rig.shell(1, "ethtool -k data1 | grep -q 'tcp-segmentation-offload: off'");
}

#[test]
fn the_other_end_serves_proofs() {
    let Some(rig) = Rig::new() else { return };
    rig.shell(0, "ethtool -K data0 tso off; sysctl -qw net.ipv4.tcp_slow_start_after_idle=1");
    let only = ["--only", "tso,slow-start-after-idle", "--for", "tcp"];
    let out = rig.doctor(&[&["--prove", "--yes", "--rounds", "2"][..], &only].concat());
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    for (rule, load) in [("tso", "TCP_STREAM"), ("slow-start-after-idle", "TCP_RR")] {
        let part = text.split(&format!("[{rule}]")).nth(1).unwrap_or_else(|| panic!("{rule}: {out:?}"));
        let part = part.split("\n\n").next().unwrap();
        assert!(part.contains("(95 %)") && part.contains(load), "{rule}: {out:?}");
    }
    rig.shell(0, "ethtool -k data0 | grep -q '^tcp-segmentation-offload: off'");
    // Nothing of it stays at the other end, whose agent ends with the connection.
    rig.shell(1, "for at in $(seq 3000); do ss -Hltn | grep -v -q ':2222 ' || exit 0; sleep 0.02; done; exit 1");
}

/// Regression: a destination with a dash was an option of ssh, of which one runs a command here.
#[test]
fn a_destination_is_never_an_option_of_ssh() {
    let dir = tempfile::tempdir().unwrap();
    let (made, login) = (dir.path().join("made"), dir.path().join("login"));
    std::fs::write(&login, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n", made.display())).unwrap();
    std::fs::set_permissions(&login, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = |words: &[&str], ssh: &str| {
        let mut command = Command::new(BINARY);
        command.args(words).args(["--to", "192.0.2.1", "--ssh", ssh]).env("XDG_DATA_HOME", dir.path());
        let out = command.output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let option = format!("--remote=-oProxyCommand=touch {}", made.display());
    for words in [&["doctor", "lo", &option][..], &["sweep", "emulex-netperf", &option]] {
        let (code, said) = run(words, "ssh");
        assert!(matches!(code, Some(1 | 2)) && said.contains("begins with a dash"), "{words:?}: {said}");
        assert!(said.lines().count() == 1 && !made.exists(), "{words:?}: {said}");
    }
    // Its words are two: nothing in them is for a shell there.
    let way = ["doctor", "lo", "--remote", "$(id)@host", "--remote-program", "/a b/$(id)"];
    let (_, said) = run(&way, login.to_str().unwrap());
    if said.contains("no route") {
        linerate_skip::skip!("there is no way to another network");
        return;
    }
    assert_eq!(std::fs::read_to_string(&made).unwrap(), "--\n$(id)@host\n'/a b/$(id)' agent\n", "{said}");
}

#[test]
fn an_other_end_that_is_none_is_told_in_a_line() {
    let Some(rig) = Rig::new() else { return };
    let said = |more: &[&str]| {
        let out = rig.doctor(more);
        assert_eq!(out.status.code(), Some(1), "{out:?}");
        String::from_utf8(out.stderr).unwrap()
    };
    assert!(
        said(&["--remote-program", "/dev/null/linerate"])
            .contains("see that this runs there: /dev/null/linerate agent")
    );
    // A shell that is started there may say something too, at each login.
    let own = |said: &str| said.lines().filter(|line| !line.starts_with("ssh root@10.99.1.2: ")).count();
    // A program that answers, and is not ours.
    let liar = |name: &str, lines: &str| said(&["--remote-program", &rig.stand_in(name, lines)]);
    let wrong = liar("wrong", "read a; echo ok data1 1500 10.99.2.2; read b; echo 'ok {}'");
    assert!(wrong.contains("have the same linerate at both ends") && own(&wrong) == 1, "{wrong}");
    let old = liar(
        "old",
        "read a; echo ok data1 1500 10.99.2.2; read b; echo 'no \"doctor\" is no request of this version (0.1.0)'",
    );
    assert!(old.contains("is no request of this version"), "{old}");
    let gone = liar("gone", "read a");
    assert!(gone.contains("the connection has ended"), "{gone}");
    let endless = liar(
        "endless",
        "read a; echo ok data1 1500 10.99.2.2; read b; printf 'ok '; yes | tr -d '\\n' | head -c 3000000",
    );
    assert!(endless.contains("not understood") && endless.len() < 1000, "{endless}");
    // What it says of itself drives no terminal.
    let loud = liar("loud", "read a; echo ok data1 1500 10.99.2.2; read b; printf 'no \\033[2Jhear me\\n'");
    assert!(loud.contains("root@10.99.1.2 says: \u{fffd}[2Jhear me") && own(&loud) == 1, "{loud:?}");
    // Nor does what it says as an error, whose line is its own.
    let crooked = liar("crooked", "read a; printf '\\033[2J\\rlinerate: all is well\\nand more' >&2");
    assert!(crooked.contains("ssh root@10.99.1.2: \u{fffd}[2J\u{fffd}linerate: all is well\n"), "{crooked:?}");
    assert!(crooked.contains("ssh root@10.99.1.2: and more\n") && own(&crooked) == 1, "{crooked:?}");
    for words in [&["--from", "tree"][..], &["--undo", "file"], &["--rules"]] {
        let mut command = Command::new(BINARY);
        let out = command.args(["doctor", "--remote", "root@10.99.1.2"]).args(words).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{words:?}: {out:?}");
    }
}
