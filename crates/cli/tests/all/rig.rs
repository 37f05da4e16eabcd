//! Virtual machines with the Linux kernel's FCoE, and the programs that run beside them.

use crate::process::{BINARY, Process};
use linerate_skip::{is_installed, skip};
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

/// Runs ignored tests of this program in a machine, one after the other, after commands of its shell; returns what it says.
/// Skipped if there are no machines, or one of the programs that the tests run there is not installed.
pub(crate) fn within(programs: &[&str], before: &str, roles: &[&str], options: &[&str]) -> Option<String> {
    if !is_there() {
        return None;
    }
    if let Some(missing) = programs.iter().find(|program| !is_installed(program)) {
        skip!("{missing} is not installed");
        return None;
    }
    let this = std::env::current_exe().unwrap();
    let (path, name) = (this.to_str().unwrap(), this.file_name().unwrap().to_str().unwrap());
    let found: Vec<String> = programs
        .iter()
        .map(|program| {
            let out = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
            String::from_utf8(out.stdout).unwrap().trim().to_owned()
        })
        .collect();
    let (folder, roles_named) = (Path::new(BINARY).parent().unwrap().display(), roles.join(" "));
    let command = format!(
        "{before}mkdir -p {folder}; ln -s /rig/linerate {BINARY}
         for role in {roles_named}
         do LINERATE_ROLE=1 {name} $role --exact --ignored --nocapture 2>&1; echo ENDED $role $?; done"
    );
    let dir = tempfile::tempdir().unwrap();
    let link = ["a", "b"].map(|end| dir.path().join(end).to_str().unwrap().to_owned()).join(":");
    let brought = [path, BINARY].into_iter().chain(found.iter().map(String::as_str));
    let brought: Vec<&str> = brought.flat_map(|program| ["--bring", program]).collect();
    let said =
        machine("bare", &link, &[&["--mode", "none", "--mem", "512", "--cmd", &command], options, &brought].concat())
            .done();
    for role in roles {
        assert!(said.contains(&format!("ENDED {role} 0")), "{role}: {said}");
    }
    assert_eq!(said.matches("test result: ok. 1 passed").count(), roles.len(), "{said}");
    assert!(!said.contains("skipped: "), "{said}");
    Some(said)
}

/// True in a test that is a role of another one, in the machine.
pub(crate) fn is_role() -> bool {
    std::env::var_os("LINERATE_ROLE").is_some()
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
