//! Tests of `linerate sweep --remote`.
#![cfg(target_os = "linux")]

use crate::process::{LIMIT, Process, until};
use crate::remote_rig::Rig;
use linerate_host::Rtnetlink;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const PLAN: &str = r#"
name = "mtus"
repeats = 1
[[test]]
workload = "TCP_STREAM"
parameters = { io_bytes = 16384 }
axes = { mtu = [1500, 9000] }
[[test]]
workload = "UDP_STREAM"
parameters = { io_bytes = 1000 }
axes = { mtu = [576, 9000] }
"#;

impl Rig {
    /// A sweep of the plan from the first machine to the second.
    fn sweep(&self, more: &[&str]) -> Command {
        let plan = self.path("plan.toml");
        std::fs::write(&plan, PLAN).unwrap();
        let mut command = self.command(&["sweep", plan.to_str().unwrap(), "--shared"], more);
        command.arg("--records").arg(self.path("near")).arg("--db").arg(self.path("runs.db"));
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        let mut command = self.sweep(more);
        self.spaces[0].run_in(|| command.output()).unwrap().unwrap()
    }

    /// MTU of both ends of the data link.
    fn mtus(&self) -> [u32; 2] {
        [(0, "data0"), (1, "data1")]
            .map(|(at, name)| self.spaces[at].run_in(|| Rtnetlink::open().unwrap().link(name).unwrap().mtu).unwrap())
    }

    fn until_mtus(&self, wanted: impl Fn([u32; 2]) -> bool) {
        until("the MTUs are as wanted", || wanted(self.mtus()));
    }

    /// Stops a sweep amid a point of an MTU of 9000, once this is so: a moment later it may be over.
    fn stops(&self, sweep: &Process, is_so: impl Fn() -> bool) {
        let amid = || self.mtus() == [9000; 2] && is_so();
        until("a point of 9000 is measured", || {
            amid() && {
                sweep.signal("STOP");
                let stays = amid();
                if !stays {
                    sweep.signal("CONT");
                }
                stays
            }
        });
    }

    /// Number of times that the near end of the data link was seen without its carrier.
    fn losses(&self) -> u32 {
        let look = || {
            // sysfs of this namespace.
            let line = "mount -t sysfs none /sys && cat /sys/class/net/data0/carrier_down_count";
            let out = Command::new("unshare").args(["-m", "sh", "-c", line]).output().unwrap();
            assert!(out.status.success(), "{out:?}");
            String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()
        };
        self.spaces[0].run_in(look).unwrap()
    }
}

fn document(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
}

/// Number of points that a sweep has stored.
fn points(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("points.ndjson")).unwrap_or_default();
    text.lines().count().saturating_sub(1)
}

#[test]
fn a_sweep_sets_the_mtu_of_both_ends_and_puts_it_back() {
    let Some(rig) = Rig::new() else { return };
    for (name, more, cycles) in [("cycled", &[][..], true), ("left-up", &["--no-bounce"], false)] {
        let folder = rig.path(name);
        let before = rig.losses();
        let out = rig.run(&[&["--json", "--out", folder.to_str().unwrap()], more].concat());
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let document = document(&out);
        let tests = document["tests"].as_array().unwrap();
        assert_eq!(tests.len(), 4);
        for test in tests {
            let mtu = &test["parameters"]["mtu"];
            let ends: Vec<[&Value; 2]> =
                test["ports"].as_array().unwrap().iter().map(|port| [&port["name"], &port["mtu"]]).collect();
            assert_eq!(ends, [[&"data0".into(), mtu], [&"data1".into(), mtu]]);
            assert!(test["value"]["median"].as_f64().is_some_and(|bits| bits > 1e6), "{test}");
            assert!(test["further"]["cpu_remote"]["median"].as_f64().is_some_and(|cpu| cpu > 0.0), "{test}");
        }
        assert_eq!(rig.mtus(), [1500; 2]);
        assert_eq!(rig.losses() > before, cycles, "{name}");
    }
}

#[test]
fn after_sigkill_both_ends_are_as_before_and_the_sweep_goes_on() {
    let Some(rig) = Rig::new() else { return };
    let folder = rig.path("killed");
    let out = ["--json", "--out", folder.to_str().unwrap()];
    let mut command = rig.sweep(&out);
    let process = rig.spaces[0].run_in(|| Process::start(command_of(&mut command))).unwrap();
    rig.stops(&process, || (1..4).contains(&points(&folder)));
    process.kill();
    // The far end by itself, the near end by the next start.
    rig.until_mtus(|mtus| mtus[1] == 1500);
    assert_eq!(rig.mtus(), [9000, 1500]);
    let kept = points(&folder);
    let resumed = rig.run(&[&out[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert!(said.contains("left by a process that was killed: data0: mtu 1500 again"), "{said}");
    assert!((1..4).contains(&kept) && points(&folder) == 4, "{kept}, then {}", points(&folder));
    assert_eq!((rig.mtus(), document(&resumed)["tests"].as_array().unwrap().len()), ([1500; 2], 4));
}

/// Takes a command out of its place.
fn command_of(command: &mut Command) -> Command {
    std::mem::replace(command, Command::new("false"))
}

#[test]
fn ctrl_c_puts_both_ends_back() {
    let Some(rig) = Rig::new() else { return };
    let folder = rig.path("interrupted");
    let mut command = rig.sweep(&["--json", "--out", folder.to_str().unwrap()]);
    let process = rig.spaces[0].run_in(|| Process::start(command_of(&mut command))).unwrap();
    rig.stops(&process, || true);
    process.signal("INT");
    process.signal("CONT");
    let ended = process.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    rig.until_mtus(|mtus| mtus == [1500; 2]);
}

#[test]
fn what_would_be_lost_is_said_before_anything_is_touched() {
    let Some(mut rig) = Rig::new() else { return };
    let ip = |at: usize, words: &str| {
        let run = || Command::new("ip").args(words.split(' ')).status().unwrap().success();
        assert!(rig.spaces[at].run_in(run).unwrap(), "ip {words}");
    };
    let refused = |rig: &Rig, more: &[&str], code: i32, told: &str| {
        let out = rig.run(more);
        let said = String::from_utf8_lossy(&out.stderr);
        // ssh, and the shell that it starts, may have a line of their own before.
        let own: Vec<&str> = said.lines().filter(|line| line.starts_with("linerate")).collect();
        assert_eq!((out.status.code(), own.len(), rig.mtus()), (Some(code), 1, [1500; 2]), "{said}");
        assert!(own[0].contains(told), "{told}: {said}");
    };
    ip(1, "route add 192.0.2.0/24 via 10.99.2.1");
    refused(
        &rig,
        &[],
        1,
        "root@10.99.1.2 says: data1: it would lose route 192.0.2.0/24 via 10.99.2.1 when it is taken down; leave it up by --no-bounce",
    );
    ip(1, "route del 192.0.2.0/24");
    ip(0, "address add fd00:99::1/64 dev data0 nodad");
    refused(&rig, &[], 1, "data0: it would lose address fd00:99::1/64 when it is taken down");
    refused(&rig, &["--no-bounce"], 1, "data0: it would lose address fd00:99::1/64 with an MTU of 576; remove it");
    ip(0, "address del fd00:99::1/64 dev data0");
    refused(&rig, &["--remote-program", "/dev/null/linerate"], 1, "see that this runs there: /dev/null/linerate agent");
    refused(&rig, &["--to", "10.99.2.1"], 1, "--remote: 10.99.2.1 is this machine's own");
    refused(&rig, &["--to", "198.51.100.9"], 1, "--remote: 198.51.100.9: there is no route to it");
    refused(&rig, &["--via", "stack"], 2, "--remote");
    rig.sshd.signal("TERM");
    assert!(rig.sshd.ends_within(LIMIT));
    refused(&rig, &[], 1, "the connection has ended");
}

#[test]
fn a_far_end_that_lies_is_told_of_in_a_line_and_nothing_is_left_changed() {
    let Some(rig) = Rig::new() else { return };
    let all = "while read word rest; do case $word in path) echo ok data1 1500 10.99.2.2;; serve) echo ok 9;; *)";
    for (name, lines, told) in [
        ("nonsense", "read a; echo ok nonsense", "have the same linerate at both ends"),
        ("silent", "read a; exec sleep 0", "the connection has ended"),
        ("noisy", "yes | head -n 100000", "it says \"y\""),
        ("port", &format!("{all} echo ok;; esac; done").replace("ok 9;", "ok 70000;"), "for a port"),
        ("refuses", &format!("{all} echo no I will not;; esac; done"), "I will not"),
        ("breaks", &format!("{all} exit 0;; esac; done"), "the connection has ended"),
        // By then this end has its new MTU.
        (
            "leaves",
            &format!("{all} echo ok;; esac; done").replace("serve)", "ready) exit 0;; serve)"),
            "the connection has ended",
        ),
    ] {
        let out = rig.run(&["--no-bounce", "--remote-program", &rig.stand_in(name, lines)]);
        let said = String::from_utf8_lossy(&out.stderr);
        // 4: the sweep has begun, and no point could be measured.
        assert!(matches!(out.status.code(), Some(1 | 4)) && rig.mtus() == [1500; 2], "{name}: {:?} {said}", out.status);
        assert!(said.contains(told), "{name}: {said}");
    }
}
