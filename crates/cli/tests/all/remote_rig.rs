//! Two namespaces with a management and a data link between them, and a real sshd in the second.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process};
use linerate_host::{Cause, Namespace, Rtnetlink, VethPair};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Two machines.
pub(crate) struct Rig {
    // Dropped before its namespace.
    pub(crate) sshd: Process,
    pub(crate) spaces: [Namespace; 2],
    _links: [VethPair; 2],
    dir: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Option<Self> {
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
        let line = "mount -t sysfs none /sys && mount -t tmpfs none /run && mkdir /run/sshd && mount --bind $0/passwd /etc/passwd && \
                    exec $1 -D -e -f $0/sshd_config";
        let start = || {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", line]).args([dir.path(), &programs[0]]);
            Process::ready(command, "Server listening")
        };
        let sshd = spaces[1].run_in(start).unwrap();
        Some(Self { sshd, spaces, _links: links, dir })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A program of the second machine that says that it is an agent, and then does what a shell is told to.
    pub(crate) fn stand_in(&self, name: &str, lines: &str) -> String {
        let at = self.path(name);
        std::fs::write(&at, format!("#!/bin/sh\necho 'linerate agent 1 0.0.0'\n{lines}\n")).unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
        at.to_str().unwrap().to_owned()
    }

    /// A command of the first machine that talks with the second one.
    pub(crate) fn command(&self, words: &[&str], more: &[&str]) -> Command {
        let key = self.path("user");
        let ssh = format!(
            "ssh -p 2222 -i {} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            key.display()
        );
        let program = self.path("linerate");
        let mut command = Command::new(BINARY);
        command.args(words).args(["--remote", "root@10.99.1.2", "--ssh", &ssh]);
        for (flag, value) in [("--to", "10.99.2.2"), ("--remote-program", program.to_str().unwrap())] {
            if !more.contains(&flag) {
                command.args([flag, value]);
            }
        }
        command.args(more);
        command
    }
}

fn which(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let also = [PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")];
    let found =
        std::env::split_paths(&folders).chain(also).map(|folder| folder.join(program)).find(|path| path.exists());
    found.unwrap_or_else(|| program.into())
}
