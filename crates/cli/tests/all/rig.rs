//! Virtual machines with the Linux kernel's FCoE, and the programs that run beside them.

use crate::process::{BINARY, Process};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit of each process, seconds: machines are emulated, on cores with other load.
const LIMIT: u64 = 550;

/// True if the machines are built; otherwise reports a skip.
pub(crate) fn is_there() -> bool {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rig");
    let there = std::env::var_os("RIG").map_or(built, PathBuf::from).join("out/stamp").exists();
    if !there {
        linerate_skip::skip!("the virtual machines are not built: run ./test tools");
    }
    there
}

/// A file of the rig.
pub(crate) fn file(name: &str) -> String {
    format!("{}/tests/rig/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Starts a program that ends in time even if the test is killed.
pub(crate) fn start(program: &str, arguments: &[&str]) -> Process {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "-k", "5", &LIMIT.to_string(), program]).args(arguments);
    Process::start(command).within(Duration::from_secs(LIMIT + 10))
}

/// Starts `linerate …`.
pub(crate) fn ours(arguments: &[&str]) -> Process {
    start(BINARY, arguments)
}

/// Starts a machine on one end of a UNIX datagram link.
pub(crate) fn machine(role: &str, link: &str, arguments: &[&str]) -> Process {
    let limits = ["--timeout", "540", "--lun-timeout", "120"];
    let all = [&["--role", role, "--quiet", "--unix", link], &limits[..], arguments].concat();
    start(&file("run-vm.sh"), &all)
}

/// Starts a machine with the kernel's initiator.
pub(crate) fn initiator(link: &str, arguments: &[&str]) -> Process {
    machine("initiator", link, arguments)
}

/// Runs a target on one end of a UNIX datagram link, with a machine at the other end; returns the output of both.
pub(crate) fn over_unix(dir: &Path, target: &[&str], mtu: &str, more: &[&str], command: &str) -> (String, String) {
    let (us, them) = (dir.join("us"), dir.join("them"));
    let (us, them) = (us.to_str().unwrap(), them.to_str().unwrap());
    let port = format!("unix:{us}:{them},mtu={mtu}");
    let mut target = ours(&[&["fcoe", "target", "-i", &port], target].concat());
    target.until("LUN 0");
    let said = initiator(&format!("{them}:{us}"), &[&["--mtu", mtu, "--cmd", command], more].concat()).done();
    (said, target.stop())
}
