//! Every value beside that of `ethtool`, `ip` and `lspci` in a virtual machine, whose kernel has kinds of interfaces that
//! few machines can make: this program runs there once more.

use super::beside::every_interface_has_the_values_of_the_other_programs;
use crate::process::BINARY;
use crate::rig;
use linerate_skip::{is_installed, skip};
use std::path::Path;
use std::process::Command;

/// Programs for the machine, besides those of its own.
const PROGRAMS: [&str; 4] = ["ethtool", "ip", "lspci", "timeout"];

/// Interfaces that the machine must have, each by a kind of its own or in another state.
const INTERFACES: [&str; 8] = ["eth0", "eth1", "tagged", "dummy1", "bound", "member0", "member1", "lo"];

/// Commands that make the interfaces in the machine. Its shell has an `ip` of its own, which makes fewer.
const MAKE: &str = "for m in 8021q bonding dummy e1000e; do modprobe $m || exit 1; done
until [ -e /sys/class/net/eth1 ]; do usleep 100000; done
set -e
/rig/ip link set eth1 up
/rig/ip link add link eth0 name tagged type vlan id 7
/rig/ip link add dummy1 numtxqueues 2 numrxqueues 2 type dummy
/rig/ip link add bound type bond mode active-backup miimon 100
for m in member0 member1; do /rig/ip link add $m type dummy; /rig/ip link set $m master bound; done
/rig/ip link set tagged up; /rig/ip link set bound up
set +e
sleep 3
";

#[test]
fn interfaces_of_a_virtual_machine_have_the_values_of_ethtool_ip_and_lspci() {
    if !rig::is_there() {
        return;
    }
    if let Some(missing) = PROGRAMS.iter().find(|program| !is_installed(program)) {
        return skip!("{missing} is not installed");
    }
    let this = std::env::current_exe().unwrap();
    let (path, name) = (this.to_str().unwrap(), this.file_name().unwrap().to_str().unwrap());
    let found = PROGRAMS.map(|program| {
        let out = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    });
    let folder = Path::new(BINARY).parent().unwrap().display();
    let command = format!(
        "{MAKE}mkdir -p {folder}; ln -s /rig/linerate {BINARY}
         LINERATE_ROLE=1 {name} nic_host::machine::every_interface --exact --ignored --nocapture 2>&1; echo ENDED $?"
    );
    let dir = tempfile::tempdir().unwrap();
    let link = ["a", "b"].map(|end| dir.path().join(end).to_str().unwrap().to_owned()).join(":");
    let programs = [path, BINARY].into_iter().chain(found.iter().map(String::as_str));
    let programs = programs.flat_map(|program| ["--bring", program]);
    let options = ["--mode", "none", "--pcie", "e1000e", "--mem", "512", "--cmd", &command];
    let arguments: Vec<&str> = options.into_iter().chain(programs).collect();
    let said = rig::machine("bare", &link, &arguments).done();
    for interface in INTERFACES {
        assert!(said.contains(&format!("compared {interface}\n")), "{interface}: {said}");
    }
    for part in ["LnkCap", "LnkSta"] {
        assert!(said.contains(&format!("compared eth1: {part}\n")), "{part}: {said}");
    }
    assert!(said.contains("test result: ok. 1 passed") && said.contains("ENDED 0"), "{said}");
    assert!(!said.contains("skipped: "), "{said}");
}

#[test]
#[ignore = "a role of another test"]
fn every_interface() {
    if std::env::var_os("LINERATE_ROLE").is_some() {
        every_interface_has_the_values_of_the_other_programs();
    }
}
