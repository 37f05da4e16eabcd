//! Tests of `linerate sweep --remote`: two namespaces with a management and a data link between them, and a real sshd in the
//! second.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process};
use linerate_host::{Cause, Namespace, Rtnetlink, VethPair};
use serde_json::Value;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PLAN: &str = r#"
name = "mtus"
[[test]]
workload = "TCP_STREAM"
parameters = { io_bytes = 16384 }
axes = { mtu = [1500, 9000] }
[[test]]
workload = "UDP_STREAM"
parameters = { io_bytes = 1000 }
axes = { mtu = [576, 9000] }
"#;

/// Time for an end to put back what it has changed.
const LIMIT: Duration = Duration::from_secs(60);

/// Two machines.
struct Rig {
    // Dropped before its namespace.
    sshd: Process,
    spaces: [Namespace; 2],
    _links: [VethPair; 2],
    dir: tempfile::TempDir,
}

impl Rig {
    fn new() -> Option<Self> {
        let programs = [which("sshd"), which("ssh"), which("ssh-keygen")];
        if programs.iter().any(|program| !program.exists()) {
            linerate_skip::skip!("sshd, ssh or ssh-keygen is not installed: run ./test tools");
            return None;
        }
        let made = |space| linerate_skip::permitted(space, |e: &linerate_host::Error| e.cause == Cause::Capability);
        let spaces = [made(Namespace::new())?, made(Namespace::new())?];
        let link = |names: [&str; 2], net: u8| {
            let pair = spaces[0].run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap();
            spaces[0].run_in(|| Rtnetlink::open()?.move_to(names[1], &spaces[1])).unwrap().unwrap();
            for ((space, name), host) in spaces.iter().zip(names).zip(1..) {
                let up = space.run_in(|| {
                    let mut links = Rtnetlink::open()?;
                    links.add_address(name, Ipv4Addr::new(10, 99, net, host), 24)?;
                    links.set_up(name, true)
                });
                up.unwrap().unwrap();
            }
            pair
        };
        let links = [link(["manage0", "manage1"], 1), link(["data0", "data1"], 2)];
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["host", "user"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(name)).status();
            assert!(made.unwrap().success());
        }
        let program = at("linerate");
        std::fs::write(&program, format!("#!/bin/sh\nexec {BINARY} \"$@\" --records {}\n", at("far").display()))
            .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!(
            "ListenAddress 10.99.1.2:2222\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n",
            at("host").display(),
            at("user.pub").display()
        );
        std::fs::write(at("sshd_config"), config).unwrap();
        // The folder and the user that sshd gives up its privileges for (Debian's build), in its own view of the files only.
        let users = std::fs::read_to_string("/etc/passwd").unwrap();
        std::fs::write(at("passwd"), users + "sshd:x:74:65534::/run/sshd:/usr/sbin/nologin\n").unwrap();
        let line = "mount -t tmpfs none /run && mkdir /run/sshd && mount --bind $0/passwd /etc/passwd && \
                    exec $1 -D -e -f $0/sshd_config";
        let start = || {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", line]).args([dir.path(), &programs[0]]);
            Process::ready(command, "Server listening")
        };
        let sshd = spaces[1].run_in(start).unwrap();
        Some(Self { sshd, spaces, _links: links, dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A sweep of the plan from the first machine to the second.
    fn sweep(&self, more: &[&str]) -> Command {
        std::fs::write(self.path("plan.toml"), PLAN).unwrap();
        let key = self.path("user");
        let ssh = format!(
            "ssh -p 2222 -i {} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            key.display()
        );
        let program = self.path("linerate");
        let mut command = Command::new(BINARY);
        command.arg("sweep").arg(self.path("plan.toml")).args(["--remote", "root@10.99.1.2", "--ssh", &ssh]);
        for (flag, value) in [("--to", "10.99.2.2"), ("--remote-program", program.to_str().unwrap())] {
            if !more.contains(&flag) {
                command.args([flag, value]);
            }
        }
        command.arg("--records").arg(self.path("near")).arg("--db").arg(self.path("runs.db")).args(more);
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
        let until = Instant::now() + LIMIT;
        while !wanted(self.mtus()) {
            assert!(Instant::now() < until, "{:?}", self.mtus());
            std::thread::sleep(Duration::from_millis(10));
        }
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

fn which(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let also = [PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")];
    let found =
        std::env::split_paths(&folders).chain(also).map(|folder| folder.join(program)).find(|path| path.exists());
    found.unwrap_or_else(|| program.into())
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
    rig.until_mtus(|mtus| mtus == [9000; 2] && points(&folder) >= 1);
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
    rig.until_mtus(|mtus| mtus == [9000; 2]);
    process.signal("INT");
    let ended = process.within(LIMIT).end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    rig.until_mtus(|mtus| mtus == [1500; 2]);
}

#[test]
fn what_would_be_lost_is_said_before_anything_is_touched() {
    let Some(rig) = Rig::new() else { return };
    let ip = |at: usize, words: &str| {
        let run = || Command::new("ip").args(words.split(' ')).status().unwrap().success();
        assert!(rig.spaces[at].run_in(run).unwrap(), "ip {words}");
    };
    let refused = |more: &[&str], code: i32, told: &str| {
        let out = rig.run(more);
        let said = String::from_utf8_lossy(&out.stderr);
        // ssh, and the shell that it starts, may have a line of their own before.
        let own: Vec<&str> = said.lines().filter(|line| line.starts_with("linerate")).collect();
        assert_eq!((out.status.code(), own.len(), rig.mtus()), (Some(code), 1, [1500; 2]), "{said}");
        assert!(own[0].contains(told), "{told}: {said}");
    };
    ip(1, "route add 192.0.2.0/24 via 10.99.2.1");
    refused(
        &[],
        1,
        "root@10.99.1.2: data1: it would lose route 192.0.2.0/24 via 10.99.2.1 when it is taken down; leave it up by --no-bounce",
    );
    ip(1, "route del 192.0.2.0/24");
    ip(0, "address add fd00:99::1/64 dev data0 nodad");
    refused(&[], 1, "data0: it would lose address fd00:99::1/64 when it is taken down");
    refused(&["--no-bounce"], 1, "data0: it would lose address fd00:99::1/64 with an MTU of 576; remove it");
    ip(0, "address del fd00:99::1/64 dev data0");
    refused(
        &["--remote-program", "/nonexistent/linerate"],
        1,
        "see that '/nonexistent/linerate agent' can be run there",
    );
    refused(&["--to", "10.99.2.1"], 1, "--remote: 10.99.2.1 is this machine's own");
    refused(&["--to", "198.51.100.9"], 1, "--remote: 198.51.100.9: there is no route to it");
    refused(&["--via", "stack"], 2, "--remote");
    rig.sshd.signal("TERM");
    std::thread::sleep(Duration::from_millis(200));
    refused(&[], 1, "the connection has ended");
}
